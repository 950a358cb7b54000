/// The fields of IPTC-IIM that are read. IPTC-NAA Information Interchange Model, version 4.2, 6.
struct IPTCFields {
    private var values: [UInt8: [[UInt8]]] = [:]
    private var isUTF8 = false
    /// The number of bytes up to the end of the last dataset; padding may follow.
    private(set) var length = 0

    /// Reads the datasets of `bytes`, up to the first that is none.
    init(_ bytes: [UInt8]) {
        var position = 0
        while position + 5 <= bytes.count, bytes[position] == 0x1C {
            let (record, dataset) = (bytes[position + 1], bytes[position + 2])
            var length = Int(bytes[position + 3]) << 8 | Int(bytes[position + 4])
            position += 5
            if length & 0x8000 != 0 {
                // An extended dataset: so many bytes have the length.
                let width = length & 0x7FFF
                guard width <= 4, position + width <= bytes.count else { return }
                length = bytes[position..<(position + width)].reduce(0) { $0 << 8 | Int($1) }
                position += width
            }
            guard length <= bytes.count - position else { return }
            let value = Array(bytes[position..<(position + length)])
            position += length
            self.length = position
            if record == 1, dataset == 90 { isUTF8 = value.starts(with: [0x1B, 0x25, 0x47]) }
            if record == 2, values[dataset, default: []].count < 1_000 { values[dataset, default: []].append(value) }
        }
    }

    var isEmpty: Bool { values.isEmpty }

    /// The dates of making and of digitising, each a day and a time of day.
    var created: (date: [UInt8], time: [UInt8]?)? { values[55]?.first.map { ($0, values[60]?.first) } }

    var metadata: PhotoMetadata {
        var metadata = PhotoMetadata()
        metadata.title = text(5)
        metadata.headline = text(105)
        metadata.caption = text(120)
        metadata.keywords = keptTexts(texts(25))
        metadata.creators = keptTexts(texts(80))
        metadata.copyright = text(116)
        metadata.place.location = text(92)
        metadata.place.city = text(90)
        metadata.place.region = text(95)
        metadata.place.countryCode = text(100)
        metadata.place.country = text(101)
        return metadata
    }

    private func text(_ dataset: UInt8) -> String? { keptText(texts(dataset).first) }

    /// Without a declared character set, what is valid UTF-8 is UTF-8, and all else Latin-1. MWG Guidelines, 5.1.
    private func texts(_ dataset: UInt8) -> [String] {
        (values[dataset] ?? []).map { bytes in
            if isUTF8 { return String(decoding: bytes, as: UTF8.self) }
            return String(validating: bytes, as: UTF8.self) ?? latin1(bytes)
        }
    }
}

/// Text of ISO 8859-1.
func latin1(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
}

/// Photoshop's image resources, in which JPEG and TIFF files have IPTC. Adobe Photoshop File Formats Specification,
/// "Image Resource Blocks".
struct ImageResources {
    private(set) var iptc: [UInt8]?
    /// MD5 of the IPTC that the last writer of XMP has seen.
    private(set) var digest: [UInt8]?

    init(_ bytes: [UInt8]) {
        var position = 0
        while position + 12 <= bytes.count,
            ["8BIM", "MeSa", "AgHg", "PHUT", "DCSR"].contains(
                String(decoding: bytes[position..<(position + 4)], as: UTF8.self))
        {
            let identifier = Int(bytes[position + 4]) << 8 | Int(bytes[position + 5])
            // A Pascal string, padded to even length together with its own length.
            let name = (Int(bytes[position + 6]) + 2) & ~1
            let start = position + 6 + name + 4
            guard start <= bytes.count else { return }
            let length = bytes[(start - 4)..<start].reduce(0) { $0 << 8 | Int($1) }
            guard length <= bytes.count - start else { return }
            let content = Array(bytes[start..<(start + length)])
            if identifier == 0x0404, iptc == nil { iptc = content }
            if identifier == 0x0425, digest == nil, content.contains(where: { $0 != 0 }) { digest = content }
            position = start + (length + 1) & ~1
        }
    }
}
