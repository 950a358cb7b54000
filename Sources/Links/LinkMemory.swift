import ControlProtocol
import Fetching
import FileValues
import Ingest
import Settings

/// A file of links that is to be fetched, or is. A value.
struct LinkItem: Hashable, Sendable, Codable {
    /// Its operation: the outcome *ignored* of the pipeline.
    let operation: Int64
    let inbox: String
    /// Relative to the inbox, in bytes.
    let path: [UInt8]

    var key: ArrivalKey { ArrivalKey(inbox: inbox, path: BytePath(path)) }
}

/// How a file of links ended.
struct LinkResult: Hashable, Sendable, Codable {
    enum What: String, Hashable, Sendable, Codable {
        /// All of its addresses have ended.
        case done
        /// Nothing in it can be fetched.
        case refused
        /// It is gone, or another, or its inbox is.
        case dropped
    }

    var item: LinkItem
    var what: What
    var addresses = 0
    var arrived = 0
    /// Addresses that failed, and lines that are none.
    var failed = 0
    /// Why; or where the note is that says which.
    var words: String
    /// Seconds since 1970.
    var at: Int64
}

/// What must outlive a restart of files of links: up to which operation they were searched for, which are not over, and how
/// the last ones ended.
struct LinkLedger: Hashable, Sendable, JSONMessage {
    static let currentFormat = 1
    /// Results that are kept.
    static let mostPast = 50

    var format = currentFormat
    var place: Int64
    /// Oldest first.
    var open: [LinkItem] = []
    var past: [LinkResult] = []

    var isKnown: Bool { format == Self.currentFormat }

    init(place: Int64) { self.place = place }

    /// One is over.
    mutating func end(_ result: LinkResult) {
        open.removeAll { $0.operation == result.item.operation }
        past = Array((past + [result]).suffix(Self.mostPast))
    }
}

/// Which addresses of a file of links have ended: a line each, added as they end, after one that says of which file.
struct LinkProgress: Hashable, Sendable {
    /// The file as it was when its first address was asked for.
    let identity: FileIdentity
    /// Of how many addresses.
    let total: Int
    /// How those have ended that have, by their numbers.
    private(set) var ends: [Int: End] = [:]

    enum End: Hashable, Sendable {
        case arrived
        /// Why, as one line.
        case failed(String)
    }

    init(identity: FileIdentity, total: Int) {
        self.identity = identity
        self.total = total
    }

    var arrived: Int { ends.values.count { $0 == .arrived } }
    var failed: Int { ends.count - arrived }
    var isComplete: Bool { ends.count == total }

    /// Takes note of an end; the line that is to be added. One that was cancelled has not ended: it is asked for again.
    mutating func note(_ number: Int, _ end: FetchEnd) -> [UInt8] {
        guard (0..<total).contains(number), end.what != .cancelled else { return [] }
        if end.what == .arrived {
            ends[number] = .arrived
            return Array("\(number) arrived\n".utf8)
        }
        let reason = escapeForDisplay(Array(end.reason.utf8.prefix(1_000)))
        ends[number] = .failed(reason)
        return Array("\(number) failed \(reason)\n".utf8)
    }

    /// The first line.
    var head: [UInt8] {
        let numbers: [Int64] = [
            Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size), identity.modified.seconds,
            Int64(identity.modified.nanoseconds), identity.changed.seconds, Int64(identity.changed.nanoseconds),
            Int64(total),
        ]
        return Array((numbers.map { "\($0)" }.joined(separator: " ") + "\n").utf8)
    }

    /// Reads what was written. A last line that is not whole is left out.
    init?(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        guard let first = lines.first else { return nil }
        let numbers = String(decoding: first, as: UTF8.self).split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 7, let modified = UInt32(exactly: numbers[3]), let changed = UInt32(exactly: numbers[5]),
            (0...Int64(FetchLimits.mostAddresses)).contains(numbers[6])
        else { return nil }
        identity = FileIdentity(
            inode: UInt64(bitPattern: numbers[0]), size: UInt64(bitPattern: numbers[1]),
            modified: FileTime(seconds: numbers[2], nanoseconds: modified),
            changed: FileTime(seconds: numbers[4], nanoseconds: changed))
        total = Int(numbers[6])
        for line in lines.dropFirst() {
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
            guard parts.count >= 2, let number = Int(String(decoding: parts[0], as: UTF8.self)),
                (0..<total).contains(number)
            else { continue }
            ends[number] =
                parts[1].elementsEqual("failed".utf8)
                ? .failed(parts.count > 2 ? String(decoding: parts[2], as: UTF8.self) : "unknown") : .arrived
        }
    }
}
