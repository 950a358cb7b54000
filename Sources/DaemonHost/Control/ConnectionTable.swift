import ControlProtocol
import LinuxKernel
import Reporting

/// The connections of the control socket, each with what it waits for: a value without I/O that is given events and
/// returns what to do.
struct ConnectionTable {
    typealias Instant = ContinuousClock.Instant

    /// What is to be done with a connection now.
    enum Step {
        case wait
        case end
        /// Send this and end it: nothing more can be read from it.
        case refuse(ControlAnswer)
        /// Send this.
        case busy(ControlAnswer)
        case work(ControlRequest, PeerCredentials)
    }

    private enum Stage {
        /// Waits for a request, until then.
        case reading(until: Instant)
        /// Its request is being carried out, for as long as that takes.
        case working
        /// Its answer is not read yet.
        case answering(until: Instant, isLast: Bool)
    }

    private struct Connection {
        let peer: PeerCredentials
        var reader = FrameReader(limit: ControlRequest.limit)
        var stage: Stage
        /// Nothing more will come.
        var isFinished = false
    }

    private let bounds: ControlServer.Bounds
    private var connections: [Int: Connection] = [:]
    private var last = 0
    /// Requests in work, also of connections that are gone.
    private var working = 0

    init(_ bounds: ControlServer.Bounds) { self.bounds = bounds }

    /// The numbers of all connections.
    var all: [Int] { Array(connections.keys) }

    /// A connection came: its number, and that of one that must go for it. No number where none can go.
    mutating func opened(by peer: PeerCredentials, at now: Instant) -> (number: Int?, victim: Int?) {
        var victim: Int?
        if connections.count >= bounds.connections {
            victim = self.victim()
            if victim == nil { return (nil, nil) }
        }
        last += 1
        connections[last] = Connection(peer: peer, stage: .reading(until: now + bounds.request))
        return (last, victim)
    }

    /// Of the user who has most: the one that came first of those without a request.
    private func victim() -> Int? {
        let idle = connections.filter { isReading($0.key) }
        let counts = Dictionary(grouping: idle.keys) { idle[$0]?.peer.user ?? 0 }
        return counts.max { $0.value.count < $1.value.count }?.value.min()
    }

    mutating func closed(_ number: Int) { connections[number] = nil }

    mutating func received(_ bytes: [UInt8], on number: Int, at now: Instant) -> Step {
        guard connections[number] != nil else { return .wait }
        let wasInside = connections[number]?.reader.isInside ?? false
        connections[number]?.reader.add(bytes)
        let step = next(number, at: now)
        // The time for a request counts from its first byte; sending one byte after the other gains nothing.
        if case .wait = step, !wasInside, case .reading(let until) = connections[number]?.stage {
            connections[number]?.stage = .reading(until: min(until, now + bounds.request))
        }
        return step
    }

    mutating func finished(_ number: Int) -> Step {
        connections[number]?.isFinished = true
        if case .reading = connections[number]?.stage { return .end }
        return .wait
    }

    /// Its request is carried out; whether the connection is still there.
    mutating func worked(_ number: Int, at now: Instant) -> Bool {
        working -= 1
        guard connections[number] != nil else { return false }
        connections[number]?.stage = .reading(until: now + bounds.idle)
        return true
    }

    /// The answer waits to be read.
    mutating func answering(_ number: Int, isLast: Bool, at now: Instant) {
        connections[number]?.stage = .answering(until: now + bounds.answer, isLast: isLast)
    }

    /// The answer is with the kernel.
    mutating func answered(_ number: Int, isLast: Bool, at now: Instant) -> Step {
        guard let connection = connections[number] else { return .wait }
        if isLast { return .end }
        connections[number]?.stage = .reading(until: now + bounds.idle)
        let step = next(number, at: now)
        if case .wait = step, connection.isFinished { return .end }
        return step
    }

    /// What waited was sent.
    mutating func sent(_ number: Int, at now: Instant) -> Step {
        guard case .answering(_, let isLast) = connections[number]?.stage else { return .wait }
        return answered(number, isLast: isLast, at: now)
    }

    /// Whether more may be received. Not while a request is in work or its answer waits to be read: what comes then
    /// waits in the kernel, which makes its sender wait.
    func isReading(_ number: Int) -> Bool {
        if case .reading = connections[number]?.stage { return true }
        return false
    }

    /// Those whose time is over.
    func overdue(at now: Instant) -> [Int] {
        connections.filter { _, connection in
            switch connection.stage {
            case .reading(let until), .answering(let until, _): until <= now
            case .working: false
            }
        }.map(\.key)
    }

    /// The next request of what has come.
    private mutating func next(_ number: Int, at now: Instant) -> Step {
        guard var connection = connections[number], case .reading = connection.stage else { return .wait }
        let frame: [UInt8]?
        do throws(FrameRefusal) { frame = try connection.reader.next() } catch {
            return .refuse(ControlAnswer(status: ExitStatus.usage.rawValue, "\(error)"))
        }
        connections[number] = connection
        guard let frame else { return .wait }
        do throws(RequestMistake) {
            let request = try ControlRequest(json: frame)
            guard working < bounds.requests else {
                var answer = ControlAnswer(
                    status: ExitStatus.busy.rawValue, "\(working) requests are in work already", action: "Try again.")
                answer.id = request.id
                return .busy(answer)
            }
            working += 1
            connections[number]?.stage = .working
            return .work(request, connection.peer)
        } catch {
            var answer = ControlAnswer(status: ExitStatus.usage.rawValue, error.message)
            answer.id = error.id
            return .refuse(answer)
        }
    }
}
