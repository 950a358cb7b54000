/// One record of a CSV file, as bytes in an unknown encoding.
package struct CSVRecord: Sendable {
    /// The reason why a record is refused.
    package enum Fault: String, Hashable, Sendable {
        case unclosedQuote = "a quote is opened and never closed"
        case textAfterQuote = "there is text after the closing quote"
        case zeroByte = "it contains a zero byte"
        case tooLong = "it is longer than 1 MiB: a quote that is never closed?"
    }

    /// Its first line, from 1.
    package internal(set) var line = 1
    /// Its offset and the next record's, in bytes.
    package internal(set) var offset: UInt64 = 0
    package internal(set) var end: UInt64 = 0
    /// The line of ``end``.
    package internal(set) var nextLine = 1
    /// The fault of its last field, if any.
    package internal(set) var fault: Fault?

    /// The bytes of all fields, without quotes.
    var bytes: [UInt8] = []
    var ends: [Int] = []

    package init() {}

    package var count: Int { ends.count }

    /// A field's bytes; empty for a missing field.
    package subscript(field field: Int) -> ArraySlice<UInt8> {
        guard ends.indices.contains(field) else { return [] }
        return bytes[(field == 0 ? 0 : ends[field - 1])..<ends[field]]
    }

    mutating func begin(line: Int, offset: UInt64) {
        (self.line, self.offset, fault) = (line, offset, nil)
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }
}
