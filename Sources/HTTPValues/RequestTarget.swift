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
