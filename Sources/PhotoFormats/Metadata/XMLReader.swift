/// Reads the XML of photos' metadata event by event. XML 1.0, fifth edition; Namespaces in XML 1.0.
///
/// Document types are skipped, and only the five predefined entities and character references are replaced, so no text
/// grows. Depth, names in scope, attributes and texts are bounded. The time is proportional to the bytes.
struct XMLReader {
    struct Name: Hashable {
        let namespace: String
        let local: String
    }

    struct Attribute {
        let name: Name
        let value: String
        /// The bytes of the value as it is written, between its quotes.
        let range: Range<Int>
    }

    enum Event {
        case start(Name, [Attribute])
        case text(String)
        /// Of the element that began last and has not ended.
        case end
    }

    /// The text is not well-formed, or exceeds a bound.
    struct Failure: Error {}

    static let deepest = 48
    /// In scope; they are searched one by one.
    static let mostNamespaces = 64
    /// Bytes of one text or attribute; the rest is dropped. Depth maps and thumbnails are stored as texts of megabytes.
    static let longestText = 32 * 1024

    private let bytes: [UInt8]
    /// Where the last event began and ended.
    private(set) var beginning = 0
    private(set) var position = 0
    private(set) var hasDocumentType = false
    /// The open elements as they are spelled, each with the number of namespaces in scope outside of it.
    private var open: [(name: ArraySlice<UInt8>, namespaces: Int)] = []
    private var namespaces: [(prefix: ArraySlice<UInt8>, uri: String)] = []
    /// Whether the element that began last has no content: its end is the next event.
    private var isEmptyElement = false

    /// A reader of UTF-8 or, with a byte order mark or by its first zero bytes, UTF-16.
    init(_ bytes: [UInt8]) { self.bytes = Self.utf8(bytes) }

    /// The next event; nil at the end of the document.
    mutating func next() throws(Failure) -> Event? {
        beginning = position
        if isEmptyElement {
            isEmptyElement = false
            return close()
        }
        while position < bytes.count {
            beginning = position
            guard bytes[position] == UInt8(ascii: "<") else {
                let text = take(until: UInt8(ascii: "<"))
                if open.isEmpty { continue }
                return .text(try replacingReferences(text))
            }
            if skip("<!--") {
                _ = try take(through: "-->")
            } else if skip("<![CDATA[") {
                return .text(String(decoding: try take(through: "]]>").prefix(Self.longestText), as: UTF8.self))
            } else if skip("<?") {
                _ = try take(through: "?>")
            } else if skip("<!") {
                hasDocumentType = true
                try skipDocumentType()
            } else if skip("</") {
                let name = takeName()
                skipSpaces()
                guard skip(">"), let last = open.last, last.name.elementsEqual(name) else { throw Failure() }
                return close()
            } else {
                return try start()
            }
        }
        guard open.isEmpty else { throw Failure() }
        return nil
    }

    private mutating func close() -> Event {
        if let last = open.popLast() { namespaces.removeLast(namespaces.count - last.namespaces) }
        return .end
    }

    private mutating func start() throws(Failure) -> Event {
        position += 1
        let name = takeName()
        guard !name.isEmpty, open.count < Self.deepest else { throw Failure() }
        open.append((name, namespaces.count))
        var attributes: [(name: ArraySlice<UInt8>, value: String, range: Range<Int>)] = []
        while true {
            skipSpaces()
            if skip("/>") {
                isEmptyElement = true
                break
            }
            if skip(">") { break }
            let attribute = takeName()
            skipSpaces()
            guard !attribute.isEmpty, attributes.count < 256, skip("=") else { throw Failure() }
            skipSpaces()
            guard position < bytes.count, [0x22, 0x27].contains(bytes[position]) else { throw Failure() }
            let quote = bytes[position]
            position += 1
            let raw = take(until: quote)
            let value = try replacingReferences(raw)
            guard position < bytes.count else { throw Failure() }
            position += 1
            if attribute.elementsEqual("xmlns".utf8) {
                namespaces.append(([], value))
            } else if attribute.starts(with: "xmlns:".utf8) {
                namespaces.append((attribute.dropFirst(6), value))
            } else {
                attributes.append((attribute, value, raw.startIndex..<raw.endIndex))
            }
        }
        guard namespaces.count <= Self.mostNamespaces else { throw Failure() }
        return .start(
            resolve(name, isAttribute: false),
            attributes.map { Attribute(name: resolve($0.name, isAttribute: true), value: $0.value, range: $0.range) })
    }

