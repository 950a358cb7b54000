package import FileValues

/// A JSON value: objects keep the order of their fields, so equal values give equal bytes.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    /// A number that is not finite is written as null.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([JSONField])

    /// The object of a whole document, with `format` first, for readers.
    package static func document(_ fields: [JSONField]) -> JSONValue {
        .object([JSONField("format", .integer(1))] + fields)
    }

    package static func count(_ number: Int) -> JSONValue { .integer(Int64(number)) }

    /// A time as RFC 3339 in UTC; null if that cannot represent it.
    package static func moment(_ seconds: Int64, milliseconds: Int? = nil) -> JSONValue {
        LocalClock.universal.rfc3339(seconds, milliseconds: milliseconds).map(JSONValue.string) ?? .null
    }

    /// The text without blanks, on one line.
    package var compact: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        case .number(let value): text += value.isFinite ? value.description : "null"
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let fields):
            text += "{"
            for (index, field) in fields.enumerated() {
                if index > 0 { text += "," }
                Self.write(field.name, to: &text)
                text += ":"
                field.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// Escapes what JSON requires, and everything that moves a terminal's cursor or ends a line.
    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}",
                // Characters that change the direction of text, so that a name looks like another.
                "\u{061C}", "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                text += "\\u" + padded(scalar.value, 4, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

/// A value that has a form in JSON; nil is null.
package protocol JSONRepresentable {
    var json: JSONValue { get }
}

extension JSONValue: JSONRepresentable { package var json: JSONValue { self } }
extension Bool: JSONRepresentable { package var json: JSONValue { .boolean(self) } }
extension Int: JSONRepresentable { package var json: JSONValue { .integer(Int64(self)) } }
extension Int32: JSONRepresentable { package var json: JSONValue { .integer(Int64(self)) } }
extension Int64: JSONRepresentable { package var json: JSONValue { .integer(self) } }
extension UInt32: JSONRepresentable { package var json: JSONValue { .unsigned(UInt64(self)) } }
extension UInt64: JSONRepresentable { package var json: JSONValue { .unsigned(self) } }
extension Double: JSONRepresentable { package var json: JSONValue { .number(self) } }
extension String: JSONRepresentable { package var json: JSONValue { .string(self) } }
extension FileTime: JSONRepresentable {
    package var json: JSONValue { .moment(seconds, milliseconds: Int(nanoseconds / 1_000_000)) }
}
extension Optional: JSONRepresentable where Wrapped: JSONRepresentable {
    package var json: JSONValue { self?.json ?? .null }
}
extension Array: JSONRepresentable where Element: JSONRepresentable {
    package var json: JSONValue { .array(map(\.json)) }
}

package struct JSONField: Hashable, Sendable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
        (self.name, self.value) = (name, value)
    }

    package init(_ name: String, _ value: some JSONRepresentable) { self.init(name, value.json) }

    /// A path as text, and also as NAME_base64 if its bytes are not UTF-8.
    package static func path(_ name: String, _ path: BytePath) -> [JSONField] {
        if let text = String(validating: path.bytes, as: UTF8.self) { return [JSONField(name, .string(text))] }
        return [
            JSONField(name, .string(String(decoding: path.bytes, as: UTF8.self))),
            JSONField(name + "_base64", .string(base64Encoded(path.bytes))),
        ]
    }
}
