/// A value of an XMP property: a text, an array, or a structure. XMP Specification, part 1, 6.
struct XMPValue: Equatable {
    var text = ""
    /// RFC 3066, or `x-default`, in an array of alternatives.
    var language: String?
    var items: [XMPValue] = []
    var fields: [XMLReader.Name: XMPValue] = [:]

    /// The text, of an array that of its first item or of the alternative for everybody.
    var plain: String { items.isEmpty ? text : (items.first { $0.language == "x-default" } ?? items[0]).plain }

    /// The texts of an array, or the text alone.
    var texts: [String] { items.isEmpty ? [text] : items.map(\.plain) }
}

/// The properties of an XMP packet, by namespace and name: prefixes are free. XMP Specification, part 1, 7 (RDF/XML).
package struct XMPProperties: Equatable {
    /// More than any packet is known to have; the rest is not read. Depth maps come in packets of many megabytes.
    static let longest = 1024 * 1024
    private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    /// Items of one array, and properties of one structure.
    static let most = 4_096

    private(set) var values: [XMLReader.Name: XMPValue] = [:]
    /// Whether a motion photo's film follows the picture. Found in the text, also of a packet that is no XML: a picture
    /// whose film is missing must not count as whole.
    private(set) var promisesFilm = false

    package init() {}

    /// Adds the properties of a packet, in place of those of the same name. Of a packet that is damaged, those before the
    /// damage are kept.
    package mutating func add(_ packet: [UInt8]) {
        if Self.promisesFilm(packet) { promisesFilm = true }
        var reader = XMLReader(packet)
        while let event = try? reader.next() {
            guard case .start(let name, _) = event, name == Self.name("RDF") else { continue }
            while case .start(_, let attributes) = Self.element(&reader) {
                do throws(XMLReader.Failure) { try Self.readNode(attributes, &reader, into: &values) } catch { return }
            }
        }
    }

    /// Whether `MotionPhoto` or `MicroVideo` is 1, as an attribute or as an element.
    private static func promisesFilm(_ packet: [UInt8]) -> Bool {
        let names = [Array("MotionPhoto".utf8), Array("MicroVideo".utf8)]
        for start in packet.indices where packet[start] == UInt8(ascii: "M") {
            guard let name = names.first(where: { packet[start...].starts(with: $0) }) else { continue }
            var rest = packet[(start + name.count)...].prefix(32).filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }[...]
            let opening = rest.popFirst()
            if opening == UInt8(ascii: ">"), rest.begins(with: "1<") { return true }
            if opening == UInt8(ascii: "="), rest.begins(with: "\"1\"") || rest.begins(with: "'1'") { return true }
        }
        return false
    }

    /// The property `name` of one of the namespaces below.
    subscript(_ namespace: XMPNamespace, _ name: String) -> XMPValue? {
        for uri in namespace.uris {
            if let value = values[XMLReader.Name(namespace: uri, local: name)] { return value }
        }
        return nil
    }

    // MARK: - RDF

    private static func name(_ local: String) -> XMLReader.Name { XMLReader.Name(namespace: rdf, local: local) }

    /// The next event but for texts between elements; nil where the reader fails.
    private static func element(_ reader: inout XMLReader) -> XMLReader.Event? {
        while let event = try? reader.next() {
            if case .text = event { continue }
            return event
        }
        return nil
    }

    /// Reads a node element to its end: properties as attributes, and as elements.
    private static func readNode(
        _ attributes: [XMLReader.Attribute], _ reader: inout XMLReader, into fields: inout [XMLReader.Name: XMPValue]
    ) throws(XMLReader.Failure) {
        for attribute in attributes where isProperty(attribute.name) && fields.count < most {
            fields[attribute.name] = XMPValue(text: attribute.value)
        }
        while let event = try reader.next() {
            switch event {
            case .end: return
            case .text: continue
            case .start(let name, let attributes):
                let value = try readProperty(attributes, &reader)
                if fields.count < most { fields[name] = value }
            }
        }
        throw XMLReader.Failure()
    }

    /// Reads a property element to its end.
    private static func readProperty(
        _ attributes: [XMLReader.Attribute], _ reader: inout XMLReader
    ) throws(XMLReader.Failure) -> XMPValue {
        var value = XMPValue()
        for attribute in attributes {
            switch attribute.name {
            case XMLReader.Name(namespace: "xml", local: "lang"): value.language = attribute.value.lowercased()
            case name("resource"): value.text = attribute.value
            case name("parseType"):
                guard attribute.value == "Resource" else { continue }
                try readNode(attributes.filter { $0.name != attribute.name }, &reader, into: &value.fields)
                return unqualified(value)
            case let other where isProperty(other): value.fields[other] = XMPValue(text: attribute.value)
            default: break
            }
        }
        var text = ""
        while let event = try reader.next() {
            switch event {
            case .end:
                if value.items.isEmpty, value.fields.isEmpty, value.text.isEmpty { value.text = text }
                return unqualified(value)
            case .text(let part): if text.utf8.count < XMLReader.longestText { text += part }
            case .start(name("Bag"), _), .start(name("Seq"), _), .start(name("Alt"), _):
                while let event = try reader.next() {
                    if case .end = event { break }
                    guard case .start(_, let attributes) = event else { continue }
                    let item = try readProperty(attributes, &reader)
                    if value.items.count < most { value.items.append(item) }
                }
            case .start(_, let attributes): try readNode(attributes, &reader, into: &value.fields)
            }
        }
        throw XMLReader.Failure()
    }

    /// A value with qualifiers is a structure whose field `rdf:value` has it.
    private static func unqualified(_ value: XMPValue) -> XMPValue {
        guard var inner = value.fields[name("value")] else { return value }
        inner.language = inner.language ?? value.language
        return inner
    }

    private static func isProperty(_ name: XMLReader.Name) -> Bool {
        name.namespace != rdf && name.namespace != "xml" && !name.namespace.isEmpty
    }
}

