import FileValues

/// The fields of a request's head, in order, as they were received.
package struct HeaderFields: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    /// The most fields of a head.
    package static let limit = 64

    package let all: [Field]

    /// Nil unless every name is a token and no value has control characters; see RFC 9110 5.5 and 5.6.2.
    package init?(_ fields: some Sequence<(name: String, value: String)>) {
        var all: [Field] = []
        for (name, value) in fields {
            guard Self.isToken(name), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                return nil
            }
            // No blank but a space and a tab can be in it.
            let trimmed = String(decoding: trimmedBlanks(Array(value.utf8)), as: UTF8.self)
            all.append(Field(name: name.lowercased(), value: trimmed))
        }
        self.all = all
    }

    package var count: Int { all.count }

    /// The values of a field; `name` is in lower case.
    package func values(of name: String) -> [String] { all.filter { $0.name == name }.map(\.value) }

    /// The value of a field that occurs once; nil if it is absent or occurs twice.
    package subscript(name: String) -> String? {
        let values = values(of: name)
        return values.count == 1 ? values[0] : nil
    }

    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }
}
