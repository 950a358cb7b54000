/// The EXIF fields beyond dates and orientation, by their numbers. EXIF 2.32, 4.6.
private enum ExifMetadataTag {
    static let description: UInt16 = 0x010E
    static let artist: UInt16 = 0x013B
    static let copyright: UInt16 = 0x8298
    static let rating: UInt16 = 0x4746
    static let exposureTime: UInt16 = 0x829A
    static let fNumber: UInt16 = 0x829D
    static let sensitivity: UInt16 = 0x8827
    static let bias: UInt16 = 0x9204
    static let focalLength: UInt16 = 0x920A
    static let userComment: UInt16 = 0x9286
    static let focalLength35: UInt16 = 0xA405
    static let lensSpecification: UInt16 = 0xA432
    static let lensModel: UInt16 = 0xA434
    static let windowsTitle: UInt16 = 0x9C9B
    static let windowsComment: UInt16 = 0x9C9C
    static let windowsAuthor: UInt16 = 0x9C9D
    static let windowsKeywords: UInt16 = 0x9C9E
    static let windowsSubject: UInt16 = 0x9C9F
    static let latitudeReference: UInt16 = 1
    static let latitude: UInt16 = 2
    static let longitudeReference: UInt16 = 3
    static let longitude: UInt16 = 4
    static let altitudeReference: UInt16 = 5
    static let altitude: UInt16 = 6
    static let direction: UInt16 = 0x11
    static let positioningError: UInt16 = 0x1F
}

extension SourceReader where Source: ~Copyable {
    /// What the main directory says, in EXIF's own fields and in Windows'.
    mutating func readMetadata(
        main: TIFFDirectory, of block: TIFFBlock, into found: inout [MetadataSource: PhotoMetadata]
    ) throws(WalkStop) {
        var exif = found[.exif] ?? PhotoMetadata()
        let description = try longText(main.entry(ExifMetadataTag.description), in: block)
        if exif.caption == nil, let description, !Self.isDefault(description) { exif.caption = description }
        if exif.creators.isEmpty, let artist = try longText(main.entry(ExifMetadataTag.artist), in: block) {
            // Several are divided by semicolons. MWG Guidelines, 5.3.
            exif.creators = keptTexts(artist.split(separator: ";").map { String($0) })
        }
        if exif.copyright == nil, let entry = main.entry(ExifMetadataTag.copyright) {
            // The photographer's, a zero, and the editor's.
            let parts = try rawText(entry, in: block).split(separator: 0).compactMap {
                keptText(Self.decoded(Array($0)))
            }
            exif.copyright = parts.isEmpty ? nil : parts.joined(separator: "; ")
        }
        found[.exif] = exif
        var windows = found[.windows] ?? PhotoMetadata()
        func windowsText(_ tag: UInt16) throws(WalkStop) -> String? {
            guard let entry = main.entry(tag) else { return nil }
            let bytes = try rawText(entry, in: block)
            return keptText(String(decoding: utf16(bytes, isBigEndian: false), as: UTF8.self))
        }
        if windows.title == nil { windows.title = try windowsText(ExifMetadataTag.windowsTitle) }
        for tag in [ExifMetadataTag.windowsComment, ExifMetadataTag.windowsSubject] where windows.caption == nil {
            windows.caption = try windowsText(tag)
        }
        if windows.keywords.isEmpty, let keywords = try windowsText(ExifMetadataTag.windowsKeywords) {
            windows.keywords = keptTexts(keywords.split(separator: ";").map { String($0) })
        }
        if windows.creators.isEmpty, let authors = try windowsText(ExifMetadataTag.windowsAuthor) {
            windows.creators = keptTexts(authors.split(separator: ";").map { String($0) })
        }
        if windows.rating == nil, let entry = main.entry(ExifMetadataTag.rating),
            let value = try number(entry, in: block), value <= 5
        {
            windows.rating = Int(value)
        }
        found[.windows] = windows
    }

