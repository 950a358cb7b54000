/// Reads the records of a CSV file of any size in constant memory.
///
/// By RFC 4180: fields between separators, in double quotes if they contain separators, newlines or quotes, which are
/// doubled. Lines end with LF or CR LF; empty lines and a UTF-8 byte order mark at the start are skipped. A faulty
/// record is returned with its fault, and reading continues after its first line: an unclosed quote loses that line,
/// not the rest of the file.
package struct CSVReader<Failure: Error> {
    /// The longest record, in bytes.
    package static var longest: Int { 1 << 20 }

    private static var block: Int { 256 << 10 }
    private static var shown: Int { 64 << 10 }

    private let separator: UInt8
    /// Reads the next bytes into a buffer and returns their number; 0 at the end.
    private let source: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private var offset: UInt64
    private var line: Int

    /// A reader whose `source` starts at `offset`, the start of a record, in line `line`.
    package init(
        separator: UInt8 = UInt8(ascii: ","), offset: UInt64 = 0, line: Int = 1,
        source: @escaping (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) {
        (self.separator, self.offset, self.line, self.source) = (separator, offset, line, source)
    }

    /// The next record; false at the end of the file.
    package mutating func next(_ record: inout CSVRecord) throws(Failure) -> Bool {
        while true {
            if offset == 0, start == 0, buffer.starts(with: [0xEF, 0xBB, 0xBF]) { skip(3) }
            // Only empty lines are not records.
            while start < buffer.count, buffer[start] == lineFeed || isEmptyLine(start) {
                if buffer[start] == lineFeed { line += 1 }
                skip(1)
            }
            if start == buffer.count {
                guard try fill() else { return false }
                continue
            }
            record.begin(line: line, offset: offset)
            let length = buffer.withUnsafeBufferPointer { bytes in
                Scan(bytes, from: start, separator: separator, isWhole: isAtEnd).record(into: &record)
            }
            if let length, length <= Self.longest {
                accept(length, &record)
                return true
            }
            if length == nil, record.fault == nil, buffer.count - start <= Self.longest, try fill() { continue }
            if record.fault == nil { record.fault = .tooLong }
            try skipFaulty(&record)
            return true
        }
    }

    /// The last record's bytes in the file, with its line end. Of a faulty record the first line, at most 64 KiB.
    package var raw: ArraySlice<UInt8> { faulty.isEmpty ? buffer[accepted] : faulty[...] }
    private var accepted = 0..<0
    private var faulty: [UInt8] = []

    private mutating func accept(_ length: Int, _ record: inout CSVRecord) {
        (accepted, faulty) = (start..<start + length, [])
        line += buffer[start..<start + length].withUnsafeBufferPointer(newlines)
        skip(length)
        (record.end, record.nextLine) = (offset, line)
    }

    private mutating func skipFaulty(_ record: inout CSVRecord) throws(Failure) {
        faulty = []
        while true {
            let end = buffer[start...].firstIndex(of: lineFeed).map { $0 + 1 } ?? buffer.count
            let isLine = end > start && buffer[end - 1] == lineFeed
            faulty += buffer[start..<min(end, start + Self.shown - faulty.count)]
            skip(end - start)
            if isLine { line += 1 }
            if isLine { break }
            guard try fill() else { break }
        }
        (record.end, record.nextLine) = (offset, line)
    }

    private func isEmptyLine(_ place: Int) -> Bool {
        buffer[place] == carriageReturn && place + 1 < buffer.count && buffer[place + 1] == lineFeed
    }

    private mutating func skip(_ count: Int) {
        start += count
        offset += UInt64(count)
    }

    /// Appends another block to the unread bytes; false at the end.
    private mutating func fill() throws(Failure) -> Bool {
        if isAtEnd { return false }
        buffer.removeSubrange(..<start)
        start = 0
        let old = buffer.count
        var failure: Failure?
        let source = self.source
        buffer += [UInt8](unsafeUninitializedCapacity: Self.block) { block, count in
            do throws(Failure) { count = try source(UnsafeMutableRawBufferPointer(block)) } catch { failure = error }
        }
        if let failure { throw failure }
        isAtEnd = buffer.count == old
        // At the end the unread bytes may be a whole record.
        return !isAtEnd || old > 0
    }
}

private func newlines(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var count = 0
    for byte in bytes where byte == lineFeed { count += 1 }
    return count
}

let lineFeed = UInt8(ascii: "\n")
let carriageReturn = UInt8(ascii: "\r")
let quoteMark = UInt8(ascii: "\"")
