package import FileValues
package import Filing
package import LinuxKernel
import PhotoModel

/// Every arrival that has no outcome yet, and the counts of those that have: a value without I/O, changed by the
/// pipeline alone and copied by any thread.
///
/// Counted in files, always: seen = filed + duplicate + quarantined + ignored + withdrawn + deferred + in hand.
package struct ArrivalTable: Sendable {
    /// What happened to one inbox's arrivals since the start.
    package struct Counts: Hashable, Sendable {
        package internal(set) var seen = 0
        package internal(set) var ended: [Outcome: Int] = [:]
        package internal(set) var deferred = 0
        package internal(set) var inHand = 0

        /// Whether the sum is right; if not, that is a bug of ours.
        package var balances: Bool { seen == ended.values.reduce(0, +) + deferred + inHand }
    }

    /// The result of an examination or a filing.
    package enum Verdict: Hashable, Sendable {
        case ended(Outcome)
        /// What stands there, if anything, is not what the watch reported: it ends with this outcome once the watch agrees, or
        /// after ``ArrivalTable/patienceWithWatch``.
        case missed(Outcome)
        /// Examine it again after `seconds` of quiet.
        case waitForQuiet(reason: String, seconds: Double)
        /// Proven; it waits for the rest of its set.
        case gather(SetCandidate)
        /// Try again after a back-off of at most ``longestBackOff``.
        case `defer`(reason: String)
    }

    /// Of so many arrivals that are begun one after the other, at least one is a retry if any waits.
    package static let retryShare = 8

    /// Seconds; DESIGN.md: every error heals by itself within a minute after its cause is gone.
    package static let longestBackOff = 60.0

    /// Seconds for which an arrival that is not found waits for the watch to report that it is gone. A directory that is
    /// moved away and back looks unchanged to the watch, which therefore reports nothing.
    static let patienceWithWatch = 10.0

    package private(set) var arrivals: [ArrivalKey: Arrival] = [:]
    private var ends: [String: [Outcome: Int]] = [:]
    private var seen: [String: Int] = [:]
    private var queue: [String: Lines] = [:]
    /// The sets whose members wait for each other.
    private var assembly = SetAssembly()
    /// Every arrival by what its set is found by.
    private var bySet: [SetHandle: Set<ArrivalKey>] = [:]

    private struct SetHandle: Hashable {
        let inbox: String
        let key: SetKey
    }
    /// How many wait for their turn.
    package private(set) var queuedCount = 0
    /// When to call ``wake(now:all:)``: no later than the end of the first wait, but for the pause after the last wake.
    package var nextWake: Moment? {
        guard let firstWait, let wakesAgain else { return firstWait }
        return firstWait.monotonic < wakesAgain.monotonic ? wakesAgain : firstWait
    }

    private var firstWait: Moment?
    /// Each wake goes through every arrival, so thousands that wait are woken in batches.
    private var wakesAgain: Moment?
    /// Seconds for each arrival.
    private static let wakePace = 10e-6

    package init() {}

    /// A file was seen, or seen again, with this identity if it is a regular one. Gives back whether it now waits for
    /// its turn because of this.
    @discardableResult
    package mutating func noticed(_ key: ArrivalKey, as identity: FileIdentity? = nil, now: Moment) -> Bool {
        guard var arrival = arrivals[key] else {
            seen[key.inbox, default: 0] += 1
            let setKeys = SetName(key.path).keys
            arrivals[key] = Arrival(
                key: key, firstSeen: now, stage: .queued, since: now, attempts: 0, quiet: nil, noticed: identity,
                setKeys: setKeys)
            for setKey in setKeys { bySet[SetHandle(inbox: key.inbox, key: setKey), default: []].insert(key) }
            queue[key.inbox, default: Lines()].news.append(key)
            queuedCount += 1
            return true
        }
        arrival.noticed = identity
        arrival.meanwhile = nil
        switch arrival.stage {
        case .queued:
            if arrival.isRetry { queue[key.inbox]?.news.append(key) }
            arrival.isRetry = false
            arrivals[key] = arrival
            return false
        case .working:
            arrival.meanwhile = .seen
            arrivals[key] = arrival
            return false
        case .settling, .deferred, .gathering:
            enqueue(&arrival, now: now)
            return true
        }
    }

    /// A photo has found it beside itself and waits for it. If it is in work it is examined once more after that: it may
    /// just be ignored, because no photo of its was in sight.
    package mutating func summoned(_ key: ArrivalKey, now: Moment) {
        switch arrivals[key]?.stage {
        case nil, .working: noticed(key, as: arrivals[key]?.noticed, now: now)
        case .queued, .settling, .deferred, .gathering: break
        }
    }

    /// The file is gone, or has another name now. While it is in work its worker finds out by itself: the removal may
    /// be our own. Gives back whether the arrival ended by this.
    package mutating func vanished(_ key: ArrivalKey) -> Bool {
        guard let arrival = arrivals[key] else { return false }
        switch arrival.stage {
        case .working:
            arrivals[key]?.meanwhile = .gone
            return false
        case .queued, .settling, .deferred, .gathering:
            end(key, .withdrawn)
            return true
        }
    }

    /// Ends an arrival that is not in work, and whose file is gone since it is filed.
    mutating func finish(_ key: ArrivalKey) { end(key, .filed) }

    /// Ends an arrival whose file is gone, if ``vanished(_:)``.
    mutating func withdraw(_ key: ArrivalKey, _ reason: String, now: Moment) -> EndedArrival? {
        guard let arrival = arrivals[key], vanished(key) else { return nil }
        return EndedArrival(key: key, outcome: .withdrawn, reason: reason, ended: now, firstSeen: arrival.firstSeen)
    }

    /// Begins the next arrival of `inbox` that waits for its turn: of ``retryShare`` at least one that was
    /// deferred, if there is one; else the others go first, so that a flood of retries delays no photo that has just come.
    package mutating func beginNext(inbox: String, step: String, now: Moment) -> Arrival? {
        while let key = queue[inbox]?.popFirst() {
            // Those that ended while they waited, or went over to the other line, are still in line.
            guard var arrival = arrivals[key], arrival.stage == .queued else { continue }
            arrival.stage = .working(step: step)
            arrival.since = now
            if arrival.meanwhile == .seen { arrival.meanwhile = nil }
            arrivals[key] = arrival
            queuedCount -= 1
            return arrival
        }
        return nil
    }

    /// Begins all of a set of `inbox` that is ready.
    package mutating func beginReadySet(inbox: String, step: String, now: Moment) -> [Arrival]? {
        readySet(inbox: inbox, now: now)?.compactMap { key in
            arrivals[key]?.stage = .working(step: step)
            arrivals[key]?.since = now
            arrivals[key]?.meanwhile = nil
            return arrivals[key]
        }
    }

    private mutating func readySet(inbox: String, now: Moment) -> [ArrivalKey]? {
        // Held for as long as the question lasts: the assembly is changed by asking.
        let (arrivals, bySet) = (arrivals, bySet)
        return assembly.nextReady(inbox: inbox, now: now) { setKeys in
            setKeys.contains { setKey in
                bySet[SetHandle(inbox: inbox, key: setKey)]?.contains { arrivals[$0]?.stage.isUnderWay ?? false }
                    ?? false
            }
        }
    }

    /// Whether others that seem to be of the same set are in hand.
    package func hasCompany(_ arrival: Arrival) -> Bool {
        arrival.setKeys.contains { setKey in
            bySet[SetHandle(inbox: arrival.key.inbox, key: setKey)]?.contains { other in
                guard other != arrival.key, let stage = arrivals[other]?.stage else { return false }
                if case .gathering = stage { return true }
                return stage.isUnderWay
            } ?? false
        }
    }

    /// What an arrival's set waits for, for people.
    package func words(ofSetOf key: ArrivalKey) -> String { assembly.words(for: key) }

    /// The arrival in work has come to another step.
    package mutating func reached(_ key: ArrivalKey, step: String, now: Moment) {
        guard case .working = arrivals[key]?.stage else { return }
        arrivals[key]?.stage = .working(step: step)
        arrivals[key]?.since = now
    }

    /// The arrival in work was examined.
    package mutating func observed(_ key: ArrivalKey, _ quiet: QuietCheck) { arrivals[key]?.quiet = quiet }

    /// The arrival in work was refused by this, or by nothing.
    package mutating func refused(_ key: ArrivalKey, by storage: Storage) { arrivals[key]?.refusedBy = storage }

    /// What refused arrivals of `inbox` that were not tried again since: each is, within ``longestBackOff``.
    package func refusing(inbox: String) -> Storage {
        arrivals.values.reduce(into: []) { if $1.key.inbox == inbox { $0.formUnion($1.refusedBy) } }
    }

    /// The result of the work on an arrival. When a notice came in the meantime, nothing is put off: it is examined again
    /// at once, and after an outcome it counts as a new arrival, since something was written after the examination.
    /// Returns whether it has an outcome.
    @discardableResult
    package mutating func concluded(_ key: ArrivalKey, _ verdict: Verdict, now: Moment) -> Bool {
        guard var arrival = arrivals[key], case .working = arrival.stage else {
            preconditionFailure("\(key) was concluded, but is not in work")
        }
        var verdict = verdict
        if case .missed(let outcome) = verdict {
            let since = arrival.missedSince ?? now
            arrival.missedSince = since
            verdict =
                arrival.meanwhile == .gone || now.seconds(since: since) >= Self.patienceWithWatch
                ? .ended(outcome) : .defer(reason: "its name leads to no such file at the moment")
        } else {
            arrival.missedSince = nil
        }
        if case .ended(let outcome) = verdict {
            end(key, outcome)
            if arrival.meanwhile == .seen { noticed(key, as: arrival.noticed, now: now) }
            return true
        }
        if arrival.meanwhile == .seen {
            enqueue(&arrival, now: now)
            return false
        }
        switch verdict {
        case .ended, .missed: break
        case .gather(let candidate):
            let (set, until) = assembly.add(key, candidate, now: now)
            arrival.stage = .gathering(set: set, until: until)
        case .waitForQuiet(let reason, let seconds):
            arrival.stage = .settling(reason: reason, until: now.later(by: seconds))
        case .defer(let reason):
            arrival.attempts += 1
            let wait = min(Self.longestBackOff, Double(1 << min(arrival.attempts - 1, 10)))
            arrival.stage = .deferred(reason: reason, attempt: arrival.attempts, until: now.later(by: wait))
        }
        arrival.since = now
        arrivals[key] = arrival
        assembly.touch(inbox: key.inbox, arrival.setKeys)
        if let until = arrival.waitsUntil, until.monotonic < firstWait?.monotonic ?? .max { firstWait = until }
        return false
    }

    /// Puts every arrival whose wait is over in line again; all waiting ones if `all`. Gives back their number.
    @discardableResult
    package mutating func wake(now: Moment, all: Bool = false) -> Int {
        let due = arrivals.values.filter { arrival in
            guard let until = arrival.waitsUntil, !arrival.isGathering else { return false }
            return all || until.monotonic <= now.monotonic
        }
        // Dictionaries have no order, people expect the first come to be the first served.
        for var arrival in due.sorted(by: { $0.firstSeen.monotonic < $1.firstSeen.monotonic }) {
            enqueue(&arrival, now: now, isRetry: arrival.attempts > 0)
        }
        assembly.wake(now: now, all: all)
        let waits = arrivals.values.filter { !$0.isGathering }.compactMap(\.waitsUntil)
        wakesAgain = now.later(by: Double(arrivals.count) * Self.wakePace)
        firstWait = (waits + (assembly.nextMoment(after: now).map { [$0] } ?? [])).min { $0.monotonic < $1.monotonic }
        return due.count
    }

    /// Puts those waiting ones in line again that are meant. Gives back their number.
    package mutating func retry(now: Moment, where isMeant: (ArrivalKey) -> Bool) -> Int {
        let meant = arrivals.values.filter { $0.waitsUntil != nil && isMeant($0.key) }
        for var arrival in meant.sorted(by: { $0.firstSeen.monotonic < $1.firstSeen.monotonic }) {
            enqueue(&arrival, now: now, isRetry: arrival.attempts > 0)
        }
        return meant.count
    }

    /// Puts those waiting ones in line again that `storage` refused.
    package mutating func retry(now: Moment, refusedBy storage: Storage) {
        let meant = Set(arrivals.values.filter { !$0.refusedBy.isDisjoint(with: storage) }.map(\.key))
        _ = retry(now: now) { meant.contains($0) }
    }

    /// The counts of `inbox`.
    package func counts(of inbox: String) -> Counts {
        var counts = Counts(seen: seen[inbox] ?? 0, ended: ends[inbox] ?? [:])
        for arrival in arrivals.values where arrival.key.inbox == inbox {
            if case .deferred = arrival.stage { counts.deferred += 1 } else { counts.inHand += 1 }
        }
        return counts
    }

    /// What waits in one inbox.
    package struct Waiting: Hashable, Sendable {
        /// How many are in each stage, by ``ArrivalStage/name``.
        package fileprivate(set) var stages: [String: Int] = [:]
        /// When the one that came first was first seen.
        package fileprivate(set) var oldest: Moment?
    }

    /// What has no outcome yet, by inbox.
    package func waiting() -> [String: Waiting] {
        arrivals.values.reduce(into: [:]) { all, arrival in
            all[arrival.key.inbox, default: Waiting()].stages[arrival.stage.name, default: 0] += 1
            guard arrival.firstSeen.monotonic < all[arrival.key.inbox]?.oldest?.monotonic ?? .max else { return }
            all[arrival.key.inbox]?.oldest = arrival.firstSeen
        }
    }

    /// Every inbox that was ever seen here.
    package var inboxes: [String] { seen.keys.sorted() }

    /// Forgets arrivals that are not in work, uncounted: their inbox is left, not they. For stopping and reloading;
    /// reconciliation finds them again.
    package mutating func leaveWaiting() {
        for (key, arrival) in arrivals {
            if case .working = arrival.stage { continue }
            assembly.remove(key)
            forget(arrival)
            seen[key.inbox, default: 0] -= 1
        }
        queue = [:]
        queuedCount = 0
        firstWait = nil
    }

    private mutating func enqueue(_ arrival: inout Arrival, now: Moment, isRetry: Bool = false) {
        assembly.remove(arrival.key)
        arrival.isRetry = isRetry
        arrival.stage = .queued
        arrival.since = now
        if arrival.meanwhile == .seen { arrival.meanwhile = nil }
        arrivals[arrival.key] = arrival
        if isRetry {
            queue[arrival.key.inbox, default: Lines()].retries.append(arrival.key)
        } else {
            queue[arrival.key.inbox, default: Lines()].news.append(arrival.key)
        }
        queuedCount += 1
    }

    private mutating func end(_ key: ArrivalKey, _ outcome: Outcome) {
        if arrivals[key]?.stage == .queued { queuedCount -= 1 }
        assembly.remove(key)
        if let arrival = arrivals[key] {
            forget(arrival)
            assembly.touch(inbox: key.inbox, arrival.setKeys)
        }
        ends[key.inbox, default: [:]][outcome, default: 0] += 1
    }
}

