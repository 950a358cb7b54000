import Catalogue
package import ControlProtocol
package import DaemonSupport
import DirectoryWatch
import FileValues
import Glibc
package import Ingest
package import LinuxKernel
import QueueActors
import Reporting
import Settings
import SystemMonitor
package import Systemd

/// The daemon's state as any thread may read it, so that the state dump waits for no queue.
package final class LiveState: Sendable {
    /// What the daemon as a whole is doing.
    package enum Phase: String, Sendable {
        case starting, running, reloading, stopping
    }

    /// What one configuration has set up.
    struct Setup: Sendable {
        var settings: Settings
        var watch: DirectoryWatch?
        var pipeline: Pipeline?
        var inboxSubsystems: [Subsystem] = []
        /// Has the watch check whether each root's path still leads to it, and poll what is due; any thread, waits for
        /// nothing. It uses the watchdog's tick, so that an idle daemon wakes for that alone.
        var tick: (@Sendable () -> Void)?
    }

    package let version: String
    package let started = Moment.now
    package let sink: any LogSink
    package let recent = RecentOutcomes()
    package let storage: StorageProblems
    package let pauses: PauseStore
    package let measures = FilingMeasures()
    private let lasting: [Subsystem]
    private let features = Locked<[any DaemonPart]>([])
    private let phase = Locked(Phase.starting)
    private let setup: Locked<Setup>
    private let configuration: BytePath?

    init(
        version: String, settings: Settings, configuration: BytePath?, sink: any LogSink, storage: StorageProblems,
        pauses: PauseStore, lasting: [Subsystem]
    ) {
        self.version = version
        self.sink = sink
        self.storage = storage
        self.pauses = pauses
        self.lasting = lasting
        self.configuration = configuration
        setup = Locked(Setup(settings: settings))
    }

    /// The daemon's parts, in their order; set once, before anything runs.
    var parts: [any DaemonPart] { features.withLock { $0 } }
    func set(_ parts: [any DaemonPart]) { features.withLock { $0 = parts } }

    var isRunning: Bool { phase.withLock { $0 } == .running }
    func enter(_ new: Phase) { phase.withLock { $0 = new } }
    package var problems: ProblemReporter { storage.reporter }
    func replace(_ new: Setup) { setup.withLock { $0 = new } }
    var current: Setup { setup.withLock { $0 } }
    var settings: Settings { setup.withLock { $0.settings } }

    /// Every subsystem there is now.
    var subsystems: [Subsystem] { lasting + parts.flatMap(\.subsystems) + current.inboxSubsystems }

    /// The state at this moment, without files and monitors unless `inFull`. It takes only locks that are held no longer than a
    /// value is copied.
    package func capture(inFull: Bool = true) -> DaemonState {
        let now = Moment.now
        let setup = current
        let facts = ProcessFacts.current()
        let table = setup.pipeline?.arrivals.withLock { $0 } ?? ArrivalTable()
        let watch = setup.watch?.snapshot()
        let log = sink.snapshot()
        let raised = problems.rows(now: now, waiting: table.arrivals.count)
        var counts = DaemonState.Counts()
        let subsystems = subsystems.map { DaemonState.Subsystem($0.snapshot(), now: now) }
        let inboxes = setup.settings.inboxes.map { inbox in
            let root = watch?.roots.first { $0.id == inbox.name }
            let own = DaemonState.Counts(table.counts(of: inbox.name))
            counts += own
            let stalled = subsystems.first { $0.stuckSeconds != nil && $0.name == Subsystem.scan(of: inbox.name) }
            return DaemonState.Inbox(
                inbox, counts: own, root: root, stalled: stalled, overflows: watch?.overflows ?? 0, now: now,
                paused: pauses.pause(of: inbox.name))
        }
        let paused = inboxes.filter { $0.paused != nil }.map(\.name)
        var state = DaemonState()
        state.at = now.text
        state.program.version = version
        state.program.pid = Int(getpid())
        state.program.started = started.text
        state.program.uptimeSeconds = now.seconds(since: started)
        state.program.status = statusLine(counts, inboxes, problems: raised, paused: paused)
        state.program.phase = phase.withLock { $0 }.rawValue
        state.program.configuration = configuration?.escaped
        (state.program.residentBytes, state.program.descriptors) = (facts.residentBytes, facts.descriptors)
        (state.program.threads, state.program.processorSeconds) = (facts.threads, facts.processorSeconds)
        state.watchNeed = watch?.need.map { DaemonState.WatchNeed($0) }
        state.liveness = watch?.liveness.map { DaemonState.Liveness($0, now: now) }
        state.library = setup.settings.library?.path.escaped ?? ""
        state.libraryFreeBytes = setup.settings.library.flatMap { storage.freeBytes(of: $0.path) }
        state.libraryVerified = storage.verified.map {
            DaemonState.Verified(last: $0.at.rfc3339, whole: $0.wholeAt?.rfc3339)
        }
        (state.inboxes, state.problems, state.subsystems) = (inboxes, raised, subsystems)
        (state.log.destination, state.log.queued) = (log.name, log.queued)
        (state.log.sent, state.log.dropped) = (Int(clamping: log.sent), Int(clamping: log.dropped))
        state.changes = measures.all.moved
        for part in parts { part.describe(in: &state) }
        guard inFull else { return state }
        state.inHand = table.arrivals.values.sorted { $0.firstSeen.monotonic < $1.firstSeen.monotonic }
            .map { arrival in
                DaemonState.InHand(
                    arrival, set: table.words(ofSetOf: arrival.key), isPaused: paused.contains(arrival.key.inbox))
            }
        state.outcomes = recent.all.map { DaemonState.Ended($0) }
        state.monitors = MonitorRegistry.shared.descriptions().map { DaemonState.Monitor($0, now: now) }
        return state
    }

    /// The line that the service manager shows.
    private func statusLine(
        _ counts: DaemonState.Counts, _ inboxes: [DaemonState.Inbox], problems: [DaemonState.Problem],
        paused: [String]
    ) -> String {
        let shown = problems.filter { $0.hiddenBy == nil }
        if let stopped = shown.first(where: { $0.severity == "stopped" }) {
            return "FILING STOPPED: \(stopped.code) \(stopped.what)"
        }
        let warnings = shown.filter { $0.severity == "warning" }.count
        var text = "filing" + (warnings == 0 ? " normally" : ", \(warnings) warning\(warnings == 1 ? "" : "s")")
        if !paused.isEmpty { text += ", \(paused.joined(separator: ", ")) paused" }
        let beingWritten = inboxes.reduce(0) { $0 + ($1.beingWritten ?? 0) }
        if counts.inHand == 0, counts.deferred == 0, beingWritten == 0 { text += ", nothing waiting" }
        if beingWritten > 0 { text += ", \(beingWritten) being written" }
        if counts.inHand > 0 { text += ", \(counts.inHand) in hand" }
        if counts.deferred > 0 { text += ", \(counts.deferred) deferred" }
        return text + "; \(counts.filed) filed since the start"
    }
}

extension ProblemReporter {
    /// Which inboxes are paused, and what waits there.
    func paused(_ state: LiveState) {
        let table = state.current.pipeline?.arrivals.withLock { $0 }
        for inbox in state.settings.inboxes {
            let row = state.pauses.pause(of: inbox.name).map { pause -> [ProblemParameter: ProblemValue] in
                let counts = table?.counts(of: inbox.name)
                return [
                    .inbox: .text(inbox.name), .name: .text(pause.by.words), .next: .moment(pause.since.seconds),
                    .count: .count((counts?.inHand ?? 0) + (counts?.deferred ?? 0)),
                ]
            }
            set(.inboxPaused, subject: inbox.name, row)
        }
    }
}
