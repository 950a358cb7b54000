import FileValues

extension SourceReader where Source: ~Copyable {
    /// Reads a PNG, chunk by chunk to its IEND. PNG third edition, 5.
    ///
    /// Verifies the checksums of IHDR and IEND; those of the pixels would require reading every byte.
    mutating func readPNG(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        var position: UInt64 = 8
        var hasPixels = false
        for index in 0..<1_000_000 {
            let header = try bytes(at: position, count: 8)
            guard header.count == 8 else {
                return .cutShort(reason: "PNG is cut short: \(byteCount(size)), no IEND chunk")
            }
            let length = header[0..<4].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let type = FourCC(code: header[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            guard header[4..<8].allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) }), length < 0x8000_0000 else {
                if header.allSatisfy({ $0 == 0 }) {
                    return .cutShort(
                        reason:
                            "PNG has zero bytes where a chunk should be, at byte \(grouped(position)): not written yet?"
                    )
                }
                return .malformed(reason: "PNG has no chunk where one should be, at byte \(grouped(position))")
            }
            let end = position + 12 + length
            guard end <= size else {
                return .cutShort(
                    reason: "PNG is cut short: its \(type.text) chunk ends at byte \(grouped(end)), the file at "
                        + grouped(size))
            }
            if index == 0 {
                guard type == "IHDR", length == 13, try hasSoundCheck(at: position + 4, count: 17) else {
                    return .malformed(reason: "PNG does not begin with a sound IHDR chunk")
                }
                report.width = try unsigned(at: position + 8, width: 4).map { UInt32($0) }
                report.height = try unsigned(at: position + 12, width: 4).map { UInt32($0) }
            }
            switch type {
            case "IEND":
                guard length == 0, try hasSoundCheck(at: position + 4, count: 4) else {
                    return .malformed(reason: "PNG's IEND chunk at byte \(grouped(position)) is damaged")
                }
                guard hasPixels else { return .malformed(reason: "PNG has no pixels: no IDAT chunk") }
                if end < size {
                    return try judgeRest(from: end, "PNG has its IEND chunk", trailers: &report.trailers)
                }
                return .whole(evidence: "PNG ends with its IEND chunk")
            case "IDAT":
                hasPixels = true
                pixels?.note(position + 4, position + 8 + length, .checked)
            case "fdAT": pixels?.note(position + 4, position + 8 + length, .checked)
            case "eXIf": try readExif(at: position + 8, length: length, into: &report)
            case "tIME": try readPNGTime(at: position + 8, length: length, into: &report)
            case "tEXt", "zTXt", "iTXt": try readPNGText(type, at: position + 8, length: length, into: &report)
            default: break
            }
            position = end
        }
        return .weak(reason: "PNG has more than 1,000,000 chunks, which were not followed to the end")
    }

    /// Whether the CRC-32 after `count` bytes at `offset` is correct.
    private mutating func hasSoundCheck(at offset: UInt64, count: Int) throws(WalkStop) -> Bool {
        let content = try bytes(at: offset, count: count)
        let check = try unsigned(at: offset + UInt64(count), width: 4)
        var computed = CRC32()
        computed.update(content)
        return check == UInt64(computed.value)
    }

    /// Reads the time of the last change: a year of two bytes, then month, day, hour, minute, second; in UTC.
    private mutating func readPNGTime(
        at place: UInt64, length: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        let time = try bytes(at: place, count: 7).map { Int($0) }
        guard length == 7, time.count == 7 else { return }
        let year = time[0] << 8 | time[1]
        guard let date = CivilDate(year: year, month: time[2], day: time[3]),
            let local = CivilDateTime(date, hour: time[4], minute: time[5], second: time[6])
        else {
            let text = time.map { String($0) }.joined(separator: " ")
            let reading = RecordedDate.Reading.unreadable(DateText.Refusal.noSuchDay.words)
            report.record(RecordedDate(provenance: .pngTime, text: text, reading: reading))
            return
        }
        report.record(
            RecordedDate(provenance: .pngTime, text: "\(local) UTC", reading: .instant(local.instant(offset: 0))))
    }

    /// Reads a text chunk: a keyword, a zero, and the text, which may be compressed. PNG third edition, 11.3.3.
    private mutating func readPNGText(
        _ type: FourCC, at place: UInt64, length: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        let keyword = try bytes(at: place, count: Int(min(length, 80))).prefix { $0 != 0 }
        let name = String(decoding: keyword, as: UTF8.self)
        guard keyword.count < 80,
            [
                "creation time", "creationtime", "xml:com.adobe.xmp", "title", "description", "comment", "author",
                "copyright",
            ]
            .contains(name.lowercased()) || name.hasPrefix("Raw profile type ")
        else { return }
        let content = try metadataBytes(at: place, count: length)
        var text = content.dropFirst(keyword.count + 1)
        var isCompressed = type == "zTXt"
        if type == "zTXt" { _ = text.popFirst() }
        if type == "iTXt" {
            // Compression flag and method, then language and translated keyword, each with a zero.
            guard let flag = text.popFirst(), text.popFirst() != nil else { return }
            isCompressed = flag == 1
            for _ in 0..<2 { text = text.drop { $0 != 0 }.dropFirst() }
        }
        guard
            let value = isCompressed
                ? inflated(Array(text), limit: min(XMPProperties.longest, metadataLeft)) : Array(text)
        else { return }
        if isCompressed { _ = spendMetadata(UInt64(value.count)) }
        record(value, of: name, isUTF8: type == "iTXt", into: &report)
    }

    private func record(_ value: [UInt8], of keyword: String, isUTF8: Bool, into report: inout PhotoReport) {
        var text: String { isUTF8 ? String(decoding: value, as: UTF8.self) : latin1(value) }
        switch keyword.lowercased() {
        // ImageMagick writes it as one word.
        case "creation time", "creationtime": report.record(RecordedDate(provenance: .pngText, bytes: value))
        case "xml:com.adobe.xmp":
            var xmp = XMPProperties()
            xmp.add(value)
            report.record(xmp)
        case "title": report.metadata[.png, default: PhotoMetadata()].title = keptText(text)
        case "description", "comment":
            let caption = report.metadata[.png]?.caption
            report.metadata[.png, default: PhotoMetadata()].caption = caption ?? keptText(text)
        case "author": report.metadata[.png, default: PhotoMetadata()].creators = keptTexts([text])
        case "copyright": report.metadata[.png, default: PhotoMetadata()].copyright = keptText(text)
        default:
            guard keyword.hasPrefix("Raw profile type "), let profile = Self.rawProfile(value) else { return }
            switch keyword.dropFirst(17) {
            case "exif", "APP1", "app1":
                if profile.begins(with: "http://ns.adobe.com/xap/1.0/\0") {
                    var xmp = XMPProperties()
                    xmp.add(Array(profile.dropFirst(29)))
                    report.record(xmp)
                } else {
                    readExif(in: profile, into: &report)
                }
            case "xmp":
                var xmp = XMPProperties()
                xmp.add(profile)
                report.record(xmp)
            case "iptc", "8bim":
                let resources = ImageResources(profile)
                if resources.iptc == nil { report.record(profile, digest: nil) }
                report.record(resources)
            default: break
            }
        }
    }

    /// The bytes of a profile that ImageMagick stored: a line with its name, one with its length, and hexadecimal digits.
    private static func rawProfile(_ text: [UInt8]) -> [UInt8]? {
        let lines = text.drop { $0 == 0x0A }.split(separator: 0x0A, maxSplits: 2)
        guard lines.count == 3 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(lines[2].count / 2)
        var high: UInt8?
        for character in lines[2] {
            guard let digit = Character(Unicode.Scalar(character)).hexDigitValue else { continue }
            if let first = high {
                bytes.append(first << 4 | UInt8(digit))
                high = nil
            } else {
                high = UInt8(digit)
            }
        }
        return bytes
    }
}

/// The CRC-32 of ISO 3309, used by PNG.
struct CRC32 {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    private var register: UInt32 = 0xFFFF_FFFF

    /// The checksum of all bytes so far.
    var value: UInt32 { ~register }

    /// Adds the next bytes.
    mutating func update(_ bytes: [UInt8]) {
        let table = Self.table
        for byte in bytes { register = register >> 8 ^ table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] }
    }
}
