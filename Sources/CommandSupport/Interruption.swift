package import Glibc
package import LinuxKernel
import SystemMonitor

/// Signals to a long run: SIGINT, SIGTERM or SIGHUP to stop, SIGUSR1 to print the progress.
///
/// Signals are blocked and polled between steps (sigtimedwait(2)), so none interrupts a step.
/// Used on the main thread only.
package final class Interruption {
    package private(set) var isStopRequested = false {
        didSet { Self.isStopRequestedAnywhere.withLock { $0 = isStopRequested } }
    }
    /// The same for printing.
    package static let isStopRequestedAnywhere = Locked(false)
    private var isProgressRequested = false
    private let announce: (String) -> Void
    /// The remark when a stop is requested.
    private let remark: String
    private var signals = sigset_t()

    /// `announce` prints the remark when a stop is requested: that the run ends after its `step`, or the `remark`.
    package init(of step: String = "photo", remark: String? = nil, announce: @escaping (String) -> Void) {
        self.remark = remark ?? "stopping after this \(step); press Ctrl-C again to stop now"
        self.announce = announce
        // nohup(1) has it ignored.
        var hangUp = sigaction()
        sigaction(SIGHUP, nil, &hangUp)
        let stopsAtHangUp = hangUp.__sigaction_handler.sa_handler == nil
        ProcessSignals.block([.int, .term, .usr1] + (stopsAtHangUp ? [.hup] : []))
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGUSR1] + (stopsAtHangUp ? [SIGHUP] : []) { sigaddset(&signals, number) }
    }

    /// Reads pending signals; returns whether to stop at once, after a second request.
    package func mustStopAtOnce() -> Bool {
        while true {
            guard let isSecond = nextSignal(waiting: timespec()) else { return false }
            if isSecond { return true }
        }
    }

    /// Reads pending signals; returns whether a stop is requested, at once or after the step.
    package func mustStop() -> Bool { mustStopAtOnce() || isStopRequested }

    /// Waits for a signal, at most `time`.
    package func wait(atMost time: timespec) { _ = nextSignal(waiting: time) }

    /// Returns whether it is the second request to stop; nil if there is no signal.
    private func nextSignal(waiting time: timespec) -> Bool? {
        var time = time
        switch sigtimedwait(&signals, nil, &time) {
        case SIGUSR1: isProgressRequested = true
        case SIGINT, SIGTERM, SIGHUP:
            if isStopRequested { return true }
            isStopRequested = true
            announce(remark)
        default: return nil
        }
        return false
    }

    /// Whether progress was requested since the last call.
    package func consumeProgressRequest() -> Bool {
        defer { isProgressRequested = false }
        return isProgressRequested
    }
}

/// Ends this process by `signal`, so that a shell sees it: a loop around `watch` ends at Ctrl-C only if `watch` died of
/// it. Returns if the signal has a handler.
package func die(of signal: Int32) {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(signal)
}
