package import Catalogue
import CommandSupport
package import PhotoFormats
package import PhotoModel
package import Reporting

// Metadata of photos as JSON and as text. Fields are only ever added.

extension MetadataDecision: JSONRepresentable {
    package var json: JSONValue {
        let (place, exposure) = (chosen.place, chosen.exposure)
        return .object([
            JSONField("title", chosen.title), JSONField("headline", chosen.headline),
            JSONField("caption", chosen.caption), JSONField("keywords", chosen.keywords),
            JSONField("hierarchical_keywords", .array(chosen.hierarchies.map { .array($0.map(JSONValue.string)) })),
            JSONField("people", chosen.people), JSONField("rating", chosen.rating), JSONField("label", chosen.label),
            JSONField("position", chosen.position.map { .object(Self.fields(of: $0)) } ?? .null),
            JSONField("place", .object(Self.fields(of: place))),
            JSONField("nearby_place", nearby.map { .object(Self.fields(of: $0)) } ?? .null),
            JSONField("creators", chosen.creators), JSONField("copyright", chosen.copyright),
            JSONField("lens", chosen.lens),
            JSONField(
                "exposure",
                .object([
                    Self.field("seconds", exposure.time), Self.field("f_number", exposure.fNumber),
                    JSONField("iso", exposure.iso), Self.field("focal_length_mm", exposure.focalLength),
                    Self.field("focal_length_35mm_equivalent", exposure.focalLength35),
                    Self.field("compensation_ev", exposure.bias),
                ])),
            JSONField(
                "sources",
                .object(sources.sorted { $0.key < $1.key }.map { JSONField($0.key, $0.value.rawValue) })),
            JSONField("contradictions", contradictions),
        ])
    }

    private static func fields(of place: PhotoMetadata.PlaceName) -> [JSONField] {
        [
            JSONField("location", place.location), JSONField("city", place.city),
            JSONField("region", place.region), JSONField("country", place.country),
            JSONField("country_code", place.countryCode),
        ]
    }

    private static func fields(of nearby: NearbyPlace) -> [JSONField] {
        fields(of: nearby.name) + [
            field("distance_metres", nearby.distance.rounded()), JSONField("source", NearbyPlace.source),
        ]
    }

    private static func fields(of position: PhotoMetadata.Position) -> [JSONField] {
        [
            field("latitude", position.latitude), field("longitude", position.longitude),
            field("altitude_metres", position.altitude), field("direction_degrees", position.direction),
            field("accuracy_metres", position.accuracy),
        ]
    }

    private static func field(_ name: String, _ number: Double?) -> JSONField {
        JSONField(name, number.map(JSONValue.number) ?? .null)
    }

    /// Adds what the file has, marked where `description` has something else.
    package func describe(in text: inout LabelledText, besides description: PhotoDescription?) {
        func add(_ label: String, _ value: String?, isOverruled: Bool = false) {
            guard let value, !value.isEmpty else { return }
            text.add(label, printable(value) + (isOverruled ? " (in the file)" : ""))
        }
        add("title", chosen.title, isOverruled: description?.title != nil)
        add("headline", chosen.headline)
        add("caption", chosen.caption)
        let isKeyworded = description.map { !$0.keywords.isEmpty } ?? false
        add("keywords", chosen.keywords.joined(separator: "; "), isOverruled: isKeyworded)
        for path in chosen.hierarchies.prefix(20) where path.count > 1 { add("keyword", path.joined(separator: " > ")) }
        add("people", chosen.people.joined(separator: "; "))
        let rating = chosen.rating.map { $0 < 0 ? "rejected" : "\($0) of 5" }
        add("rating", rating, isOverruled: description?.rating != nil)
        add("label", chosen.label)
        add("location", chosen.place.names.joined(separator: ", "), isOverruled: description?.place != nil)
        add("position", chosen.position?.text)
        add("near", nearby?.account)
        add("creator", chosen.creators.joined(separator: "; "))
        add("copyright", chosen.copyright)
        add("lens", chosen.lens)
        add("exposure", chosen.exposure.text)
        for contradiction in contradictions { add("but", contradiction) }
    }
}

extension NearbyPlace {
    /// `Kiel, Schleswig-Holstein, Germany (0.9 km from the position, by GeoNames)`.
    package var account: String {
        "\(text) (\(HumanText.decimal(distance / 1_000, places: 1)) km from the position, by \(Self.source))"
    }
}

extension PhotoMetadata.Position {
    /// `54.32310, 10.12270, 12 m above the sea, looking to 270°`.
    package var text: String {
        var parts = [HumanText.decimal(latitude, places: 5) + ", " + HumanText.decimal(longitude, places: 5)]
        if let altitude { parts.append("\(HumanText.decimal(altitude, places: 0)) m above the sea") }
        if let direction { parts.append("looking to \(HumanText.decimal(direction, places: 0))°") }
        if let accuracy { parts.append("within \(HumanText.decimal(accuracy, places: 0)) m") }
        return parts.joined(separator: ", ")
    }
}

extension PhotoMetadata.Exposure {
    /// `1/250 s, f/2.8, ISO 200, 50 mm (75 mm on 35 mm film)`; nil if nothing is known.
    package var text: String? {
        var parts: [String] = []
        if let time, time > 0 {
            parts.append(
                time < 0.3 ? "1/\(HumanText.decimal(1 / time, places: 0)) s" : "\(HumanText.decimal(time, places: 1)) s"
            )
        }
        if let fNumber { parts.append("f/\(HumanText.decimal(fNumber, places: 1))") }
        if let iso { parts.append("ISO \(iso)") }
        if let focalLength {
            let equivalent = focalLength35.map { " (\(HumanText.decimal($0, places: 0)) mm on 35 mm film)" } ?? ""
            parts.append("\(HumanText.decimal(focalLength, places: 0)) mm\(equivalent)")
        }
        if let bias, bias != 0 { parts.append("\(bias > 0 ? "+" : "")\(HumanText.decimal(bias, places: 1)) EV") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
