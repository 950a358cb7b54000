package import FileValues

/// A record copied out of the buffer it came in.
package struct EventRecord: Hashable, Sendable {
    package let watch: Int32
    package let mask: InotifyMask
    let cookie: UInt32
    let name: BytePath
}

/// The directory of each watch descriptor, and the descriptors whose directory is uncertain:
/// - *retired*: released, until the kernel's `ignored` record or the result of the removal comes;
/// - *ended*: no longer a watch, though the result of a survey that began before may still name it;
/// - *contested*: a second directory was given the same descriptor, so one of the two is stale or both are one inode;
/// - *early*: with records that came before the result of the call that made the watch.
package struct WatchTable {
    private var owners = WatchMap()
    private var retired: [Int32: [NodeID]] = [:]
    private var ended: [Int32: UInt32] = [:]
    private var contested: [Int32: [NodeID]] = [:]
    private var early: [Int32: [EventRecord]] = [:]
    private var earlyCount = 0
    /// Watches on the same instance that are not of trees.
    private var foreign: Set<Int32> = []
    /// Records of watches that no directory has any more.
    package private(set) var strayEvents = 0

    /// More early records than this are dropped, and the roots reconciled instead.
    static let earlyLimit = 65_536

    /// Watches in use.
    package var count: Int { owners.count }

    /// The index of the directory in its table; −1 if there is none.
    func owner(of watch: Int32) -> Int32 { owners[watch] }

    func isForeign(_ watch: Int32) -> Bool { foreign.contains(watch) }

    /// Declares that a watch is not of a tree, or no longer so.
    mutating func setForeign(_ watch: Int32, _ isForeign: Bool) {
        if isForeign { foreign.insert(watch) } else { foreign.remove(watch) }
    }

    mutating func countStray() { strayEvents += 1 }

    func isRetired(_ watch: Int32) -> Bool { retired[watch] != nil }

    mutating func setOwner(_ node: NodeID, of watch: Int32) {
        ended[watch] = nil
        owners[watch] = node.index
    }

    mutating func clearOwner(of watch: Int32) { owners[watch] = -1 }

    /// Releases a watch; its removal has to be requested.
    mutating func retire(_ watch: Int32) {
        owners[watch] = -1
        retired[watch] = []
    }

    /// Adds a directory that was given a descriptor which is about to be removed: it needs another afterwards.
    mutating func addWaiting(_ node: NodeID, for watch: Int32) { retired[watch]?.append(node) }

    /// Ends a watch that the kernel has removed. Results of surveys up to `survey` may still name it. Returns the
    /// directories that waited for its end, or nil if it was not retired.
    mutating func end(_ watch: Int32, survey: UInt32) -> [NodeID]? {
        ended[watch] = survey
        return retired.removeValue(forKey: watch)
    }

    /// Whether a descriptor that this survey was given has ended since.
    func hasEnded(_ watch: Int32, since survey: UInt32) -> Bool { ended[watch].map { survey <= $0 } ?? false }

    mutating func contest(_ watch: Int32, by node: NodeID) { contested[watch, default: []].append(node) }
    func isContested(_ watch: Int32) -> Bool { contested[watch] != nil }
    mutating func removeContestants(_ watch: Int32) -> [NodeID] { contested.removeValue(forKey: watch) ?? [] }

    /// Keeps a record until the directory of its descriptor is known. If there are too many, all are dropped, and false is
    /// returned.
    mutating func keepEarly(_ record: EventRecord) -> Bool {
        guard earlyCount < Self.earlyLimit else {
            strayEvents += 1
            dropEarly()
            return false
        }
        early[record.watch, default: []].append(record)
        earlyCount += 1
        return true
    }

    mutating func removeEarly(_ watch: Int32) -> [EventRecord] {
        guard let records = early.removeValue(forKey: watch) else { return [] }
        earlyCount -= records.count
        return records
    }

    /// Forgets ended watches and early records: no survey is under way whose result could name their descriptors.
    mutating func forgetEnded() {
        if !ended.isEmpty { ended = [:] }
        if !early.isEmpty { dropEarly() }
    }

    private mutating func dropEarly() {
        strayEvents += earlyCount
        early = [:]
        earlyCount = 0
    }
}
