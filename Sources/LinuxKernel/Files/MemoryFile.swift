import CLinux
import Glibc

/// Makes a file in memory that holds `content`, to be read from its beginning, and can never be changed; closed on exec.
///
/// A child that is given it as its standard input reads at its own pace, or not at all, and nobody has to wait to write
/// the rest. See memfd_create(2).
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
    /// A new file in memory, empty, that has no path and ends with its last descriptor; see memfd_create(2). `name` is
    /// what /proc shows.
    public static func memoryFile(named name: String) throws(SystemCallError) -> OwnedDescriptor {
        try descriptorCall("memfd_create") { clinux_memory_file(name) }
    }
}
