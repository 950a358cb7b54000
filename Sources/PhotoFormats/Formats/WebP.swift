extension SourceReader where Source: ~Copyable {
    /// Reads a WebP, chunk by chunk inside its RIFF. RFC 9649.
    mutating func readWebP(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        guard let length = try unsigned(at: 4, width: 4, littleEndian: true) else {
            return .cutShort(reason: "WebP is cut short: \(byteCount(size))")
        }
        let end = 8 + length
        guard end <= size else {
            return .cutShort(
                reason: "WebP is cut short: its RIFF ends at byte \(grouped(end)), the file at \(grouped(size))")
        }
        var position: UInt64 = 12
        var hasPicture = false
        for _ in 0..<1_000_000 where position < end {
            let header = try bytes(at: position, count: 4)
            guard end - position >= 8, header.count == 4,
                let content = try unsigned(at: position + 4, width: 4, littleEndian: true)
            else { return .malformed(reason: "WebP has no chunk where one should be, at byte \(grouped(position))") }
            let type = FourCC(code: header.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            let next = position + 8 + content
            guard next <= end else {
                return .malformed(
                    reason: "WebP's \(type.text) chunk at byte \(grouped(position)) does not fit into its RIFF")
            }
            // Some writers end the name of a chunk with a zero instead of a space.
            guard type.isPlausible || FourCC(code: type.code | 0x20).isPlausible else {
                return .malformed(reason: "WebP has no chunk where one should be, at byte \(grouped(position))")
            }
            switch type {
            case "VP8 ", "VP8L", "VP8X", "ANMF":
                hasPicture = hasPicture || type != "VP8X"
                try readWebPSize(type, at: position + 8, into: &report)
                try noteWebPPixels(type, from: position + 8, to: next)
            case "EXIF":
                // Some writers copy JPEG's "Exif\0\0" before the block.
                let skip: UInt64 = try bytes(at: position + 8, count: 6).begins(with: "Exif\0\0") ? 6 : 0
                try readExif(at: position + 8 + skip, length: content - min(content, skip), into: &report)
            case "XMP ", "XMP\0":
                report.record(try xmpPacket(at: position + 8, length: content))
            default: break
            }
            // Chunks begin at even offsets.
            position = next + content % 2
        }
        guard position >= end else {
            return .weak(reason: "WebP has more than 1,000,000 chunks, which were not followed to the end")
        }
        guard hasPicture else { return .malformed(reason: "WebP has no picture in it") }
        let rest = size - end
        guard rest > 1 else { return .whole(evidence: "WebP ends where its RIFF says, at byte \(grouped(end))") }
        return try judgeRest(
            from: end, "WebP's RIFF ends at byte \(grouped(end))", trailers: &report.trailers)
    }

    /// Notes the data of a lossless picture, also in a frame of an animation. A lossy one may contain zeros where it is
    /// uniform.
    private mutating func noteWebPPixels(_ type: FourCC, from start: UInt64, to end: UInt64) throws(WalkStop) {
        guard pixels != nil else { return }
        if type == "VP8L" { pixels?.note(start, end, .neverZeros) }
        guard type == "ANMF" else { return }
        // Place, size, duration and flags of the frame, then chunks.
        var position = start + 16
        for _ in 0..<8 where position + 8 <= end {
            guard let code = try unsigned(at: position, width: 4),
                let length = try unsigned(at: position + 4, width: 4, littleEndian: true), length <= end - position - 8
            else { return }
            let inner = FourCC(code: UInt32(code))
            if inner == "VP8L" { pixels?.note(position + 8, position + 8 + length, .neverZeros) }
            position += 8 + length + length % 2
        }
    }

    /// Reads width and height from the canvas (VP8X), otherwise from the first picture.
    private mutating func readWebPSize(
        _ type: FourCC, at place: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        guard report.width == nil else { return }
        switch type {
        case "VP8X":
            guard let width = try unsigned(at: place + 4, width: 3, littleEndian: true),
                let height = try unsigned(at: place + 7, width: 3, littleEndian: true)
            else { return }
            (report.width, report.height) = (UInt32(width) + 1, UInt32(height) + 1)
        case "VP8L":
            guard try unsigned(at: place, width: 1) == 0x2F,
                let bits = try unsigned(at: place + 1, width: 4, littleEndian: true)
            else { return }
            (report.width, report.height) = (UInt32(bits & 0x3FFF) + 1, UInt32(bits >> 14 & 0x3FFF) + 1)
        case "VP8 ":
            guard try bytes(at: place + 3, count: 3) == [0x9D, 0x01, 0x2A],
                let width = try unsigned(at: place + 6, width: 2, littleEndian: true),
                let height = try unsigned(at: place + 8, width: 2, littleEndian: true)
            else { return }
            (report.width, report.height) = (UInt32(width & 0x3FFF), UInt32(height & 0x3FFF))
        default: return
        }
    }
}
