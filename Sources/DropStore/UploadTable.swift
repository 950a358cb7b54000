package import FileValues
package import Filing

/// An upload, as the ledger has it.
package struct UploadRecord: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        case receiving
        /// All bytes are durable, without a name.
        case whole(ContentHash)
        /// It gets this name, or has it.
        case placing(ContentHash, BytePath)
        case placed(ContentHash, BytePath)
        case ended(UploadEnd)
    }

    package internal(set) var new: NewUpload
    /// The wall clock's seconds when it began.
    package let began: Int64
    package internal(set) var length: UInt64?
    /// So many bytes are durable.
    package internal(set) var offset: UInt64 = 0
    package internal(set) var phase = Phase.receiving
    /// When it was last changed, in counted seconds.
    package internal(set) var changed: Int64

    /// Whether it may get a name, or more bytes.
    package var isOpen: Bool {
        switch phase {
        case .receiving, .whole, .placing: true
        case .placed, .ended: false
        }
    }

    /// Whether all its bytes are durable, and it waits for a name: its length is said when they are.
    package var isHeldWhole: Bool { phase == .receiving && offset > 0 && offset == length && new.name.isHeld }

    /// What it counts for against its owner's total.
    var size: UInt64 { if case .ended = phase { 0 } else { length ?? offset } }
}

/// What the ledger's lines mean, in order. A value without I/O.
struct UploadTable {
    private(set) var uploads: [UploadID: UploadRecord] = [:]
    /// Of placed uploads without lines.
    private(set) var totals: [DropOwner: UInt64] = [:]
    private var uses: [DropOwner: Use] = [:]
    /// How many uploads have or get a name.
    private var names: [BytePath: Int] = [:]
    /// The highest number of a directory that has a file of this stem, by owner, day, folder and stem.
    private var numbers: [[UInt8]: Int] = [:]

    /// Where a file is, for others with the same stem.
    private struct Shot {
        let key: [UInt8]
        let number: Int

        /// `path` is OWNER/DATE-NUMBER/FOLDER/NAME.
        init?(_ path: BytePath, _ new: NewUpload) {
            let depth = BytePath(new.owner.description).components.count
            let components = path.components
            guard components.count > depth + 1 else { return nil }
            let directory = String(decoding: components[depth].bytes, as: UTF8.self)
            let day = directory.prefix(10)
            number = Int(directory.dropFirst(11)).map { $0 - 1 } ?? 0
            key = Self.key(new, day: String(day))
        }

        static func key(_ new: NewUpload, day: String) -> [UInt8] {
            // IMG_1.CR3.xmp is of the shot of IMG_1.CR3, as IMG_1.xmp is.
            let path = new.name.path
            let stem = path.name.bytes.prefix { $0 != UInt8(ascii: ".") }
            let folded = String(decoding: path.parent.bytes + [UInt8(ascii: "/")] + stem, as: UTF8.self).lowercased()
            return Array("\(new.owner)/\(day)/\(folded)".utf8)
        }
    }

    /// The number of the day's directory at which the search for a free name begins: of shots that have one stem, the last one gets
    /// what comes now. Which one it belongs to, only a set says.
    func number(for new: NewUpload, day: String) -> Int { numbers[Shot.key(new, day: day)] ?? 0 }

    /// How long an upload without a name in the inbox is remembered after its end, and one with a name, in seconds.
    static let remembered: (ended: Int64, placed: Int64) = (7 * 86_400, 30 * 86_400)
    /// The most placed uploads of one owner that are remembered.
    static let mostPlaced = 20_000
    /// The most of one owner that have ended without a name.
    static let mostEnded = 1_000

    subscript(id: UploadID) -> UploadRecord? { uploads[id] }

