import Glibc
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Signal monitors, in a process of their own")
struct SignalMonitorTests {
    @Test(
        "Signals are reported with their senders, wherever the main thread is, and SIGTERM ends the process in order",
        .timeLimit(.minutes(60)), arguments: ["signals", "signals-dispatch-main"])
    func reports(way: String) async throws {
        let probe = try Probe(way)
        #expect(try await probe.line() == "ready")
        kill(probe.pid, SIGUSR1)
        #expect(try await probe.line() == "SIGUSR1 from \(getpid()) uid \(getuid()) value 0 count 1")
        kill(probe.pid, SIGUSR2)
        #expect(try await probe.line() == "SIGUSR2 from \(getpid()) uid \(getuid()) value 0 count 1")
        kill(probe.pid, SIGUSR1)
        #expect(try await probe.line() == "SIGUSR1 from \(getpid()) uid \(getuid()) value 0 count 2")
        kill(probe.pid, SIGTERM)
        let (lines, ending) = try await probe.end()
        #expect(lines == ["SIGTERM from \(getpid()) uid \(getuid()) value 0 count 1", "live 0"])
        #expect(ending == .status(0))
    }

    @Test("Real-time signals are each reported, with their values, in order", .timeLimit(.minutes(60)))
    func values() async throws {
        let probe = try Probe("signals")
        #expect(try await probe.line() == "ready")
        let signal = Signal.realTime(1)
        for value: Int32 in 1...20 { sigqueue(probe.pid, signal.rawValue, sigval(sival_int: value)) }
        for value in 1...20 {
            #expect(
                try await probe.line() == "SIGRTMIN+1 from \(getpid()) uid \(getuid()) value \(value) count \(value)")
        }
        kill(probe.pid, SIGTERM)
        #expect(try await probe.end().ending == .status(0))
    }

    @Test("A signal between activation and registration is neither lost nor fatal", .timeLimit(.minutes(60)))
    func early() async throws {
        for _ in 0..<10 {
            let (lines, ending) = try await Probe("own-signal").end()
            #expect(lines == ["own signal"])
            #expect(ending == .status(0))
        }
    }

    @Test("Blocking signals after another thread exists traps and names the thread", .timeLimit(.minutes(60)))
    func tooLate() async throws {
        let (lines, ending) = try await Probe("block-too-late").end()
        #expect(lines.contains { $0.contains("does not block SIGUSR1; signals are blocked in main before any other") })
        #expect(!lines.contains("not reached"))
        #expect(ending != .status(0))
    }

    @Test("A main thread left open by dispatchMain is detected", .timeLimit(.minutes(60)))
    func dispatchMain() async throws {
        let (lines, ending) = try await Probe("dispatch-main").end()
        #expect(lines == ["refused for the main thread"])
        #expect(ending == .status(0))
    }

    @Test("A signal has one monitor, and one that cannot be watched is refused", .timeLimit(.minutes(60)))
    func owners() async throws {
        let (lines, ending) = try await Probe("owners").end()
        #expect(
            lines == [
                "SIGUSR1 is watched already, by \"first\"", "SIGKILL cannot be watched", "signal 0 cannot be watched",
                "SIGHUP is not blocked in the main thread; call ProcessSignals.block in main, before any other thread",
                "second has both",
            ])
        #expect(ending == .status(0))
    }

    @Test("A signal that is not blocked is refused")
    func unblocked() {
        // The test program's main thread blocks nothing.
        let queue = MonitorQueue(label: "test.signals")
        #expect(throws: SignalMonitorError.self) {
            _ = try SignalMonitor([.usr1], label: "open", queue: queue)
        }
    }

    @Test("Signals are described by their names")
    func names() {
        #expect(Signal.term.description == "SIGTERM")
        #expect(Signal.realTime(3).description == "SIGRTMIN+3")
        #expect(Signal(rawValue: SIGVTALRM).description == "signal \(SIGVTALRM)")
    }
}

@Suite("Ten thousand monitors leave no resources behind", .tags(.lives))
struct ChurnTests {
    @Test(
        "Descriptors, threads, memory and the registry are unchanged after many lifecycles",
        .timeLimit(.minutes(60)),
        arguments: [
            "CounterMonitor", "TimerMonitor", "ClockMonitor", "SignalMonitor", "pipe", "DirectoryMonitor",
            "ListenerMonitor", "ConnectionMonitor",
        ])
    func churn(kind: String) async throws { try expectNoLeaks(await Probe("churn", kind).end()) }

    @Test(
        "The same after releases during set up or right after invalidation, on any thread",
        .timeLimit(.minutes(60)),
        arguments: [
            "CounterMonitor", "TimerMonitor", "ClockMonitor", "SignalMonitor", "pipe", "DescriptorMonitor",
            "DirectoryMonitor", "ListenerMonitor", "ConnectionMonitor", "ChildProcessMonitor", "MountMonitor",
            "PressureMonitor",
        ])
    func releases(kind: String) async throws { try expectNoLeaks(await Probe("release", kind).end()) }

    private func expectNoLeaks(_ end: (lines: [String], ending: RunningProgram.Ending)) throws {
        let (lines, ending) = end
        #expect(ending == .status(0), "\(lines)")
        var figures: [String: [Int]] = [:]
        for line in lines {
            let words = line.split(separator: " ")
            if let name = words.first { figures[String(name)] = words.dropFirst().compactMap { Int($0) } }
        }
        let descriptors = try #require(figures["descriptors"])
        let threads = try #require(figures["threads"])
        let memory = try #require(figures["memory"])
        #expect(descriptors.first == descriptors.last)
        // libdispatch adds workers for those that wait, how many depends on the machine; a leak grows with every 2,000
        // monitors.
        let growth = try #require(zip(threads.dropFirst(), threads).map { $0 - $1 }.min())
        #expect(growth <= 0, "threads: \(threads)")
        // A leak grows with every 2,000 monitors: 2,000 objects of 48 bytes are 94 kilobytes. The allocator's retained
        // memory grows only sometimes. A sanitizer retains freed memory.
        let least = zip(memory.dropFirst(), memory).map { $0 - $1 }.min()
        if !isSanitized { #expect(try #require(least) < 90, "kilobytes: \(memory)") }
        #expect(figures["live"] == [0])
    }
}

/// Whether the tests, and with them the probe, were built with Thread or Address Sanitizer.
private let isSanitized = ["__tsan_init", "__asan_init"].contains { (name: String) in
    dlsym(dlopen(nil, RTLD_NOW), name) != nil
}
