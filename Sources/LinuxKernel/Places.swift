import CLinux
public import FileValues
import Glibc

/// Opens the directory that a path starts from, with O_PATH: the root or the working directory.
public func openStart(of path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
    let start: BytePath = path.isAbsolute ? "/" : "."
    return try descriptorCall("open", path: start) {
        start.withCString { clinux_openat(AT_FDCWD, $0, clinux_o_path() | O_DIRECTORY | O_CLOEXEC, 0) }
    }
}

// Places: O_PATH descriptors of files, to follow a path step by step as in path_resolution(7).
extension OwnedDescriptor {
    /// Opens the entry `name` of this directory with O_PATH, for its status and as a start for further steps; a
    /// symbolic link is not followed. `name` may be `..`.
    public borrowing func openPlace(_ name: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat", path: name) {
            name.withCString { clinux_openat(directory, $0, clinux_o_path() | O_NOFOLLOW | O_CLOEXEC, 0) }
        }
    }

    /// The same for the directory that `name` leads to when the kernel follows it: for links whose text is not their
    /// target, as in /proc.
    public borrowing func openDirectoryPlace(_ name: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat", path: name) {
            name.withCString { clinux_openat(directory, $0, clinux_o_path() | O_DIRECTORY | O_CLOEXEC, 0) }
        }
    }

    /// The text of this symbolic link; see readlinkat(2).
    public borrowing func linkText() throws(SystemCallError) -> BytePath {
        let number = raw
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try systemCall("readlinkat") { readlinkat(number, "", &bytes, bytes.count) }
        return BytePath(bytes[..<count])
    }

    /// Its current path from the process's root directory, as in mount tables; see proc_pid_fd(5).
    public borrowing func currentPath() throws(SystemCallError) -> BytePath {
        let entry = BytePath("/proc/self/fd/\(raw)")
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try systemCall("readlink", path: entry) {
            entry.withCString { readlink($0, &bytes, bytes.count) }
        }
        return BytePath(bytes[..<count])
    }
}
