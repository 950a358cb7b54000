/// What the connections of a server do, and by when. A value without I/O.
///
/// Slow clients keep nobody out: each step has a deadline, and when all places are taken, the connection whose request, or the
/// rest of it, has been waited for longest loses its place.
struct ConnectionTable<ID: Hashable & Sendable>: Sendable {
    enum Phase: Hashable, Sendable {
        /// For the first request, or the next one.
        case awaitingFirst, awaitingNext
        case receivingBody
        /// A piece of a body that is read as it comes, with what is left of the time for it.
        case receivingPiece(Duration)
        /// The handler works, or a stream has nothing to send.
        case working
        /// A piece of the answer is to be read by the client.
        case sending

        /// Whether something of a request is waited for.
        var isAwaited: Bool {
            switch self {
            case .awaitingFirst, .awaitingNext, .receivingBody, .receivingPiece: true
            case .working, .sending: false
            }
        }
    }

    private struct Connection: Sendable {
        var phase: Phase
        /// When it entered the phase; of pieces, as if the client had been waited for without a pause.
        var since: ContinuousClock.Instant
        var deadline: ContinuousClock.Instant?
    }

    private let limits: WebLimits
    private var connections: [ID: Connection] = [:]
    /// Requests that handlers have, also those of clients that have left.
    var inWork = 0
    /// Since when there has been none.
    private var emptySince: ContinuousClock.Instant

    init(_ limits: WebLimits, at now: ContinuousClock.Instant) {
        self.limits = limits
        emptySince = now
    }

    var count: Int { connections.count }

    /// A connection came: whether it may stay, and the one that has to go for it.
    mutating func opened(_ id: ID, at now: ContinuousClock.Instant) -> (isAccepted: Bool, victim: ID?) {
        var victim: ID?
        if connections.count >= limits.connections {
            victim = connections.filter(\.value.phase.isAwaited).min { $0.value.since < $1.value.since }?.key
            guard let victim else { return (false, nil) }
            connections[victim] = nil
        }
        connections[id] = Connection(phase: .awaitingFirst, since: now, deadline: now + limits.head)
        return (true, victim)
    }

    mutating func entered(_ phase: Phase, _ id: ID, at now: ContinuousClock.Instant) {
        guard connections[id] != nil else { return }
        var since = now
        if case .receivingPiece(let left) = phase { since = now - (limits.stall - left) }
        connections[id] = Connection(phase: phase, since: since, deadline: time(for: phase).map { now + $0 })
    }

    mutating func closed(_ id: ID, at now: ContinuousClock.Instant) {
        guard connections.removeValue(forKey: id) != nil else { return }
        if connections.isEmpty { emptySince = now }
    }

    func overdue(at now: ContinuousClock.Instant) -> [ID] {
        connections.filter { $0.value.deadline.map { $0 <= now } ?? false }.map(\.key)
    }

    /// Whether there has been nobody for the limit.
    func isIdle(at now: ContinuousClock.Instant) -> Bool {
        guard let idle = limits.idle else { return false }
        return connections.isEmpty && inWork == 0 && now - emptySince >= idle
    }

    private func time(for phase: Phase) -> Duration? {
        switch phase {
        case .awaitingFirst: limits.head
        case .awaitingNext: limits.keepAlive
        case .receivingBody: limits.body
        case .receivingPiece(let left): left
        case .working: nil
        case .sending: limits.piece
        }
    }
}

/// The limits of a server.
package struct WebLimits: Hashable, Sendable {
    package var connections = 512
    /// From the connection to the end of the first head.
    package var head = Duration.seconds(5)
    /// From an answer to the end of the next head.
    package var keepAlive = Duration.seconds(30)
    /// For a whole body, which has at most ``bodySize`` bytes, and for what is left of one that was not read.
    package var body = Duration.seconds(10)
    package var bodySize = 64 << 10
    /// Of a body that is read as it comes: for each so many bytes, without the time in which the handler works.
    package var stall = Duration.seconds(30)
    package var stallSize = 32 << 10
    /// Until the client has read enough of a piece of an answer to be given the next.
    package var piece = Duration.seconds(10)
    /// Without any connection, until the server ends; nil: never.
    package var idle: Duration?
    /// How often deadlines are checked.
    package var tick = Duration.seconds(1)

    package init() {}
}
