import Crypto
import FileValues
import LinuxKernel

/// The SHA-256 of a file's content.
package struct ContentHash: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    package let bytes: [UInt8]

    /// A hash kept elsewhere; nil unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == SHA256.byteCount else { return nil }
        self.bytes = bytes
    }

    fileprivate init(_ digest: SHA256.Digest) { bytes = Array(digest) }

    /// 64 lower-case hexadecimal digits.
    package var description: String {
        bytes.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The hash of what was read, and how many bytes that were.
struct HashedContent: Hashable {
    let hash: ContentHash
    let size: UInt64
}

/// The size of the pieces in which files are read.
let blockSize = 1 << 20

/// Hashes an open file from its start to its end, or to one byte beyond `expectedSize`: a file that keeps growing ends
/// the reading, and its size then tells.
func hashContent(
    of file: borrowing OwnedDescriptor, expectedSize: UInt64, work: FileWork,
    _ step: FilingStep, _ side: FilingError.Side, path: BytePath
) throws(FilingError) -> HashedContent {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: Int(min(UInt64(blockSize), expectedSize + 1)), alignment: 4096)
    defer { buffer.deallocate() }
    file.adviseSequentialReading()
    var hasher = SHA256()
    var size: UInt64 = 0
    while size <= expectedSize {
        if work.shouldStop() { throw FilingError(step, side, .stopped, path: path) }
        let count: Int
        do { count = try file.read(into: buffer, at: size) } catch {
            throw FilingError(step, side, .system(error), path: path)
        }
        if count == 0 { break }
        hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        size += UInt64(count)
    }
    return HashedContent(hash: ContentHash(hasher.finalize()), size: size)
}

extension SourceFile {
    /// The SHA-256 of the content, which must stay unchanged meanwhile.
    package func hash(_ work: FileWork = FileWork()) throws(FilingError) -> ContentHash {
        work.willEnter(.hashSource)
        let result = try hashContent(
            of: content, expectedSize: identity.size, work: work, .hashSource, .source, path: path)
        guard result.size == identity.size else {
            throw FilingError(.hashSource, .source, .sourceChanged("its size"), path: path)
        }
        try requireUnchanged(.hashSource)
        return result.hash
    }
}
