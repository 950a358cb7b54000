extension SourceReader where Source: ~Copyable {
    /// Reads a GIF, block by block to its trailer byte. GIF89a, appendix B.
    mutating func readGIF(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let cutShort = Completeness.cutShort(reason: "GIF is cut short: \(byteCount(size)), no trailer")
        let screen = try bytes(at: 6, count: 7)
        guard screen.count == 7 else { return cutShort }
        report.width = UInt32(screen[0]) | UInt32(screen[1]) << 8
        report.height = UInt32(screen[2]) | UInt32(screen[3]) << 8
        var position = 13 + Self.colourTableSize(screen[4])
        var hasPicture = false
        // Every round consumes at least one byte, so the file's size bounds the loop.
        while let introducer = try unsigned(at: position, width: 1) {
            switch introducer {
            case 0x3B:
                guard hasPicture else { return .malformed(reason: "GIF ends without a picture in it") }
                let end = position + 1
                if end < size {
                    return try judgeRest(from: end, "GIF has its trailer", trailers: &report.trailers)
                }
                return .whole(evidence: "GIF ends with its trailer")
            case 0x21:
                guard let next = try endOfSubBlocks(from: position + 2) else { return cutShort }
                // XMP is no sub-block: 258 bytes after it lead whoever takes its characters for lengths to the end.
                if next - position > 14 + 258,
                    try bytes(at: position + 1, count: 13) == [0xFF, 11] + Array("XMP DataXMP".utf8)
                {
                    report.record(try xmpPacket(at: position + 14, length: next - position - 14 - 258))
                }
                position = next
            case 0x2C:
                guard let packed = try unsigned(at: position + 9, width: 1) else { return cutShort }
                // The colour table of this picture, then one byte with the code size.
                let data = position + 10 + Self.colourTableSize(UInt8(packed)) + 1
                guard let next = try endOfSubBlocks(from: data) else { return cutShort }
                // An empty block ends a picture, so it contains no run of zeros.
                pixels?.note(data, next, .neverZeros)
                position = next
                hasPicture = true
            case 0:
                // Some writers leave padding between blocks, but an unwritten rest is all zeros: the next other byte
                // decides.
                let next = try offsetOfNonzero(from: position, before: size)
                pixels?.note(position, next, .neverZeros)
                position = next
            default:
                return .malformed(reason: "GIF has no block where one should be, at byte \(grouped(position))")
            }
        }
        return cutShort
    }

    /// The end of a chain of length-prefixed sub-blocks, after its empty one; nil if the file ends before.
    private mutating func endOfSubBlocks(from start: UInt64) throws(WalkStop) -> UInt64? {
        var position = start
        while let length = try unsigned(at: position, width: 1) {
            position += 1 + length
            if length == 0 { return position }
        }
        return nil
    }

    /// The size in bytes of a colour table, by its packed field.
    private static func colourTableSize(_ packed: UInt8) -> UInt64 {
        packed & 0x80 == 0 ? 0 : 3 << (UInt64(packed & 7) + 1)
    }
}