    /// What the EXIF directory says of lens and exposure.
    mutating func readMetadata(
        exif directory: TIFFDirectory, of block: TIFFBlock, into found: inout [MetadataSource: PhotoMetadata]
    ) throws(WalkStop) {
        var exif = found[.exif] ?? PhotoMetadata()
        // Another block may have what the first lacks.
        let other = try exposure(directory, in: block)
        exif.exposure.time = exif.exposure.time ?? other.time
        exif.exposure.fNumber = exif.exposure.fNumber ?? other.fNumber
        exif.exposure.iso = exif.exposure.iso ?? other.iso
        exif.exposure.focalLength = exif.exposure.focalLength ?? other.focalLength
        exif.exposure.focalLength35 = exif.exposure.focalLength35 ?? other.focalLength35
        exif.exposure.bias = exif.exposure.bias ?? other.bias
        if exif.lens == nil {
            exif.lens = try longText(directory.entry(ExifMetadataTag.lensModel), in: block)
            if exif.lens == nil { exif.lens = try lensSpecification(directory, in: block) }
        }
        found[.exif] = exif
        if found[.comment] == nil, let entry = directory.entry(ExifMetadataTag.userComment),
            let text = Self.comment(try rawText(entry, in: block), littleEndian: block.littleEndian)
        {
            var comment = PhotoMetadata()
            comment.caption = text
            found[.comment] = comment
        }
    }

    private mutating func exposure(
        _ directory: TIFFDirectory, in block: TIFFBlock
    ) throws(WalkStop) -> PhotoMetadata.Exposure {
        var exposure = PhotoMetadata.Exposure()
        exposure.time = try fraction(ExifMetadataTag.exposureTime, of: directory, in: block)
        exposure.fNumber = try fraction(ExifMetadataTag.fNumber, of: directory, in: block)
        exposure.bias = try fraction(ExifMetadataTag.bias, of: directory, in: block)
        exposure.focalLength = try fraction(ExifMetadataTag.focalLength, of: directory, in: block)
        if let entry = directory.entry(ExifMetadataTag.sensitivity), let value = try number(entry, in: block),
            // Stands for what does not fit.
            value != 65_535
        {
            exposure.iso = UInt32(exactly: value)
        }
        if let entry = directory.entry(ExifMetadataTag.focalLength35), let value = try number(entry, in: block),
            value > 0
        {
            exposure.focalLength35 = Double(value)
        }
        return exposure
    }

    /// The position of a GPS directory. EXIF 2.32, 4.6.6.
    mutating func readPosition(
        _ gps: TIFFDirectory, of block: TIFFBlock, into found: inout [MetadataSource: PhotoMetadata]
    ) throws(WalkStop) {
        guard found[.exif]?.position == nil,
            let latitude = try degrees(ExifMetadataTag.latitude, ExifMetadataTag.latitudeReference, of: gps, in: block),
            let longitude = try degrees(
                ExifMetadataTag.longitude, ExifMetadataTag.longitudeReference, of: gps, in: block),
            var position = PhotoMetadata.Position(latitude: latitude, longitude: longitude)
        else { return }
        let reference = try gps.entry(ExifMetadataTag.altitudeReference).flatMap { entry throws(WalkStop) in
            try number(entry, in: block)
        }
        // 1 and 3 are below the sea and below the ellipsoid.
        position.altitude = try fraction(ExifMetadataTag.altitude, of: gps, in: block)
            .map { reference == 1 || reference == 3 ? -$0 : $0 }
        position.direction = try fraction(ExifMetadataTag.direction, of: gps, in: block)
            .flatMap { (0...360).contains($0) ? $0 : nil }
        position.accuracy = try fraction(ExifMetadataTag.positioningError, of: gps, in: block)
        found[.exif, default: PhotoMetadata()].position = position
    }

    // MARK: - Values

    /// Degrees, minutes and seconds, negative in the south and west.
    private mutating func degrees(
        _ tag: UInt16, _ reference: UInt16, of gps: TIFFDirectory, in block: TIFFBlock
    ) throws(WalkStop) -> Double? {
        guard let degrees = try fraction(tag, 0, of: gps, in: block) else { return nil }
        // Some programs leave out what is zero, and others write 0/0.
        let minutes = try fraction(tag, 1, of: gps, in: block) ?? 0
        let seconds = try fraction(tag, 2, of: gps, in: block) ?? 0
        let letter = try text(gps.entry(reference), in: block)?.first.map { $0 & 0xDF }
        let value = degrees + minutes / 60 + seconds / 3_600
        return letter == UInt8(ascii: "S") || letter == UInt8(ascii: "W") ? -value : value
    }

