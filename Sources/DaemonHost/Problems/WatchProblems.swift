import DaemonSupport
import DirectoryWatch
import FileValues
import LinuxKernel
import Logging
import QueueActors
import Reporting
import SystemMonitor

/// Problems of how the inboxes are watched.
struct WatchProblems: Sendable {
    let reporter: ProblemReporter

    /// The watch as of its last turn.
    func watched(_ snapshot: WatchSnapshot) {
        needs(snapshot)
        for root in snapshot.roots {
            let path = reporter.path(ofInbox: root.id)
            let common: [ProblemParameter: ProblemValue] = [.inbox: .text(root.id), .path: .path(path)]
            if case .gone = root.verdict {
                // Nothing is known of what is in it.
                for code in [ProblemCode.inboxPolled, .directoryUnreadable] {
                    reporter.set(code, subject: root.id, nil)
                }
                continue
            }
            reporter.set(.inboxPolled, subject: root.id, polled(root).map { common.merging($0) { $1 } })
            reporter.set(
                .directoryUnreadable, subject: root.id, unreadable(root, path).map { common.merging($0) { $1 } })
            reporter.set(.eventsMissed, subject: root.id, missed(root).map { common.merging($0) { $1 } })
        }
    }

    /// Nothing has come for so many seconds of what the watch caused itself; nil if all is well.
    func deaf(seconds: Double?) {
        // Its age alone is no reason to raise it anew on each tick.
        if (seconds != nil) != reporter.isRaised(.watchDeaf) {
            reporter.set(.watchDeaf, seconds.map { [.age: .seconds(Int64($0.rounded(.up)))] })
        }
    }

    /// The watch reports its roots and directories.
    func noticed(_ notices: [WatchNotice]) {
        for notice in notices {
            switch notice.kind {
            case .rootGone(let loss):
                let path = reporter.path(ofInbox: notice.root)
                let parameters: [ProblemParameter: ProblemValue] = [.inbox: .text(notice.root), .path: .path(path)]
                if case .absent(let error) = loss {
                    reporter.log.logger.notice(
                        "inbox \(notice.root) went away: \(path): \(error.code); nothing counts as deleted")
                    reporter.set(.inboxMissing, subject: notice.root, parameters)
                } else {
                    reporter.log.logger.notice("inbox \(notice.root) went away: \(path) is another directory now")
                    reporter.set(.inboxGone, subject: notice.root, parameters)
                }
            case .rootBack:
                reporter.log.logger.notice("inbox \(notice.root) is watched again; its changes are examined")
                reporter.set(.inboxMissing, subject: notice.root, nil)
                reporter.set(.inboxGone, subject: notice.root, nil)
            case .treeGone:
                let path = reporter.path(ofInbox: notice.root).appending(notice.path)
                reporter.log.logger.notice("\(path) was unmounted or covered; nothing in it counts as deleted")
            case .treeBack:
                let path = reporter.path(ofInbox: notice.root).appending(notice.path)
                reporter.log.logger.notice("\(path) is back; its changes are examined")
            // How it is watched, and what cannot be read, is in the snapshot.
            case .unreadable, .directoryAppeared, .directoryVanished, .finished, .created, .changed, .vanished,
                .renamed, .attributesChanged, .notRegular, .overflow, .healed:
                break
            }
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
        for code in [ProblemCode.watchLimit, .noWatchInstance] { reporter.set(code, rows[code]) }
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
