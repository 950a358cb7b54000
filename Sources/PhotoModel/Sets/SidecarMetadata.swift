package import FileValues
package import PhotoFormats

/// What a sidecar says of its photo.
package struct SidecarMetadata: Equatable, Sendable {
    package var source: MetadataSource
    package var metadata: PhotoMetadata

    /// Sidecars are small; of a larger one, nothing is read.
    package static let largest: UInt64 = 4 * 1024 * 1024

    /// The names that the XMP sidecar of a photo can have, the preferred one first. Lightroom reads NAME.xmp, and beside raw
    /// photos only; darktable and digiKam name theirs NAME.EXTENSION.xmp.
    package static func names(of photo: BytePath, format: String) -> [BytePath] {
        let long = photo.addingSuffix(".xmp")
        guard let format = PhotoFormat(rawValue: format), format.family == .raw, format != .dng else { return [long] }
        return [photo.parent.appending(photo.stem).addingSuffix(".xmp"), long]
    }

    /// Reads the sidecar in `bytes`; nil for a kind that says nothing of these, or bytes that are not of its kind.
    package init?(_ bytes: [UInt8], kind: SidecarKind) {
        switch kind {
        case .xmp:
            var xmp = XMPProperties()
            xmp.add(bytes)
            (source, metadata) = (.sidecar, xmp.metadata)
        case .takeout:
            guard let json = JSONNode(bytes), case .object = json else { return nil }
            (source, metadata) = (.takeout, Self.takeout(json))
        // Apple's edits are a recipe for pixels, and a thumbnail's metadata are its film's.
        case .aae, .thm: return nil
        }
    }

    private static func takeout(_ json: JSONNode) -> PhotoMetadata {
        var metadata = PhotoMetadata()
        metadata.caption = keptText(json["description"]?.text)
        metadata.people = keptTexts((json["people"]?.items ?? []).compactMap { $0["name"]?.text })
        // What a person corrected stands in the first; where nothing is known, both are 0, 0.
        for key in ["geoData", "geoDataExif"] where metadata.position == nil {
            guard let place = json[key], let latitude = place["latitude"]?.number,
                let longitude = place["longitude"]?.number
            else { continue }
            metadata.position = PhotoMetadata.Position(latitude: latitude, longitude: longitude)
            metadata.position?.altitude = place["altitude"]?.number.flatMap { $0 == 0 ? nil : $0 }
        }
        return metadata
    }
}
