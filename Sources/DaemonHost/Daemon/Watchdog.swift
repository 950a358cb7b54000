import DaemonSupport
import DirectoryWatch
import Ingest
import LinuxKernel
import QueueActors
import SystemMonitor
import Systemd

/// Asks every queue to answer, and pings the service manager only while those that matter do.
///
/// Runs on its own queue, which touches no file. Inboxes' file queues are asked too, but a disk that hangs is told as a
/// problem and is no reason to be killed: restarting would not heal it.
final class Watchdog: Sendable {
    private let queue: MonitorQueue
    private let timer: TimerMonitor
    private let service: ServiceManager
    private let state: LiveState
    private let metrics: MetricsWriter
    private let interval: Duration

    init(queue: MonitorQueue, service: ServiceManager, state: LiveState, metrics: MetricsWriter) throws {
        self.queue = queue
        self.service = service
        self.state = state
        self.metrics = metrics
        interval = service.watchdogInterval.map { min($0 / 2, Subsystem.reviewInterval) } ?? Subsystem.reviewInterval
        timer = try TimerMonitor(.every(interval), tolerance: interval / 10, label: "watchdog", queue: queue)
    }

    /// Begins; from any thread.
    func start() {
        queue.async { [self] in
            timer.setEventHandler { [weak self] _ in self?.tick() }
            timer.activate()
            for subsystem in state.subsystems { subsystem.ask() }
        }
    }

    /// Ends; from any thread. Returns when the timer's descriptor is closed.
    func stop() async {
        await withCheckedContinuation { done in queue.async { self.timer.invalidate { done.resume() } } }
    }

    private func tick() {
        let now = Moment.now
        let subsystems = state.subsystems
        let silent = subsystems.filter { ($0.snapshot().silence(now: now) ?? 0) >= Subsystem.patience }
        let parts = state.current
        let watch = parts.watch?.snapshot()
        let deafness = Self.deafness(
            silence: watch?.liveness?.silence(at: UInt64(clamping: now.monotonic)), interval: interval)
        // A queue that is at work on something long still owes its answer, so the ping waits with it; and with a watch
        // that hears nothing photos lie there until somebody restarts it.
        if !silent.contains(where: \.isVital), deafness == nil { try? service.ping() }
        state.problems.deaf(seconds: deafness)
        state.problems.silent(silent.map { $0.snapshot() }, of: subsystems.map(\.name), now: now)
        for subsystem in subsystems { subsystem.ask() }
        // What others have published is read here, on the one wake-up that an idle daemon has.
        parts.tick?()
        metrics.tick()
        if let book = parts.pipeline?.book.withLock({ $0 }) { state.problems.arrivals(book, now: now) }
        if let watch { state.problems.watched(watch) }
        state.problems.paused(state)
        state.problems.logSink(state.sink.snapshot())
        state.problems.review()
    }

    /// For how many seconds an event has been owed that was asked for on the last tick, or before; nil if none is.
    static func deafness(silence: UInt64?, interval: Duration) -> Double? {
        guard let silence else { return nil }
        // Asked for between two ticks, because the mount table changed, it has not had a tick's time yet.
        let patience = max(interval / 2, .seconds(1))
        return Duration.nanoseconds(Int64(clamping: silence)) >= patience ? Double(silence) / 1e9 : nil
    }
}
