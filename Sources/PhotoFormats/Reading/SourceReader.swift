/// Reads numbers and short runs of bytes from a source through one window, so that following a structure needs few
/// reads.
///
/// Offsets may come from the file itself: a read beyond the end returns nil or fewer bytes and never traps.
struct SourceReader<Source: ByteSource & ~Copyable>: ~Copyable {
    private var source: Source
    /// The size of the source when reading began; nothing beyond it is read.
    let size: UInt64
    private var window: [UInt8] = []
    private var windowStart: UInt64 = 0
    /// The bytes read from the source so far; repeated ones count again.
    private(set) var bytesRead: UInt64 = 0
    /// The ranges of pixels, if requested.
    var pixels: PixelMap?
    /// Whether only metadata is wanted: a JPEG is then read up to its pixels.
    let stopsAtPixels: Bool
    /// Bytes of texts, packets and profiles that may still be read. A hostile file has any number of them, at one place or
    /// compressed.
    private(set) var metadataLeft = 4 << 20

    /// The size of a small read: enough for the headers that usually follow, small compared with a photo. Less while
    /// headers are read that lie far apart.
    var usualWindow = 16 * 1024
    /// The size of a read of a scan: large enough to make the call cheap, and below the size from which the allocator
    /// maps each block anew (`HeapMemory.keepSmall`), since each page of such a block costs a fault.
    private static var scanWindow: Int { 64 * 1024 }

    init(_ source: consuming Source, locatingPixels: Bool = false, stopsAtPixels: Bool = false) {
        size = source.size
        self.stopsAtPixels = stopsAtPixels
        pixels = locatingPixels ? PixelMap() : nil
        self.source = source
    }

    /// Returns the source to its owner.
    consuming func release() -> Source { source }

    /// Takes at most `count` bytes from the budget of metadata; returns how many.
    mutating func spendMetadata(_ count: UInt64) -> Int {
        let granted = Int(min(count, UInt64(metadataLeft), 1 << 20))
        metadataLeft -= granted
        return granted
    }

    /// At most `count` bytes of a block of metadata, within the file's budget.
    mutating func metadataBytes(at offset: UInt64, count: UInt64) throws(WalkStop) -> [UInt8] {
        try bytes(at: offset, count: spendMetadata(count))
    }

    /// At most `count` bytes from `offset`; fewer at the end of the source.
    mutating func bytes(at offset: UInt64, count: Int) throws(WalkStop) -> [UInt8] {
        let range = try cover(offset, count, fetching: usualWindow)
        return Array(window[range])
    }

    /// An unsigned number of 1 to 8 bytes; nil if it is not entirely inside the source.
    mutating func unsigned(at offset: UInt64, width: Int, littleEndian: Bool = false) throws(WalkStop) -> UInt64? {
        let range = try cover(offset, width, fetching: usualWindow)
        guard range.count == width, width <= 8 else { return nil }
        var value: UInt64 = 0
        if littleEndian {
            for index in range.reversed() { value = value << 8 | UInt64(window[index]) }
        } else {
            for index in range { value = value << 8 | UInt64(window[index]) }
        }
        return value
    }

    /// The offset of the first JPEG marker from `offset` on: 0xFF before neither a stuffed zero, a fill byte nor a
    /// restart number. Nil if there is none before the end.
    mutating func offsetOfMarker(from offset: UInt64) throws(WalkStop) -> UInt64? {
        var position = offset
        while position < size {
            let range = try cover(position, 2, fetching: Self.scanWindow)
            guard range.count == 2 else { return nil }
            if let index = firstMarker(in: window, from: range.lowerBound) { return windowStart + UInt64(index) }
            // The last byte is examined again with the next: a marker may span two windows.
            position = windowStart + UInt64(window.count - 1)
        }
        return nil
    }

    /// The offset of the first byte that is not zero, from `offset` on; `limit` if there is none before it.
    mutating func offsetOfNonzero(from offset: UInt64, before limit: UInt64) throws(WalkStop) -> UInt64 {
        var position = offset
        while position < limit {
            let range = try cover(position, 1, fetching: usualWindow)
            guard range.count == 1 else { return position }
            if let index = window[range.lowerBound...].firstIndex(where: { $0 != 0 }) {
                return min(windowStart + UInt64(index), limit)
            }
            position = windowStart + UInt64(window.count)
        }
        return limit
    }

    /// Fills the window with `count` bytes at `offset`, as far as they exist, and returns their range in it.
    private mutating func cover(
        _ offset: UInt64, _ count: Int, fetching usual: Int
    ) throws(WalkStop) -> Range<Int> {
        guard offset < size, count > 0 else { return 0..<0 }
        let wanted = Int(min(UInt64(count), size - offset))
        if offset >= windowStart, offset - windowStart <= UInt64(window.count) {
            let start = Int(offset - windowStart)
            if window.count - start >= wanted { return start..<(start + wanted) }
        }
        let asked = Int(min(UInt64(max(wanted, usual)), size - offset))
        window = []
        do { window = try source.read(at: offset, count: asked) } catch { throw .failed(error) }
        windowStart = offset
        bytesRead &+= UInt64(window.count)
        return 0..<min(wanted, window.count)
    }
}

/// Ends the reading of a file's structure early.
enum WalkStop: Error {
    /// The completeness is known; the report keeps the fields read before.
    case found(Completeness)
    /// The source could not be read.
    case failed(ByteSourceError)
}
