package import PhotoFormats

/// Chooses among the sources of a photo's metadata by the rules of the Metadata Working Group (Guidelines for Handling
/// Image Metadata, 2.0, 2 and 5), and records the contradictions.
package struct MetadataDecision: Codable, Hashable, Sendable {
    /// Raised when the readers or the rules find more in the same files, which are then read again.
    package static let version = 2

    package private(set) var chosen = PhotoMetadata()
    /// By property, the source that was chosen.
    package private(set) var sources: [String: MetadataSource] = [:]
    /// Contradictions, each as a sentence for people, with the rule by which it was decided.
    package private(set) var contradictions: [String] = []
    /// No part of the file: what the table of place names has for the position.
    package var nearby: NearbyPlace?

    /// - Parameters:
    ///   - found: what each source has.
    ///   - iptcIsNewer: whether IPTC was changed by a program that left XMP as it was: the digest of IPTC that XMP's
    ///     last writer stored is not that of the IPTC that is there. Nil where no digest is stored.
    package init(_ found: [MetadataSource: PhotoMetadata], iptcIsNewer: Bool? = nil) {
        // A sidecar was written after the photo, by a program that may not change photos.
        let text: [MetadataSource] =
            iptcIsNewer == true
            ? [.sidecar, .exif, .iptc, .xmp, .windows, .film, .png, .takeout, .comment]
            : [.sidecar, .exif, .xmp, .iptc, .windows, .film, .png, .takeout, .comment]
        let rule =
            switch iptcIsNewer {
            case true?: "IPTC was changed after XMP: the stored digest is of another IPTC"
            case false?: "the digest shows that XMP has seen this IPTC"
            case nil: "XMP goes before IPTC where no digest is stored"
            }
        func choose<Value: Equatable>(
            _ property: String, _ path: WritableKeyPath<PhotoMetadata, Value>, _ order: [MetadataSource],
            unless isEmpty: (Value) -> Bool, agree: (Value, Value) -> Bool = { $0 == $1 }
        ) {
            var winner: (source: MetadataSource, value: Value)?
            for source in order {
                guard let value = found[source]?[keyPath: path], !isEmpty(value) else { continue }
                guard let winner else {
                    winner = (source, value)
                    chosen[keyPath: path] = value
                    sources[property] = source
                    continue
                }
                if !agree(winner.value, value) {
                    let pair: Set<MetadataSource> = [winner.source, source]
                    let why =
                        pair == [.iptc, .xmp] ? rule : "\(winner.source.name) goes before \(source.name)"
                    contradictions.append(
                        "\(property): \(winner.source.name) was chosen over \(source.name), since \(why)")
                }
            }
        }
        func choose<Value>(
            _ property: String, _ path: WritableKeyPath<PhotoMetadata, Value?>, _ order: [MetadataSource]
        )
        where Value: Equatable { choose(property, path, order, unless: { $0 == nil }) }
        // IPTC cuts texts at 32 to 2,000 bytes.
        func chooseText(_ property: String, _ path: WritableKeyPath<PhotoMetadata, String?>) {
            choose(property, path, text, unless: { $0 == nil }) { one, other in
                guard let one, let other else { return true }
                let (short, long) = one.count < other.count ? (one, other) : (other, one)
                return one == other || short.utf8.count >= 30 && long.hasPrefix(short)
            }
        }

        // EXIF has none of these: its order says nothing.
        chooseText("title", \.title)
        chooseText("headline", \.headline)
        chooseText("caption", \.caption)
        choose("keywords", \.keywords, text, unless: \.isEmpty) { Set($0) == Set($1) }
        choose("hierarchical keywords", \.hierarchies, text, unless: \.isEmpty)
        choose("people", \.people, text, unless: \.isEmpty)
        // Cameras write 0 for none.
        choose("rating", \.rating, [.sidecar, .xmp, .windows, .film, .takeout], unless: { $0 == nil || $0 == 0 })
        choose("label", \.label, text)
        // The same place, with other digits.
        choose("position", \.position, [.sidecar, .exif, .xmp, .film, .takeout], unless: { $0 == nil }) { one, other in
            guard let one, let other else { return true }
            return abs(one.latitude - other.latitude) < 1e-4 && abs(one.longitude - other.longitude) < 1e-4
        }
        chooseText("location", \.place.location)
        chooseText("city", \.place.city)
        chooseText("region", \.place.region)
        chooseText("country", \.place.country)
        choose("country code", \.place.countryCode, text)
        choose("creator", \.creators, text, unless: \.isEmpty)
        chooseText("copyright", \.copyright)
        choose("lens", \.lens, [.exif, .xmp, .film])
        // XMP repeats a part of it.
        choose("exposure", \.exposure, [.exif, .xmp], unless: { $0 == PhotoMetadata.Exposure() }) { _, _ in true }
    }
}
