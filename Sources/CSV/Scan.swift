/// Parses one record.
struct Scan {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let start: Int
    private let separator: UInt8
    /// Whether these bytes are the last.
    private let isWhole: Bool

    init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, separator: UInt8, isWhole: Bool) {
        (self.bytes, self.start, self.separator, self.isWhole) = (bytes, start, separator, isWhole)
    }

    /// The position after a field.
    private enum After {
        case field(Int)
        case end(Int)
        case fault(CSVRecord.Fault)
        case unknown
    }

    /// Parses the fields into `record` and returns its length with its line end; nil if more bytes are needed or it has
    /// a fault.
    func record(into record: inout CSVRecord) -> Int? {
        var place = start
        while true {
            let after =
                place < bytes.count && bytes[place] == quoteMark ? quoted(place + 1, &record) : plain(place, &record)
            record.ends.append(record.bytes.count)
            switch after {
            case .field(let next): place = next
            case .end(let next): return next - start
            case .fault(let fault):
                record.fault = fault
                return nil
            case .unknown:
                record.ends.removeAll(keepingCapacity: true)
                record.bytes.removeAll(keepingCapacity: true)
                return nil
            }
        }
    }

    private func plain(_ begin: Int, _ record: inout CSVRecord) -> After {
        var place = begin
        while place < bytes.count {
            let byte = bytes[place]
            if byte == separator {
                append(begin, place, &record)
                return .field(place + 1)
            }
            if byte == lineFeed {
                append(begin, place > begin && bytes[place - 1] == carriageReturn ? place - 1 : place, &record)
                return .end(place + 1)
            }
            if byte == 0 { return .fault(.zeroByte) }
            place += 1
        }
        guard isWhole else { return .unknown }
        append(begin, place > begin && bytes[place - 1] == carriageReturn ? place - 1 : place, &record)
        return .end(place)
    }

    private func quoted(_ begin: Int, _ record: inout CSVRecord) -> After {
        var (place, segment) = (begin, begin)
        while place < bytes.count {
            let byte = bytes[place]
            if byte == 0 { return .fault(.zeroByte) }
            guard byte == quoteMark else {
                place += 1
                continue
            }
            append(segment, place, &record)
            guard place + 1 < bytes.count else { return isWhole ? .end(place + 1) : .unknown }
            switch bytes[place + 1] {
            case quoteMark:
                // The second quote belongs to the text.
                segment = place + 1
                place += 2
            case separator: return .field(place + 2)
            case lineFeed: return .end(place + 2)
            case carriageReturn where place + 2 < bytes.count:
                return bytes[place + 2] == lineFeed ? .end(place + 3) : .fault(.textAfterQuote)
            case carriageReturn: return isWhole ? .end(place + 2) : .unknown
            default: return .fault(.textAfterQuote)
            }
        }
        return isWhole ? .fault(.unclosedQuote) : .unknown
    }

    private func append(_ from: Int, _ to: Int, _ record: inout CSVRecord) {
        guard from < to else { return }
        record.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[from..<to]))
    }
}
