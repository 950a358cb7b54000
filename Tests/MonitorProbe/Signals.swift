import Dispatch
import Glibc
import SystemMonitor

private let queue = MonitorQueue(label: "probe.signals")

/// Prints one line at once: nothing waits in a buffer when the process ends.
func say(_ text: String) {
    var text = text + "\n"
    _ = text.withUTF8 { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

private func fail(_ error: any Error) -> Never {
    say("failed: \(error)")
    exit(1)
}

private func line(_ event: SignalEvent) -> String {
    "\(event.signal) from \(event.sender) uid \(event.user) value \(event.value) count \(event.count)"
}

/// Prints a line for each signal; SIGTERM ends it through invalidation. The main thread goes where it is told to.
func reportSignals(thenWith wait: () -> Never) -> Never {
    ProcessSignals.block([.usr1, .usr2, .term, .realTime(1)])
    do {
        let monitor = try SignalMonitor([.usr1, .usr2, .term, .realTime(1)], label: "all", queue: queue)
        queue.async {
            monitor.setEventHandler { event in
                say(line(event))
                guard event.signal == .term else { return }
                monitor.invalidate {
                    say("live \(MonitorRegistry.shared.liveCount)")
                    exit(0)
                }
            }
            monitor.activate { say("ready") }
        }
    } catch {
        fail(error)
    }
    wait()
}

/// Sends itself a signal right after activation, before the registration: it must not be lost, nor kill.
func signalItself() -> Never {
    ProcessSignals.block([.usr1])
    do {
        let monitor = try SignalMonitor([.usr1], label: "own", queue: queue)
        queue.async {
            monitor.setEventHandler { event in
                say(event.sender == getpid() ? "own signal" : "sender \(event.sender)")
                monitor.invalidate { exit(0) }
            }
            monitor.activate()
            kill(getpid(), SIGUSR1)
        }
    } catch {
        fail(error)
    }
    ProcessSignals.parkMainThread()
}

/// Blocks after a thread was made that does not.
func blockTooLate() -> Never {
    // A new thread blocks everything until it has begun to run.
    let hasBegun = DispatchSemaphore(value: 0)
    Thread.start {
        hasBegun.signal()
        while true { pause() }
    }
    hasBegun.wait()
    ProcessSignals.block([.usr1])
    say("not reached")
    exit(0)
}

/// Blocks a signal by itself, has dispatchMain open the main thread for it, and then sets a monitor up.
func leaveMainThreadOpen() -> Never {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGUSR1)
    pthread_sigmask(SIG_BLOCK, &set, nil)
    DispatchQueue.global().async {
        // The main thread needs a moment to reach sigsuspend; until then it blocks the signal like all others.
        while true {
            do {
                let monitor = try SignalMonitor([.usr1], label: "early", queue: queue)
                let done = DispatchSemaphore(value: 0)
                queue.async { monitor.invalidate { done.signal() } }
                done.wait()
            } catch {
                let expected = SignalMonitorError.notBlocked(.usr1, thread: getpid())
                say(error as? SignalMonitorError == expected ? "refused for the main thread" : "\(error)")
                exit(0)
            }
        }
    }
    dispatchMain()
}

/// Two monitors want one signal; then the first lets it go.
func claimTwice() -> Never {
    ProcessSignals.block([.usr1, .usr2])
    do {
        let first = try SignalMonitor([.usr1], label: "first", queue: queue)
        do {
            _ = try SignalMonitor([.usr1, .usr2], label: "second", queue: queue)
        } catch {
            say("\(error)")
        }
        for signal in [Signal(rawValue: SIGKILL), Signal(rawValue: 0), .hup] {
            do {
                _ = try SignalMonitor([signal], label: "third", queue: queue)
            } catch {
                say("\(error)".replacing("thread \(getpid());", with: "the main thread;"))
            }
        }
        queue.async {
            first.activate()
            first.invalidate {
                do {
                    let second = try SignalMonitor([.usr1, .usr2], label: "second", queue: queue)
                    say("second has both")
                    second.invalidate { exit(0) }
                } catch {
                    fail(error)
                }
            }
        }
    } catch {
        fail(error)
    }
    ProcessSignals.parkMainThread()
}
