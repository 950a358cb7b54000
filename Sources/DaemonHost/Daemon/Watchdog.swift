import DaemonSupport
import DirectoryWatch
import Glibc
import Ingest
import LinuxKernel
import QueueActors
import SystemMonitor
import Systemd

/// Asks every queue to answer, and pings the service manager only while those that matter do.
///
/// Runs on its own queue, which touches no file. Inboxes' file queues are asked too, but a disk that hangs is reported as a
/// problem and is no reason to be killed: restarting would not heal it.
final class Watchdog: DaemonPart {
    private let queue = MonitorQueue(label: "photo-inbox.watchdog")
    private let timer: TimerMonitor
    private let service: ServiceManager
    private let state: LiveState
    private let interval: Duration
    private let rest: QueueBound<RestDetector>

    init(service: ServiceManager, state: LiveState) throws {
        self.service = service
        self.state = state
        interval = service.watchdogInterval.map { min($0 / 2, Subsystem.reviewInterval) } ?? Subsystem.reviewInterval
        timer = try TimerMonitor(.every(interval), tolerance: interval / 10, label: "watchdog", queue: queue)
        rest = QueueBound(RestDetector(), queue: queue)
    }

    func start() {
        queue.async { [self] in
            timer.setEventHandler { [weak self] _ in self?.check() }
            timer.activate()
            for subsystem in state.subsystems { subsystem.ask() }
        }
    }

    /// It pings until nothing else is left to end, since that may take long.
    func end(hurrying: Bool) async -> @Sendable () async -> Void { { await self.stop() } }

    /// Returns when the timer's descriptor is closed.
    private func stop() async {
        await withCheckedContinuation { done in queue.async { self.timer.invalidate { done.resume() } } }
    }

    private func check() {
        let now = Moment.now
        let subsystems = state.subsystems
        let silent = subsystems.filter { ($0.snapshot().silence(now: now) ?? 0) >= Subsystem.patience }
        let setup = state.current
        let watch = setup.watch?.snapshot()
        let deafness = Self.deafness(
            silence: watch?.liveness?.silence(at: UInt64(clamping: now.monotonic)), interval: interval)
        // A queue that is busy for long does not answer, so the ping waits; and with a watch that gets no events photos
        // would stay where they are until the daemon is restarted.
        if !silent.contains(where: \.isVital), deafness == nil { try? service.ping() }
        let watching = WatchProblems(reporter: state.problems)
        watching.deaf(seconds: deafness)
        state.problems.silent(silent.map { $0.snapshot() }, of: subsystems.map(\.name), now: now)
        for subsystem in subsystems { subsystem.ask() }
        // What others have published is read here, on the one wake-up that an idle daemon has.
        for part in state.parts { part.tick() }
        setup.tick?()
        if let table = setup.pipeline?.arrivals.withLock({ $0 }) { state.problems.arrivals(table, now: now) }
        if let watch { watching.watched(watch) }
        state.problems.paused(state)
        state.problems.logSink(state.sink.snapshot())
        state.problems.review()
        if rest.onQueue({ $0.hasBegun(processorTime: nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)) }) {
            HeapMemory.giveBackWhatIsFree()
            ProgramCode.giveBackWhatIsUnused()
        }
    }

    /// For how many seconds an event that was caused on the last tick, or before, has not come; nil if none is missing.
    static func deafness(silence: UInt64?, interval: Duration) -> Double? {
        guard let silence else { return nil }
        // Asked for between two ticks, because the mount table changed, it has not had a tick's time yet.
        let patience = max(interval / 2, .seconds(1))
        return Duration.nanoseconds(Int64(clamping: silence)) >= patience ? Double(silence) / 1e9 : nil
    }
}

/// Notices that a program has come to rest, by the processor time that it used from tick to tick. A value.
struct RestDetector: Hashable, Sendable {
    /// Ticks without work after which it rests.
    static let ticks = 6
    /// Nanoseconds of processor time between two ticks that are no work.
    static let most: UInt64 = 50_000_000

    private var last: UInt64 = 0
    private var quiet = 0

    /// `processorTime` is what the process has used so far, in nanoseconds. True once for each rest.
    mutating func hasBegun(processorTime: UInt64) -> Bool {
        defer { last = processorTime }
        quiet = processorTime - last <= Self.most ? quiet + 1 : 0
        return quiet == Self.ticks
    }
}
