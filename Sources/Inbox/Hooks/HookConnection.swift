import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import Settings
import SystemMonitor

/// A run of a hook in the hooks' unit: the service manager starts one for each connection. All of it on one queue.
final class HookConnection: HookRun {
    private struct State {
        var frames = FrameReader(limit: HookAnswer.longest)
        var isStopped = false
        var done: (@Sendable (HookEnding) -> Void)?
    }

    private let connection: ConnectionMonitor
    private let patience: TimerMonitor
    private let state: QueueBound<State>
    private let began = Moment.now

    /// What the unit may take besides the run itself: to be started, to end what does not end.
    private static let margin = Duration.seconds(20)

    /// Connects and sends what there is to do; never waits. `done` as for ``HookChild``.
    static func start(
        _ order: HookChild.Order, at socket: BytePath, queue: MonitorQueue,
        done: @escaping @Sendable (HookEnding) -> Void
    ) throws -> HookConnection {
        let descriptor: OwnedDescriptor
        do throws(SystemCallError) { descriptor = try connect(to: socket, patience: nil) } catch {
            throw SetupError("\(error); is photoinboxd-hooks.socket started?")
        }
        // Whoever made the socket: the service manager, or a stranger in its place.
        let peer = try PeerCredentials(of: descriptor)
        guard peer.user == 0 || peer.user == geteuid() else {
            throw SetupError("\(socket.escaped) belongs to \(peer), who is not trusted")
        }
        let label = "hook \(order.hook.name)"
        let connection = try ConnectionMonitor(
            owning: descriptor, limit: HookRequest.longestInput + HookRequest.longestHeader, label: label,
            queue: queue)
        let patience = try TimerMonitor(
            .once(after: order.hook.deadline.duration + order.grace + margin), label: label, queue: queue)
        let run = HookConnection(connection, patience, queue: queue, done: done)
        run.begin(HookRequest.frames(order.hook.name, input: order.input))
        return run
    }

    private init(
        _ connection: ConnectionMonitor, _ patience: TimerMonitor, queue: MonitorQueue,
        done: @escaping @Sendable (HookEnding) -> Void
    ) {
        self.connection = connection
        self.patience = patience
        state = QueueBound(State(done: done), queue: queue)
    }

    private func begin(_ request: [UInt8]) {
        connection.setEventHandler { event in self.take(event) }
        patience.setEventHandler { _ in self.end(self.lost("the hooks' unit did not answer in time")) }
        connection.activate()
        patience.activate()
        if connection.send(request) == .refused { end(lost("the hooks' unit takes nothing")) }
    }

    /// The other side sees that we are gone, and ends the hook; nobody waits for that.
    func stop(hurrying: Bool) {
        end(HookEnding(kind: .stopped, reason: "was ended", seconds: Moment.now.seconds(since: began)))
    }

    private func take(_ event: ConnectionEvent) {
        switch event {
        case .received(let bytes):
            do throws(FrameRefusal) {
                let frame = try state.onQueue { state throws(FrameRefusal) in
                    state.frames.add(bytes)
                    return try state.frames.next()
                }
                guard let frame else { return }
                let ending = HookAnswer(json: frame)?.ending
                end(ending ?? lost("the hooks' unit speaks another version; restart photoinboxd"))
            } catch { end(lost("the hooks' unit answered with \(error)")) }
        case .sent: break
        case .finished, .ended: end(lost("the hooks' unit ended without an answer; see its journal"))
        }
    }

    private func lost(_ reason: String) -> HookEnding {
        HookEnding(kind: .lost, reason: reason, seconds: Moment.now.seconds(since: began))
    }

    private func end(_ ending: HookEnding) {
        let done = state.onQueue { state in
            defer { state.done = nil }
            return state.done
        }
        guard let done else { return }
        let all = Countdown(2, queue: connection.queue) { done(ending) }
        connection.invalidate { all.down() }
        patience.invalidate { all.down() }
    }
}
