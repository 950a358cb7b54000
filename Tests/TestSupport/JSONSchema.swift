public import Foundation

/// A JSON value.
public enum JSONTree: Decodable, Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONTree])
    case object([String: JSONTree])

    /// Parses a document.
    public init(_ bytes: Data) throws { self = try JSONDecoder().decode(JSONTree.self, from: bytes) }

    /// See `Decodable`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    /// A member of an object.
    public subscript(name: String) -> JSONTree? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    fileprivate var type: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number(let number): number == number.rounded() ? "integer" : "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

/// The part of JSON Schema 2020-12 that the project's schemas use, checked strictly: an unknown keyword is a mistake
/// of the schema, and an unlisted field one of the document, although readers must ignore it.
public struct JSONSchema {
    private let root: JSONTree

    /// `root` is the whole schema.
    public init(_ root: JSONTree) { self.root = root }

    /// Every mistake in `document`, with its place; empty if it matches the schema.
    public func mistakes(in document: JSONTree) -> [String] { mistakes(document, root, "") }

    private func mistakes(_ value: JSONTree, _ schema: JSONTree, _ place: String) -> [String] {
        guard case .object(let keywords) = schema else { return ["\(place): the schema is no object"] }
        var found: [String] = []
        for (keyword, wanted) in keywords.sorted(by: { $0.key < $1.key }) {
            switch (keyword, wanted) {
            case ("$schema", .string), ("title", .string), ("description", .string), ("$defs", .object): break
            case ("$ref", .string(let path)):
                guard path.hasPrefix("#/$defs/"), let named = root["$defs"]?[String(path.dropFirst(8))] else {
                    found.append("\(place): the schema has no \(path)")
                    break
                }
                found += mistakes(value, named, place)
            case ("type", .string(let type)):
                if value.type != type, !(type == "number" && value.type == "integer") {
                    found.append("\(place): \(value.type), not \(type)")
                }
            case ("const", _): if value != wanted { found.append("\(place): not \(wanted)") }
            case ("enum", .array(let values)):
                if !values.contains(value) { found.append("\(place): \(value) is not among \(values)") }
            case ("pattern", .string(let pattern)):
                guard case .string(let text) = value, let expression = try? Regex(pattern),
                    text.firstMatch(of: expression) != nil
                else {
                    found.append("\(place): \(value) does not match \(pattern)")
                    break
                }
            case ("minimum", .number(let least)):
                if case .number(let number) = value, number < least { found.append("\(place): \(number) < \(least)") }
            case ("items", _):
                guard case .array(let items) = value else { break }
                for (index, item) in items.enumerated() { found += mistakes(item, wanted, "\(place)[\(index)]") }
            case ("required", .array(let names)):
                for case .string(let name) in names where value[name] == nil {
                    found.append("\(place): \(name) is missing")
                }
            case ("properties", .object(let properties)):
                guard case .object(let members) = value else { break }
                for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                    guard let property = properties[name] else {
                        found.append("\(place): \(name) is not in the schema")
                        continue
                    }
                    found += mistakes(member, property, "\(place).\(name)")
                }
            default: found.append("\(place): the schema's \(keyword) is not known here")
            }
        }
        return found
    }
}
