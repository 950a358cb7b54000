// watch-things DIRECTORY PROGRAM [ARGUMENT…]: runs a program, by its absolute path, and until it ends prints each file
// that is finished in a directory, and each SIGINT and SIGTERM, which it passes on to the program.
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

// Before another thread exists, since a signal could reach one that does not block it.
ProcessSignals.block([.int, .term])

@Sendable func say(_ text: String) {
    print(text)
    fflush(nil)
}

let arguments = CommandLine.arguments.dropFirst().map { BytePath($0) }
guard arguments.count >= 2 else {
    say("usage: watch-things DIRECTORY PROGRAM [ARGUMENT…]")
    exit(64)
}
do {
    // One serial queue for all handlers, so they need no locks.
    let queue = MonitorQueue(label: "org.example.watch-things")
    let directory = try DirectoryMonitor(label: "directory", queue: queue)
    _ = try directory.watches.addWatch(arguments[0], [.closedAfterWriting, .movedTo, .onlyDirectory])
    let signals = try SignalMonitor([.int, .term], label: "signals", queue: queue)
    let program = try ChildProcess.spawn(arguments[1], Array(arguments.dropFirst(2)), output: .inherited)
    let child = try ChildProcessMonitor(program, label: "program", queue: queue)
    // A monitor is used on its queue only: set up there, then activated once. An active one must be retained until it
    // is invalidated; here the child's handler retains all three, and is released at the end.
    queue.async {
        directory.setEventHandler { events in
            events.forEach { say($0.mask.contains(.queueOverflow) ? "some were missed" : "finished \($0.copiedName)") }
        }
        signals.setEventHandler { event in
            say("\(event.signal) from process \(event.sender)")
            try child.send(signal: event.signal.rawValue)
        }
        child.setEventHandler { end in
            say("program \(end)")
            // One after the other; each completion runs when its source is cancelled.
            directory.invalidate { signals.invalidate { child.invalidate { exit(end.isSuccess ? 0 : 1) } } }
        }
        directory.activate { signals.activate { child.activate { say("watching") } } }
    }
} catch {
    // Monitors that were set up end by their release.
    say("watch-things: \(error)")
    exit(1)
}
ProcessSignals.parkMainThread()
