import CommandContact
package import CommandSupport
package import ControlProtocol
package import FileValues
import SystemMonitor

/// Asks the daemon by its control socket, one question at a time, on a queue that may wait.
package actor DaemonClient {
    private let queue: MonitorQueue
    package nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let contact: ControlContact
    /// Kept open from one question to the next.
    private var line = ControlLine()
    private var last: (state: Result<DaemonState, CommandFailure>, until: ContinuousClock.Instant)?

    /// How long an answer is waited for, in seconds. What was requested is done all the same.
    private static let patience = (state: 5, request: 60)

    /// `purpose` is a word for the queue's name.
    package init(runtime: BytePath, purpose: String) {
        queue = MonitorQueue(label: "photo-inbox.web.\(purpose)")
        contact = ControlContact(runtime: runtime)
    }

    func state() throws(CommandFailure) -> DaemonState {
        let begun = ContinuousClock.now
        let state: Result<DaemonState, CommandFailure>
        do throws(CommandFailure) {
            state = .success(try contact.daemonState(within: Self.patience.state, by: &line))
        } catch { state = .failure(error) }
        // Those who ask a daemon that does not answer do not wait one after the other.
        last = (state, .now + max(.seconds(1), begun.duration(to: .now)))
        return try state.get()
    }

    /// The state as it was asked for within the last second, by whoever looks; or why it is not known, for as long as it took to
    /// learn that.
    func recentState() throws(CommandFailure) -> DaemonState {
        if let last, .now < last.until { return try last.state.get() }
        return try state()
    }

    package func answer(to request: ControlRequest) throws(CommandFailure) -> ControlAnswer {
        try contact.ask(request, within: Self.patience.request)
    }
}
