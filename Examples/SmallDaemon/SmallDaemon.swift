import DirectoryWatch
import FileValues
import Glibc
import Logging
import SystemMonitor
import Systemd

/// All its monitors are on one queue, so their handlers need no lock. Only file work has its own queue.
final class SmallDaemon: Sendable {
    private let manager: ServiceManager
    private let logger: Logger
    private let sink: any LogSink
    private let watch: DirectoryWatch
    private let signals: SignalMonitor
    private let watchdog: TimerMonitor?
    private let queue = MonitorQueue(label: "org.example.small-daemon")

    init(directory: BytePath, manager: ServiceManager, logger: Logger, sink: any LogSink) throws {
        (self.manager, self.logger, self.sink) = (manager, logger, sink)
        let root = WatchRoot(
            id: "inbox", path: directory, queue: MonitorQueue(label: "org.example.small-daemon.files"))
        watch = try DirectoryWatch(label: "inbox", queue: queue, roots: [root])
        signals = try SignalMonitor([.hup, .int, .term], label: "signals", queue: queue)
        if let interval = manager.watchdogInterval {
            watchdog = try TimerMonitor(.every(interval / 2), label: "watchdog", queue: queue)
        } else {
            watchdog = nil
        }
    }

    /// The handlers retain the daemon, and so the monitors, until they are invalidated.
    func start() {
        queue.async { [self] in
            signals.setEventHandler { [self] event in
                switch event.signal {
                case .hup: try reload()
                default: stop(after: event.signal)
                }
            }
            watch.setHandler { [self] notices in notices.forEach(report) }
            watchdog?.setEventHandler { [manager] _ in try manager.ping() }

            signals.activate()
            watchdog?.activate()
            watch.activate(onWatching: { [self] in
                do { try manager.ready(status: "watching") } catch { logger.warning("readiness: \(error)") }
                logger.notice("ready")
            })
        }
    }

    private func report(_ notice: WatchNotice) {
        switch notice.kind {
        case .finished: logger.notice("finished \(notice.path.escaped)", metadata: ["file": "\(notice.path.escaped)"])
        case .vanished: logger.info("removed \(notice.path.escaped)")
        case .rootGone(let loss): logger.error("\(notice.root) cannot be watched: \(loss)")
        case .rootBack: logger.notice("\(notice.root) is watched again")
        default: break
        }
    }

    private func reload() throws {
        try manager.reloading(status: "reloading")
        watch.reconcile { [manager, logger] reports in
            logger.notice("compared \(reports.map(\.files).reduce(0, +)) files")
            do { try manager.ready(status: "watching") } catch { logger.warning("readiness: \(error)") }
        }
    }

    private func stop(after signal: Signal) {
        logger.notice("stopping after \(signal)")
        do { try manager.stopping(status: "stopping") } catch { logger.warning("status: \(error)") }
        // No event is delivered after invalidate, so this function runs once even if more signals follow.
        signals.invalidate()
        watchdog?.invalidate()
        watch.invalidate { [sink] in
            _ = sink.flush(within: .seconds(2))
            exit(0)
        }
    }
}
