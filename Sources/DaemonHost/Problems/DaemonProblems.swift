import DaemonSupport
import FileValues
import Ingest
import LinuxKernel
import QueueActors
import Reporting
import Settings
import SystemMonitor
import Systemd

/// Problems of the daemon itself.
extension ProblemReporter {
    /// Which subsystems have not answered for too long, of all those of these names.
    func silent(_ stuck: [Subsystem.Snapshot], of names: [String], now: Moment) {
        let byName = Dictionary(stuck.map { ($0.name, $0) }) { first, _ in first }
        for name in names {
            let stuck = byName[name]
            var (code, subject) = (ProblemCode.queueStuck, name)
            var parameters: [ProblemParameter: ProblemValue] = [
                .name: .text(name), .age: .seconds(Int64(stuck?.silence(now: now) ?? 0)),
                .reason: .text(stuck?.step ?? "unknown"),
            ]
            if let inbox = Subsystem.inbox(ofScan: name) {
                (code, subject) = (.inboxStalled, inbox)
                parameters[.inbox] = .text(inbox)
                parameters[.path] = .path(path(ofInbox: inbox))
            } else if let inbox = Subsystem.inbox(ofFiles: name) {
                // The inbox is the subject, so that a hung inbox, which is the cause, hides it.
                subject = inbox
            } else if name == Subsystem.library {
                (code, subject) = (.libraryStalled, "")
                parameters[.path] = .path(settings?.library?.path ?? "")
                parameters[.count] = .count(waitingCount)
            }
            // Its age alone is no reason to raise it anew on each tick.
            if (stuck != nil) != isRaised(code, subject: subject) {
                set(code, subject: subject, stuck.map { _ in parameters })
            }
        }
    }

    /// A monitor's handler threw.
    func monitorDisabled(_ monitor: MonitorDescription, error: any Error) {
        log.handlerFailed(monitor, error: error)
        set(
            .monitorDisabled, subject: monitor.label,
            [.name: .text("\(monitor.kind) \"\(monitor.label)\""), .reason: .text("\(error)")])
    }

    /// Whether the log loses entries.
    func logSink(_ snapshot: LogSinkSnapshot) {
        set(
            .journalDropped,
            snapshot.sendingSince != nil && snapshot.dropped > 0
                ? [.count: .count(Int(clamping: snapshot.dropped))] : nil)
    }

    /// The last reload was refused for so many mistakes, or not (nil).
    func configuration(refused mistakes: Int?, path: BytePath) {
        set(.configurationRefused, mistakes.map { [.count: .count($0), .path: .path(path)] })
    }

    /// Arrivals that were deferred for long, and how many wait.
    func arrivals(_ table: ArrivalTable, now: Moment) {
        counted(waiting: table.arrivals.count)
        var long: [String: [Arrival]] = [:]
        for arrival in table.arrivals.values {
            guard case .deferred = arrival.stage, now.seconds(since: arrival.firstSeen) > Self.longDeferral else {
                continue
            }
            long[arrival.key.inbox, default: []].append(arrival)
        }
        for inbox in table.inboxes {
            let oldest = long[inbox]?.min { $0.firstSeen.monotonic < $1.firstSeen.monotonic }
            set(
                .photosDeferred, subject: inbox,
                oldest.map { arrival in
                    [
                        .count: .count(long[inbox]?.count ?? 1),
                        // In whole minutes, so that the row changes seldom.
                        .age: .seconds(Int64(now.seconds(since: arrival.firstSeen) / 60) * 60),
                        .path: .text("\(arrival.key)"),
                        .next: .moment(arrival.waitsUntil?.wall.seconds ?? now.wall.seconds),
                    ]
                })
        }
    }

    private static var longDeferral: Double { 60 }
}

// Subsystems whose silence is reported as an inbox's or the library's own.
extension Subsystem {
    /// How often each is asked to answer, and the watch is checked, unless the service manager sets an interval.
    static let reviewInterval = Duration.seconds(5)

    /// The one that checks whether the library stands.
    static let library = "library"

    /// The one that scans an inbox. (Its files are filed by another one, which waits for the library's disk, too.)
    static func scan(of inbox: String) -> String { scanPrefix + inbox }
    /// The inverse; nil for other subsystems.
    static func inbox(ofScan name: String) -> String? {
        name.hasPrefix(scanPrefix) ? String(name.dropFirst(scanPrefix.count)) : nil
    }
    private static let scanPrefix = "scan of "

    /// The one that files what is in an inbox.
    static func files(of inbox: String) -> String { filesPrefix + inbox }
    /// The inverse; nil for other subsystems.
    static func inbox(ofFiles name: String) -> String? {
        name.hasPrefix(filesPrefix) ? String(name.dropFirst(filesPrefix.count)) : nil
    }
    private static let filesPrefix = "files of "
}