    /// The element `index` of an entry of fractions; nil for 0/0, which stands for unknown.
    private mutating func fraction(
        _ tag: UInt16, _ index: UInt64 = 0, of directory: TIFFDirectory, in block: TIFFBlock
    ) throws(WalkStop) -> Double? {
        guard let entry = directory.entry(tag), let (over, under) = try rational(entry, index, in: block) else {
            return nil
        }
        guard entry.type == 10 else { return Double(over) / Double(under) }
        let divisor = Int32(truncatingIfNeeded: under)
        return Double(Int32(truncatingIfNeeded: over)) / Double(divisor)
    }

    /// `24-70 mm f/2.8`, from the shortest and longest focal lengths and their widest apertures.
    private mutating func lensSpecification(
        _ directory: TIFFDirectory, in block: TIFFBlock
    ) throws(WalkStop) -> String? {
        guard let shortest = try fraction(ExifMetadataTag.lensSpecification, 0, of: directory, in: block), shortest > 0,
            let longest = try fraction(ExifMetadataTag.lensSpecification, 1, of: directory, in: block)
        else { return nil }
        func range(_ first: Double, _ second: Double?) -> String {
            let second = second ?? first
            return first == second || second == 0 ? shown(first) : "\(shown(first))-\(shown(second))"
        }
        var text = "\(range(shortest, longest)) mm"
        if let wide = try fraction(ExifMetadataTag.lensSpecification, 2, of: directory, in: block), wide > 0 {
            text += " f/\(range(wide, try fraction(ExifMetadataTag.lensSpecification, 3, of: directory, in: block)))"
        }
        return text
    }

    /// The bytes of a text, at most 32 KiB.
    private mutating func rawText(_ entry: TIFFEntry, in block: TIFFBlock) throws(WalkStop) -> [UInt8] {
        guard [1, 2, 7, 129].contains(entry.type),
            let place = block.place(entry.valueOffset, count: entry.byteCount)
        else { return [] }
        return try bytes(at: place, count: Int(min(entry.byteCount, 32 * 1024)))
    }

    private mutating func longText(_ entry: TIFFEntry?, in block: TIFFBlock) throws(WalkStop) -> String? {
        guard let entry else { return nil }
        return keptText(Self.decoded(Array(try rawText(entry, in: block).prefix { $0 != 0 })))
    }

    /// EXIF's texts are ASCII by the standard, and UTF-8 or Latin-1 in practice. MWG Guidelines, 5.1.
    private static func decoded(_ bytes: [UInt8]) -> String {
        String(validating: bytes, as: UTF8.self) ?? latin1(bytes)
    }

    /// A user's comment, which begins with the name of its character set. EXIF 2.32, table 9.
    private static func comment(_ bytes: [UInt8], littleEndian: Bool) -> String? {
        guard bytes.count > 8 else { return nil }
        let text = Array(bytes.dropFirst(8))
        switch true {
        case bytes.begins(with: "UNICODE\0"):
            // Programs differ on the byte order: Latin letters show which it is.
            let zeros = text.indices.filter { text[$0] == 0 }
            let even = zeros.count { $0 % 2 == 0 }
            let isBig = zeros.isEmpty ? !littleEndian : 2 * even > zeros.count
            return keptText(String(decoding: utf16(text, isBigEndian: isBig), as: UTF8.self))
        case bytes.begins(with: "ASCII\0\0\0"), bytes.prefix(8).allSatisfy({ $0 == 0 }):
            return keptText(decoded(Array(text.prefix { $0 != 0 })))
        default: return nil
        }
    }

    /// Whether a camera wrote the description because nobody did.
    private static func isDefault(_ description: String) -> Bool {
        let defaults = [
            "OLYMPUS DIGITAL CAMERA", "SONY DSC", "DCIM\\", "MINOLTA DIGITAL CAMERA", "KONICA MINOLTA DIGITAL CAMERA",
            "SAMSUNG DIGITAL CAMERA", "DIGITAL CAMERA", "Exif_JPEG_PICTURE", "Exif_JPEG_420", "Exif JPEG", "<Digimax",
            "AppleMark", "default", "DEFAULT", "untitled", "dig", "SAMSUNG", "Camera",
        ]
        return defaults.contains { description == $0 || $0.last == "\\" && description.hasPrefix($0) }
    }
}

/// A number as people write it, with at most one decimal place.
private func shown(_ value: Double) -> String {
    let tenths = (value * 10).rounded()
    guard abs(tenths) < 1e9 else { return "\(value)" }
    return tenths.truncatingRemainder(dividingBy: 10) == 0 ? "\(Int(tenths) / 10)" : "\(tenths / 10)"
}
