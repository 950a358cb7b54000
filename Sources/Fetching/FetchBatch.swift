package import Settings

/// How one download ended.
package struct FetchEnd: Hashable, Sendable, Codable {
    package enum What: String, CaseIterable, Hashable, Sendable, Codable {
        /// It is in the inbox, complete and durable.
        case arrived
        case failed, cancelled
    }

    package var what: What
    /// Its path in the inbox, or why it failed.
    package var reason: String
    package var bytes: UInt64
    /// The number of tries.
    package var tries: Int

    package init(_ what: What, _ reason: String, bytes: UInt64 = 0, tries: Int = 0) {
        (self.what, self.reason, self.bytes, self.tries) = (what, reason, bytes, tries)
    }
}

/// Why a try failed.
package struct TryFailure: Error, Hashable, Sendable {
    package var reason: String
    /// Whether another try may succeed.
    package var isTemporary: Bool
    /// The pause that the server asks for, in milliseconds.
    package var retryAfter: Int64?

    package init(_ reason: String, isTemporary: Bool, retryAfter: Int64? = nil) {
        (self.reason, self.isTemporary, self.retryAfter) = (reason, isTemporary, retryAfter)
    }
}

/// Decides which downloads of a batch run and wait. A value without clock or I/O: times are milliseconds of any
/// monotonic clock, and actions are returned.
package struct FetchBatch: Sendable {
    package enum Action: Hashable, Sendable {
        /// Begin a try with this time limit.
        case begin(Int, milliseconds: Int64)
        case abort(Int)
        /// Keep a stored file out of the inbox if it has not appeared yet; its end is still reported.
        case withhold(Int)
        case ended(Int, FetchEnd)
    }

    private enum Phase: Sendable {
        case queued
        case running
        /// Until its next try.
        case waiting(until: Int64)
        /// Completely received, and being stored in the inbox.
        case storing
        case ended
    }

    private struct Member: Sendable {
        var phase = Phase.queued
        var tries = 0
        /// From its first try on.
        var deadline: Int64 = 0
    }

    /// The most downloads that wait for another try: each has a file open.
    private static let mostWaiting = 256

    private let limits: FetchLimits
    private var members: [Member]
    /// The first that may still be queued.
    private var front = 0
    private var waiting: Set<Int> = []
    private var slots = 0
    package private(set) var endedCount = 0

    package init(count: Int, limits: FetchLimits) {
        self.limits = limits
        members = Array(repeating: Member(), count: count)
    }

    package var isOver: Bool { endedCount == members.count }
    /// Running tries, and files that are being stored.
    package var running: Int { slots }

    package func isRunning(_ member: Int) -> Bool {
        if case .running = members[member].phase { true } else { false }
    }

    /// When the next waiting download is due; nil if there is none, or if no slot is free.
    package var nextTime: Int64? {
        guard slots < limits.atOnce else { return nil }
        return waiting.compactMap { member in
            if case .waiting(let until) = members[member].phase { until } else { nil }
        }.min()
    }

    /// Begins the tries that are due.
    package mutating func advance(at now: Int64) -> [Action] {
        var actions: [Action] = []
        while slots < limits.atOnce, let member = nextMember(at: now) {
            if members[member].tries == 0 { members[member].deadline = now + limits.deadline * 1_000 }
            members[member].tries += 1
            members[member].phase = .running
            slots += 1
            actions.append(.begin(member, milliseconds: max(1, members[member].deadline - now)))
        }
        return actions
    }

    /// A try has received the whole file, which is to be stored now.
    package mutating func arrived(_ member: Int) {
        guard case .running = members[member].phase else {
            preconditionFailure("member \(member) arrived, not running")
        }
        members[member].phase = .storing
    }

    /// The file was stored in the inbox, or storing it failed.
    package mutating func stored(_ member: Int, _ end: FetchEnd) -> [Action] {
        guard case .storing = members[member].phase else {
            preconditionFailure("member \(member) was not being stored")
        }
        slots -= 1
        return [self.end(member, end)]
    }

    package mutating func failed(_ member: Int, _ failure: TryFailure, at now: Int64) -> [Action] {
        guard case .running = members[member].phase else { preconditionFailure("member \(member) failed, not running") }
        slots -= 1
        let tries = members[member].tries
        let pause = limits.pause(before: tries + 1, asked: failure.retryAfter)
        guard failure.isTemporary, tries < limits.tries else { return [end(member, FetchEnd(.failed, failure.reason))] }
        guard now + pause < members[member].deadline else {
            return [end(member, FetchEnd(.failed, "\(failure.reason); no time left for another try"))]
        }
        members[member].phase = .waiting(until: now + pause)
        waiting.insert(member)
        return []
    }

    /// Cancels a download in any phase.
    package mutating func cancel(_ member: Int) -> [Action] {
        guard members.indices.contains(member) else { return [] }
        let cancelled = FetchEnd(.cancelled, "cancelled")
        switch members[member].phase {
        case .queued: return [end(member, cancelled)]
        case .waiting:
            waiting.remove(member)
            return [end(member, cancelled)]
        case .running:
            slots -= 1
            return [.abort(member), end(member, cancelled)]
        case .storing: return [.withhold(member)]
        // It ended before the request arrived.
        case .ended: return []
        }
    }

    package mutating func cancelAll() -> [Action] {
        var actions: [Action] = []
        for member in members.indices { actions += cancel(member) }
        return actions
    }

    private mutating func end(_ member: Int, _ end: FetchEnd) -> Action {
        members[member].phase = .ended
        endedCount += 1
        var end = end
        end.tries = members[member].tries
        return .ended(member, end)
    }

    /// Due downloads precede new ones: their files are open, and their deadlines run.
    private mutating func nextMember(at now: Int64) -> Int? {
        let due = waiting.compactMap { member -> (Int64, Int)? in
            if case .waiting(let until) = members[member].phase, until <= now { (until, member) } else { nil }
        }.min { $0 < $1 }
        if let (_, member) = due {
            waiting.remove(member)
            return member
        }
        guard waiting.count < Self.mostWaiting else { return nil }
        while front < members.count {
            defer { front += 1 }
            if case .queued = members[front].phase { return front }
        }
        return nil
    }
}
