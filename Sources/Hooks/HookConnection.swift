import ControlProtocol
import DaemonSupport
import FileValues
import LinuxKernel
import Settings
import SystemMonitor

/// A run of a hook in the hooks' unit. All of it on one queue.
struct HookConnection: HookRun {
    private let session: WorkerSession<HookEnding>
    private let began: Moment

    /// What the unit may take besides the run itself: to be started, to end what does not end.
    private static let margin = Duration.seconds(20)

    /// Connects and sends what there is to do; never waits. `done` as for ``HookChild``.
    init(
        _ order: HookChild.Order, at socket: BytePath, queue: MonitorQueue,
        done: @escaping @Sendable (HookEnding) -> Void
    ) throws {
        let began = Moment.now
        let terms = WorkerTerms(
            label: "hook \(order.hook.name)", socket: socket, advice: "is photoinboxd-hooks.socket started?",
            longestRequest: HookRequest.longestInput + HookRequest.longestHeader, longestAnswer: HookAnswer.longest,
            deadline: order.hook.deadline.duration + order.grace + Self.margin)
        session = try WorkerSession(
            terms, queue: queue,
            lost: { HookEnding(kind: .lost, reason: Self.words($0), seconds: Moment.now.seconds(since: began)) },
            done: done)
        self.began = began
        session.begin(HookRequest.frames(order.hook.name, input: order.input)) { frames throws(WorkerLoss) in
            guard let frame = frames.first else { return nil }
            guard let answer = HookAnswer(json: frame) else { throw .speaksAnotherVersion }
            return answer.ending
        }
    }

    /// The other side sees that we are gone, and ends the hook; nobody waits for that.
    func stop(hurrying: Bool) {
        session.end(HookEnding(kind: .stopped, reason: "was ended", seconds: Moment.now.seconds(since: began)))
    }

    private static func words(_ loss: WorkerLoss) -> String {
        switch loss {
        case .takesNothing: "the hooks' unit takes nothing"
        case .missesDeadline: "the hooks' unit did not answer in time"
        case .speaksNonsense(let refusal): "the hooks' unit answered with \(refusal)"
        case .speaksAnotherVersion: "the hooks' unit speaks another version; restart photoinboxd"
        case .endedEarly: "the hooks' unit ended without an answer; see its journal"
        }
    }
}
