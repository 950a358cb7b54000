package import FileValues
import Glibc
import LinuxKernel

/// A process that has a file open or mapped for writing.
package struct WriterProcess: Hashable, Sendable {
    package let pid: Int32
    /// Its short name, escaped.
    package let name: String
}

/// Searches /proc for processes that write to the file at `path`, which must be absolute and without links.
///
/// Costs a readlink for every readable descriptor, so it is only for commands of people, never on a queue that others
/// wait for. Compares paths, not inodes, since reading an inode could block on another mount. Misses other users'
/// processes without CAP_SYS_PTRACE, and those that see the file at another path.
package func findWriters(of path: BytePath) -> [WriterProcess] {
    entries(of: "/proc").compactMap { Int32($0) }.filter { writes(pid: $0, path) }.map { pid in
        let name = (try? contents(of: BytePath("/proc/\(pid)/comm"))) ?? []
        return WriterProcess(pid: pid, name: escapeForDisplay(name.prefix { $0 != 0x0A }))
    }
}

private func writes(pid: Int32, _ path: BytePath) -> Bool {
    for number in entries(of: "/proc/\(pid)/fd") where linkText(of: BytePath("/proc/\(pid)/fd/\(number)")) == path {
        if isForWriting("/proc/\(pid)/fdinfo/\(number)") { return true }
    }
    return entries(of: "/proc/\(pid)/map_files").contains { range in
        let link = BytePath("/proc/\(pid)/map_files/\(range)")
        // The link's mode shows the mapping: its owner's write bit means that it is writable.
        guard linkText(of: link) == path, let status = try? FileStatus(at: link, followingLinks: false) else {
            return false
        }
        return status.mode & S_IWUSR != 0
    }
}

/// fdinfo(5): the open flags, in octal.
private func isForWriting(_ info: String) -> Bool {
    let text = String(decoding: (try? contents(of: BytePath(info))) ?? [], as: UTF8.self)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("flags:") }) else { return false }
    let flags = Int32(line.dropFirst("flags:".count).filter(\.isNumber), radix: 8) ?? 0
    return flags & O_ACCMODE != O_RDONLY
}

private func entries(of directory: String) -> [String] {
    let entries = try? openDirectory(BytePath(directory)).entries()
    return (entries ?? []).map { String(decoding: $0.name.bytes, as: UTF8.self) }
}
