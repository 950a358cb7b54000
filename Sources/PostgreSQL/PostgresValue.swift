/// A value of a column or an argument.
public enum PostgresValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])

    /// About the bytes that it takes.
    var size: Int {
        switch self {
        case .text(let text): 16 + text.utf8.count
        case .bytes(let bytes): 48 + bytes.count
        case .null, .integer, .real: 16
        }
    }
}

/// A row of a result. Its names are shared by all rows.
public struct PostgresRow: Sendable {
    /// The names of its columns.
    public let columns: [String]
    /// In the order of the columns.
    public let values: [PostgresValue]

    /// About the bytes that it takes.
    var size: Int { values.reduce(64) { $0 + $1.size } }
}

/// One statement. Arguments are written as `?` in order, or as `?1`, `?2` … by number.
public struct PostgresStatement: Sendable {
    /// As it is written, with its placeholders.
    public let sql: String
    /// The arguments: in order, or from number 1 on.
    public let values: [PostgresValue]

    /// A statement with its arguments.
    public init(_ sql: String, _ values: [PostgresValue] = []) {
        self.sql = sql
        self.values = values
    }

    /// About the bytes of its arguments.
    var size: Int { values.reduce(0) { $0 + $1.size } }
}

/// What a statement has done.
public struct PostgresOutcome: Sendable {
    /// The number of rows that were changed or returned.
    public let count: Int
    /// What was returned, whole.
    public let rows: [PostgresRow]
}

/// The types that are known, in their binary format; numbers are those of pg_type.
enum PostgresType: UInt32 {
    case bool = 16
    case bytea = 17
    case int8 = 20
    case int2 = 21
    case int4 = 23
    case text = 25
    case float8 = 701
    case varchar = 1043

    /// An argument's bytes; nil if the value does not fit the type. Null has none.
    func encoded(_ value: PostgresValue) -> [UInt8]? {
        switch (self, value) {
        case (.bool, .integer(let number)): (0...1).contains(number) ? [UInt8(number)] : nil
        case (.int2, .integer(let number)): Int16(exactly: number).map(bigEndian)
        case (.int4, .integer(let number)): Int32(exactly: number).map(bigEndian)
        case (.int8, .integer(let number)): bigEndian(number)
        case (.float8, .real(let number)): bigEndian(number.bitPattern)
        case (.float8, .integer(let number)): Double(exactly: number).map { bigEndian($0.bitPattern) }
        case (.text, .text(let text)), (.varchar, .text(let text)): Array(text.utf8)
        case (.bytea, .bytes(let bytes)): bytes
        default: nil
        }
    }

    /// The value of a column; nil if the bytes are none: a wrong length, or text that is not UTF-8.
    func decoded(_ bytes: UnsafeRawBufferPointer) -> PostgresValue? {
        switch self {
        case .bool: number(bytes, UInt8.self).map { .integer($0 == 0 ? 0 : 1) }
        case .int2: number(bytes, Int16.self).map { .integer(Int64($0)) }
        case .int4: number(bytes, Int32.self).map { .integer(Int64($0)) }
        case .int8: number(bytes, Int64.self).map { .integer($0) }
        case .float8: number(bytes, UInt64.self).map { .real(Double(bitPattern: $0)) }
        case .text, .varchar: String(validating: bytes, as: UTF8.self).map { .text($0) }
        case .bytea: .bytes(Array(bytes))
        }
    }

    private func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private func number<N: FixedWidthInteger>(_ bytes: UnsafeRawBufferPointer, _ type: N.Type) -> N? {
        bytes.count == MemoryLayout<N>.size ? N(bigEndian: bytes.loadUnaligned(as: N.self)) : nil
    }
}
