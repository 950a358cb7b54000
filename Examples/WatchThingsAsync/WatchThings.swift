// watch-things-async DIRECTORY PROGRAM [ARGUMENT…]: the same as watch-things, with an asynchronous main.
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

@Sendable func say(_ text: String) {
    print(text)
    fflush(nil)
}

@main
struct WatchThings {
    static func main() async {
        // Before the first await there is no other thread that a signal could reach.
        ProcessSignals.block([.int, .term])
        let arguments = CommandLine.arguments.dropFirst().map { BytePath($0) }
        guard arguments.count >= 2 else {
            say("usage: watch-things-async DIRECTORY PROGRAM [ARGUMENT…]")
            exit(64)
        }
        do {
            exit(try await watch(arguments[0], while: arguments[1], Array(arguments.dropFirst(2))) ? 0 : 1)
        } catch {
            say("watch-things-async: \(error)")
            exit(1)
        }
    }

    /// Whether the program succeeded. Each monitor is active in its scope, and invalidated at its end.
    static func watch(_ path: BytePath, while program: BytePath, _ arguments: [BytePath]) async throws -> Bool {
        let queue = MonitorQueue(label: "org.example.watch-things")
        let directory = try DirectoryMonitor(label: "directory", queue: queue)
        _ = try directory.watches.addWatch(path, [.closedAfterWriting, .movedTo, .onlyDirectory])
        let signals = try SignalMonitor([.int, .term], label: "signals", queue: queue)
        let process = try ChildProcess.spawn(program, arguments, output: .inherited)
        let child = try Child(ChildProcessMonitor(process, label: "program", queue: queue))
        return try await withMonitor(directory) { _, batches in
            try await withMonitor(signals) { _, signals in
                try await withMonitor(child.monitor) { _, ends in
                    say("watching")
                    return try await withThrowingTaskGroup(of: Bool?.self) { group in
                        group.addTask {
                            for try await batch in batches { report(batch) }
                            return nil
                        }
                        group.addTask {
                            for try await signal in signals {
                                say("\(signal.signal) from process \(signal.sender)")
                                try await child.pass(signal.signal)
                            }
                            return nil
                        }
                        group.addTask { try await ends.first { _ in true }.map(report) }
                        // The first result: the program's end, or an error.
                        defer { group.cancelAll() }
                        while let result = try await group.next() { if let result { return result } }
                        return false
                    }
                }
            }
        }
    }

    @Sendable static func report(_ events: DirectoryEvents) {
        events.forEach { say($0.mask.contains(.queueOverflow) ? "some were missed" : "finished \($0.copiedName)") }
    }

    @Sendable static func report(_ end: ProcessExit) -> Bool {
        say("program \(end)")
        return end.isSuccess
    }
}

/// An actor on the monitor's queue, which its methods require: it uses the monitor directly.
actor Child {
    nonisolated let monitor: ChildProcessMonitor
    nonisolated var unownedExecutor: UnownedSerialExecutor { monitor.queue.executor.asUnownedSerialExecutor() }

    init(_ monitor: ChildProcessMonitor) { self.monitor = monitor }

    func pass(_ signal: Signal) throws { try monitor.send(signal: signal.rawValue) }
}
