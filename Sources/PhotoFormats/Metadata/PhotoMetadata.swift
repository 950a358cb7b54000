/// Where metadata of a photo is stored.
///
/// Raw values are stored in the catalogue and never change.
package enum MetadataSource: String, CaseIterable, Codable, Hashable, Sendable {
    case exif, iptc, xmp
    /// Windows' own fields in EXIF: XPTitle and its like.
    case windows
    /// EXIF's UserComment, in which programs store many things.
    case comment
    /// Items of a film: QuickTime's keys, and user data.
    case film
    /// Texts of a PNG.
    case png
    /// The XMP sidecar beside the photo, and Google Takeout's JSON.
    case sidecar, takeout

    /// The name for people.
    package var name: String {
        switch self {
        case .exif: "EXIF"
        case .iptc: "IPTC"
        case .xmp: "XMP"
        case .windows: "Windows' EXIF fields"
        case .comment: "EXIF UserComment"
        case .film: "film's metadata"
        case .png: "PNG text"
        case .sidecar: "XMP sidecar"
        case .takeout: "Google Takeout's JSON"
        }
    }
}

/// The metadata of a photo without its dates: of one source, or chosen by ``MetadataDecision``.
package struct PhotoMetadata: Codable, Hashable, Sendable {
    package var title: String?
    package var headline: String?
    package var caption: String?
    /// In their order, each once.
    package var keywords: [String] = []
    /// Hierarchical keywords, each from its root to its leaf.
    package var hierarchies: [[String]] = []
    /// Names of the people in the picture.
    package var people: [String] = []
    /// 0 to 5, or -1 for rejected.
    package var rating: Int?
    package var label: String?
    package var position: Position?
    package var place = PlaceName()
    package var creators: [String] = []
    package var copyright: String?
    package var lens: String?
    package var exposure = Exposure()

    package init() {}

    package var isEmpty: Bool { self == PhotoMetadata() }

    /// A position on Earth, WGS 84.
    package struct Position: Codable, Hashable, Sendable {
        /// Degrees, north and east positive.
        package var latitude: Double
        package var longitude: Double
        /// Metres above the sea.
        package var altitude: Double?
        /// Where the camera looked: degrees clockwise from north.
        package var direction: Double?
        /// Metres that the position may be wrong by.
        package var accuracy: Double?

        /// Nil outside of the ranges of degrees, and for 0, 0, which receivers write without a position.
        package init?(latitude: Double, longitude: Double) {
            guard (-90...90).contains(latitude), (-180...180).contains(longitude), latitude != 0 || longitude != 0
            else {
                return nil
            }
            (self.latitude, self.longitude) = (latitude, longitude)
        }
    }

    /// Names of a place, from the smallest to the largest.
    package struct PlaceName: Codable, Hashable, Sendable {
        package var location: String?
        package var city: String?
        package var region: String?
        package var country: String?
        /// ISO 3166.
        package var countryCode: String?

        package init() {}

        /// Those that are known, from the smallest place to the largest.
        package var names: [String] { [location, city, region, country].compactMap(\.self) }
    }

    /// How the picture was exposed.
    package struct Exposure: Codable, Hashable, Sendable {
        /// Seconds.
        package var time: Double?
        package var fNumber: Double?
        package var iso: UInt32?
        /// Millimetres, and what they correspond to on 35 mm film.
        package var focalLength: Double?
        package var focalLength35: Double?
        /// Steps of exposure compensation.
        package var bias: Double?

        package init() {}
    }
}

/// Characters that are dropped around texts.
private func isBlank(_ character: Character) -> Bool { character.isWhitespace || character == "\0" }

/// The text without blanks around it, of bounded length; nil if nothing is left. Line breaks stay.
package func keptText(_ text: String?, longest: Int = 8_000) -> String? {
    guard let text, let first = text.firstIndex(where: { !isBlank($0) }),
        let last = text.lastIndex(where: { !isBlank($0) })
    else { return nil }
    return String(text[first...last].prefix(longest))
}

/// The texts that are not blank, each once, at most 1,000.
package func keptTexts(_ texts: some Sequence<String>) -> [String] {
    var seen: Set<String> = []
    var kept: [String] = []
    for text in texts {
        guard let text = keptText(text, longest: 500), kept.count < 1_000, seen.insert(text).inserted else { continue }
        kept.append(text)
    }
    return kept
}
