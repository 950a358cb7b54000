/// Chooses among the sources of a photo's metadata by the rules of the Metadata Working Group (Guidelines for Handling
/// Image Metadata, 2.0, 2 and 5), and records the contradictions.
package struct MetadataDecision: Codable, Hashable, Sendable {
    /// Raised when the readers or the rules find more in the same files, which are then read again.
    package static let version = 1

    package private(set) var chosen = PhotoMetadata()
    /// By property, the source that was chosen.
    package private(set) var sources: [String: MetadataSource] = [:]
    /// Contradictions, each as a sentence for people, with the rule by which it was decided.
    package private(set) var contradictions: [String] = []

    /// - Parameters:
    ///   - found: what each source has.
    ///   - iptcIsNewer: whether IPTC was changed by a program that left XMP as it was: the digest of IPTC that XMP's
    ///     last writer stored is not that of the IPTC that is there. Nil where no digest is stored.
    package init(_ found: [MetadataSource: PhotoMetadata], iptcIsNewer: Bool? = nil) {
        // A sidecar was written after the photo, by a program that may not change photos.
        let text: [MetadataSource] =
            iptcIsNewer == true
            ? [.sidecar, .exif, .iptc, .xmp, .windows, .film, .png, .takeout]
            : [.sidecar, .exif, .xmp, .iptc, .windows, .film, .png, .takeout]
        let rule =
            switch iptcIsNewer {
            case true?: "IPTC was changed after XMP: the stored digest is of another IPTC"
            case false?: "the digest shows that XMP has seen this IPTC"
            case nil: "XMP goes before IPTC where no digest is stored"
            }
        func choose<Value: Equatable>(
            _ property: String, _ path: WritableKeyPath<PhotoMetadata, Value>, _ order: [MetadataSource],
            unless isEmpty: (Value) -> Bool
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
                if winner.value != value {
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
        where Value: Equatable { choose(property, path, order) { $0 == nil } }

        // EXIF has none of these: its order says nothing.
        choose("title", \.title, text)
        choose("headline", \.headline, text)
        choose("caption", \.caption, text)
        choose("keywords", \.keywords, text, unless: \.isEmpty)
        choose("hierarchical keywords", \.hierarchies, text, unless: \.isEmpty)
        choose("people", \.people, text, unless: \.isEmpty)
        choose("rating", \.rating, [.sidecar, .xmp, .windows, .film, .takeout])
        choose("label", \.label, text)
        choose("position", \.position, [.sidecar, .exif, .xmp, .film, .takeout])
        choose("location", \.place.location, text)
        choose("city", \.place.city, text)
        choose("region", \.place.region, text)
        choose("country", \.place.country, text)
        choose("country code", \.place.countryCode, text)
        choose("creator", \.creators, text, unless: \.isEmpty)
        choose("copyright", \.copyright, text)
        choose("lens", \.lens, [.exif, .xmp, .film])
        choose("exposure", \.exposure, [.exif, .xmp]) { $0 == PhotoMetadata.Exposure() }
    }
}
