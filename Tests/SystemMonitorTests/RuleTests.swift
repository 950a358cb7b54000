import Dispatch
import Glibc
import Testing

@testable import SystemMonitor

/// A monitor and its queue.
private func makeMonitor() -> (CounterMonitor, MonitorQueue) {
    let queue = MonitorQueue(label: "test.rules")
    return (CounterMonitor(.add, label: "card", queue: queue, file: "Test/Setup.swift", line: 7), queue)
}

private func text(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}

@Suite("Lifecycle rules: breaking one traps with the monitor, state, rule and call site")
struct RuleTests {
    private static func message(_ state: String, _ rule: LifecycleRule) -> String {
        "monitor CounterMonitor \"card\" (queue test.rules) is \(state); rule: \(rule.rawValue); "
    }

    @Test("Activating twice")
    func activatingTwice() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, queue) = makeMonitor()
            queue.sync {
                monitor.activate()
                monitor.activate(file: "Test/Here.swift", line: 12)
            }
        }
        #expect(text(result).contains(Self.message("active", .activatedOnce) + "called at Test/Here.swift:12\n"))
    }

    @Test("Setting the handler after activation")
    func settingTheHandlerAfterActivation() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, queue) = makeMonitor()
            queue.sync {
                monitor.activate()
                monitor.setEventHandler { _ in }
            }
        }
        #expect(text(result).contains(Self.message("active", .propertiesAreSetBeforeActivation)))
        #expect(text(result).contains("called at SystemMonitorTests/RuleTests.swift:"))
    }

    @Test("Setting the priority after activation")
    func settingThePriorityAfterActivation() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, queue) = makeMonitor()
            queue.sync {
                monitor.activate()
                monitor.setPriority(3)
            }
        }
        #expect(text(result).contains(Self.message("active", .propertiesAreSetBeforeActivation)))
    }

    @Test("Setting the rate limit while suspended")
    func settingTheRateLimitWhileSuspended() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, queue) = makeMonitor()
            queue.sync {
                monitor.activate()
                monitor.suspend()
                monitor.setRateLimit(interval: .seconds(1), burst: 1)
            }
        }
        #expect(text(result).contains(Self.message("suspended", .propertiesAreSetBeforeActivation)))
    }

    @Test("A call off the queue")
    func callOffTheQueue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, _) = makeMonitor()
            MonitorQueue(label: "test.other").sync { monitor.activate() }
        }
        #expect(text(result).contains(Self.message("set up", .onItsQueue)))
    }

    @Test("Waiting for a queue on that queue")
    func syncOnItself() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.rules")
            queue.sync { queue.sync(file: "Test/Here.swift", line: 3) {} }
        }
        let expected = "queue test.rules; rule: \(LifecycleRule.noSyncOnOwnQueue.rawValue); called at Test/Here.swift:3"
        #expect(text(result).contains(expected))
    }

    @Test("Waiting for a queue that waits, through other queues, for the caller")
    func syncInACircle() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (outer, middle, inner) = (
                MonitorQueue(label: "test.rules"), MonitorQueue(label: "test.2"), MonitorQueue(label: "test.3")
            )
            // Finished calls do not count.
            outer.sync { middle.sync {} }
            middle.sync { outer.sync {} }
            tell("so far it is right")
            outer.async {
                middle.sync { inner.sync { outer.sync(file: "Test/Here.swift", line: 4) {} } }
            }
            outer.sync {}
        }
        let expected = "queue test.rules; rule: \(LifecycleRule.noSyncOnOwnQueue.rawValue); called at Test/Here.swift:4"
        #expect(text(result).contains("so far it is right"))
        #expect(text(result).contains(expected))
    }

    @Test("Waiting in a circle through Dispatch's own sync traps without a message")
    func syncThroughDispatch() async {
        await #expect(processExitsWith: .failure) {
            let (outer, inner) = (MonitorQueue(label: "test.rules"), DispatchQueue(label: "test.plain"))
            outer.sync { inner.sync { outer.sync { exit(0) } } }
        }
    }

    @Test("Accessing a bound value off its queue")
    func boundValueOffTheQueue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.bound")
            let value = QueueBound(1, queue: queue)
            queue.sync { value.onQueue { $0 += 1 } }
            value.onQueue { $0 += 1 }
        }
        #expect(text(result).contains("queue test.bound; rule: \(LifecycleRule.valueOnItsQueue.rawValue)"))
    }

    @Test("Suspending before activation")
    func suspendingBeforeActivation() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, queue) = makeMonitor()
            queue.sync { monitor.suspend() }
        }
        #expect(text(result).contains(Self.message("set up", .onlyActiveOnesAreSuspended)))
    }

    @Test("Resuming more often than suspending")
    func resumingTooOften() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, queue) = makeMonitor()
            queue.sync {
                monitor.activate()
                monitor.suspend()
                monitor.resume()
                monitor.resume()
            }
        }
        #expect(text(result).contains(Self.message("active", .resumeBalancesSuspend)))
    }

    @Test("Enabling a monitor that is not disabled")
    func enabling() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (monitor, queue) = makeMonitor()
            queue.sync {
                monitor.activate()
                monitor.reenable()
            }
        }
        #expect(text(result).contains(Self.message("active", .onlyDisabledOnesAreReenabled)))
    }

    enum Use: String, Codable, CaseIterable {
        case activate, suspend, resume, reenable, invalidate, setPriority, setEventHandler
    }

    @Test("Using a monitor during and after invalidation", arguments: Use.allCases, [false, true])
    func usingAfterInvalidation(use: Use, hasFinished: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [use, hasFinished] in
            let (monitor, queue) = makeMonitor()
            let misuse: @Sendable () -> Void = {
                switch use {
                case .activate: monitor.activate()
                case .suspend: monitor.suspend()
                case .resume: monitor.resume()
                case .reenable: monitor.reenable()
                case .invalidate: monitor.invalidate()
                case .setPriority: monitor.setPriority(1)
                case .setEventHandler: monitor.setEventHandler { _ in }
                }
            }
            await withCheckedContinuation { continuation in
                queue.async {
                    monitor.activate()
                    monitor.invalidate {
                        misuse()
                        continuation.resume()
                    }
                    if !hasFinished { misuse() }
                }
            }
        }
        #expect(
            text(result).contains(Self.message(hasFinished ? "invalidated" : "invalidating", .noUseAfterInvalidation)))
    }

    enum Stage: String, Codable, CaseIterable {
        case active, suspended, disabled
        case rateLimited = "rate limited"
    }

    @Test(
        "Releasing a monitor while it is active, on its queue and elsewhere", arguments: Stage.allCases, [false, true])
    func releasing(stage: Stage, isOnQueue: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [stage, isOnQueue] in
            let queue = MonitorQueue(label: "test.rules")
            var monitor: OwnerMonitor? = OwnerMonitor("card", queue: queue, file: "Test/Setup.swift", line: 7)
            queue.sync {
                monitor?.setEventHandler { _ in if stage == .disabled { throw LifecycleRule.activatedOnce } }
                monitor?.setRateLimit(interval: .seconds(3600), burst: 1)
                monitor?.activate()
                switch stage {
                case .active: break
                case .suspended: monitor?.suspend()
                case .disabled, .rateLimited: for number in 0..<2 { monitor?.core.deliver(number) }
                }
                if isOnQueue { monitor = nil }
            }
            monitor = nil
        }
        #expect(
            text(result).contains(
                "monitor OwnerMonitor \"card\" (queue test.rules) is \(stage.rawValue); rule: "
                    + "\(LifecycleRule.invalidatedBeforeRelease.rawValue); set up at Test/Setup.swift:7; keep a reference"
                    + " to it, and call invalidate() on its queue"))
    }

    @Test("The message is reported to a sink too")
    func sink() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            LifecycleViolation.setSink { message in tell("sink heard: \(message)") }
            let (monitor, queue) = makeMonitor()
            queue.sync {
                monitor.activate()
                monitor.activate()
            }
        }
        #expect(text(result).contains("sink heard: " + Self.message("active", .activatedOnce)))
    }
}
