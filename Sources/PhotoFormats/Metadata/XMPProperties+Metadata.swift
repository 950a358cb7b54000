extension XMPProperties {
    /// The dates of taking and making, the surest first, as they are written.
    var dates: [String] {
        [self[.exif, "DateTimeOriginal"], self[.photoshop, "DateCreated"], self[.xmp, "CreateDate"]]
            .compactMap { $0.flatMap { keptText($0.plain, longest: 64) } }
    }

    /// The identifier of the extended XMP that belongs to this packet. XMP Specification, part 3, 1.1.3.1.
    var extendedIdentifier: String? { self[.xmpNote, "HasExtendedXMP"]?.plain }

    package var metadata: PhotoMetadata {
        var metadata = PhotoMetadata()
        func text(_ namespace: XMPNamespace, _ name: String) -> String? { keptText(self[namespace, name]?.plain) }
        metadata.title = text(.dublinCore, "title")
        metadata.headline = text(.photoshop, "Headline")
        metadata.caption = text(.dublinCore, "description")
        metadata.keywords = keptTexts(self[.dublinCore, "subject"]?.texts ?? [])
        metadata.hierarchies = hierarchies
        metadata.people = people
        metadata.rating = rating
        metadata.label = text(.xmp, "Label")
        metadata.position = position
        // Where the camera was. IPTC Photo Metadata Standard, Location Created; the older properties are for either place.
        let created = self[.iptcExtension, "LocationCreated"].map { $0.items.first ?? $0 }
        func place(_ namespace: XMPNamespace, _ name: String, _ field: String) -> String? {
            text(namespace, name) ?? keptText(created?[.iptcExtension, field]?.plain)
        }
        metadata.place.location = place(.core, "Location", "Sublocation")
        metadata.place.city = place(.photoshop, "City", "City")
        metadata.place.region = place(.photoshop, "State", "ProvinceState")
        metadata.place.country = place(.photoshop, "Country", "CountryName")
        metadata.place.countryCode = place(.core, "CountryCode", "CountryCode")
        metadata.creators = keptTexts(self[.dublinCore, "creator"]?.texts ?? [])
        metadata.copyright = text(.dublinCore, "rights")
        metadata.lens = text(.exifEX, "LensModel") ?? text(.auxiliary, "Lens")
        metadata.exposure.time = number(.exif, "ExposureTime")
        metadata.exposure.fNumber = number(.exif, "FNumber")
        metadata.exposure.iso =
            (self[.exif, "ISOSpeedRatings"] ?? self[.exifEX, "PhotographicSensitivity"]).flatMap { UInt32($0.plain) }
        metadata.exposure.focalLength = number(.exif, "FocalLength")
        metadata.exposure.focalLength35 = number(.exif, "FocalLengthIn35mmFilm")
        metadata.exposure.bias = number(.exif, "ExposureBiasValue")
        return metadata
    }

    /// 0 to 5 or -1; Microsoft counts in percent.
    private var rating: Int? {
        if let value = self[.xmp, "Rating"].flatMap({ Double($0.plain) }), (-1...5).contains(value) {
            return Int(value.rounded())
        }
        guard let percent = self[.microsoft, "Rating"].flatMap({ Int($0.plain) }), (1...100).contains(percent) else {
            return nil
        }
        return (percent + 12) / 25 + 1
    }

    /// Lightroom divides levels by `|`, digiKam and Windows by `/`.
    private var hierarchies: [[String]] {
        let lists: [(value: XMPValue?, divider: Character)] = [
            (self[.lightroom, "hierarchicalSubject"], "|"), (self[.digiKam, "TagsList"], "/"),
            (self[.microsoft, "LastKeywordXMP"], "/"),
        ]
        var seen: Set<[String]> = []
        let paths = lists.flatMap { list in
            keptTexts(list.value?.texts ?? []).map { path in
                path.split(separator: list.divider).prefix(16).compactMap { keptText(String($0)) }
            }
        }.filter { $0.count > 1 && seen.insert($0).inserted }
        return Array(paths.prefix(1_000))
    }

    /// The names of regions that are faces, by MWG and by Microsoft, and IPTC's list of who is shown.
    private var people: [String] {
        let regions = self[.regions, "Regions"]?[.regions, "RegionList"]?.items ?? []
        let faces = regions.filter { ($0[.regions, "Type"]?.plain ?? "Face") == "Face" }
        let others = self[.microsoftRegions, "RegionInfo"]?[.microsoftRegions, "Regions"]?.items ?? []
        return keptTexts(
            faces.compactMap { $0[.regions, "Name"]?.plain }
                + others.compactMap { $0[.people, "PersonDisplayName"]?.plain }
                + (self[.iptcExtension, "PersonInImage"]?.texts ?? []))
    }

    private var position: PhotoMetadata.Position? {
        guard let latitude = self[.exif, "GPSLatitude"].flatMap({ Self.degrees($0.plain) }),
            let longitude = self[.exif, "GPSLongitude"].flatMap({ Self.degrees($0.plain) }),
            var position = PhotoMetadata.Position(latitude: latitude, longitude: longitude)
        else { return nil }
        let isBelow = self[.exif, "GPSAltitudeRef"]?.plain == "1"
        position.altitude = number(.exif, "GPSAltitude").map { isBelow ? -$0 : $0 }
        position.direction = number(.exif, "GPSImgDirection").flatMap { (0...360).contains($0) ? $0 : nil }
        position.accuracy = number(.exif, "GPSHPositioningError")
        return position
    }

    private func number(_ namespace: XMPNamespace, _ name: String) -> Double? {
        self[namespace, name].flatMap { Self.rational($0.plain) }
    }

    /// `10/25`, or a number.
    private static func rational(_ text: String) -> Double? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Double($0) }
        let value: Double?
        switch (parts.first ?? nil, parts.count == 2 ? parts[1] : nil, parts.count) {
        case (let over?, let under?, 2) where under != 0: value = over / under
        case (let number?, _, 1): value = number
        default: value = nil
        }
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    /// `54,19.2N` or `54,19,12N`. XMP Specification, part 2, 1.2.7.4 (GPSCoordinate).
    private static func degrees(_ text: String) -> Double? {
        guard let letter = text.last?.uppercased(), ["N", "S", "E", "W"].contains(letter) else { return Double(text) }
        let parts = text.dropLast().split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard (1...3).contains(parts.count), !parts.contains(nil) else { return nil }
        let value = parts.compactMap(\.self).reversed().reduce(0) { $0 / 60 + $1 }
        return letter == "S" || letter == "W" ? -value : value
    }
}
