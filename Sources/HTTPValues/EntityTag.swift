/// A strong entity tag, made of what changes with the content: `"9f86d0…"`.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// With its quotation marks.
    package let description: String

    /// `content` has no quotation marks or control characters.
    package init(_ content: String) { description = "\"\(content)\"" }

    /// Whether a list such as `"a", W/"b"` or `*` has it. Weakly, `W/"a"` is the same as `"a"`; strongly it is not.
    func isIn(_ list: String, isWeak: Bool) -> Bool {
        if list == "*" { return true }
        var rest = list[...]
        while let start = rest.firstIndex(of: "\"") {
            let prefix = rest[..<start]
            let inner = rest.index(after: start)
            guard let end = rest[inner...].firstIndex(of: "\"") else { return false }
            let tag = rest[start...end]
            rest = rest[rest.index(after: end)...]
            if tag == description, isWeak || !prefix.hasSuffix("W/") { return true }
        }
        return false
    }
}

/// What the conditions of a request say about a content; see RFC 9110 13.2.2. There are no modification times: conditions on
/// these are ignored, as that section allows without a `Last-Modified`.
package enum Precondition: Hashable, Sendable {
    case proceed
    case notModified
    case failed

    package init(_ head: RequestHead, _ tag: EntityTag) {
        let matches = head.fields.values(of: "if-match")
        if !matches.isEmpty, !matches.contains(where: { tag.isIn($0, isWeak: false) }) {
            self = .failed
            return
        }
        guard head.fields.values(of: "if-none-match").contains(where: { tag.isIn($0, isWeak: true) }) else {
            self = .proceed
            return
        }
        self = head.method == .get || head.method == .head ? .notModified : .failed
    }
}

extension RequestHead {
    /// The bytes that are asked for of a content with this tag: with `If-Range`, a part only of this content.
    package func range(of size: UInt64, _ tag: EntityTag) -> ByteRange {
        // RFC 9110 14.2 defines it for GET alone.
        guard method == .get else { return .whole }
        let conditions = fields.values(of: "if-range")
        guard conditions.isEmpty || conditions == [tag.description] else { return .whole }
        return ByteRange(fields["range"], size: size)
    }
}
