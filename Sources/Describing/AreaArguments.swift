import ArgumentParser
import Catalogue

/// `54.32,10.12,5km`: at most a distance away from a position.
struct CircleArgument: ExpressibleByArgument {
    let area: SearchArea

    init?(argument: String) {
        var parts = argument.split(separator: ",", omittingEmptySubsequences: false)
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
        area = .circle(latitude: latitude, longitude: longitude, radius: distance * metres)
    }
}

/// `9.9,53.4,10.3,53.7`: between degrees of longitude and latitude, in the order of GeoJSON (RFC 7946, 5).
struct BoxArgument: ExpressibleByArgument {
    let area: SearchArea

    init?(argument: String) {
        let degrees = argument.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard degrees.count == 4, let west = degrees[0], let south = degrees[1], let east = degrees[2],
            let north = degrees[3], (-180...180).contains(west), (-180...180).contains(east), south <= north,
            (-90...90).contains(south), (-90...90).contains(north)
        else { return nil }
        area = .box(west: west, south: south, east: east, north: north)
    }
}
