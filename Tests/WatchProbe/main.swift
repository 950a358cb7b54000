// A program that watches directories and says what it is told, for tests that give it mounts of its own.
//
//     watch-probe NAME=PATH...
//
// Each line is `CLOCK_MONOTONIC-nanoseconds NAME PATH KIND`. Nothing is polled and no tick checks anything: what is said,
// an event brought. SIGUSR1 asks for a reconciliation, SIGUSR2 for a tick.
import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

// Nobody waits for a probe that hangs.
alarm(3_000)

/// Prints one line at once.
func say(_ line: String) {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    var text = "\(now.tv_sec * 1_000_000_000 + now.tv_nsec) \(line)\n"
    _ = text.withUTF8 { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

func describe(_ kind: WatchNotice.Kind) -> String {
    switch kind {
    case .finished(let cause): "finished(\(cause))"
    case .renamed(let from): "renamed(\(from))"
    case .notRegular(let kind): "notRegular(\(kind))"
    case .rootGone(.absent(let error)): "rootGone(\(error.code))"
    case .rootGone(let loss): "rootGone(\(loss))"
    case .unreadable(let error): "unreadable(\(error.code))"
    default: "\(kind)"
    }
}

func describe(_ verdict: WatchVerdict) -> String {
    switch verdict {
    case .gone: "gone"
    case .polled: "polled"
    default: "\(verdict)"
    }
}

func watch(_ arguments: [String]) throws -> (DirectoryWatch, SignalMonitor) {
    let roots = arguments.compactMap { argument -> WatchRoot? in
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        return WatchRoot(id: parts[0], path: BytePath(parts[1]), queue: MonitorQueue(label: "probe.\(parts[0])"))
    }
    let queue = MonitorQueue(label: "probe.watch")
    let watch = try DirectoryWatch(label: "probe", queue: queue, roots: roots, tick: nil)
    let signals = try SignalMonitor([.usr1, .usr2], label: "signals", queue: queue)
    queue.async {
        watch.setHandler { notices in
            for notice in notices { say("\(notice.root) \(notice.path) \(describe(notice.kind))") }
        }
        signals.setEventHandler { event in
            if event.signal == .usr2 { return watch.checkNow() }
            watch.reconcile { reports in
                let roots = watch.snapshot().roots.map {
                    "\($0.id) \(describe($0.verdict)) watches=\($0.watches) files=\($0.knownFiles)"
                }
                let whole = reports.filter(\.isComplete).map(\.root).sorted().joined(separator: ",")
                say("reconciled [\(whole)] \(roots.joined(separator: ", "))")
            }
        }
        signals.activate()
        watch.activate(onReconciled: { _ in say("ready") })
    }
    return (watch, signals)
}

ProcessSignals.block([.usr1, .usr2])
do {
    let monitors = try watch(Array(CommandLine.arguments.dropFirst()))
    withExtendedLifetime(monitors) { while true { pause() } }
} catch {
    say("failed: \(error)")
    exit(1)
}
