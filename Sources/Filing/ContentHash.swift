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

/// What reading a file through has shown.
package struct SourceContent: Hashable, Sendable {
    package let hash: ContentHash
    /// Whether some block of it holds nothing but zeros: room that was made before there were bytes for it, maybe.
    package let hasEmptyBlocks: Bool
}

/// What a file system fills at once, when room is made.
private let pageSize = 4096

/// Whether one of the whole pages in `buffer`, which begins at a page of the file, is all zeros. Almost every page is
/// decided by its first eight bytes.
private func hasEmptyPage(_ buffer: UnsafeRawBufferPointer) -> Bool {
    for page in 0..<buffer.count / pageSize
    where buffer.loadUnaligned(fromByteOffset: page * pageSize, as: UInt64.self) == 0 {
        let words = stride(from: page * pageSize, to: (page + 1) * pageSize, by: 8)
        if words.allSatisfy({ buffer.loadUnaligned(fromByteOffset: $0, as: UInt64.self) == 0 }) { return true }
    }
    return false
}

/// The size of the pieces in which files are read.
let blockSize = 1 << 20

/// Hashes an open file from its start to its end, or to one byte beyond `expectedSize`: a file that keeps growing ends
/// the reading, and its size then tells.
func hashContent(
    of file: borrowing OwnedDescriptor, expectedSize: UInt64, work: FileWork,
    _ step: FilingStep, _ side: FilingError.Side, path: BytePath,
    look: (UnsafeRawBufferPointer) -> Void = { _ in }
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
        let read = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        hasher.update(bufferPointer: read)
        look(read)
        size += UInt64(count)
    }
    return HashedContent(hash: ContentHash(hasher.finalize()), size: size)
}

extension SourceFile {
    /// The SHA-256 of the content, which must stay unchanged meanwhile.
    package func hash(_ work: FileWork = FileWork()) throws(FilingError) -> ContentHash {
        try read(work).hash
    }

    /// The same, and whether there are blocks of zeros.
    package func read(_ work: FileWork = FileWork()) throws(FilingError) -> SourceContent {
        work.willEnter(.hashSource)
        var hasEmptyBlocks = false
        let result = try hashContent(
            of: content, expectedSize: identity.size, work: work, .hashSource, .source, path: path
        ) { bytes in
            // A short read shifts the pages of the rest: then some are not seen, which only costs caution.
            if !hasEmptyBlocks { hasEmptyBlocks = hasEmptyPage(bytes) }
        }
        guard result.size == identity.size else {
            throw FilingError(.hashSource, .source, .sourceChanged("its size"), path: path)
        }
        try requireUnchanged(.hashSource)
        return SourceContent(hash: result.hash, hasEmptyBlocks: hasEmptyBlocks)
    }
}
