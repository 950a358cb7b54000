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

/// Makes a hash of bytes as they come.
package struct ContentHasher {
    private var hasher = SHA256()

    package init() {}

    /// Takes the bytes that follow.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bufferPointer: bytes) }

    /// The hash of all that came.
    package func hash() -> ContentHash { ContentHash(hasher.finalize()) }
}

/// The hash of what was read, and how many bytes that were.
struct HashedContent: Hashable {
    let hash: ContentHash
    let size: UInt64
}

/// What reading a file through has shown.
package struct SourceContent: Hashable, Sendable {
    package let hash: ContentHash
    /// Where 4096 bytes of it in a row, or nearly as many, are zeros: room that was made before there were bytes for it,
    /// maybe. The first ones, in order, in whole pieces of 512 bytes.
    package let emptyBlocks: [Range<UInt64>]

    /// Zeros are looked for in pieces of so many bytes, almost each of which is decided by its first eight.
    static let pieceSize: UInt64 = 512
}

/// Looks for a page's worth of zeros, wherever it begins: room that some program made and has not come to fill need not
/// begin where a page does, as it is the bytes around it that are there.
private struct ZeroRun {
    private static let piece = Int(SourceContent.pieceSize)
    /// So many whole pieces are in every run of 4096 zeros.
    private static let most = 7
    /// More are not kept.
    private static let mostRuns = 1_024

    private var pieces = 0
    /// Whether the run that goes on is the last of ``runs``.
    private var isKept = false
    private var position: UInt64 = 0
    private(set) var runs: [Range<UInt64>] = []

    /// `buffer` follows on the one before. A short read shifts the pieces of the rest, which costs a run at most.
    mutating func look(at buffer: UnsafeRawBufferPointer) {
        for start in stride(from: 0, through: buffer.count - Self.piece, by: Self.piece) {
            guard isZero(buffer, from: start) else {
                (pieces, isKept) = (0, false)
                continue
            }
            pieces += 1
            let end = position + UInt64(start + Self.piece)
            if pieces == Self.most, runs.count < Self.mostRuns {
                runs.append((end - UInt64(pieces * Self.piece))..<end)
                isKept = true
            } else if pieces > Self.most, isKept {
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

    /// The same, and where there are blocks of zeros.
    package func read(_ work: FileWork = FileWork()) throws(FilingError) -> SourceContent {
        work.willEnter(.hashSource)
        var zeros = ZeroRun()
        let result = try hashContent(
            of: content, expectedSize: identity.size, work: work, .hashSource, .source, path: path
        ) { bytes in
            zeros.look(at: bytes)
        }
        guard result.size == identity.size else {
            throw FilingError(.hashSource, .source, .sourceChanged("its size"), path: path)
        }
        try requireUnchanged(.hashSource)
        return SourceContent(hash: result.hash, emptyBlocks: zeros.runs)
    }
}
