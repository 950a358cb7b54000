import FileValues

/// The text of an XMP sidecar with what people say of its photo: exactly in properties of this program's own, from which
/// it is restored, and for other programs in theirs. Of a sidecar that exists, only what this program wrote changes: all
/// other bytes stay, and in their order. XMP Specification, part 1, 7.
package enum SidecarText {
    /// Why a sidecar is left as it is: a clause for people.
    package struct Refusal: Error, Hashable, CustomStringConvertible {
        package let description: String
        package init(_ description: String) { self.description = description }
    }

    /// What people say of a photo, as it stands in the properties of this program's own, or is to stand there.
    package struct Statement: Hashable, Sendable {
        package let sha256: [UInt8]
        /// As they are written, without those that are blank.
        fileprivate let values: [Field: [String]]

        /// What is to be said, without the characters that XML cannot hold. `library` names the library.
        package init(
            of sha256: [UInt8], in library: String, title: String? = nil, keywords: [String] = [], rating: Int? = nil,
            taken: String? = nil, place: String? = nil
        ) {
            self.sha256 = sha256
            let lone: [Field: String?] = [
                .photo: hexadecimal(sha256), .library: library, .title: title, .rating: rating.map { "\($0)" },
                .taken: taken, .place: place,
            ]
            values = lone.mapValues { [$0].compactMap(\.self) }.merging([.keywords: keywords]) { $1 }
                .compactMapValues { texts in
                    shown(texts.map { String(String.UnicodeScalarView($0.unicodeScalars.filter(isXML))) })
                }
        }

        /// Reads a sidecar that this program, for any library, has written or added to; nil for any other.
        package init?(_ bytes: [UInt8]) {
            var xmp = XMPProperties()
            xmp.add(bytes)
            let texts = Field.allCases.compactMap { field in
                shown(xmp[.photoInbox, field.rawValue]?.texts ?? []).map { (field, $0) }
            }
            values = Dictionary(uniqueKeysWithValues: texts)
            guard let hash = values[.photo]?.first.flatMap({ FileValues.bytes(ofHexadecimal: $0.utf8) }),
                hash.count == 32
            else { return nil }
            sha256 = hash
        }

        package var library: String { values[.library]?.first ?? "" }
        package var title: String? { values[.title]?.first }
        package var place: String? { values[.place]?.first }
        /// Of more, the reader keeps the first.
        package var keywords: [String] {
            let words = values[.keywords] ?? []
            return words.count >= XMPProperties.most || words.contains { $0.contains("\n") } ? [] : words
        }
        /// 0 to 5.
        package var rating: Int? {
            values[.rating]?.first.flatMap { Int($0) }.flatMap { (0...5).contains($0) ? $0 : nil }
        }
        /// `2026-11-21`, or `2026-11-21T14:07:31` with an offset or without.
        package var taken: String? { values[.taken]?.first.flatMap { Self.isTime($0) ? $0 : nil } }
        /// The properties with values that nobody can have said.
        package var odd: [String] {
            let isRead: [Field: Bool] = [.keywords: !keywords.isEmpty, .rating: rating != nil, .taken: taken != nil]
            return Field.allCases.filter { values[$0] != nil && isRead[$0] == false }.map(\.rawValue)
        }

        /// The same bytes for the same statement, however a program has written it.
        package var canonical: [UInt8] { Field.allCases.flatMap { canonical($0) } }

        package static func == (one: Self, other: Self) -> Bool { one.canonical == other.canonical }
        package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

        /// The names of the properties in which two of them differ.
        package func differences(from other: Self) -> String {
            Field.allCases.filter { canonical($0) != other.canonical($0) }.map(\.rawValue).joined(separator: ", ")
        }

        private func canonical(_ field: Field) -> [UInt8] {
            (values[field] ?? []).flatMap { Array("\(field.rawValue) \($0.utf8.count) \($0)\n".utf8) }
        }

        private static func isTime(_ text: String) -> Bool {
            text.utf8.allSatisfy { "0123456789-:+TZ".utf8.contains($0) } && (try? DateText.parse(text.utf8)) != nil
        }
    }

    /// Raw values stand in sidecars and never change.
    fileprivate enum Field: String, CaseIterable {
        case photo = "Photo"
        case library = "Library"
        case title = "Title"
        case keywords = "Keywords"
        case rating = "Rating"
        case taken = "Taken"
        case place = "Place"

        /// The property of other programs.
        var common: (namespace: XMPNamespace, prefix: String, local: String)? {
            switch self {
            case .photo, .library: nil
            case .title: (.dublinCore, "dc", "title")
            case .keywords: (.dublinCore, "dc", "subject")
            case .rating: (.xmp, "xmp", "Rating")
            case .taken: (.photoshop, "photoshop", "DateCreated")
            case .place: (.core, "Iptc4xmpCore", "Location")
            }
        }
    }

    /// A property that is written.
    private struct Property: Hashable {
        let field: Field
        /// Whether it is this program's own.
        let isOwn: Bool

        static let all = [true, false].flatMap { isOwn in
            Field.allCases.filter { isOwn || $0.common != nil }.map { Property(field: $0, isOwn: isOwn) }
        }

        static func named(_ name: XMLReader.Name) -> Property? {
            all.first { $0.name.local == name.local && $0.name.namespace.uris.contains(name.namespace) }
        }

        private var name: (namespace: XMPNamespace, prefix: String, local: String) {
            let own = (XMPNamespace.photoInbox, "photoinbox", field.rawValue)
            return isOwn ? own : field.common ?? own
        }

        /// The array that it is, nil for a text.
        var array: String? { field == .keywords ? "Bag" : field == .title && !isOwn ? "Alt" : nil }

        /// Items of the array; `prefix` is that of RDF, with a colon.
        func items(_ texts: [String], _ prefix: String) -> String {
            let start = array == "Alt" ? "li xml:lang=\"x-default\"" : "li"
            return texts.map { "<\(prefix)\(start)>\(escaped($0))</\(prefix)li>" }.joined()
        }

        /// Whether a common property has become what it should, or is as it was.
        func has(_ now: XMPValue?, after old: XMPValue?, _ change: Change) -> Bool {
            if now == old { return true }
            let before = change.old.first.map { XMPValue(text: $0) }
            if array == nil {
                return now == change.new.first.map { XMPValue(text: $0) } && [nil, before].contains(old)
            }
            let (now, old) = (now?.items ?? [], old?.items ?? [])
            if array == "Alt" {
                let (mine, theirs) = (old.filter(\.isDefault), old.filter { !$0.isDefault })
                return now.first(where: \.isDefault)?.plain == change.new.first
                    && now.filter { !$0.isDefault } == theirs && mine.allSatisfy { $0.plain == change.old.first }
            }
            let others = old.filter { !change.removed.contains(bytes($0.plain)) }
            let added = change.added.filter { word in !old.contains { isSame($0.plain, word) } }
            return Array(now.prefix(others.count)) == others && now.dropFirst(others.count).map(\.plain) == added
        }

        /// The whole element with these texts, with its own declarations.
        func element(_ texts: [String]) -> String {
            let tag = "\(name.prefix):\(name.local)"
            var content = texts.map(escaped).joined()
            if let array {
                content = "<rdf:\(array) xmlns:rdf=\"\(SidecarText.rdf)\">\(items(texts, "rdf:"))</rdf:\(array)>"
            }
            return "<\(tag) xmlns:\(name.prefix)=\"\(name.namespace.uris[0])\">\(content)</\(tag)>"
        }
    }

    /// What was said with one property, and what is to be said.
    private struct Change {
        let old: [String]
        let new: [String]
        let added: [String]
        let removed: Set<[UInt8]>

        init(of field: Field, from before: Statement?, to said: Statement) {
            (old, new) = (before?.values[field] ?? [], said.values[field] ?? [])
            let (former, latter) = (Set(old.map(bytes)), Set(new.map(bytes)))
            (added, removed) = (new.filter { !former.contains(bytes($0)) }, former.subtracting(latter))
        }
    }

    /// One property where it stands in a sidecar.
    private struct Occurrence {
        let property: Property
        /// Its whole element; of an attribute, its value.
        var range: Range<Int>
        /// What can be replaced: the value, the content of an element, or that of its array; nil if it has none.
        var content: Range<Int>?
        var text = ""
        /// The prefix of its array, with a colon, as it is written.
        var prefix = ""
        /// The items of an array, with their whole elements.
        var items: [(range: Range<Int>, text: String, isDefault: Bool)] = []
        /// Whether it has a form that is not edited.
        var isOdd = false

        /// How an own property gets what is to be said, a list in its order.
        func edits(to wanted: [String]) -> [Edit] {
            guard property.array != nil else {
                return isSame(text, wanted.first ?? "")
                    ? [] : [content.map { ($0, escaped(wanted.first ?? "")) } ?? (range, property.element(wanted))]
            }
            if items.map({ bytes($0.text) }) == wanted.map(bytes) { return [] }
            guard let content else { return [(range, property.element(wanted))] }
            let end = content.upperBound..<content.upperBound
            return items.map { ($0.range, "") } + [(end, property.items(wanted, prefix))]
        }

        /// How a common property follows its own one: only what that had is replaced or removed.
        func edits(_ change: Change) -> [Edit] {
            guard let array = property.array else {
                guard let content, isSame(text, change.old.first), let new = change.new.first else { return [] }
                return [(content, escaped(new))]
            }
            let added = change.added.filter { word in !items.contains { isSame($0.text, word) } }
            guard let content else { return added.isEmpty ? [] : [(range, property.element(added))] }
            if array == "Alt" {
                let mine = items.first(where: \.isDefault)
                if change.new.isEmpty || mine.map({ !isSame($0.text, change.old.first) }) == true { return [] }
                return [(mine?.range ?? content.lowerBound..<content.lowerBound, property.items(change.new, prefix))]
            }
            let end = content.upperBound..<content.upperBound
            return items.filter { change.removed.contains(bytes($0.text)) }.map { ($0.range, "") }
                + (added.isEmpty ? [] : [(end, property.items(added, prefix))])
        }
    }

    /// A range of bytes, and what replaces it.
    private typealias Edit = (range: Range<Int>, text: String)

    private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

    /// Returns the sidecar `old` with what is said, beside what others say there; a new one for nil. What `old` has of this
    /// program is replaced, of a common property only what the own one had; the rest is added where it is missing.
    package static func text(_ said: Statement, in old: [UInt8]?) throws(Refusal) -> [UInt8] {
        let new = """
            <?xpacket begin="\u{FEFF}" id="W5M0MpCehiHzreSzNTczkc9d"?>
            <x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="photo-inbox">
             <rdf:RDF xmlns:rdf="\(rdf)">
             </rdf:RDF>
            </x:xmpmeta>
            <?xpacket end="w"?>

            """
        let start = old ?? Array(new.utf8)
        let mark: [UInt8] = start.starts(with: [0xEF, 0xBB, 0xBF]) ? [0xEF, 0xBB, 0xBF] : []
        var bytes = Array(start.dropFirst(mark.count))
        let before = Statement(start)
        if let before, before.sha256 != said.sha256 { throw Refusal("it belongs to another photo") }
        let edits = try edits(of: bytes, from: before, to: said)
        for (range, text) in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            bytes.replaceSubrange(range, with: text.utf8)
        }
        // Should this editor be wrong about a sidecar, the old text is worth more.
        func properties(_ bytes: [UInt8]) -> [XMLReader.Name: XMPValue] {
            var all = XMPProperties()
            all.add(bytes)
            return all.values
        }
        let (then, now) = (properties(start), properties(bytes))
        guard Statement(bytes) == said,
            Set(then.keys).union(now.keys).allSatisfy({ name in
                guard let property = Property.named(name) else { return then[name] == now[name] }
                return property.isOwn
                    || property.has(now[name], after: then[name], Change(of: property.field, from: before, to: said))
            })
        else { throw Refusal("its XML would lose something") }
        return mark + bytes
    }

    private static func edits(
        of bytes: [UInt8], from before: Statement?, to said: Statement
    ) throws(Refusal) -> [Edit] {
        let found: Scan
        do throws(XMLReader.Failure) { found = try Scan(bytes) } catch {
            throw Refusal("it is no XML, or has more depth, namespaces or attributes than are read")
        }
        guard let end = found.end else { throw Refusal("it is no XMP, or not in UTF-8") }
        if found.hasDocumentType { throw Refusal("its XML has a document type") }
        if before == nil, found.occurrences.contains(where: \.property.isOwn) {
            throw Refusal("it has properties of photo-inbox, but does not say of which photo")
        }
        var missing: [String] = []
        var edits: [Edit] = []
        for property in Property.all {
            let change = Change(of: property.field, from: before, to: said)
            let all = found.occurrences.filter { $0.property == property }
            let isOdd = all.contains(where: \.isOdd) || property.array != nil && all.count > 1
            if property.isOwn {
                if isOdd { throw Refusal("its \(property.field.rawValue) has a form that is not edited") }
                edits += all.flatMap { $0.edits(to: change.new) }
            } else if !isOdd, !change.added.isEmpty || !change.removed.isEmpty {
                edits += all.flatMap { $0.edits(change) }
            }
            let added = property.isOwn ? change.new : change.added
            if all.isEmpty, !added.isEmpty { missing.append("   \(property.element(added))\n") }
        }
        if !missing.isEmpty {
            // Before the line's indentation.
            let place = (bytes[..<end].lastIndex { $0 > 0x20 } ?? end - 1) + 1
            let about = (found.about ?? "").replacing("\"", with: "&quot;")
            let node = "rdf:Description xmlns:rdf=\"\(rdf)\" rdf:about=\"\(about)\""
            edits.append((place..<place, "\n  <\(node)>\n\(missing.joined())  </rdf:Description>"))
        }
        return edits
    }

    /// The known properties of an XMP packet in UTF-8, with their places.
    private struct Scan {
        private(set) var occurrences: [Occurrence] = []
        /// Where RDF's element ends; nil if there is not exactly one.
        private(set) var end: Int?
        /// The subject, as it is written.
        private(set) var about: String?
        private(set) var hasDocumentType = false
        private var current: Occurrence?
        /// Where the content of the current property began, and that of its array.
        private var starts = (property: 0, array: 0)
        private var item: (start: Int, isDefault: Bool)?
        private var text = ""

        init(_ bytes: [UInt8]) throws(XMLReader.Failure) {
            guard Self.isUTF8(bytes) else { return }
            var reader = XMLReader(bytes)
            var (depth, rdf, count) = (0, Int?.none, 0)
            while let event = try reader.next() {
                switch event {
                case .start(let name, let attributes):
                    depth += 1
                    if rdf == nil, name == XMLReader.Name(namespace: SidecarText.rdf, local: "RDF") {
                        (rdf, count) = (depth, count + 1)
                    } else if let rdf {
                        start(name, attributes, level: depth - rdf, at: reader.beginning..<reader.position, bytes)
                    }
                case .text(let part): text += part
                case .end:
                    // An empty element has no end of its own, and no place for a node.
                    let tag = reader.position > reader.beginning ? reader.beginning..<reader.position : nil
                    if let level = rdf.map({ depth - $0 }) { finish(level: level, tag, at: reader.position, bytes) }
                    if rdf == depth {
                        rdf = nil
                        end = count == 1 ? tag?.lowerBound : nil
                    }
                    depth -= 1
                }
            }
            hasDocumentType = reader.hasDocumentType
        }

        private mutating func start(
            _ name: XMLReader.Name, _ attributes: [XMLReader.Attribute], level: Int, at tag: Range<Int>,
            _ bytes: [UInt8]
        ) {
            switch level {
            case 1:
                for attribute in attributes {
                    if let property = Property.named(attribute.name) {
                        occurrences.append(
                            Occurrence(
                                property: property, range: attribute.range, content: attribute.range,
                                text: attribute.value, isOdd: property.array != nil))
                    } else if about == nil, attribute.name.local == "about" {
                        about = String(decoding: bytes[attribute.range], as: UTF8.self)
                    }
                }
            case 2:
                current = Property.named(name).map {
                    Occurrence(property: $0, range: tag, isOdd: !attributes.isEmpty)
                }
                (text, starts) = ("", (tag.upperBound, 0))
            case 3:
                let arrays: [String?] =
                    current?.property.array == "Bag" ? ["Bag", "Seq"] : [current?.property.array]
                if name.namespace != SidecarText.rdf || !arrays.contains(name.local) || !attributes.isEmpty
                    || starts.array > 0
                {
                    current?.isOdd = true
                }
                starts.array = tag.upperBound
                let spelled = bytes[tag].dropFirst().prefix { $0 > 0x20 && !"/>".utf8.contains($0) }
                current?.prefix = String(decoding: spelled.dropLast(name.local.utf8.count), as: UTF8.self)
            case 4:
                let language = attributes.first { $0.name == XMLReader.Name(namespace: "xml", local: "lang") }?.value
                if name != XMLReader.Name(namespace: SidecarText.rdf, local: "li")
                    || attributes.count > (language == nil ? 0 : 1)
                {
                    current?.isOdd = true
                }
                item = (tag.lowerBound, language?.lowercased() == "x-default")
                text = ""
            default: current?.isOdd = true
            }
        }

        /// `tag` is the end tag, nil for that of an empty element.
        private mutating func finish(level: Int, _ tag: Range<Int>?, at end: Int, _ bytes: [UInt8]) {
            if level == 4, let item {
                current?.items.append((item.start..<end, text, item.isDefault))
                text = ""
            } else if level == 3, let tag {
                current?.content = starts.array..<tag.lowerBound
            } else if level == 2, var found = current {
                found.range = found.range.lowerBound..<end
                found.text = text
                let inside = bytes[starts.property..<(tag?.lowerBound ?? starts.property)]
                if found.property.array == nil {
                    if tag != nil { found.content = inside.startIndex..<inside.endIndex }
                    // A comment or the like, which would be lost.
                    if inside.contains(UInt8(ascii: "<")) { found.isOdd = true }
                } else if text.contains(where: { !$0.isWhitespace })
                    || found.content == nil && inside.contains(where: { "!?".utf8.contains($0) })
                {
                    found.isOdd = true
                }
                occurrences.append(found)
                current = nil
            }
        }

        private static func isUTF8(_ bytes: [UInt8]) -> Bool {
            guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { return false }
            guard bytes.starts(with: "<?xml ".utf8) else { return true }
            let declaration = String(decoding: bytes.prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self).lowercased()
            return !declaration.contains("encoding") || declaration.contains("utf-8")
        }
    }
}

extension XMPValue {
    fileprivate var isDefault: Bool { language == "x-default" }
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Whether two texts have the same bytes; for `==`, those that look the same are equal.
private func isSame(_ one: String, _ other: String?) -> Bool { other.map { one.utf8.elementsEqual($0.utf8) } ?? false }

/// Those that are not blank; nil if none is.
private func shown(_ texts: [String]) -> [String]? {
    let shown = texts.filter { keptText($0) != nil }
    return shown.isEmpty ? nil : shown
}

/// Characters that XML 1.0 can hold.
private func isXML(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x20 && ![0xFFFE, 0xFFFF].contains(scalar.value) || ["\t", "\n", "\r"].contains(scalar)
}

/// With references for what has a meaning in XML, and for what readers replace by blanks in attributes.
private func escaped(_ text: String) -> String {
    text.unicodeScalars.map { "&<>\"'\t\n\r".unicodeScalars.contains($0) ? "&#\($0.value);" : "\($0)" }.joined()
}
