package import LinuxKernel
package import SystemMonitor

/// The connection of a process that serves one request and then exits.
///
/// It exits, too, when the client disconnects or SIGTERM arrives. There is a time limit for the request to arrive, and for
/// the client to read the answer. Confined to its queue.
package final class RequestConnection: Sendable {
    private struct State {
        /// Whether bytes wait to be sent.
        var isSlow = false
        var isAnswered = false
        var isLeaving = false
    }

    private static let limit = Duration.seconds(10)

    package let queue: MonitorQueue
    /// The time limit for the request, then for sending the answer; in between, its user's.
    package let timer: TimerMonitor
    private let connection: ConnectionMonitor
    private let signals: SignalMonitor
    private let state: QueueBound<State>
    private let exit: @Sendable () -> Void

    /// Serves the other end of `socket`, for which at most `limit` bytes may be pending, on a queue of this label. `exit` is
    /// called at the end. SIGTERM must be blocked. From any thread.
    package init(
        owning socket: consuming OwnedDescriptor, limit: Int = 1 << 20, label: String,
        exit: @escaping @Sendable () -> Void
    ) throws {
        self.exit = exit
        queue = MonitorQueue(label: label)
        state = QueueBound(State(), queue: queue)
        timer = try TimerMonitor(.once(after: Self.limit), label: "request", queue: queue)
        signals = try SignalMonitor([.term], label: "end", queue: queue)
        connection = try ConnectionMonitor(owning: socket, limit: limit, label: "client", queue: queue)
    }

    /// Starts. `received` is called with what the client sends, `fired` when the timer fires, and `abandoned` when the
    /// client has disconnected or the process is to exit. From any thread.
    package func start(
        received: @escaping @Sendable ([UInt8]) -> Void, fired: @escaping @Sendable () -> Void,
        abandoned: @escaping @Sendable () -> Void
    ) {
        queue.async {
            self.connection.setEventHandler { event in
                switch event {
                case .received(let bytes): received(bytes)
                case .sent:
                    self.state.onQueue { $0.isSlow = false }
                    if self.isAnswered { self.leave() }
                case .finished, .ended: abandoned()
                }
            }
            self.timer.setEventHandler { _ in fired() }
            self.signals.setEventHandler { _ in abandoned() }
            self.connection.activate()
            self.timer.activate()
            self.signals.activate()
        }
    }

    package var isSlow: Bool { state.onQueue { $0.isSlow } }
    package var isAnswered: Bool { state.onQueue { $0.isAnswered } }

    /// Sends something before the answer.
    package func send(_ bytes: [UInt8]) -> ConnectionMonitor.Sending {
        let sending = connection.send(bytes)
        if sending == .waiting { state.onQueue { $0.isSlow = true } }
        return sending
    }

    /// Sends the answer, then ends; only ends if nobody waits for it.
    package func answer(_ bytes: [UInt8]) {
        let isAlone = state.onQueue { state in
            state.isAnswered = true
            return state.isLeaving
        }
        if isAlone { return finish() }
        timer.reschedule(.once(after: Self.limit))
        if connection.send(bytes) != .waiting { leave() }
    }

    /// Notes that nobody waits for the answer, which then ends it. Returns whether this is the first call.
    @discardableResult
    package func abandon() -> Bool {
        state.onQueue { state in
            defer { state.isLeaving = true }
            return !state.isLeaving
        }
    }

    /// Ends now, unless it was abandoned before.
    package func leave() { if abandon() { finish() } }

    private func finish() {
        connection.invalidate { self.timer.invalidate { self.signals.invalidate { self.exit() } } }
    }
}
