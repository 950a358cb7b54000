/// The name of an element: in the namespace `DAV:`, say.
struct XMLName: Hashable, Sendable {
    static let dav = "DAV:"

    let namespace: String
    let local: String

    init(_ local: String, in namespace: String = dav) { (self.local, self.namespace) = (local, namespace) }

    /// As an element without content, in a document in which `D:` is `DAV:`.
    var text: String { text(around: "") }

    func text(around content: String) -> String {
        let (tag, declaration) =
            namespace == Self.dav
            ? ("D:\(local)", "")
            : namespace.isEmpty ? (local, "") : ("x:\(local)", " xmlns:x=\"\(xmlEscaped(namespace))\"")
        return content.isEmpty ? "<\(tag)\(declaration)/>" : "<\(tag)\(declaration)>\(content)</\(tag)>"
    }
}

/// Text within an element or an attribute. Two characters that no document may have are replaced; control characters do not come
/// here.
func xmlEscaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": escaped += "&amp;"
        case "<": escaped += "&lt;"
        case ">": escaped += "&gt;"
        case "\"": escaped += "&quot;"
        case "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
        default: escaped.unicodeScalars.append(scalar)
        }
    }
    return escaped
}

/// An element of the body of a request: its name and what elements it has. Text and attributes have no meaning in the bodies that are
/// read here.
struct XMLElement: Hashable, Sendable {
    let name: XMLName
    fileprivate(set) var children: [XMLElement] = []

    subscript(local: String) -> XMLElement? { children.first { $0.name == XMLName(local) } }

    /// The root of a document in UTF-8; nil for one that is malformed, has a document type, or is nested too deeply.
    init?(_ bytes: [UInt8]) {
        var parser = XMLParser(bytes)
        guard let root = parser.document() else { return nil }
        self = root
    }

    fileprivate init(_ name: XMLName) { self.name = name }
}

/// Reads the structure of a document with namespaces. See XML 1.0 2.1, and Namespaces in XML 1.0.
private struct XMLParser {
    private static let limit = (depth: 16, elements: 1_024)

    private let bytes: [UInt8]
    private var index = 0
    private var elements = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func document() -> XMLElement? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        _ = skip("\u{FEFF}")
        /// Elements that have begun, with their tags and the namespaces of prefixes within them.
        var open: [(element: XMLElement, tag: String, prefixes: [String: String])] = []
        var root: XMLElement?
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "<") else {
                // Text, which only an element can have.
                guard !open.isEmpty || isBlank(bytes[index]) else { return nil }
                index += 1
                continue
            }
            if skip("<?") {
                guard skip(past: "?>") else { return nil }
            } else if skip("<!--") {
                guard skip(past: "-->") else { return nil }
            } else if !open.isEmpty, skip("<![CDATA[") {
                guard skip(past: "]]>") else { return nil }
            } else if skip("</") {
                guard let tag = name(), let last = open.popLast(), last.tag == tag else { return nil }
                skipBlanks()
                guard skip(">"), put(last.element, in: &open, &root) else { return nil }
            } else {
                index += 1
                guard root == nil, open.count < Self.limit.depth, elements < Self.limit.elements, let tag = name(),
                    let (prefixes, isEmpty) = attributes(open.last?.prefixes ?? ["": "", "xml": "xml"]),
                    let name = Self.resolved(tag, prefixes)
                else { return nil }
                elements += 1
                if isEmpty {
                    guard put(XMLElement(name), in: &open, &root) else { return nil }
                } else {
                    open.append((XMLElement(name), tag, prefixes))
                }
            }
        }
        return open.isEmpty ? root : nil
    }

    private func put(
        _ element: XMLElement, in open: inout [(element: XMLElement, tag: String, prefixes: [String: String])],
        _ root: inout XMLElement?
    ) -> Bool {
        if open.isEmpty {
            guard root == nil else { return false }
            root = element
        } else {
            open[open.count - 1].element.children.append(element)
        }
        return true
    }

    private static func resolved(_ tag: String, _ prefixes: [String: String]) -> XMLName? {
        let parts = tag.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let local = parts.last, !local.isEmpty,
            let namespace = prefixes[parts.count == 2 ? parts[0] : ""], parts.count == 1 || !parts[0].isEmpty
        else { return nil }
        return XMLName(local, in: namespace)
    }

    /// Up to the end of a tag; nil for a malformed one.
    private mutating func attributes(_ outer: [String: String]) -> (prefixes: [String: String], isEmpty: Bool)? {
        var prefixes = outer
        while true {
            let hasBlank = index < bytes.count && isBlank(bytes[index])
            skipBlanks()
            if skip("/>") { return (prefixes, true) }
            if skip(">") { return (prefixes, false) }
            guard hasBlank, let name = name() else { return nil }
            skipBlanks()
            guard skip("=") else { return nil }
            skipBlanks()
            guard let value = value() else { return nil }
            if name == "xmlns" {
                prefixes[""] = value
            } else if name.hasPrefix("xmlns:") {
                guard !value.isEmpty, name.utf8.count > 6 else { return nil }
                prefixes[String(name.dropFirst(6))] = value
            }
        }
    }

    private mutating func value() -> String? {
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") else {
            return nil
        }
        let start = index + 1
        guard let end = bytes[start...].firstIndex(of: bytes[index]) else { return nil }
        index = end + 1
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        guard !text.contains("<"), text.utf8.allSatisfy({ $0 >= 0x20 || isBlank($0) }) else { return nil }
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        return entities.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }

    /// A name, as far as it can be told from what follows it.
    private mutating func name() -> String? {
        let rest = bytes[index...]
        let name = rest.prefix { byte in byte > 0x20 && byte != 0x7F && !"<>&/='\"!?#;,".utf8.contains(byte) }
        guard let first = name.first, !"-.0123456789".utf8.contains(first), name.count <= 256 else { return nil }
        index += name.count
        return String(decoding: name, as: UTF8.self)
    }

    private func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    private mutating func skipBlanks() { while index < bytes.count, isBlank(bytes[index]) { index += 1 } }

    private mutating func skip(_ text: String) -> Bool {
        guard bytes[index...].starts(with: text.utf8) else { return false }
        index += text.utf8.count
        return true
    }

    private mutating func skip(past text: String) -> Bool {
        guard let found = bytes[index...].firstRange(of: text.utf8) else { return false }
        index = found.upperBound
        return true
    }
}
