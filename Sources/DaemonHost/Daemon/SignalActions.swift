import LinuxKernel
import Settings
package import SystemMonitor

/// The signals that the configuration ties to actions, and SIGCONT: after a stop, events may have been missed.
final class SignalActions: Sendable {
    private let queue: MonitorQueue
    private let monitor: SignalMonitor
    private let actions: [Signal: Action]
    private let stops = Locked(0)

    /// The signals must be blocked in every thread; see ``blocked``.
    init(queue: MonitorQueue, settings: Settings) throws {
        self.queue = queue
        var actions: [Signal: Action] = [.cont: .reconcile]
        for (name, action) in settings.signals { actions[Signal(name)] = action }
        self.actions = actions
        monitor = try SignalMonitor(Set(actions.keys), label: "daemon", queue: queue)
    }

    /// Returns when the kernel delivers signals to us.
    func start(_ asked: @escaping @Sendable (Action, String) -> Void) async {
        await withCheckedContinuation { done in
            queue.async { [self] in
                monitor.setEventHandler { [actions, stops] event in
                    guard let action = actions[event.signal] else { return }
                    if action == .stop { stops.withLock { $0 += 1 } }
                    asked(action, "\(event.signal) from process \(event.sender), user \(event.user)")
                }
                // Signals go before anything else that is ever put on this queue.
                monitor.setPriority(-100)
                monitor.activate { done.resume() }
            }
        }
    }

    /// Whether stopping was asked for more than once.
    func isSecondStop() -> Bool { stops.withLock { $0 > 1 } }

    func stop() async {
        await withCheckedContinuation { done in queue.async { self.monitor.invalidate { done.resume() } } }
    }
}

extension Signal {
    init(_ name: SignalName) {
        self =
            switch name {
            case .hangUp: .hup
            case .interrupt: .int
            case .quit: .quit
            case .user1: .usr1
            case .user2: .usr2
            case .alarm: .alrm
            case .terminate: .term
            case .windowChange: .winch
            }
    }

    /// What `main` blocks before there is any thread: every signal that may be tied to an action, SIGCONT's notice, the
    /// lease probe's SIGIO, and the SIGPIPE of the log's reader.
    package static let daemonSignals: [Signal] = SignalName.allCases.map { Signal($0) } + [.cont, .io, .pipe]
}
