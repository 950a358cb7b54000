import ControlProtocol
import DaemonSupport
import FileValues
import LinuxKernel
import Settings
import SystemMonitor

/// A run of a hook in the hooks' unit. All of it on one queue.
struct HookConnection: HookRun {
    private let session: WorkerSession<HookResult>
    private let began: Moment

    /// The time that the unit may need besides the run itself: to start, and to end what does not end.
    private static let margin = Duration.seconds(20)

    /// Connects and sends the request; never waits. `done` as for ``HookChild``.
    init(
        _ order: HookChild.Order, at socket: BytePath, queue: MonitorQueue,
        done: @escaping @Sendable (HookResult) -> Void
    ) throws {
        let began = Moment.now
        let options = WorkerOptions(
            label: "hook \(order.hook.name)", socket: socket, advice: "is photoinboxd-hooks.socket started?",
            longestRequest: HookRequest.longestInput + HookRequest.longestHeader, longestAnswer: HookAnswer.longest,
            deadline: order.hook.deadline.duration + order.grace + Self.margin)
        session = try WorkerSession(
            options, queue: queue,
            lost: { failure in
                let reason = failure.text(of: "the hooks' unit")
                return HookResult(kind: .lost, reason: reason, seconds: Moment.now.seconds(since: began))
            },
            done: done)
        self.began = began
        session.begin(HookRequest.frames(order.hook.name, input: order.input)) { frames throws(WorkerFailure) in
            guard let frame = frames.first else { return nil }
            guard let answer = HookAnswer(json: frame) else { throw .otherVersion }
            return answer.ending
        }
    }

    /// The unit sees that the connection is closed, and ends the hook; this does not wait for it.
    func stop(hurrying: Bool) {
        session.end(HookResult(kind: .stopped, reason: "was ended", seconds: Moment.now.seconds(since: began)))
    }
}
