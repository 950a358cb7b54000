import LinuxKernel

/// A monitor's state and statistics, readable from any thread without its queue, which may be blocked.
final class MonitorRecord: Sendable {
    let id: UInt64
    let kind: String
    let label: String
    let queue: String
    let createdAt: String

    private struct Contents: Sendable {
        var state = MonitorState.setUp
        var since = monotonicNanoseconds()
        var priority = 0
        var delivered: UInt64 = 0
        var dropped: UInt64 = 0
        var coalesced: UInt64 = 0
        var lastEvent: UInt64?
        var rateLimitHits: UInt64 = 0
        var handlerRunningSince: UInt64?
        var handlerTime = DurationHistogram()
        var errors: UInt64 = 0
        var lastError: String?
    }

    private let contents = Locked(Contents())

    init(id: UInt64, kind: String, label: String, queue: String, file: StaticString, line: UInt) {
        self.id = id
        self.kind = kind
        self.label = label
        self.queue = queue
        createdAt = "\(file):\(line)"
    }

    var state: MonitorState { contents.withLock { $0.state } }

    func enter(_ state: MonitorState) {
        let now = monotonicNanoseconds()
        contents.withLock {
            guard $0.state != state else { return }
            $0.state = state
            $0.since = now
        }
    }

    func setPriority(_ priority: Int) { contents.withLock { $0.priority = priority } }
    func addDropped(_ count: UInt64) { contents.withLock { $0.dropped += count } }
    func addCoalesced(_ count: UInt64) { contents.withLock { $0.coalesced += count } }
    func addRateLimitHit() { contents.withLock { $0.rateLimitHits += 1 } }

    func handlerBegan(at now: UInt64) {
        contents.withLock {
            $0.delivered += 1
            $0.lastEvent = now
            $0.handlerRunningSince = now
        }
    }

    func handlerEnded(after nanoseconds: UInt64) {
        contents.withLock {
            $0.handlerRunningSince = nil
            $0.handlerTime.add(nanoseconds)
        }
    }

    func addError(_ error: String) {
        contents.withLock {
            $0.errors += 1
            $0.lastError = error
        }
    }

    func describe() -> MonitorDescription {
        let contents = contents.withLock { $0 }
        var description = MonitorDescription(
            id: id, kind: kind, label: label, queue: queue, createdAt: createdAt,
            describedAt: monotonicNanoseconds(), state: contents.state, since: contents.since)
        description.priority = contents.priority
        description.delivered = contents.delivered
        description.dropped = contents.dropped
        description.coalesced = contents.coalesced
        description.lastEvent = contents.lastEvent
        description.rateLimitHits = contents.rateLimitHits
        description.handlerRunningSince = contents.handlerRunningSince
        description.handlerTime = MonitorDescription.HandlerTime(contents.handlerTime)
        description.errors = contents.errors
        description.lastError = contents.lastError
        return description
    }
}
