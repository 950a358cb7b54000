import ControlProtocol
import Fetching
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import SystemPackage

/// One batch of addresses with those who fetch: a connection to photoinboxd-fetch.socket, since this process has no
/// network; where nobody listens there and no service manager confines us, to a child. All of it on one queue.
final class LinkRun: Sendable {
    /// What a run needs.
    struct Order: Sendable {
        var request: FetchRequest
        /// What a child is told, and a service knows by itself.
        var place: FetchPlace
        var socket: BytePath
        var mayHaveChild: Bool
        /// For how long the outcome is waited for.
        var deadline: Duration
        var program = LinkRun.standardProgram
    }

    /// How a run ended; told once.
    enum Ending: Hashable, Sendable {
        /// Every address has ended.
        case over(FetchOutcome)
        /// Nothing was begun; why.
        case refused(String)
        /// Nobody knows what became of what had not ended.
        case lost(String)
    }

    private struct State {
        var frames = FrameReader(limit: FetchReport.longest)
        var ending: Ending?
        var isDisconnected = false
        var isChildGone: Bool
        var done: (@Sendable (Ending) -> Void)?
    }

    private let connection: ConnectionMonitor
    private let child: ChildProcessMonitor?
    private let patience: TimerMonitor
    private let state: QueueBound<State>
    private let ended: @Sendable ([(Int, FetchEnd)]) -> Void

    /// What a child has left to take its temporaries away.
    private static let grace = Duration.seconds(10)

    /// Connects and asks; never waits but for a child to be executed. `ended` is called with addresses, by their numbers
    /// in the request, that have ended; `done` when nothing of the run is left. Both on the queue. Throws why it could not
    /// begin; then neither is called.
    static func start(
        _ order: Order, queue: MonitorQueue, ended: @escaping @Sendable ([(Int, FetchEnd)]) -> Void,
        done: @escaping @Sendable (Ending) -> Void
    ) throws -> LinkRun {
        var request = order.request
        let near: OwnedDescriptor
        var child: ChildProcessMonitor?
        let label = "links of \(request.inbox)"
        if let service = try service(order) {
            near = service
        } else {
            let ends = try connectedPair(patience: .seconds(1))
            near = OwnedDescriptor(taking: ends.0)
            let far = OwnedDescriptor(taking: ends.1)
            request.place = order.place
            child = try spawn(order.program, far.raw, label: label, queue: queue)
        }
        // Whatever fails from here on closes the connection, which ends the child.
        let connection = try ConnectionMonitor(owning: near, limit: FetchRequest.longest, label: label, queue: queue)
        let patience = try TimerMonitor(.once(after: order.deadline), label: label, queue: queue)
        let run = LinkRun(connection, child, patience, queue: queue, ended: ended, done: done)
        run.begin(request.frame)
        return run
    }

    private static func spawn(
        _ program: BytePath, _ connection: Int32, label: String, queue: MonitorQueue
    ) throws(SystemCallError) -> ChildProcessMonitor {
        let process = try ChildProcess.spawn(program, ["--child"], input: .descriptor(connection))
        let identifier = process.identifier
        do throws(SystemCallError) {
            return try ChildProcessMonitor(process, label: label, queue: queue)
        } catch {
            // It has no owner who could ever end it.
            kill(identifier, SIGKILL)
            _ = try? ChildProcess(adopting: identifier).wait()
            throw error
        }
    }

    /// Nil where a child is to be had instead.
    private static func service(_ order: Order) throws -> OwnedDescriptor? {
        let descriptor: OwnedDescriptor
        do throws(SystemCallError) { descriptor = try connect(to: order.socket, patience: nil) } catch {
            let none: [Errno] = [.noSuchFileOrDirectory, .connectionRefused]
            if order.mayHaveChild, none.contains(error.code) { return nil }
            throw SetupError("\(error); photoinboxd-fetch.socket is not started, or does not answer")
        }
        // Whoever made the socket: the service manager, or a stranger in its place.
        let peer = try PeerCredentials(of: descriptor)
        guard peer.user == 0 || peer.user == geteuid() else {
            throw SetupError("\(order.socket.escaped) belongs to \(peer), who is not trusted")
        }
        return descriptor
    }

