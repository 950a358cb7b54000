/// JPEG 2000 and JPEG XL: boxes behind a signature of 12 bytes, or a bare codestream.
extension SourceReader where Source: ~Copyable {
    /// Reads a JP2, or a bare codestream, which ends with a marker that its data cannot contain. ISO/IEC 15444-1,
    /// annexes A and I.
    mutating func readJP2(isBare: Bool, into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        if isBare {
            try readJP2Size(at: 0, into: &report)
            try noteTiles(from: 0, to: size)
            return try judgeJP2(endingAt: size, report: &report)
        }
        // The end of the codestream: of its box, or of the last fragment that a table names.
        var codestreamEnd: UInt64?
        var isElsewhere = false
        let end = try walkBoxes("JP2") { box, reader throws(WalkStop) in
            switch box.type {
            case "jp2h":
                if let header = try reader.child("ihdr", of: box) {
                    report.height = try reader.unsigned(at: header.body, width: 4).map { UInt32($0) }
                    report.width = try reader.unsigned(at: header.body + 4, width: 4).map { UInt32($0) }
                }
            case "jp2c":
                codestreamEnd = box.end
                try reader.noteTiles(from: box.body, to: box.end)
            case "ftbl":
                guard let list = try reader.child("flst", of: box) else { return }
                let (end, isHere) = try reader.readFragments(of: list)
                codestreamEnd = end ?? codestreamEnd
                isElsewhere = isElsewhere || !isHere
            case "uuid" where box.end - box.body >= 16:
                let identifier = try reader.bytes(at: box.body, count: 16)
                if identifier == xmpIdentifier {
                    report.record(try reader.xmpPacket(at: box.body + 16, length: box.end - box.body - 16))
                } else if identifier.begins(with: "JpgTiffExif->JP2") {
                    try reader.readExif(at: box.body + 16, length: box.end - box.body - 16, into: &report)
                }
            default: break
            }
        }
        if isElsewhere { return .lacking(reason: "JPX has fragments of its codestream in other files") }
        guard let codestreamEnd else { return .cutShort(reason: "JP2 has no codestream in its \(byteCount(size))") }
        let completeness = try judgeJP2(endingAt: codestreamEnd, report: &report)
        guard case .whole = completeness, end < size else { return completeness }
        return try judgeEnd(end, "JP2's boxes", trailers: &report.trailers)
    }

    private mutating func judgeJP2(endingAt end: UInt64, report: inout PhotoReport) throws(WalkStop) -> Completeness {
        guard end >= 2, try unsigned(at: end - 2, width: 2) == 0xFFD9 else {
            return .cutShort(reason: "JPEG 2000 codestream has no end marker at byte \(grouped(end))")
        }
        return .whole(evidence: "JPEG 2000 codestream ends with its end marker")
    }

    /// Reads the fragments of a codestream; returns the end of the last one in this file, and whether all are in it. Throws
    /// if one is beyond the end of the file. ISO/IEC 15444-2, M.11.3.
    private mutating func readFragments(of list: Box) throws(WalkStop) -> (end: UInt64?, areHere: Bool) {
        var end: UInt64?
        var areHere = true
        for index in 0..<(try unsigned(at: list.body, width: 2) ?? 0) {
            let entry = list.body + 2 + index * 14
            guard entry + 14 <= list.end, let place = try unsigned(at: entry, width: 8),
                let length = try unsigned(at: entry + 8, width: 4),
                let file = try unsigned(at: entry + 12, width: 2)
            else { throw .found(.malformed(reason: "JPX has a damaged list of fragments")) }
            if file != 0 {
                areHere = false
                continue
            }
            guard place <= size, length <= size - place else {
                throw .found(
                    .cutShort(
                        reason:
                            "JPX is cut short: a fragment of \(byteCount(length)) begins at byte \(grouped(place)), "
                            + "the file ends at \(grouped(size))"))
            }
            end = place + length
        }
        return (end, areHere)
    }

