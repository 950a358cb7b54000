import ControlProtocol
import FileValues
import LinuxKernel
import Logging
import QueueActors
import Reporting
import SystemMonitor

/// Serves the control socket: accepts connections, cuts them into requests, sends answers, one request of a connection at
/// a time.
///
/// On a queue of its own, which touches no file and waits for nothing. Everything has a bound: connections, those of one
/// user, a request's size and the time it may take to come, an answer's size and the time it may take to go, and how many
/// requests are in work at once. Whoever is over a bound loses the connection that has waited longest without a whole
/// request, so that slow clients keep no others out.
final class ControlServer: Sendable {
    /// What bounds there are.
    struct Bounds: Sendable {
        var connections = 64
        /// Requests in work at once.
        var requests = 16
        /// How long the first request may take from the connection on, and a later one from its first byte on.
        var request = Duration.seconds(5)
        /// How long a connection may stay without a request.
        var idle = Duration.seconds(30)
        /// How long an answer may take to be read.
        var answer = Duration.seconds(10)
    }

    /// Carries a request out; asynchronous, on no particular queue.
    typealias Handler = @Sendable (ControlRequest, PeerCredentials) async -> ControlAnswer

    let subsystem: Subsystem
    private let queue: MonitorQueue
    private let listener: ListenerMonitor
    /// Ticks while there are connections.
    private let clock: TimerMonitor
    private let bounds: Bounds
    private let handler: Handler
    private let table: QueueBound<ConnectionTable>
    private let monitors: QueueBound<[Int: ConnectionMonitor]>
    private let isStopped: QueueBound<Bool>
    /// Counts the connections whose descriptors are not closed yet, for the end.
    private let leaving: QueueBound<(count: Int, done: CheckedContinuation<Void, Never>?)>

    /// How often deadlines are checked.
    private static let tick = Duration.seconds(1)

    /// `socket` listens.
    init(
        owning socket: consuming OwnedDescriptor, subsystem: Subsystem, bounds: Bounds = Bounds(),
        handler: @escaping Handler
    ) throws(SystemCallError) {
        self.subsystem = subsystem
        queue = subsystem.queue
        self.bounds = bounds
        self.handler = handler
        table = QueueBound(ConnectionTable(bounds), queue: queue)
        monitors = QueueBound([:], queue: queue)
        isStopped = QueueBound(false, queue: queue)
        leaving = QueueBound((0, nil), queue: queue)
        clock = try TimerMonitor(.never, label: "control deadlines", queue: queue)
        listener = try ListenerMonitor(owning: socket, label: "control", queue: queue)
    }

    /// Begins; from any thread.
    func start() {
        queue.async { [self] in
            listener.setEventHandler { [weak self] in self?.accept($0) }
            clock.setEventHandler { [weak self] _ in self?.ticked() }
            // A flood of connections leaves room for those who are being served.
            listener.setRateLimit(interval: .milliseconds(100), burst: 256)
            listener.activate()
            clock.activate()
        }
    }

    /// Ends every connection; from any thread. What is in work goes on, and its answers are dropped. Returns when every
    /// descriptor is closed.
    func stop() async {
        await withCheckedContinuation { done in
            queue.async { [self] in
                isStopped.onQueue { $0 = true }
                for number in table.onQueue({ $0.all }) { end(number) }
                leaving.onQueue {
                    $0.count += 2
                    $0.done = done
                }
                listener.invalidate { self.left() }
                clock.invalidate { self.left() }
            }
        }
    }

    // MARK: - On the queue

    private func accept(_ incoming: IncomingConnection) {
        guard let socket = incoming.take(), !isStopped.onQueue({ $0 }) else { return }
        let now = ContinuousClock.now
        let (number, victim) = table.onQueue { $0.opened(by: incoming.peer, at: now) }
        if let victim { end(victim) }
        guard let number else { return }
        let monitor: ConnectionMonitor
        do throws(SystemCallError) {
            monitor = try ConnectionMonitor(
                owning: socket, limit: ControlAnswer.limit + 1_024, label: "control \(incoming.peer)", queue: queue)
        } catch {
            table.onQueue { $0.closed(number) }
            return
        }
        monitor.setEventHandler { [weak self] in self?.happened($0, on: number) }
        monitors.onQueue { $0[number] = monitor }
        monitor.activate()
        // From the first connection on.
        if table.onQueue({ $0.all.count == 1 }) { clock.reschedule(.every(Self.tick)) }
    }

    private func happened(_ event: ConnectionEvent, on number: Int) {
        switch event {
        case .received(let bytes): act(table.onQueue { $0.received(bytes, on: number, at: .now) }, number)
        case .finished: act(table.onQueue { $0.finished(number) }, number)
        case .sent: act(table.onQueue { $0.sent(number, at: .now) }, number)
        case .ended: end(number)
        }
        setReading(number)
    }

    private func act(_ step: ConnectionTable.Step, _ number: Int) {
        switch step {
        case .wait: break
        case .end: end(number)
        case .refuse(let answer): send(answer, to: number, andEnd: true)
        case .busy(let answer): send(answer, to: number, andEnd: false)
        case .work(let request, let peer):
            TaskQueue.start { [self] in
                var answer = await handler(request, peer)
                answer.id = request.id
                let bytes = framed(answer.json())
                queue.async { self.worked(bytes, for: number) }
            }
        }
    }

    private func worked(_ bytes: [UInt8], for number: Int) {
        guard table.onQueue({ $0.worked(number, at: .now) }), let monitor = monitors.onQueue({ $0[number] }) else {
            return
        }
        pass(bytes, to: monitor, number, andEnd: false)
        setReading(number)
    }

    private func setReading(_ number: Int) {
        monitors.onQueue { $0[number] }?.setReading(table.onQueue { $0.isReading(number) })
    }

    private func send(_ answer: ControlAnswer, to number: Int, andEnd isLast: Bool) {
        guard let monitor = monitors.onQueue({ $0[number] }) else { return }
        pass(framed(answer.json()), to: monitor, number, andEnd: isLast)
    }

    private func pass(_ bytes: [UInt8], to monitor: ConnectionMonitor, _ number: Int, andEnd isLast: Bool) {
        switch monitor.send(bytes) {
        case .refused: end(number)
        case .done: act(table.onQueue { $0.answered(number, isLast: isLast, at: .now) }, number)
        case .waiting: table.onQueue { $0.answering(number, isLast: isLast, at: .now) }
        }
    }

    private func ticked() {
        for number in table.onQueue({ $0.overdue(at: .now) }) { end(number) }
    }

    /// Closes a connection.
    private func end(_ number: Int) {
        table.onQueue { $0.closed(number) }
        guard let monitor = monitors.onQueue({ $0.removeValue(forKey: number) }) else { return }
        leaving.onQueue { $0.count += 1 }
        monitor.invalidate { self.left() }
        // An idle daemon is not woken for nothing.
        if table.onQueue({ $0.all.isEmpty }), !isStopped.onQueue({ $0 }) { clock.reschedule(.never) }
    }

    private func left() {
        let done: CheckedContinuation<Void, Never>? = leaving.onQueue { leaving in
            leaving.count -= 1
            guard leaving.count == 0 else { return nil }
            defer { leaving.done = nil }
            return leaving.done
        }
        done?.resume()
    }
}
