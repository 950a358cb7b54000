import FileValues
import LinuxKernel
package import PhotoFormats
import SystemPackage

/// The bytes of a source file, read with pread(2), for the reader of photo formats.
package struct DescriptorByteSource: ByteSource {
    private let file: SourceFile

    package init(_ file: SourceFile) { self.file = file }

    /// The size when the file was opened.
    package var size: UInt64 { file.identity.size }

    /// Reads `count` bytes from `offset`, or fewer at the end.
    package mutating func read(at offset: UInt64, count: Int) throws(ByteSourceError) -> [UInt8] {
        guard offset < size, count > 0 else { return [] }
        let wanted = Int(min(UInt64(count), size - offset))
        var failure: SystemCallError?
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            do throws(SystemCallError) {
                while filled < wanted {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: raw[filled..<wanted])
                    let count = try file.content.read(into: rest, at: offset + UInt64(filled))
                    if count == 0 { break }
                    filled += count
                }
            } catch { failure = error }
        }
        if let failure {
            throw ByteSourceError(code: failure.code.rawValue, description: failure.description)
        }
        return bytes
    }
}
