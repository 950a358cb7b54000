import FileValues
import Filing
import LinuxKernel

/// Why an upload ended without a name in the inbox.
package enum UploadEnd: String, Hashable, Sendable, CaseIterable {
    /// Its sender said so.
    case cancelled
    /// Nobody continued it.
    case expired
    /// It had no byte.
    case empty
    /// Its bytes are not those of the digest.
    case wrongDigest = "wrong-digest"
    /// The disk failed to keep its bytes.
    case failed
    /// Its part was gone, or not what the ledger says, after a restart.
    case lost
}

/// What a line of the ledger says.
enum LedgerEntry: Hashable, Sendable {
    /// The clocks, at this line's time.
    case clock(ClockReading)
    /// What of an owner's placed uploads no line tells any more.
    case total(DropOwner, bytes: UInt64)
    /// With the wall clock's seconds, for people.
    case created(UploadID, NewUpload, began: Int64)
    /// The length became known.
    case length(UploadID, UInt64)
    /// So many bytes are durable.
    case offset(UploadID, UInt64)
    /// It was held, and gets this name.
    case named(UploadID, DropName)
    /// All bytes are durable, and have this digest.
    case whole(UploadID, ContentHash)
    /// It gets this name now, relative to the inbox.
    case placing(UploadID, BytePath)
    /// It has its name.
    case placed(UploadID)
    case ended(UploadID, UploadEnd)
}

/// A line: an entry, at a counted time in seconds. `CHECKSUM TIME KIND FIELD…`, between tabs.
struct LedgerLine: CheckedLine, Hashable {
    let time: Int64
    let entry: LedgerEntry

    init(_ time: Int64, _ entry: LedgerEntry) { (self.time, self.entry) = (time, entry) }

    init?(fields: [String]) {
        guard fields.count > 2, let time = Int64(fields[0]), let entry = Self.entry(fields[1], Array(fields[2...]))
        else { return nil }
        self.init(time, entry)
    }

    var fields: [String] { [String(time)] + entryFields }

    private var entryFields: [String] {
        switch entry {
        case .clock(let clock): ["clock", BytePath(clock.boot).escaped, "\(clock.boottime)", "\(clock.wall)"]
        case .total(let owner, let bytes): ["total", BytePath(owner.description).escaped, "\(bytes)"]
        case .created(let id, let new, let began):
            [
                "created", "\(id)", "\(began)", BytePath(new.owner.description).escaped, new.name.original.escaped,
                new.name.path.escaped, new.length.map { "\($0)" } ?? "-",
                new.modified.map { "\($0.seconds).\($0.nanoseconds)" } ?? "-", new.digest.map { "\($0)" } ?? "-",
                new.set.map { $0.token.escaped } ?? "", new.set.map { "\($0.count)" } ?? "-",
            ]
        case .length(let id, let length): ["length", "\(id)", "\(length)"]
        case .offset(let id, let offset): ["offset", "\(id)", "\(offset)"]
        case .named(let id, let name): ["named", "\(id)", name.original.escaped, name.path.escaped]
        case .whole(let id, let digest): ["whole", "\(id)", "\(digest)"]
        case .placing(let id, let path): ["placing", "\(id)", path.escaped]
        case .placed(let id): ["placed", "\(id)"]
        case .ended(let id, let end): ["ended", "\(id)", end.rawValue]
        }
    }

    private static func entry(_ kind: String, _ fields: [String]) -> LedgerEntry? {
        if kind == "clock" {
            guard fields.count == 3, let boot = BytePath(escaped: fields[0]), let boottime = Int64(fields[1]),
                let wall = Int64(fields[2])
            else { return nil }
            return .clock(
                ClockReading(boot: String(decoding: boot.bytes, as: UTF8.self), boottime: boottime, wall: wall))
        }
        if kind == "total" {
            guard fields.count == 2, let owner = owner(fields[0]), let bytes = UInt64(fields[1]) else { return nil }
            return .total(owner, bytes: bytes)
        }
        guard let id = UploadID(fields[0]) else { return nil }
        switch (kind, fields.count) {
        case ("created", 10): return created(id, Array(fields[1...]))
        case ("length", 2): return UInt64(fields[1]).map { .length(id, $0) }
        case ("offset", 2): return UInt64(fields[1]).map { .offset(id, $0) }
        case ("named", 3): return name(fields[1], fields[2]).map { .named(id, $0) }
        case ("whole", 2): return digest(fields[1]).map { .whole(id, $0) }
        case ("placing", 2):
            guard let path = BytePath(escaped: fields[1]), path.isSafeBeneath else { return nil }
            return .placing(id, path)
        case ("placed", 1): return .placed(id)
        case ("ended", 2): return UploadEnd(rawValue: fields[1]).map { .ended(id, $0) }
        default: return nil
        }
    }

    private static func created(_ id: UploadID, _ fields: [String]) -> LedgerEntry? {
        guard let began = Int64(fields[0]), let owner = owner(fields[1]), let name = name(fields[2], fields[3]) else {
            return nil
        }
        var new = NewUpload(owner, name, length: nil)
        if fields[4] != "-" {
            guard let length = UInt64(fields[4]) else { return nil }
            new.length = length
        }
        if fields[5] != "-" {
            let parts = fields[5].split(separator: ".")
            guard parts.count == 2, let seconds = Int64(parts[0]), let rest = UInt32(parts[1]) else { return nil }
            new.modified = FileTime(seconds: seconds, nanoseconds: rest)
        }
        if fields[6] != "-" {
            guard let digest = digest(fields[6]) else { return nil }
            new.digest = digest
        }
        if fields[8] != "-" {
            guard let token = BytePath(escaped: fields[7]), let count = Int(fields[8]),
                let set = DropSet(token: token.bytes, count: count)
            else { return nil }
            new.set = set
        }
        return .created(id, new, began: began)
    }

    private static func name(_ original: String, _ path: String) -> DropName? {
        guard let original = BytePath(escaped: original), let path = BytePath(escaped: path), path.isSafeBeneath else {
            return nil
        }
        return DropName(original: original, path: path)
    }

    private static func owner(_ field: String) -> DropOwner? {
        guard let name = BytePath(escaped: field), name.isSafeBeneath else { return nil }
        return DropOwner(String(decoding: name.bytes, as: UTF8.self))
    }

    private static func digest(_ field: String) -> ContentHash? {
        bytes(ofHexadecimal: field.utf8).flatMap { ContentHash($0) }
    }
}