    /// Notes the tiles of a codestream if zeros in them are unwritten. Its arithmetic code has no long runs of zeros, but a
    /// packet without data is a zero, and so is a block that contributes nothing to a further layer; uncoded bits may be.
    /// ISO/IEC 15444-1, A.6.1 and B.10; 15444-15.
    private mutating func noteTiles(from start: UInt64, to end: UInt64) throws(WalkStop) {
        guard pixels != nil, let components = try unsigned(at: start + 40, width: 2) else { return }
        var isCompact = false
        var position = start + 2
        for _ in 0..<256 {
            guard let marker = try unsigned(at: position, width: 2),
                let length = try unsigned(at: position + 2, width: 2)
            else { return }
            switch marker {
            case 0xFF52:
                guard let precincts = try unsigned(at: position + 4, width: 1),
                    let layers = try unsigned(at: position + 6, width: 2),
                    let levels = try unsigned(at: position + 9, width: 1),
                    let style = try unsigned(at: position + 12, width: 1)
                else { return }
                isCompact = precincts & 1 == 0 && layers == 1 && components * (levels + 1) <= 256 && style & 1 == 0
            // Another coder, or other parameters for a component.
            case 0xFF50, 0xFF53: return
            case 0xFF90:
                if isCompact { pixels?.note(position, end, .neverZeros) }
                return
            default: break
            }
            position += 2 + length
        }
    }

    /// Reads the size of the image from the codestream's first segment.
    private mutating func readJP2Size(at start: UInt64, into report: inout PhotoReport) throws(WalkStop) {
        guard let right = try unsigned(at: start + 8, width: 4), let bottom = try unsigned(at: start + 12, width: 4),
            let left = try unsigned(at: start + 16, width: 4), let top = try unsigned(at: start + 20, width: 4),
            left < right, top < bottom
        else { return }
        (report.width, report.height) = (UInt32(right - left), UInt32(bottom - top))
    }

    /// Reads a JPEG XL. ISO/IEC 18181-2, 9; a bare codestream (18181-1) has neither length nor end marker. Uniform parts of
    /// a picture may be runs of zeros, since encoders in a hurry use prefix codes: no range of it is noted.
    mutating func readJXL(isBare: Bool, into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        if isBare {
            try readJXLSize(at: 0, into: &report)
            return .weak(reason: "JXL is a bare codestream, which has no end marker")
        }
        var hasCodestream = false
        var lastPart: Bool?
        var isOpen = false
        let end = try walkBoxes("JXL") { box, reader throws(WalkStop) in
            if box.isOpen { isOpen = true }
            switch box.type {
            case "jxlc":
                hasCodestream = true
                try reader.readJXLSize(at: box.body, into: &report)
            case "jxlp":
                // The highest bit of a part's number marks the last one.
                guard let number = try reader.unsigned(at: box.body, width: 4) else { return }
                if lastPart == nil { try reader.readJXLSize(at: box.body + 4, into: &report) }
                lastPart = lastPart == true || number & 0x8000_0000 != 0
            case "Exif" where box.end - box.body >= 4:
                guard let offset = try reader.unsigned(at: box.body, width: 4), offset <= box.end - box.body - 4 else {
                    return
                }
                try reader.readExif(
                    at: box.body + 4 + offset, length: box.end - box.body - 4 - offset, into: &report)
            case "xml ": report.record(try reader.xmpPacket(at: box.body, length: box.end - box.body))
            default: break
            }
        }
        if lastPart == false { return .cutShort(reason: "JXL is cut short: its last part is missing") }
        guard hasCodestream || lastPart == true else {
            return .cutShort(reason: "JXL has no codestream in its \(byteCount(size))")
        }
        if isOpen { return .weak(reason: "JXL's last box runs to the end of the file, wherever that is") }
        return try judgeEnd(end, "JXL's boxes", trailers: &report.trailers)
    }

    /// Reads the size header of a codestream: bits from the lowest up. ISO/IEC 18181-1, D.1.
    private mutating func readJXLSize(at start: UInt64, into report: inout PhotoReport) throws(WalkStop) {
        guard report.width == nil, try unsigned(at: start, width: 2) == 0xFF0A,
            var bits = try unsigned(at: start + 2, width: 8, littleEndian: true)
        else { return }
        func take(_ count: UInt64) -> UInt64 {
            defer { bits >>= count }
            return bits & ((1 << count) - 1)
        }
        let isSmall = take(1) == 1
        func length() -> UInt64 {
            if isSmall { return (take(5) + 1) * 8 }
            let widths: [UInt64] = [9, 13, 18, 30]
            return take(widths[Int(take(2))]) + 1
        }
        let height = length()
        let ratios: [(UInt64, UInt64)] = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)]
        let ratio = Int(take(3))
        let width = ratio == 0 ? length() : height * ratios[ratio - 1].0 / ratios[ratio - 1].1
        (report.width, report.height) = (UInt32(width), UInt32(height))
    }
}
