package import FileValues

/// A record copied out of the buffer it came in.
package struct EventRecord: Hashable, Sendable {
    package let watch: Int32
    package let mask: InotifyMask
    package let cookie: UInt32
    package let name: BytePath
}

/// Which watch descriptor stands for which directory, through the times when it is uncertain:
/// - *retired*: given up by us, until the kernel's `ignored` record or the removal's result came;
/// - *ended*: no watch any more, though the result of a survey that began before may still bring it;
/// - *contested*: a second directory got the same descriptor, so one of the two is stale or both are one inode;
/// - *early*: records whose descriptor is not known yet, because the result of the call that made it is on its way.
package struct WatchTable {
    private var owners = WatchMap()
    private var retired: [Int32: [NodeID]] = [:]
    private var ended: [Int32: UInt32] = [:]
    private var contested: [Int32: [NodeID]] = [:]
    private var early: [Int32: [EventRecord]] = [:]
    private var earlyCount = 0

    /// More early records than this are dropped, and the roots reconciled instead.
    package static let earlyLimit = 65_536

    /// Watches in use.
    package var count: Int { owners.count }

    /// The place of the directory in its table; −1 if there is none.
    package func owner(of watch: Int32) -> Int32 { owners[watch] }
    package func isRetired(_ watch: Int32) -> Bool { retired[watch] != nil }

    package mutating func setOwner(_ node: NodeID, of watch: Int32) {
        ended[watch] = nil
        owners[watch] = node.index
    }

    package mutating func clearOwner(of watch: Int32) { owners[watch] = -1 }

    /// Gives a watch up; its removal is to be asked for.
    package mutating func retire(_ watch: Int32) {
        owners[watch] = -1
        retired[watch] = []
    }

    /// `node` was given a descriptor that is about to be removed: it needs another.
    package mutating func await(_ watch: Int32, _ node: NodeID) { retired[watch]?.append(node) }

    /// The watch is no more: the kernel said `ignored`, or the removal was carried out. Surveys up to `survey` may
    /// still bring it. Returns the directories that waited for its end, or nil if it was not retired.
    package mutating func end(_ watch: Int32, survey: UInt32) -> [NodeID]? {
        ended[watch] = survey
        return retired.removeValue(forKey: watch)
    }

    /// Whether what this survey brought came to its end since.
    package func hasEnded(_ watch: Int32, since survey: UInt32) -> Bool { ended[watch].map { survey <= $0 } ?? false }

    package mutating func contest(_ watch: Int32, by node: NodeID) { contested[watch, default: []].append(node) }
    package func isContested(_ watch: Int32) -> Bool { contested[watch] != nil }
    package mutating func takeContestants(_ watch: Int32) -> [NodeID] { contested.removeValue(forKey: watch) ?? [] }

    /// Keeps a record until its descriptor is known; false if there are too many.
    package mutating func keepEarly(_ record: EventRecord) -> Bool {
        guard earlyCount < Self.earlyLimit else { return false }
        early[record.watch, default: []].append(record)
        earlyCount += 1
        return true
    }

    package mutating func takeEarly(_ watch: Int32) -> [EventRecord] {
        guard let records = early.removeValue(forKey: watch) else { return [] }
        earlyCount -= records.count
        return records
    }

    /// No survey is under way, so nothing will ask for ended watches or early records. Returns how many those were.
    package mutating func settle() -> Int {
        if !ended.isEmpty { ended = [:] }
        return early.isEmpty ? 0 : dropEarly()
    }

    package mutating func dropEarly() -> Int {
        defer {
            early = [:]
            earlyCount = 0
        }
        return earlyCount
    }
}
