package import FileValues
import Glibc
import SystemPackage

/// Opens the file at `path` for reading and follows links: for paths that a user gave, never for names from an inbox. A
/// FIFO without a writer opens at once.
package func openFile(_ path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
    try descriptorCall("open", path: path) { path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) } }
}

/// Opens the directory that the file at `path` is in.
package func openParent(of path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
    try openDirectory(path.parent.isEmpty ? "." : path.parent)
}

/// The whole content of the file at `path`, which may be one of /proc or a pipe, whose writer is waited for. Throws EFBIG if
/// it has more than `most` bytes.
package func contents(of path: BytePath, most: Int = 64 << 20) throws(SystemCallError) -> [UInt8] {
    let file = try openFile(path)
    let number = file.raw
    try systemCall("fcntl", path: path) { fcntl(number, F_SETFL, 0) }
    return try readToEnd(number, most: most, path)
}

/// The rest of what can be read from a descriptor, which the caller keeps. Throws EFBIG if that is more than `most` bytes.
package func readToEnd(
    _ descriptor: Int32, most: Int = 64 << 20, _ path: BytePath
) throws(SystemCallError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
        let count = try systemCall("read", path: path) { read(descriptor, &buffer, buffer.count) }
        if count == 0 { return bytes }
        bytes += buffer[..<count]
        if bytes.count > most { throw SystemCallError("read", .fileTooLarge, path: path) }
    }
}
