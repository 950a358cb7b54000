import FileValues

/// A value of a column or of an argument.
enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

/// What a column or an argument can be. Reading is strict: a file may have been edited or damaged, and no value is guessed.
protocol SQLConvertible {
    var sqlValue: SQLValue { get }

    /// Nil for a value of another type, or out of range.
    init?(sqlValue: SQLValue)
}

extension SQLValue: SQLConvertible {
    var sqlValue: SQLValue { self }

    init(sqlValue: SQLValue) { self = sqlValue }
}

extension SQLConvertible where Self: FixedWidthInteger {
    var sqlValue: SQLValue { .integer(Int64(self)) }

    init?(sqlValue: SQLValue) {
        guard case .integer(let number) = sqlValue else { return nil }
        self.init(exactly: number)
    }
}

// Not UInt64, of which the bits are kept: see SQLRow.unsigned(_:).
extension Int: SQLConvertible {}
extension Int64: SQLConvertible {}
extension Int32: SQLConvertible {}
extension UInt32: SQLConvertible {}
extension UInt8: SQLConvertible {}

/// 0 or 1, in every engine.
extension Bool: SQLConvertible {
    var sqlValue: SQLValue { .integer(self ? 1 : 0) }

    init?(sqlValue: SQLValue) {
        guard case .integer(let number) = sqlValue else { return nil }
        self = number != 0
    }
}

extension Double: SQLConvertible {
    var sqlValue: SQLValue { .real(self) }

    init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .real(let number): self = number
        case .integer(let number): self.init(number)
        case .null, .text, .bytes: return nil
        }
    }
}

extension String: SQLConvertible {
    var sqlValue: SQLValue { .text(self) }

    init?(sqlValue: SQLValue) {
        guard case .text(let text) = sqlValue else { return nil }
        self = text
    }
}

extension [UInt8]: SQLConvertible {
    var sqlValue: SQLValue { .bytes(self) }

    init?(sqlValue: SQLValue) {
        guard case .bytes(let bytes) = sqlValue else { return nil }
        self = bytes
    }
}

extension BytePath: SQLConvertible {
    var sqlValue: SQLValue { .bytes(bytes) }

    init?(sqlValue: SQLValue) {
        guard case .bytes(let bytes) = sqlValue else { return nil }
        self.init(bytes)
    }
}

/// A row with a value that this program does not write.
struct UnreadableRow: Error, CustomStringConvertible {
    let column: String
    var description: String { "unreadable column \(column)" }
}

/// The columns of a statement, shared by its rows.
final class SQLColumns: Sendable {
    let names: [String]
    var count: Int { names.count }
    private let indexes: [String: Int]

    /// Of several with one name the first counts.
    init(_ names: [String]) {
        self.names = names
        indexes = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
    }

    func index(of name: String) -> Int? { indexes[name] }
}

/// A row of a result, independent of its statement.
struct SQLRow: Sendable {
    let columns: SQLColumns
    var values: [SQLValue]

    /// NULL where there is no such column.
    subscript(_ index: Int) -> SQLValue { values.indices.contains(index) ? values[index] : .null }

    /// Nil if there is no such column.
    subscript(_ column: String) -> SQLValue? { columns.index(of: column).map { self[$0] } }

    func value<Value: SQLConvertible>(_ column: String) throws -> Value {
        guard let found = self[column], let value = Value(sqlValue: found) else { throw UnreadableRow(column: column) }
        return value
    }

    func optional<Value: SQLConvertible>(_ column: String) throws -> Value? {
        self[column] == .null ? nil : try value(column)
    }

    func path(_ column: String) throws -> BytePath { try value(column) }

    func bytes(_ column: String) throws -> [UInt8]? { try optional(column) }

    func time(_ column: String) throws -> FileTime { FileTime(nanosecondsSince1970: try value(column)) }

    func optionalTime(_ column: String) throws -> FileTime? { self[column] == .null ? nil : try time(column) }

    /// A number whose bits were stored as those of a signed one.
    func unsigned(_ column: String) throws -> UInt64 { UInt64(bitPattern: try value(column)) }

    func fileTime(_ column: String) throws -> FileTime {
        let fraction: Int64 = try value("\(column)_ns")
        guard (0..<1_000_000_000).contains(fraction) else { throw UnreadableRow(column: column) }
        return FileTime(seconds: try value(column), nanoseconds: UInt32(fraction))
    }
}
