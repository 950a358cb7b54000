import FileValues

/// Separates the changes that events missed from those whose events are still to come, while a live root is compared with
/// its tree.
///
/// A difference counts as *missed* if a comparison found it in a directory that was watched before it was listed, and no
/// record that the kernel had queued by the end of the comparison names it:
/// - A name that is new, gone, or another file is a *suspect*.
/// - A record that names it *explains* it: before it is found (then its lookup is still due, and it is no suspect at all)
///   or after, until the kernel's queue has been read to its end once.
/// - A file with the same inode and *changed* content may be open for writing, and its close is still to come. It is missed
///   only if a comparison an hour later finds it unchanged, and no record named it in between.
/// - After an overflow, or if the root was lost, the comparison is void.
struct AuditLedger: Sendable {
    struct Key: Hashable, Sendable {
        let directory: NodeID
        let name: BytePath
    }

    /// More names are not kept.
    static let bound = 1_000

    private(set) var isUnderWay = false
    /// Whether a record may explain anything. Read for every record, so that most cost no more.
    private(set) var isListening = false
    private var suspects: Set<Key> = []
    /// Files with changed content, and when this comparison, or one before, found them.
    private var changed: [Key: UInt64] = [:]
    private var changedBefore: [Key: UInt64] = [:]
    private var began: UInt64 = 0
    /// Names that the receiver forgot and that may still be there: found anew, and not missed.
    private var forgotten: Set<Key> = []
    private var isVoid = false

    /// A file whose content is unchanged for so many nanoseconds is not being written.
    static let grace: UInt64 = 3_600_000_000_000

    /// Begins a comparison, unless one is under way. `now` is any clock's nanoseconds.
    mutating func begin(at now: UInt64) {
        guard !isUnderWay else { return }
        (isUnderWay, isVoid, began) = (true, false, now)
        suspects = []
        (changedBefore, changed) = (changed, [:])
    }

    /// Adds a name that a listing shows and was not known, does not show and was known, or shows with another file.
    mutating func addSuspect(_ key: Key) {
        guard isUnderWay, !forgotten.contains(key), suspects.count < Self.bound else { return }
        suspects.insert(key)
        isListening = true
    }

    /// Adds a known file that a listing shows with other content.
    mutating func addChanged(_ key: Key) {
        guard isUnderWay, changed.count < Self.bound else { return }
        changedBefore[key] = nil
        changed[key] = began
        isListening = true
    }

    /// A record of the kernel names it: events did not miss it.
    mutating func explain(_ key: Key) {
        suspects.remove(key)
        changed[key] = nil
        changedBefore[key] = nil
        forgotten.remove(key)
    }

    /// The receiver has forgotten it.
    mutating func forget(_ key: Key) {
        explain(key)
        // Beyond the bound a name could be counted wrongly.
        if forgotten.count < Self.bound { forgotten.insert(key) } else { isVoid = isUnderWay }
        isListening = true
    }

    /// Records were lost, or the root was.
    mutating func void() {
        isVoid = true
        changed = [:]
        changedBefore = [:]
    }

    /// Ends a comparison: every record that was queued at its end has been applied, so what remains was missed.
    mutating func finish() -> Missed? {
        guard isUnderWay else { return nil }
        isUnderWay = false
        defer {
            (suspects, changedBefore) = ([], [:])
            isListening = !changed.isEmpty || !forgotten.isEmpty
        }
        if isVoid { return nil }
        let old = changedBefore.filter { began >= $0.value &+ Self.grace }
        changed.merge(changedBefore.filter { old[$0.key] == nil }) { new, _ in new }
        return Missed(names: suspects.count, contents: old.count)
    }

    /// The changes that one comparison found and events missed.
    struct Missed: Hashable, Sendable {
        /// Names that are new, gone, or another file.
        var names: Int
        /// Files whose content changed.
        var contents: Int

        var count: Int { names + contents }
    }
}
