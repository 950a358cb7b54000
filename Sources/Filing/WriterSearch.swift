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
        let name = readSmallFile("/proc/\(pid)/comm").prefix { $0 != 0x0A }
        return WriterProcess(pid: pid, name: escapeForDisplay(name))
    }
}

private func writes(pid: Int32, _ path: BytePath) -> Bool {
    for number in entries(of: "/proc/\(pid)/fd") where target(of: "/proc/\(pid)/fd/\(number)") == path.bytes {
        if isForWriting("/proc/\(pid)/fdinfo/\(number)") { return true }
    }
    return entries(of: "/proc/\(pid)/map_files").contains { range in
        let link = "/proc/\(pid)/map_files/\(range)"
        var status = stat()
        // The link's mode shows the mapping: its owner's write bit means that it is writable.
        return target(of: link) == path.bytes && lstat(link, &status) == 0 && status.st_mode & S_IWUSR != 0
    }
}

/// fdinfo(5): the open flags, in octal.
private func isForWriting(_ info: String) -> Bool {
    let text = String(decoding: readSmallFile(info), as: UTF8.self)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("flags:") }) else { return false }
    let flags = Int32(line.dropFirst("flags:".count).filter(\.isNumber), radix: 8) ?? 0
    return flags & O_ACCMODE != O_RDONLY
}

private func entries(of directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

private func target(of link: String) -> [UInt8] {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(link, &buffer, buffer.count)
    return count < 0 ? [] : buffer[..<count].map { UInt8(bitPattern: $0) }
}

private func readSmallFile(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "re") else { return [] }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = fread(&buffer, 1, buffer.count, file)
    return Array(buffer[..<count])
}