    /// Applies a line; false if it does not fit what was before, as after damage.
    mutating func apply(_ line: LedgerLine) -> Bool {
        switch line.entry {
        case .clock: return true
        case .total(let owner, let bytes):
            totals[owner, default: 0] += bytes
            return true
        case .created(let id, let new, let began):
            guard uploads[id] == nil else { return false }
            put(UploadRecord(new: new, began: began, length: new.length, changed: line.time), id)
            return true
        case .length(let id, let length):
            return change(id, line) {
                $0.length = length
            } where: {
                $0.phase == .receiving
            }
        case .offset(let id, let offset):
            return change(id, line) {
                $0.offset = offset
            } where: {
                $0.phase == .receiving
            }
        case .named(let id, let name):
            return change(id, line) {
                $0.new.name = name
            } where: {
                $0.phase == .receiving
            }
        case .whole(let id, let digest):
            return change(id, line) {
                $0.phase = .whole(digest)
            } where: {
                ($0.isOpen || $0.path != nil) && $0.length == $0.offset
            }
        case .placing(let id, let path):
            guard let digest = uploads[id]?.digest else { return false }
            return change(id, line) {
                $0.phase = .placing(digest, path)
            } where: {
                $0.isOpen
            }
        case .placed(let id):
            guard case .placing(let digest, let path) = uploads[id]?.phase else { return false }
            return change(id, line) {
                $0.phase = .placed(digest, path)
            } where: { _ in
                true
            }
        case .ended(let id, let end):
            return change(id, line) {
                $0.phase = .ended(end)
            } where: {
                $0.isOpen
            }
        }
    }

    private mutating func change(
        _ id: UploadID, _ line: LedgerLine, _ body: (inout UploadRecord) -> Void,
        where isPossible: (UploadRecord) -> Bool
    ) -> Bool {
        guard var record = uploads[id], isPossible(record) else { return false }
        body(&record)
        record.changed = line.time
        put(record, id)
        return true
    }

    private mutating func put(_ record: UploadRecord?, _ id: UploadID) {
        if let old = uploads[id] {
            uses[old.new.owner, default: Use()].remove(old)
            if let path = old.path { names[path] = (names[path] ?? 1) > 1 ? (names[path] ?? 1) - 1 : nil }
        }
        uploads[id] = record
        if let record {
            uses[record.new.owner, default: Use()].add(record)
            if let path = record.path { names[path, default: 0] += 1 }
            count(record)
        }
    }

    private mutating func count(_ record: UploadRecord) {
        guard let path = record.path, let shot = Shot(path, record.new) else { return }
        numbers[shot.key] = max(numbers[shot.key] ?? 0, shot.number)
    }

    // MARK: - Questions

    /// Whether an upload that is remembered has this name, though the file may have left the inbox: what the daemon says of a
    /// name is about one upload.
    func isNamed(_ path: BytePath) -> Bool { names[path] != nil }

    /// What an owner has sent or begun.
    struct Use: Equatable {
        var bytes: UInt64 = 0
        /// How many receive bytes.
        var open = 0
        /// How many are held, with all their bytes.
        var held = 0
        /// How many are whole, without a name.
        var waiting = 0

        mutating func add(_ record: UploadRecord) {
            bytes += record.size
            if record.isHeldWhole { held += 1 } else if record.phase == .receiving { open += 1 }
            if case .whole = record.phase { waiting += 1 }
        }

        mutating func remove(_ record: UploadRecord) {
            bytes -= record.size
            if record.isHeldWhole { held -= 1 } else if record.phase == .receiving { open -= 1 }
            if case .whole = record.phase { waiting -= 1 }
        }
    }

    func use(of owner: DropOwner) -> Use {
        var use = uses[owner] ?? Use()
        use.bytes += totals[owner] ?? 0
        return use
    }

    /// The whole uploads that `id` is to be placed with, itself included: nil while others of its set are still to come.
    /// Members that got their names before `time` belong to another shot of the same word.
    func companions(of id: UploadID, since time: Int64) -> [UploadID]? {
        guard let record = uploads[id] else { return nil }
        guard let set = record.new.set else { return [id] }
        let others = uploads.filter { $0.value.new.owner == record.new.owner && $0.value.new.set == set }
        let (whole, gone) = others.reduce(into: ([UploadID](), 0)) { sum, each in
            switch each.value.phase {
            case .whole: sum.0.append(each.key)
            case .placed, .placing, .ended: if each.value.changed >= time { sum.1 += 1 }
            case .receiving: break
            }
        }
        return whole.count + gone >= set.count ? whole.sorted { $0.description < $1.description } : nil
    }

    /// Whole uploads that wait for others of their sets, of which none has changed since `time`; each with those that are
    /// placed together.
    func waiting(since time: Int64) -> [[UploadID]] {
        var groups: [SetOfOwner: (whole: [UploadID], changed: Int64)] = [:]
        for (id, record) in uploads where record.isOpen {
            let new = record.new
            let key = SetOfOwner(owner: new.owner, set: new.set, id: new.set == nil ? id : nil)
            var group = groups[key] ?? ([], .min)
            group.changed = max(group.changed, record.changed)
            if case .whole = record.phase { group.whole.append(id) }
            groups[key] = group
        }
        return groups.filter { key, group in !group.whole.isEmpty && (key.set == nil || group.changed <= time) }
            .values.map { $0.whole.sorted { $0.description < $1.description } }
    }