/// The namespaces that are read, by the identifiers that programs have written.
enum XMPNamespace {
    case acdsee, apple, auxiliary, core, digiKam, dublinCore, exif, exifEX, iptcExtension, lightroom, microsoft
    case microsoftRegions, people, photoInbox, photoshop, regions, tiff, xmp, xmpNote

    var uris: [String] {
        switch self {
        case .acdsee: ["http://ns.acdsee.com/iptc/1.0/"]
        case .apple: ["http://ns.apple.com/faceinfo/1.0/"]
        case .auxiliary: ["http://ns.adobe.com/exif/1.0/aux/"]
        case .core: ["http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/"]
        case .digiKam: ["http://www.digikam.org/ns/1.0/"]
        case .dublinCore: ["http://purl.org/dc/elements/1.1/"]
        case .exif: ["http://ns.adobe.com/exif/1.0/"]
        case .exifEX: ["http://cipa.jp/exif/1.0/", "http://cipa.jp/exif/2.32/"]
        case .iptcExtension:
            ["http://iptc.org/std/Iptc4xmpExt/2008-02-29/", "http://iptc.org/std/Iptc4xmpExt/2008-02-19/"]
        case .lightroom: ["http://ns.adobe.com/lightroom/1.0/"]
        case .microsoft: ["http://ns.microsoft.com/photo/1.0/", "http://ns.microsoft.com/photo/1.0"]
        case .microsoftRegions:
            ["http://ns.microsoft.com/photo/1.2/", "http://ns.microsoft.com/photo/1.2/t/RegionInfo#"]
        case .people: ["http://ns.microsoft.com/photo/1.2/t/Region#"]
        case .photoInbox: ["photo-inbox:ns:1.0/"]
        case .photoshop: ["http://ns.adobe.com/photoshop/1.0/"]
        case .regions: ["http://www.metadataworkinggroup.com/schemas/regions/"]
        case .tiff: ["http://ns.adobe.com/tiff/1.0/"]
        case .xmp: ["http://ns.adobe.com/xap/1.0/"]
        case .xmpNote: ["http://ns.adobe.com/xmp/note/"]
        }
    }
}

extension XMPValue {
    /// The field `name` of a structure.
    subscript(_ namespace: XMPNamespace, _ name: String) -> XMPValue? {
        for uri in namespace.uris {
            if let value = fields[XMLReader.Name(namespace: uri, local: name)] { return value }
        }
        return nil
    }
}
