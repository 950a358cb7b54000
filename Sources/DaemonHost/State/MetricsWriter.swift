import DaemonSupport
import FileValues
import LinuxKernel
import Logging
import QueueActors
import Reporting
import Settings
import SystemMonitor

/// Writes the metrics into the file of the configuration, whole or not at all, for a collector.
///
/// On a queue of its own: that file may lie on any disk, and nothing waits for it. It uses the watchdog's tick, so
/// that an idle daemon wakes for that alone.
final class MetricsWriter: DaemonPart {
    private let subsystem = Subsystem(
        name: "metrics", queue: MonitorQueue(label: "photo-inbox.metrics"), isVital: false)
    private let state: LiveState
    private let log: DaemonLog
    private let settings = Locked<MetricsSettings?>(nil)
    /// When the next one is due, in nanoseconds of CLOCK_MONOTONIC.
    private let due = Locked(Int64.min)
    /// Whether it is logged where the metrics are.
    private let isLogged = Locked(false)

    /// For how long the end waits for the file to be removed.
    private static let patience = Duration.seconds(2)

    init(state: LiveState, log: DaemonLog) {
        self.state = state
        self.log = log
    }

    var subsystems: [Subsystem] { [subsystem] }

    /// The file is written at once, and one that is named no longer is removed.
    func adopt(_ all: Settings) {
        let new = all.metrics
        let old = settings.withLock { settings in
            defer { settings = new }
            return settings
        }
        if new == nil { state.problems.set(.metricsUnwritable, nil) }
        if let old, old.textfile != new?.textfile { subsystem.queue.async { self.remove(old.textfile) } }
        guard let new else { return }
        due.withLock { $0 = Self.moment(after: new) }
        subsystem.queue.async { [self] in
            RuntimeFile.removeHalfWritten([new.textfile.name], in: new.textfile.parent)
            isLogged.withLock { $0 = false }
            write(new.textfile)
        }
    }

    /// Writes it if it is due; from any thread.
    func tick() {
        guard let settings = settings.withLock({ $0 }) else { return }
        let isDue = due.withLock { due in
            guard due <= Moment.now.monotonic else { return false }
            due = Self.moment(after: settings)
            return true
        }
        // Writes must not pile up for a disk that does not answer.
        guard isDue, subsystem.snapshot().step == nil else { return }
        subsystem.queue.async { self.write(settings.textfile) }
    }

    private static func moment(after settings: MetricsSettings) -> Int64 {
        Moment.now.monotonic + settings.every.duration.components.seconds * 1_000_000_000
    }

    /// Removes the file, which would be out of date.
    func end(hurrying: Bool) async -> @Sendable () async -> Void {
        guard let path = settings.withLock({ $0.take() })?.textfile else { return {} }
        return boundedEnd(within: Self.patience, label: "photo-inbox.metrics.end") { [self] in
            await withCheckedContinuation { removed in
                subsystem.queue.async {
                    self.remove(path)
                    removed.resume()
                }
            }
        }
    }

    // MARK: - On the queue

    private func write(_ path: BytePath) {
        subsystem.enter("writing \(path.escaped)")
        defer { subsystem.idle() }
        do throws(SystemCallError) {
            // Collectors run as users of their own. Nothing in it is a secret: it names inboxes, and no file.
            try openDirectory(path.parent).put(Array(state.metrics(.prometheus).utf8), as: path.name, mode: 0o644)
            if isLogged.withLock({ $0.set() }) { log.logger.info("metrics are written to \(path.escaped)") }
            state.problems.set(.metricsUnwritable, nil)
        } catch {
            state.problems.set(.metricsUnwritable, [.path: .path(path), .reason: .text("\(error.code)")])
        }
    }

    private func remove(_ path: BytePath) {
        subsystem.enter("removing \(path.escaped)")
        defer { subsystem.idle() }
        try? openDirectory(path.parent).unlink(path.name)
    }
}
