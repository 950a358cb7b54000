import Catalogue
import ControlProtocol
import DaemonSupport
import FileValues
import Ingest
import LinuxKernel
import QueueActors
import Reporting
import Settings

/// Says in a catalogue in PostgreSQL how this daemon is, each ten seconds, and reports which of the hosts that share it are
/// silent. It uses the watchdog's tick, and the catalogue's queue.
final class HostReporter: DaemonPart {
    private struct State: Sendable {
        var isUnderWay = false
        var isEnding = false
        /// When the next one is due, in nanoseconds of CLOCK_MONOTONIC.
        var due = Int64.min
        /// Hosts that are reported as silent.
        var silent: Set<String> = []
        /// How many photos were filed, by the minute.
        var filed: [Int64: Int] = [:]
    }

    /// A little less than ten seconds, since ticks are not exact.
    private static let interval: Int64 = 9_500_000_000
    private static let mostFiles = 500

    private let catalogue: Catalogue
    private let live: LiveState
    private let state = Locked(State())

    init(catalogue: Catalogue, state: LiveState) {
        self.catalogue = catalogue
        live = state
    }

    func start() { tick() }

    func tick() {
        // Whether it can be used again is tried by who needs it, with pauses.
        if live.storage.failing.contains(.catalogue) { return }
        let now = Moment.now.monotonic
        let isDue = state.withLock { state in
            guard !state.isUnderWay, !state.isEnding, now >= state.due else { return false }
            // Until it runs, each tick may have something new to say.
            state.due = live.isRunning ? now + Self.interval : now
            state.isUnderWay = true
            return true
        }
        guard isDue else { return }
        TaskQueue.start {
            await self.beat()
            self.state.withLock { $0.isUnderWay = false }
        }
    }

    /// What it says last is that it ends, so that it is not shown as filing until it counts as silent.
    func end(hurrying: Bool) async -> @Sendable () async -> Void {
        state.withLock { $0.isEnding = true }
        return { if !self.live.storage.failing.contains(.catalogue) { await self.beat() } }
    }

    func ended(_ arrival: EndedArrival) {
        guard arrival.outcome == .filed else { return }
        let minute = Self.minute(arrival.ended)
        state.withLock { state in
            if state.filed[minute] == nil { state.filed = state.filed.filter { $0.key > minute - 60 } }
            state.filed[minute, default: 0] += 1
        }
    }

    private static func minute(_ moment: Moment) -> Int64 { moment.monotonic / 60_000_000_000 }

    private func beat() async {
        let text = report().text(limit: CatalogueFile.longestStatement)
        do throws(CatalogueError) {
            let others = try await catalogue.perform("reporting to the other hosts") { try $0.heartbeat(text) }
            show(others)
        } catch {
            if !state.withLock({ $0.isEnding }) { live.storage.symptom(.catalogue(failure: error)) }
        }
    }

    private func report() -> HostReport {
        let first = Self.minute(.now) - 59
        let table = live.current.pipeline?.arrivals.withLock { $0 }
        let bytes = table?.arrivals.values.reduce(UInt64(0)) { sum, arrival in
            let (new, isTooMuch) = sum.addingReportingOverflow(arrival.noticed?.size ?? 0)
            return isTooMuch ? .max : new
        }
        // With more of them, which ones is left to chance.
        let keys = table.map { Array($0.arrivals.keys.prefix(Self.mostFiles)) } ?? []
        let files = keys.map { "\($0.inbox)/\($0.path.escaped)" }
        return HostReport(
            live.capture(inFull: false), waitingBytes: bytes ?? 0, waitingFiles: files.sorted(),
            filedLastHour: state.withLock { $0.filed.reduce(0) { $0 + ($1.key >= first ? $1.value : 0) } })
    }

    private func show(_ others: [CatalogueHostRow]) {
        let silent = others.filter(\.isSilent)
        let names = Set(silent.map(\.name))
        let before = state.withLock { state in
            defer { state.silent = names }
            return state.silent
        }
        for name in before.subtracting(names) { live.problems.set(.hostSilent, subject: name, nil) }
        let now = Moment.now.wall.seconds
        for host in silent {
            live.problems.set(
                .hostSilent, subject: host.name,
                HostReport.silence(
                    of: host.name, seen: host.seen, said: host.said, now: now, clock: LocalClock(at: host.seen)))
        }
    }
}
