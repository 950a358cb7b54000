package import PhotoFormats

/// The populated place that is nearest to a photo's position, by the table of place names. The photo need not lie in it.
package struct NearbyPlace: Codable, Hashable, Sendable {
    /// The source of the table, which its licence requires to be named where names of it are shown.
    package static let source = "GeoNames"

    /// The town, and the part of it as `location`. Region and country are missing where that of the photo is uncertain.
    package let name: PhotoMetadata.PlaceName
    /// Metres from the position.
    package let distance: Double

    package init(_ name: PhotoMetadata.PlaceName, distance: Double) {
        (self.name, self.distance) = (name, distance)
    }

    /// The names in one line: `Mitte, Berlin, Germany`.
    package var text: String {
        // A city may be a region, too.
        name.names.reduce(into: []) { if $0.last != $1 { $0.append($1) } }.joined(separator: ", ")
    }
}

extension MetadataDecision {
    /// The names of the place in one line: those that the photo has, or else those of the place nearby.
    package var placeText: String? {
        chosen.place.names.isEmpty ? nearby?.text : chosen.place.names.joined(separator: ", ")
    }

    /// The names by which the photo's place is found: those that the photo has, completed by those of the place nearby.
    package var searchedPlace: PhotoMetadata.PlaceName {
        var place = chosen.place
        guard let near = nearby?.name else { return place }
        // Where the photo names a town, another that happens to be nearer to its position is not meant.
        if place.city == nil {
            place.city = near.city
            place.location = place.location ?? near.location
        }
        if place.countryCode == nil || place.countryCode == near.countryCode {
            place.region = place.region ?? near.region
            place.country = place.country ?? near.country
        }
        return place
    }
}
