// watch-things-async DIRECTORY PROGRAM [ARGUMENT…]: what watch-things does, with an asynchronous main.
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

    /// Whether the program ended well. Each monitor is active in its scope, and invalidated when that is left.
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
                            for try await batch in batches { tell(batch) }
                            return nil
                        }
                        group.addTask {
                            for try await signal in signals {
                                say("\(signal.signal) from process \(signal.sender)")
                                try await child.pass(signal.signal)
                            }
                            return nil
                        }
                        group.addTask { try await ends.first { _ in true }.map(tell) }
                        // The first that comes to something: the program's end, or what failed.
                        defer { group.cancelAll() }
                        while let result = try await group.next() { if let result { return result } }
                        return false
                    }
                }
            }
        }
    }

    @Sendable static func tell(_ events: DirectoryEvents) {
        events.forEach { say($0.mask.contains(.queueOverflow) ? "some were missed" : "finished \($0.copiedName)") }
    }

    @Sendable static func tell(_ end: ProcessExit) -> Bool {
        say("program \(end)")
        return end.isSuccess
    }
}

/// A monitor's own methods are for its queue, and so is this actor: it uses the monitor directly.
actor Child {
    nonisolated let monitor: ChildProcessMonitor
    nonisolated var unownedExecutor: UnownedSerialExecutor { monitor.queue.executor.asUnownedSerialExecutor() }

    init(_ monitor: ChildProcessMonitor) { self.monitor = monitor }

    func pass(_ signal: Signal) throws { try monitor.send(signal: signal.rawValue) }
}
