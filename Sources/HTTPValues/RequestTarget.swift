import FileValues

/// The path and the query of a request, decoded: `/t/3f%20a?size=2` is `["t", "3f a"]` and `size`.
///
/// Only the origin form is accepted. What two programs could read differently is refused: a segment that is `.`, `..` or
/// empty, an encoded slash, a backslash, NUL and other control characters, and bytes that are not UTF-8.
package struct RequestTarget: Hashable, Sendable {
    /// The most bytes of a target.
    package static let limit = 8 << 10

    /// Without a last empty one.
    package let segments: [String]
    /// Whether the path ends in a slash, as that of a directory does.
    package let isDirectory: Bool
    private let parameters: [Parameter]

    private struct Parameter: Hashable {
        let name: String
        let value: String
    }

    package init?(_ text: String) {
        guard text.utf8.count <= Self.limit, text.utf8.first == UInt8(ascii: "/"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\") })
        else { return nil }
        let parts = text.dropFirst().split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var segments: [String] = []
        var pieces = parts[0].split(separator: "/", omittingEmptySubsequences: false)[...]
        isDirectory = pieces.last?.isEmpty == true
        if isDirectory { pieces = pieces.dropLast() }
        for piece in pieces {
            guard let segment = Self.segment(piece) else { return nil }
            segments.append(segment)
        }
        var parameters: [Parameter] = []
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = percentDecoded(halves[0], plusIsBlank: true),
                let value = percentDecoded(halves.count > 1 ? halves[1] : "", plusIsBlank: true)
            else { return nil }
            parameters.append(Parameter(name: name, value: value))
        }
        self.segments = segments
        self.parameters = parameters
    }

    /// The target, encoded anew: no two programs read it differently.
    package var text: String {
        var text = segments.reduce(into: "") { $0 += "/" + percentEncoded($1.utf8) }
        if isDirectory { text += "/" }
        for (index, parameter) in parameters.enumerated() {
            text += index == 0 ? "?" : "&"
            text += "\(percentEncoded(parameter.name.utf8))=\(percentEncoded(parameter.value.utf8))"
        }
        return text
    }

    /// The value of a parameter that occurs once.
    package subscript(name: String) -> String? {
        let found = parameters.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }

    /// All values of a parameter, in their order.
    package func values(of name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }

    package var parameterNames: Set<String> { Set(parameters.map(\.name)) }

    private static func segment(_ piece: Substring) -> String? {
        guard let segment = percentDecoded(piece), !segment.isEmpty, segment != ".", segment != "..",
            !segment.utf8.contains(UInt8(ascii: "/")), !segment.utf8.contains(UInt8(ascii: "\\"))
        else { return nil }
        return segment
    }
}

/// The text behind `%41`; nil if an escape is incomplete, or if it is not UTF-8 or has control characters.
package func percentDecoded(_ text: Substring, plusIsBlank: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%") {
            guard let high = rest.popFirst().flatMap(hexadecimalDigit),
                let low = rest.popFirst().flatMap(hexadecimalDigit)
            else { return nil }
            bytes.append(high << 4 | low)
        } else {
            bytes.append(plusIsBlank && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        }
    }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
}

/// The value of `f` or `F`.
private func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Bytes as a part of a path or of a field: `a%20b`; see RFC 3986 2.3.
package func percentEncoded(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for byte in bytes {
        if byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte) {
            text.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
    return text
}
