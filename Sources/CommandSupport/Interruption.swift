package import Glibc
package import LinuxKernel
import SystemMonitor

/// What a person at the terminal asks of a long run: SIGINT or SIGTERM to stop, SIGUSR1 to say how far it is.
///
/// Signals are blocked and taken when the run has a moment (sigtimedwait(2)), so none comes in the middle of something.
/// Used by the main thread alone.
package final class Interruption {
    package private(set) var isStopAsked = false {
        didSet { Self.wasStopAsked.withLock { $0 = isStopAsked } }
    }
    /// The same for what prints.
    package static let wasStopAsked = Locked(false)
    private var isProgressAsked = false
    private let announce: (String) -> Void
    /// What is said when a stop is asked for.
    private let words: String
    private var signals = sigset_t()

    /// `announce` is given what to say when a stop is asked for: that the run ends after its `step`, or the `words`.
    package init(of step: String = "photo", words: String? = nil, announce: @escaping (String) -> Void) {
        self.words = words ?? "stopping after this \(step); again: now"
        self.announce = announce
        ProcessSignals.block([.int, .term, .usr1])
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGUSR1] { sigaddset(&signals, number) }
    }

    /// Takes what has come; whether the run is to stop, which the second asking makes it do at once.
    package func isHurried() -> Bool {
        while true {
            guard let isSecond = take(waiting: timespec()) else { return false }
            if isSecond { return true }
        }
    }

    /// Waits until something is asked for, but no longer than `time`.
    package func wait(atMost time: timespec) { _ = take(waiting: time) }

    /// Whether a stop is asked for a second time; nil if nothing came.
    private func take(waiting time: timespec) -> Bool? {
        var time = time
        switch sigtimedwait(&signals, nil, &time) {
        case SIGUSR1: isProgressAsked = true
        case SIGINT, SIGTERM:
            if isStopAsked { return true }
            isStopAsked = true
            announce(words)
        default: return nil
        }
        return false
    }

    /// Whether progress was asked for since the last call.
    package func takeProgressRequest() -> Bool {
        defer { isProgressAsked = false }
        return isProgressAsked
    }
}

/// Ends this process as the signal does that a shell must see: a loop around `watch` ends at Ctrl-C only if `watch` died
/// of it. Returns if somebody has it handled.
package func die(of signal: Int32) {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(signal)
}
