extension PhotoReport {
    /// Adds an item of a film's metadata, by the part of its QuickTime key behind `com.apple.quicktime.`. QuickTime File
    /// Format, "Metadata keys".
    mutating func recordFilm(_ value: [UInt8], of key: String) {
        let text = keptText(String(decoding: value, as: UTF8.self))
        var film = metadata[.film] ?? PhotoMetadata()
        switch key {
        case "title", "displayname": film.title = film.title ?? text
        case "description", "comment", "information": film.caption = film.caption ?? text
        case "author", "artist": if let text, film.creators.isEmpty { film.creators = [text] }
        case "copyright": film.copyright = film.copyright ?? text
        case "keywords": if let text { film.keywords = keptTexts(text.split(separator: ",").map { String($0) }) }
        case "location.ISO6709": film.position = film.position ?? text.flatMap { Self.position(iso6709: $0) }
        case "location.accuracy.horizontal":
            film.position?.accuracy = text.flatMap { Double($0) }.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
        case "location.name": film.place.location = film.place.location ?? text
        case "rating.user":
            film.rating =
                film.rating ?? text.flatMap { Double($0) }.flatMap { (0...5).contains($0) ? Int($0.rounded()) : nil }
        case "camera.lens_model": film.lens = film.lens ?? text
        default: return
        }
        if !film.isEmpty { metadata[.film] = film }
    }

    /// `+54.3200+010.1340+010.000/`: latitude and longitude as degrees, degrees and minutes, or with seconds, then the
    /// altitude. ISO 6709, annex H.
    static func position(iso6709 text: String) -> PhotoMetadata.Position? {
        var numbers: [Substring] = []
        var rest = Substring(text)
        while let sign = rest.first, sign == "+" || sign == "-" {
            let number = rest.dropFirst().prefix { $0.isASCII && $0.isNumber || $0 == "." }
            numbers.append(rest[rest.startIndex..<number.endIndex])
            rest = rest[number.endIndex...]
        }
        func degrees(_ text: Substring, digits: Int) -> Double? {
            let whole = text.dropFirst().prefix { $0 != "." }
            guard let value = Double(text.dropFirst()) else { return nil }
            let sign: Double = text.first == "-" ? -1 : 1
            switch whole.count {
            case digits: return sign * value
            case digits + 2:
                let degrees = (value / 100).rounded(.down)
                return sign * (degrees + (value - 100 * degrees) / 60)
            case digits + 4:
                let degrees = (value / 10_000).rounded(.down)
                let minutes = ((value - 10_000 * degrees) / 100).rounded(.down)
                return sign * (degrees + minutes / 60 + (value - 10_000 * degrees - 100 * minutes) / 3_600)
            default: return nil
            }
        }
        guard numbers.count >= 2, let latitude = degrees(numbers[0], digits: 2),
            let longitude = degrees(numbers[1], digits: 3),
            var position = PhotoMetadata.Position(latitude: latitude, longitude: longitude)
        else { return nil }
        if numbers.count > 2 { position.altitude = Double(numbers[2]).flatMap { $0.isFinite ? $0 : nil } }
        return position
    }
}

extension SourceReader where Source: ~Copyable {
    /// The keys of items whose types are characters.
    private static var keys: [FourCC: String] {
        [
            FourCC(code: 0xA96E_616D): "title", FourCC(code: 0xA964_6573): "description",
            FourCC(code: 0xA963_6D74): "comment", FourCC(code: 0xA941_5254): "artist",
            FourCC(code: 0xA961_7574): "author", FourCC(code: 0xA963_7079): "copyright",
            FourCC(code: 0xA978_797A): "location.ISO6709",
        ]
    }

    /// The keys of 3GPP's user data, with a version, a language and a text. 3GPP TS 26.244, 8.
    private static var assetKeys: [FourCC: String] {
        ["titl": "title", "dscp": "description", "auth": "author", "perf": "artist", "cprt": "copyright"]
    }

    /// Adds items as iTunes has them, each with its value in a box `data` behind a type and a language.
    mutating func readItems(of list: Box, into report: inout PhotoReport) throws(WalkStop) {
        for item in try boxes(from: list.body, to: list.end).prefix(256) {
            guard let key = Self.keys[item.type], let data = try child("data", of: item), data.end - data.body > 8
            else {
                continue
            }
            report.recordFilm(try bytes(at: data.body + 8, count: Int(min(data.end - data.body - 8, 8_000))), of: key)
        }
    }

    /// Adds user data: QuickTime's boxes, whose names begin with ©, with texts of several languages; 3GPP's; and XMP.
    mutating func readUserData(_ box: Box, into report: inout PhotoReport) throws(WalkStop) {
        for item in try boxes(from: box.body, to: box.end).prefix(256) {
            if item.type == "XMP_" {
                report.record(try xmpPacket(at: item.body, length: item.end - item.body))
            } else if let key = Self.keys[item.type], let length = try unsigned(at: item.body, width: 2),
                item.end - item.body >= 4, length <= item.end - item.body - 4
            {
                report.recordFilm(try bytes(at: item.body + 4, count: Int(length)), of: key)
            } else if let key = Self.assetKeys[item.type], item.end - item.body > 6 {
                let text = try bytes(at: item.body + 6, count: Int(min(item.end - item.body - 6, 8_000)))
                let isUTF16 = text.starts(with: [0xFE, 0xFF])
                report.recordFilm(isUTF16 ? utf16(text, isBigEndian: true) : text, of: key)
            }
        }
    }
}
