/// The kind of a file's structure, by its first bytes; reading the structure then shows the format.
enum Container: Equatable {
    case jpeg, png, gif, webp, tiff, raf, psd, crw, x3f, mrw, avi, matroska
    /// JPEG 2000 and JPEG XL, as boxes or as a bare codestream.
    case jp2(isBare: Bool)
    case jxl(isBare: Bool)
    /// An MPEG transport stream with packets of `step` bytes.
    case transportStream(step: UInt64)
    /// A TIFF structure with a maker's magic number in place of 42.
    case cr2, rw2, orf
    /// Boxes of ISO/IEC 14496-12; `brands` are the major brand and the compatible ones.
    case boxes(brands: [UInt32])

    /// The number of bytes for ``detect(_:)``; fewer if the file is shorter.
    static let headerSize = 256

    /// The container that starts with `header`; nil if it is none that is filed.
    static func detect(_ header: [UInt8]) -> Container? {
        if header.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if header.starts(with: pngSignature) { return .png }
        if header.begins(with: "GIF87a") || header.begins(with: "GIF89a") { return .gif }
        if header.begins(with: "RIFF"), header.dropFirst(8).begins(with: "WEBP") { return .webp }
        if header.begins(with: "FUJIFILMCCD-RAW ") { return .raf }
        if let other = detectOther(header) { return other }
        if header.begins(with: "IIU\0") { return .rw2 }
        if header.begins(with: "IIRO") || header.begins(with: "IIRS") || header.begins(with: "MMOR") { return .orf }
        if tiffSignatures.contains(where: { header.starts(with: $0) }) {
            return header.dropFirst(8).starts(with: [0x43, 0x52, 0x02]) ? .cr2 : .tiff
        }
        return detectBoxes(header)
    }

    private static func detectOther(_ header: [UInt8]) -> Container? {
        let boxSignatureEnd: [UInt8] = [0x0D, 0x0A, 0x87, 0x0A]
        if header.starts(with: [0, 0, 0, 12]), header.dropFirst(8).starts(with: boxSignatureEnd) {
            if header.dropFirst(4).begins(with: "jP  ") { return .jp2(isBare: false) }
            if header.dropFirst(4).begins(with: "JXL ") { return .jxl(isBare: false) }
        }
        if header.starts(with: [0xFF, 0x4F, 0xFF, 0x51]) { return .jp2(isBare: true) }
        if header.starts(with: [0xFF, 0x0A]) { return .jxl(isBare: true) }
        if header.begins(with: "8BPS\0\u{1}") || header.begins(with: "8BPS\0\u{2}") { return .psd }
        if header.begins(with: "II"), header.dropFirst(6).begins(with: "HEAPCCDR") { return .crw }
        if header.begins(with: "FOVb") { return .x3f }
        if header.begins(with: "\0MRM") || header.begins(with: "\0MRI") { return .mrw }
        if header.begins(with: "RIFF"), header.dropFirst(8).begins(with: "AVI ") { return .avi }
        if header.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .matroska }
        for (step, first) in [(192, 4), (188, 0)] where header.count > first + step {
            if header[first] == 0x47, header[first + step] == 0x47 { return .transportStream(step: UInt64(step)) }
        }
        return nil
    }

    /// Whether `header`, the whole file so far, could be the start of a file that is still being written.
    static func couldBegin(with header: [UInt8]) -> Bool {
        guard !header.isEmpty, header.count < 16 else { return false }
        let signatures: [[UInt8]] =
            [
                [0xFF, 0xD8, 0xFF], pngSignature, Array("GIF8".utf8), Array("FUJIFILMCCD-RAW ".utf8),
                // Not those that begin with a letter or digit: they would make a text of one character wait.
                [0x1A, 0x45, 0xDF, 0xA3], [0xFF, 0x4F, 0xFF, 0x51],
            ] + tiffSignatures
        if signatures.contains(where: { $0.starts(with: header) }) { return true }
        if header.begins(with: "RIFF") || Array("RIFF".utf8).starts(with: header) { return header.count < 12 }
        return header.starts(with: [0, 0]) && header.count < 12
    }

    static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Little and big endian, with offsets of 4 bytes and (BigTIFF) 8 bytes.
    private static let tiffSignatures: [[UInt8]] = [
        [0x49, 0x49, 0x2A, 0], [0x4D, 0x4D, 0, 0x2A], [0x49, 0x49, 0x2B, 0, 8, 0], [0x4D, 0x4D, 0, 0x2B, 0, 8],
    ]

    private static func detectBoxes(_ header: [UInt8]) -> Container? {
        guard header.count >= 8 else { return nil }
        let words = stride(from: 0, to: min(header.count, headerSize) - 3, by: 4).map { start in
            header[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        // A QuickTime file without `ftyp`, which is older, begins with one of these.
        let older: [FourCC] = ["moov", "mdat", "wide", "free", "skip", "pnot"]
        if older.contains(where: { $0.code == words[1] }) {
            return words[0] == 1 || words[0] >= 8 || words[0] == 0 ? .boxes(brands: [FourCC("qt  ").code]) : nil
        }
        guard words[1] == FourCC("ftyp").code, words[0] >= 16, words.count >= 3 else { return nil }
        // The minor version is between the major brand and the compatible ones; a low-overhead image file has its
        // codec's brand there.
        let listed = words.prefix(Int(min(words[0], UInt32(headerSize))) / 4).dropFirst(
            words[2] == FourCC("mif3").code ? 3 : 4)
        return .boxes(brands: [words[2]] + listed)
    }
}

/// A box type or brand: four ASCII characters as a number.
struct FourCC: ExpressibleByStringLiteral, Hashable {
    let code: UInt32

    init(code: UInt32) { self.code = code }

    init(stringLiteral value: StaticString) {
        code = value.withUTF8Buffer { $0.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
    }

    init(_ value: StaticString) { self.init(stringLiteral: value) }

    /// Whether all four are printable ASCII, or the copyright sign of QuickTime's text types.
    var isPlausible: Bool {
        (0..<4).allSatisfy { index in
            let byte = UInt8(truncatingIfNeeded: code >> (8 * UInt32(index)))
            return (0x20...0x7E).contains(byte) || byte == 0xA9
        }
    }

    /// The characters for display.
    var text: String {
        isPlausible
            ? String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: code >> (24 - 8 * UInt32($0))) }, as: UTF8.self)
            : "0x" + String(code, radix: 16)
    }
}