    /// The name in its namespace; a prefix that nothing declares is its own namespace. Attributes without a prefix have
    /// none. Namespaces in XML 1.0, 6.2.
    private func resolve(_ name: ArraySlice<UInt8>, isAttribute: Bool) -> Name {
        let parts = name.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let prefix = parts.count == 2 ? parts[0] : []
        let local = String(decoding: parts[parts.count - 1], as: UTF8.self)
        if prefix.isEmpty, isAttribute { return Name(namespace: "", local: local) }
        if prefix.elementsEqual("xml".utf8) { return Name(namespace: "xml", local: local) }
        let found = namespaces.last { $0.prefix.elementsEqual(prefix) }?.uri
        return Name(namespace: found ?? String(decoding: prefix, as: UTF8.self), local: local)
    }

    // MARK: - Bytes

    private mutating func skip(_ text: StaticString) -> Bool {
        let isThere = text.withUTF8Buffer { bytes[position...].starts(with: $0) }
        if isThere { position += text.utf8CodeUnitCount }
        return isThere
    }

    private mutating func skipSpaces() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    private mutating func take(until end: UInt8) -> ArraySlice<UInt8> {
        let stop = bytes[position...].firstIndex(of: end) ?? bytes.count
        defer { position = stop }
        return bytes[position..<stop]
    }

    /// The bytes before `mark`, which is consumed as well.
    private mutating func take(through mark: StaticString) throws(Failure) -> ArraySlice<UInt8> {
        let start = position
        while position < bytes.count {
            let here = position
            if skip(mark) { return bytes[start..<here] }
            position += 1
        }
        throw Failure()
    }

    private mutating func takeName() -> ArraySlice<UInt8> {
        let stop =
            bytes[position...].firstIndex { byte in
                byte <= 0x20 || "/>=<\"'&?".utf8.contains(byte)
            } ?? bytes.count
        defer { position = stop }
        return bytes[position..<stop]
    }

    /// Skips a document type, whose internal subset stands in brackets.
    private mutating func skipDocumentType() throws(Failure) {
        var isInside = false
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "[") { isInside = true }
            if byte == UInt8(ascii: "]") { isInside = false }
            if byte == UInt8(ascii: ">"), !isInside { return }
        }
        throw Failure()
    }

    /// The text with its references replaced. A reference to an entity that XML does not predefine stays as it is written.
    private func replacingReferences(_ raw: ArraySlice<UInt8>) throws(Failure) -> String {
        let raw = raw.prefix(Self.longestText)
        guard raw.contains(UInt8(ascii: "&")) else { return String(decoding: raw, as: UTF8.self) }
        var text = ""
        var rest = raw
        while let mark = rest.firstIndex(of: UInt8(ascii: "&")) {
            text += String(decoding: rest[..<mark], as: UTF8.self)
            rest = rest[mark...]
            let name = rest.dropFirst().prefix(12).prefix { $0 != UInt8(ascii: ";") }
            let end = name.endIndex
            guard end < rest.endIndex, rest[end] == UInt8(ascii: ";"), let scalar = Self.scalar(of: name) else {
                text += "&"
                rest = rest.dropFirst()
                continue
            }
            text.unicodeScalars.append(scalar)
            rest = rest[(end + 1)...]
        }
        return text + String(decoding: rest, as: UTF8.self)
    }

    private static func scalar(of reference: ArraySlice<UInt8>) -> Unicode.Scalar? {
        switch String(decoding: reference, as: UTF8.self) {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        case let number where number.hasPrefix("#x") || number.hasPrefix("#X"):
            return UInt32(number.dropFirst(2), radix: 16).flatMap { Unicode.Scalar($0) }
        case let number where number.hasPrefix("#"):
            return UInt32(number.dropFirst()).flatMap { Unicode.Scalar($0) }
        default: return nil
        }
    }

    private static func utf8(_ bytes: [UInt8]) -> [UInt8] {
        switch (bytes.first, bytes.dropFirst().first) {
        case (0xFE, 0xFF), (0, 0x3C): utf16(bytes, isBigEndian: true)
        case (0xFF, 0xFE), (0x3C, 0): utf16(bytes, isBigEndian: false)
        default: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        }
    }
}

/// The text of UTF-16 bytes as UTF-8, without a byte order mark.
package func utf16(_ bytes: some Collection<UInt8>, isBigEndian: Bool) -> [UInt8] {
    var units: [UInt16] = []
    units.reserveCapacity(bytes.count / 2)
    var first: UInt8?
    for byte in bytes {
        if let high = first {
            units.append(isBigEndian ? UInt16(high) << 8 | UInt16(byte) : UInt16(byte) << 8 | UInt16(high))
            first = nil
        } else {
            first = byte
        }
    }
    if units.first == 0xFEFF { units.removeFirst() }
    return Array(String(decoding: units, as: UTF16.self).utf8)
}
