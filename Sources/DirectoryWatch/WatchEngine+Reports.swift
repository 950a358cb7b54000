import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

extension WatchEngine.State {
    /// Ends a turn of the core: what it wants done now.
    mutating func takeOutput() -> TreeCore.Output {
        core.flush()
        defer { core.output = TreeCore.Output() }
        return core.output
    }

    /// Notes the outcome of a reconciliation, and returns whose waiting is over.
    mutating func answer(_ root: Int, _ outcome: Reconciliation, _ id: String) -> [WatchEngine.Ticket] {
        let report = ReconcileReport(
            root: id, isComplete: core.roots[root].isLive, found: outcome.counts.found,
            vanished: outcome.counts.vanished, renamed: outcome.counts.renamed, directories: outcome.directories,
            files: outcome.files, duration: outcome.began == 0 ? 0 : monotonicNanoseconds() - outcome.began,
            ended: .now)
        reports[root] = report
        var ended: [WatchEngine.Ticket] = []
        for number in outcome.tickets {
            guard var ticket = tickets[number] else { continue }
            ticket.missing -= 1
            ticket.reports.append(report)
            tickets[number] = ticket.missing == 0 ? nil : ticket
            if ticket.missing == 0 { ended.append(ticket) }
        }
        return ended
    }
}

extension FileTime {
    static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
    }
}

extension TreeCore {
    func snapshot(
        of root: Int, _ settings: WatchRoot, lastReconciliation: ReconcileReport?, step: WatchStep
    ) -> RootSnapshot {
        let state = roots[root]
        return RootSnapshot(
            id: state.id, path: settings.path, verdict: state.verdict, watches: state.watched,
            directories: state.directories, unreadable: state.unreadable.count, knownFiles: state.knownFiles,
            notices: state.counts.notices, waitingLooks: state.dirty.count, surveys: state.surveys,
            lastReconciliation: lastReconciliation, step: step)
    }
}

extension RootSnapshot {
    func with(step: WatchStep) -> RootSnapshot {
        RootSnapshot(
            id: id, path: path, verdict: verdict, watches: watches, directories: directories, unreadable: unreadable,
            knownFiles: knownFiles, notices: notices, waitingLooks: waitingLooks, surveys: surveys,
            lastReconciliation: lastReconciliation, step: step)
    }
}

extension RootState {
    var isLost: Bool { if case .gone = phase { true } else { false } }

    var verdict: WatchVerdict {
        switch phase {
        case .starting: return .starting
        case .gone(let loss): return .gone(loss)
        case .live:
            if let fileSystem = identity?.fileSystem, fileSystem.changesElsewhere {
                return .polled(fileSystem: fileSystem.name)
            }
            if polled.isEmpty { return hasBegun ? .live : .starting }
            if watched == 0 { return .polled(fileSystem: nil) }
            return .partlyPolled(watched: watched, polled: polled.count, limit: Self.watchLimit())
        }
    }

    /// `fs.inotify.max_user_watches`; nil where /proc/sys is hidden (ProcSubset=pid).
    private static func watchLimit() -> Int? {
        guard let file = fopen("/proc/sys/fs/inotify/max_user_watches", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        return Int(String(decoding: line.prefix { $0 >= 48 && $0 < 58 }.map { UInt8($0) }, as: UTF8.self))
    }
}
