// The values of conditions, as people write them.

extension SearchArea {
    /// `54.32,10.12,5km`: at most a distance away from a position.
    package init?(around text: String) {
        var parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var metres = 1.0
        if parts[2].hasSuffix("km") {
            (metres, parts[2]) = (1_000, parts[2].dropLast(2))
        } else if parts[2].hasSuffix("m") {
            parts[2] = parts[2].dropLast()
        } else {
            return nil
        }
        guard let latitude = Double(parts[0]), let longitude = Double(parts[1]), let distance = Double(parts[2]),
            (-90...90).contains(latitude), (-180...180).contains(longitude), distance > 0, distance.isFinite
        else { return nil }
        self = .circle(latitude: latitude, longitude: longitude, radius: distance * metres)
    }

    /// `9.9,53.4,10.3,53.7`: between degrees of longitude and latitude, in the order of GeoJSON (RFC 7946, 5).
    package init?(box text: String) {
        let degrees = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard degrees.count == 4, let west = degrees[0], let south = degrees[1], let east = degrees[2],
            let north = degrees[3], (-180...180).contains(west), (-180...180).contains(east), south <= north,
            (-90...90).contains(south), (-90...90).contains(north)
        else { return nil }
        self = .box(west: west, south: south, east: east, north: north)
    }
}

extension SearchQuery {
    package static let ratings = 0...5

    /// Words that blanks separate.
    package static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    /// Whether this is the beginning of a time.
    package static func isBeginningOfTime(_ text: String) -> Bool {
        let pattern = Array("dddd-dd-ddTdd:dd:dd".utf8)
        let bytes = Array(text.utf8)
        guard [4, 7, 10, 13, 16, 19].contains(bytes.count) else { return false }
        let isOfDigits = zip(bytes, pattern).allSatisfy { byte, wanted in
            wanted == UInt8(ascii: "d") ? (0x30...0x39).contains(byte) : byte == wanted
        }
        // An impossible month or day would silently match nothing.
        let number = { (place: Int) in Int(bytes[place] - 0x30) * 10 + Int(bytes[place + 1] - 0x30) }
        return isOfDigits && (bytes.count < 7 || (1...12).contains(number(5)))
            && (bytes.count < 10 || (1...31).contains(number(8)))
    }
}
