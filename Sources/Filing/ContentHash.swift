import Crypto
import FileValues
import LinuxKernel

/// The SHA-256 of a file's content.
package struct ContentHash: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    package let bytes: [UInt8]

    /// A stored hash; nil unless it has 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == SHA256.byteCount else { return nil }
        self.bytes = bytes
    }

    fileprivate init(_ digest: SHA256.Digest) { bytes = Array(digest) }

    /// 64 lower-case hexadecimal digits.
    package var description: String { hexadecimal(bytes) }
}

/// Hashes bytes incrementally.
package struct ContentHasher: Sendable {
    private var hasher = SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bufferPointer: bytes) }

    /// Returns the hash of all bytes so far.
    package func hash() -> ContentHash { ContentHash(hasher.finalize()) }
}

/// The hash and the number of the bytes that were read.
struct HashedContent: Hashable {
    let hash: ContentHash
    let size: UInt64
}

/// The result of reading a whole file.
package struct SourceContent: Hashable, Sendable {
    package let hash: ContentHash
    /// The first runs of about 4096 or more zeros, in order, in whole pieces of 512 bytes; perhaps space that was
    /// allocated and not yet written.
    package let emptyBlocks: [Range<UInt64>]
    /// The piece size, in bytes, for finding zeros. For most pieces the first eight bytes decide.
    static let pieceSize: UInt64 = 512
}

/// Finds a page's worth of zeros at any offset: a gap that a program has not yet filled begins where the written bytes
/// end, not at a page.
private struct ZeroRun {
    private static let piece = Int(SourceContent.pieceSize)
    /// The number of whole pieces that every run of 4096 zeros contains.
    private static let minimumPieces = 7
    private static let maximumRuns = 1_024

    private var pieces = 0
    /// Whether the current run is the last of ``runs``.
    private var isKept = false
    private var position: UInt64 = 0
    private(set) var runs: [Range<UInt64>] = []

    /// Scans the next buffer of the file. A short read shifts later pieces, which hides one run at most.
    mutating func scan(_ buffer: UnsafeRawBufferPointer) {
        for start in stride(from: 0, through: buffer.count - Self.piece, by: Self.piece) {
            guard isZero(buffer, from: start) else {
                (pieces, isKept) = (0, false)
                continue
            }
            pieces += 1
            let end = position + UInt64(start + Self.piece)
            if pieces == Self.minimumPieces, runs.count < Self.maximumRuns {
                runs.append((end - UInt64(pieces * Self.piece))..<end)
                isKept = true
            } else if pieces > Self.minimumPieces, isKept {
                runs[runs.count - 1] = runs[runs.count - 1].lowerBound..<end
            }
        }
        position += UInt64(buffer.count)
    }

    private func isZero(_ buffer: UnsafeRawBufferPointer, from start: Int) -> Bool {
        guard buffer.loadUnaligned(fromByteOffset: start, as: UInt64.self) == 0 else { return false }
        return stride(from: start, to: start + Self.piece, by: 8).allSatisfy {
            buffer.loadUnaligned(fromByteOffset: $0, as: UInt64.self) == 0
        }
    }
}

/// The size of the pieces in which files are read.
let blockSize = 1 << 20

/// Hashes an open file from start to end, but to one byte beyond `expectedSize` at most, so that a growing file cannot
/// prolong the reading; the returned size then differs.
func hashContent(
    of file: borrowing OwnedDescriptor, expectedSize: UInt64, work: FileWork,
    _ step: FilingStep, _ side: FilingError.Side, path: BytePath,
    observe: (UnsafeRawBufferPointer) -> Void = { _ in }
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
        observe(read)
        size += UInt64(count)
    }
    return HashedContent(hash: ContentHash(hasher.finalize()), size: size)
}

extension SourceFile {
    /// Returns the SHA-256 of the content, which must not change meanwhile.
    package func hash(_ work: FileWork = FileWork()) throws(FilingError) -> ContentHash {
        try read(work).hash
    }

    /// Reads the content, which must not change meanwhile.
    package func read(_ work: FileWork = FileWork()) throws(FilingError) -> SourceContent {
        work.willEnter(.hashSource)
        var zeros = ZeroRun()
        let result = try hashContent(
            of: content, expectedSize: identity.size, work: work, .hashSource, .source, path: path
        ) { bytes in
            zeros.scan(bytes)
        }
        guard result.size == identity.size else {
            throw FilingError(.hashSource, .source, .sourceChanged("its size"), path: path)
        }
        try requireUnchanged(.hashSource)
        return SourceContent(hash: result.hash, emptyBlocks: zeros.runs)
    }
}
