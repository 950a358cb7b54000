/// One record of a CSV file, as bytes: what encoding they are in is for whoever reads them to say.
package struct CSVRecord: Sendable {
    /// Why a record cannot be taken.
    package enum Fault: String, Hashable, Sendable {
        case unclosedQuote = "a quote is opened and never closed"
        case textAfterQuote = "there is text after the closing quote"
        case zeroByte = "there is a zero byte in it"
        case tooLong = "it is longer than 1 MiB: a quote that is never closed?"
    }

    /// Lines are counted from 1; this is where it begins.
    package internal(set) var line = 1
    /// Where it begins in the file, and where the next one does, in bytes.
    package internal(set) var offset: UInt64 = 0
    package internal(set) var end: UInt64 = 0
    /// The line that ``end`` is in.
    package internal(set) var nextLine = 1
    /// What is wrong with it, if anything is; the last of its fields is the one that it is wrong with.
    package internal(set) var fault: Fault?

    /// Every field's bytes, without quotes, one after the other.
    var bytes: [UInt8] = []
    var ends: [Int] = []

    package init() {}

    package var count: Int { ends.count }

    /// A field's bytes; nothing for one that is not there.
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
