import CLinux
import Glibc

/// Creates an immutable file in memory with `content`, positioned at its start; closed on exec.
///
/// As standard input of a child, it needs no writer that waits for the child to read. See memfd_create(2).
public func memoryFile(_ name: String, content: [UInt8]) throws(SystemCallError) -> OwnedDescriptor {
    let file = try descriptorCall("memfd_create") { name.withCString { clinux_memory_file($0) } }
    let raw = file.raw
    var written = 0
    while written < content.count {
        written += try systemCall("write") {
            content.withUnsafeBytes { buffer in
                let rest = UnsafeRawBufferPointer(rebasing: buffer[written...])
                return write(raw, rest.baseAddress, rest.count)
            }
        }
    }
    try systemCall("fcntl") { clinux_seal(raw) }
    try systemCall("lseek") { lseek(raw, 0, SEEK_SET) }
    return file
}

extension OwnedDescriptor {
    /// Creates an empty file in memory, without a path, deleted with its last descriptor; see memfd_create(2). `name`
    /// is shown in /proc.
    public static func memoryFile(named name: String) throws(SystemCallError) -> OwnedDescriptor {
        try descriptorCall("memfd_create") { clinux_memory_file(name) }
    }
}
