package import DirectoryWatch
import FileValues
import LinuxKernel
import QueueActors
import Reporting
import SystemMonitor

/// How the inboxes are watched, as rows of the problem table.
extension ProblemDesk {
    /// The watch as of its last turn.
    package func watched(_ snapshot: WatchSnapshot) {
        needs(snapshot)
        for root in snapshot.roots {
            let path = desk.withLock { $0.path(of: root.id) }
            let common: [ProblemParameter: ProblemValue] = [.inbox: .text(root.id), .path: .path(path)]
            if case .gone = root.verdict {
                // Nothing is known of what is in it.
                for code in [ProblemCode.inboxPolled, .directoryUnreadable] { set(code, subject: root.id, nil) }
                continue
            }
            set(.inboxPolled, subject: root.id, polled(root).map { common.merging($0) { $1 } })
            set(.directoryUnreadable, subject: root.id, unreadable(root, path).map { common.merging($0) { $1 } })
            set(.eventsMissed, subject: root.id, missed(root).map { common.merging($0) { $1 } })
        }
    }

    /// Nothing has come for so many seconds of what the watch caused itself; nil if all is well.
    package func deaf(seconds: Double?) {
        let isKnown = desk.withLock { $0.board.all.contains { $0.code == .watchDeaf } }
        // Raising it anew with another age each tick would tell nothing new.
        if (seconds != nil) != isKnown {
            set(.watchDeaf, seconds.map { [.age: .seconds(Int64($0.rounded(.up)))] })
        }
    }

    /// What the kernel has too little of: once, whichever inboxes it is missing for.
    private func needs(_ snapshot: WatchSnapshot) {
        var rows: [ProblemCode: [ProblemParameter: ProblemValue]] = [:]
        if let need = snapshot.need {
            let longest = snapshot.roots.compactMap { $0.polling?.interval }.max() ?? 0
            rows[need.resource == .watches ? .watchLimit : .noWatchInstance] = [
                .count: .count(need.polled), .limit: .count(need.limit?.value ?? need.used),
                .needed: .count(need.needed), .sysctl: .text(need.assignment), .interval: Self.within(longest),
            ]
        }
        for code in [ProblemCode.watchLimit, .noWatchInstance] { set(code, rows[code]) }
    }

    private func polled(_ root: RootSnapshot) -> [ProblemParameter: ProblemValue]? {
        guard case .polled(let fileSystem?) = root.verdict else { return nil }
        return [
            .count: .count(root.directories), .filesystem: .text(fileSystem),
            .interval: Self.within(root.polling?.interval ?? 0),
        ]
    }

    private func unreadable(_ root: RootSnapshot, _ path: BytePath) -> [ProblemParameter: ProblemValue]? {
        root.firstUnreadable.map { first in
            [
                .count: .count(root.unreadable), .path: .path(path.appending(first.path)),
                .reason: .text("\(first.reason)"),
            ]
        }
    }

    /// As long as the last comparison still found something.
    private func missed(_ root: RootSnapshot) -> [ProblemParameter: ProblemValue]? {
        guard root.audit.lastMissed > 0 else { return nil }
        return [.count: .count(root.audit.missed), .interval: Self.within(root.audit.pace?.interval ?? 0)]
    }

    /// A bound that changes seldom: found on the tick after the interval, in whole steps.
    private static func within(_ nanoseconds: UInt64) -> ProblemValue {
        let seconds = Int64(nanoseconds / 1_000_000_000) + Subsystem.reviewInterval.components.seconds
        return .seconds(
            [10, 30, 60, 120, 300, 600, 1_800, 3_600].first { $0 >= seconds } ?? (seconds + 3_599) / 3_600 * 3_600)
    }
}
