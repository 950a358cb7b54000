import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import SystemMonitor

/// Asks the daemon by its control socket, one question at a time, on a queue that may wait.
actor DaemonClient {
    private let queue: MonitorQueue
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let contact: ControlContact
    /// Kept open from one question to the next.
    private var line = ControlLine()

    /// How long an answer is waited for, in seconds. What was requested is done all the same.
    private static let patience = (state: 5, request: 60)

    /// `purpose` is a word for the queue's name.
    init(runtime: BytePath, purpose: String) {
        queue = MonitorQueue(label: "photo-inbox.web.\(purpose)")
        contact = ControlContact(runtime: runtime)
    }

    func state() throws(CommandFailure) -> DaemonState {
        try contact.daemonState(within: Self.patience.state, by: &line)
    }

    func answer(to request: ControlRequest) throws(CommandFailure) -> ControlAnswer {
        try contact.ask(request, within: Self.patience.request)
    }
}