    private init(
        _ connection: ConnectionMonitor, _ child: ChildProcessMonitor?, _ patience: TimerMonitor,
        queue: MonitorQueue, ended: @escaping @Sendable ([(Int, FetchEnd)]) -> Void,
        done: @escaping @Sendable (Ending) -> Void
    ) {
        self.connection = connection
        self.child = child
        self.patience = patience
        self.ended = ended
        state = QueueBound(State(isChildGone: child == nil, done: done), queue: queue)
    }

    private func begin(_ request: [UInt8]) {
        connection.setEventHandler { self.take($0) }
        patience.setEventHandler { _ in self.overdue() }
        child?.setEventHandler { _ in
            self.state.onQueue { $0.isChildGone = true }
            self.leave()
        }
        connection.activate()
        patience.activate()
        child?.activate()
        if connection.send(request) == .refused { end(.lost("nobody takes what is to be fetched")) }
    }

    /// Nobody wants the rest: what is on its way is cancelled, and the outcome comes all the same; `hurrying`, it is not
    /// waited for. On the queue.
    func stop(hurrying: Bool) {
        if hurrying { return end(.lost("was ended")) }
        if connection.send(FetchWord(cancel: nil).frame) == .refused { end(.lost("was ended")) }
    }

    private func take(_ event: ConnectionEvent) {
        switch event {
        case .received(let bytes):
            state.onQueue { $0.frames.add(bytes) }
            read()
        case .sent: break
        case .finished, .ended: end(.lost("photoinbox-fetch ended without an outcome; see its journal"))
        }
    }

    private func read() {
        var ends: [(Int, FetchEnd)] = []
        var ending: Ending?
        do throws(FrameRefusal) {
            while ending == nil {
                let frame = try state.onQueue { state throws(FrameRefusal) in try state.frames.next() }
                guard let frame else { break }
                switch FetchReport(json: frame) {
                case .ended(let number, let end): ends.append((number, end))
                case .outcome(let outcome): ending = .over(outcome)
                case .refused(let reason): ending = .refused(reason)
                case .progress: break
                case nil: ending = .lost("photoinbox-fetch speaks another version; use those that came together")
                }
            }
        } catch { ending = .lost("photoinbox-fetch sends \(error)") }
        // What came after the end is nobody's.
        guard state.onQueue({ $0.ending == nil }) else { return }
        if !ends.isEmpty { ended(ends) }
        if let ending { end(ending) }
    }

    private func overdue() {
        if state.onQueue({ $0.ending == nil }) { return end(.lost("there was no outcome in time")) }
        _ = try? child?.send(signal: SIGKILL)
    }

    private func end(_ ending: Ending) {
        let isFirst = state.onQueue { state in
            guard state.ending == nil else { return false }
            state.ending = ending
            return true
        }
        guard isFirst else { return }
        patience.reschedule(child == nil ? .never : .once(after: Self.grace))
        connection.invalidate {
            self.state.onQueue { $0.isDisconnected = true }
            self.leave()
        }
    }

    /// Lets go of the rest once the connection is closed and there is no child any more.
    private func leave() {
        let (ending, done) = state.onQueue { state -> (Ending?, (@Sendable (Ending) -> Void)?) in
            guard state.isDisconnected, state.isChildGone else { return (nil, nil) }
            defer { state.done = nil }
            return (state.ending, state.done)
        }
        guard let ending, let done else { return }
        patience.invalidate {
            guard let child = self.child else { return done(ending) }
            child.invalidate { done(ending) }
        }
    }

    /// `photoinbox-fetch` beside the running program, or where `make install` puts it.
    static var standardProgram: BytePath { programBeside("photoinbox-fetch") }
}
