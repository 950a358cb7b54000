import CLinux
public import FileValues
import Glibc

/// Takes hold of the directory that a path starts from: the root directory, or the working directory.
public func openStart(of path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
    let start: BytePath = path.isAbsolute ? "/" : "."
    return try descriptorCall("open", path: start) {
        start.withCString { clinux_openat(AT_FDCWD, $0, clinux_o_path() | O_DIRECTORY | O_CLOEXEC, 0) }
    }
}

// Places: what a name stands for, held without being opened, to follow a path step by step as path_resolution(7) says.
extension OwnedDescriptor {
    /// Takes hold of what `name` stands for in this directory, of a symbolic link as such, without opening it (O_PATH):
    /// it can be asked for its status and be walked on from, nothing else. `name` may be `..`.
    public borrowing func openPlace(_ name: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat", path: name) {
            name.withCString { clinux_openat(directory, $0, clinux_o_path() | O_NOFOLLOW | O_CLOEXEC, 0) }
        }
    }

    /// The same of the directory that `name` leads to when the kernel follows it: for links whose text is not where they
    /// lead, as there are in /proc.
    public borrowing func openDirectoryPlace(_ name: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat", path: name) {
            name.withCString { clinux_openat(directory, $0, clinux_o_path() | O_DIRECTORY | O_CLOEXEC, 0) }
        }
    }

    /// The text of the symbolic link that this descriptor holds; see readlinkat(2).
    public borrowing func linkText() throws(SystemCallError) -> BytePath {
        let number = raw
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try systemCall("readlinkat") { readlinkat(number, "", &bytes, bytes.count) }
        return BytePath(bytes[..<count])
    }

    /// Where it is now, as a path from the process's root directory, as mount tables have it; see proc_pid_fd(5).
    public borrowing func currentPath() throws(SystemCallError) -> BytePath {
        let entry = BytePath("/proc/self/fd/\(raw)")
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try systemCall("readlink", path: entry) {
            entry.withCString { readlink($0, &bytes, bytes.count) }
        }
        return BytePath(bytes[..<count])
    }
}
