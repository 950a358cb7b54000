package import FileValues

/// Tells what events missed from what they are about to tell, while a live root is compared with what is known.
///
/// *Missed* is a difference that a comparison found in a directory that had been watched since before it was listed, if
/// no record that the kernel had queued by the end of the comparison names it:
/// - A difference becomes a *suspect*: a name that is new, gone, or another file.
/// - A record that names it *explains* it, before it was found (then its look is still due, and it is no suspect at all)
///   or after, as long as the comparison waits for the kernel's queue to have been read once to its end.
/// - A file that has the same inode and other content may be open for writing, and its close is yet to come. It is a
///   *doubt*, and missed only if a comparison an hour later finds it as it was and no record named it in between.
/// - After an overflow, or if the root went, nothing can be said: the comparison is void.
///
/// A value; the core gives it what it sees.
package struct AuditLedger: Sendable {
    package struct Key: Hashable, Sendable {
        package let directory: NodeID
        package let name: BytePath
    }

    /// More than these prove nothing new.
    package static let bound = 1_000

    package private(set) var isUnderWay = false
    /// Whether a record may explain anything; asked for every record, so that most cost no more.
    package private(set) var isListening = false
    private var suspects: Set<Key> = []
    /// Content that changed, and when it was found, by this comparison and by those before.
    private var doubts: [Key: UInt64] = [:]
    private var doubtsBefore: [Key: UInt64] = [:]
    private var began: UInt64 = 0
    /// What the caller took care of, and still is there: found anew, and not missed.
    private var forgotten: Set<Key> = []
    private var isVoid = false

    /// Who has a file open for so many nanoseconds without writing to it has forgotten it.
    package static let grace: UInt64 = 3_600_000_000_000

    /// A comparison begins; what is asked for in the middle of one goes on. `now` is any clock's nanoseconds.
    package mutating func begin(at now: UInt64) {
        guard !isUnderWay else { return }
        (isUnderWay, isVoid, began) = (true, false, now)
        suspects = []
        (doubtsBefore, doubts) = (doubts, [:])
    }

    /// A listing shows a name that was not known, does not show one that was, or shows another file under it.
    package mutating func suspect(_ key: Key) {
        guard isUnderWay, !forgotten.contains(key), suspects.count < Self.bound else { return }
        suspects.insert(key)
        isListening = true
    }

    /// A listing shows a known file with other content.
    package mutating func doubt(_ key: Key) {
        guard isUnderWay, doubts.count < Self.bound else { return }
        doubtsBefore[key] = nil
        doubts[key] = began
        isListening = true
    }

    /// A record of the kernel names it.
    package mutating func explain(_ key: Key) {
        suspects.remove(key)
        doubts[key] = nil
        doubtsBefore[key] = nil
        forgotten.remove(key)
    }

    /// The caller has taken care of it.
    package mutating func forget(_ key: Key) {
        explain(key)
        // Beyond the bound one may be counted wrongly; whoever forgets thousands of files leaves them there by intent.
        if forgotten.count < Self.bound { forgotten.insert(key) } else { isVoid = isUnderWay }
        isListening = true
    }

    /// Records were lost, or what was compared is not there any more.
    package mutating func void() {
        isVoid = true
        doubts = [:]
        doubtsBefore = [:]
    }

    /// Every record that was queued when the comparison ended has been taken: what remains was missed.
    package mutating func settle() -> Missed? {
        guard isUnderWay else { return nil }
        isUnderWay = false
        defer {
            (suspects, doubtsBefore) = ([], [:])
            isListening = !doubts.isEmpty || !forgotten.isEmpty
        }
        if isVoid { return nil }
        let old = doubtsBefore.filter { began >= $0.value &+ Self.grace }
        doubts.merge(doubtsBefore.filter { old[$0.key] == nil }) { new, _ in new }
        return Missed(names: suspects.count, contents: old.count)
    }

    /// What one comparison found that no event told.
    package struct Missed: Hashable, Sendable {
        /// Names that came, went, or lead to another file.
        package var names: Int
        /// Files whose content changed.
        package var contents: Int

        package var count: Int { names + contents }
    }
}