    private struct SetOfOwner: Hashable {
        let owner: DropOwner
        let set: DropSet?
        let id: UploadID?
    }

    /// Uploads that receive bytes, and have not since `time`.
    func abandoned(since time: Int64) -> [UploadID] {
        uploads.filter { $0.value.phase == .receiving && $0.value.changed < time }.map(\.key)
    }

    /// The uploads of an owner that receive bytes and have not changed since `time`, those without a byte and the oldest first; not
    /// those that are held, of which all bytes came.
    func idle(of owner: DropOwner, since time: Int64) -> [UploadID] {
        let idle = uploads.filter {
            $0.value.new.owner == owner && $0.value.phase == .receiving && !$0.value.isHeldWhole
                && $0.value.changed < time
        }
        return idle.sorted {
            ($0.value.offset > 0 ? 1 : 0, $0.value.changed) < ($1.value.offset > 0 ? 1 : 0, $1.value.changed)
        }.map(\.key)
    }

    // MARK: - Writing it anew

    /// Forgets what is over for long; what of it counts for an owner's total stays.
    mutating func forget(at now: Int64) {
        let placed = uploads.filter { if case .placed = $0.value.phase { true } else { false } }
        for group in Dictionary(grouping: placed, by: \.value.new.owner).values {
            for (id, record) in Self.over(group, most: Self.mostPlaced, before: now - Self.remembered.placed) {
                totals[record.new.owner, default: 0] += record.size
                put(nil, id)
            }
        }
        let ended = uploads.filter { if case .ended = $0.value.phase { true } else { false } }
        for group in Dictionary(grouping: ended, by: \.value.new.owner).values {
            for (id, _) in Self.over(group, most: Self.mostEnded, before: now - Self.remembered.ended) { put(nil, id) }
        }
        numbers = [:]
        for record in uploads.values { count(record) }
    }

    /// All but the newest, and those that have not changed since `time`.
    private static func over(
        _ group: [(key: UploadID, value: UploadRecord)], most: Int, before time: Int64
    ) -> [(UploadID, UploadRecord)] {
        group.sorted { $0.value.changed > $1.value.changed }.enumerated()
            .filter { $0.offset >= most || $0.element.value.changed < time }
            .map { ($0.element.key, $0.element.value) }
    }

    /// How many ``lines`` there are at most.
    var lineCount: Int { totals.count + 6 * uploads.count + 1 }

    /// Lines that mean the same.
    var lines: [LedgerLine] {
        let total = totals.sorted { $0.key.description < $1.key.description }.map {
            LedgerLine(0, .total($0.key, bytes: $0.value))
        }
        let each = uploads.sorted { ($0.value.changed, $0.key.description) < ($1.value.changed, $1.key.description) }
        return total + each.flatMap { id, record in Self.lines(id, record) }
    }

    private static func lines(_ id: UploadID, _ record: UploadRecord) -> [LedgerLine] {
        var entries: [LedgerEntry] = [.created(id, record.new, began: record.began)]
        if let length = record.length, length != record.new.length { entries.append(.length(id, length)) }
        if record.offset > 0 { entries.append(.offset(id, record.offset)) }
        switch record.phase {
        case .receiving: break
        case .whole(let digest): entries.append(.whole(id, digest))
        case .placing(let digest, let path): entries += [.whole(id, digest), .placing(id, path)]
        case .placed(let digest, let path): entries += [.whole(id, digest), .placing(id, path), .placed(id)]
        case .ended(let end): entries.append(.ended(id, end))
        }
        return entries.map { LedgerLine(record.changed, $0) }
    }
}

extension UploadRecord {
    /// For the administrator: `IMG_1.jpg from ana`.
    var words: String { "\(new.name.original.escaped) from \(new.owner)" }

    /// The name in the inbox that it has or gets.
    package var path: BytePath? {
        switch phase {
        case .placing(_, let path), .placed(_, let path): path
        case .receiving, .whole, .ended: nil
        }
    }

    /// The digest of all bytes, once they are durable.
    package var digest: ContentHash? {
        switch phase {
        case .whole(let digest), .placing(let digest, _), .placed(let digest, _): digest
        case .receiving, .ended: nil
        }
    }
}