extension ArrivalTable {
    private mutating func forget(_ arrival: Arrival) {
        arrivals[arrival.key] = nil
        for setKey in arrival.setKeys {
            let handle = SetHandle(inbox: arrival.key.inbox, key: setKey)
            bySet[handle]?.remove(arrival.key)
            if bySet[handle]?.isEmpty == true { bySet[handle] = nil }
        }
    }
}

extension ArrivalStage {
    /// Whether it is on its way to its proof: its set waits for it. What is deferred may be so for long.
    fileprivate var isUnderWay: Bool {
        switch self {
        case .queued, .working, .settling: true
        case .gathering, .deferred: false
        }
    }
}

extension Arrival {
    fileprivate var isGathering: Bool { if case .gathering = stage { true } else { false } }

    /// The end of its wait, if it waits for a time.
    package var waitsUntil: Moment? {
        switch stage {
        case .settling(_, let until), .deferred(_, _, let until), .gathering(_, let until): until
        case .queued, .working: nil
        }
    }
}

/// Those that wait for their turn: retries, and what was never deferred or was reported again since.
private struct Lines {
    var news = FIFO()
    var retries = FIFO()
    /// How many of `news` were begun since the last retry.
    private var newsTaken = 0

    mutating func popFirst() -> ArrivalKey? {
        if newsTaken < ArrivalTable.retryShare - 1, let key = news.popFirst() {
            newsTaken += 1
            return key
        }
        newsTaken = 0
        return retries.popFirst() ?? news.popFirst()
    }
}

/// First in, first out, without moving what is in it for each one that leaves.
private struct FIFO {
    private var keys: [ArrivalKey] = []
    private var head = 0

    mutating func append(_ key: ArrivalKey) { keys.append(key) }

    mutating func popFirst() -> ArrivalKey? {
        guard head < keys.count else { return nil }
        defer {
            head += 1
            if head > 1024, head * 2 > keys.count {
                keys.removeFirst(head)
                head = 0
            }
        }
        return keys[head]
    }
}
