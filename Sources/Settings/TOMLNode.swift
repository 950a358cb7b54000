/// One value of a TOML document and its position.
struct TOMLNode: Equatable, Sendable {
    enum Content: Equatable, Sendable {
        case string(String)
        case integer(Int)
        case number(Double)
        case boolean(Bool)
        /// Dates and times, which no key uses.
        case date
        case array([TOMLNode])
        /// In file order.
        case table([TOMLEntry])
    }

    var content: Content
    var position: TextPosition
    /// The source text; for a table, its header or key.
    var source: String

    /// The kind of value with its article, for messages.
    var kindName: String {
        switch content {
        case .string: "a string"
        case .integer: "an integer"
        case .number: "a number with a fraction"
        case .boolean: "a boolean"
        case .date: "a date or time"
        case .array: "an array"
        case .table: "a table"
        }
    }
}

/// A key of a TOML table and its value.
struct TOMLEntry: Equatable, Sendable {
    var key: String
    var position: TextPosition
    var node: TOMLNode

    /// `quiet = "5 secs"`, or the header for a table; one line, escaped, shortened.
    var statement: String {
        if case .table = node.content, !node.source.hasPrefix("{") { return excerpt("[\(node.source)]") }
        return excerpt("\(key) = \(node.source)")
    }
}
