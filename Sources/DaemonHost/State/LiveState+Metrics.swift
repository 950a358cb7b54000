import Catalogue
import ControlProtocol
import DaemonSupport
import DirectoryWatch
import FileValues
import Filing
import Ingest
import LinuxKernel
import QueueActors
import Reporting

extension LiveState {
    /// The daemon's metrics at this moment. As ``capture(inFull:)``, it asks no queue; it names no file.
    func metrics(_ dialect: MetricsText.Dialect) -> String {
        let now = Moment.now
        let state = capture(inFull: false)
        let watch = current.watch?.snapshot()
        let roots = Dictionary((watch?.roots ?? []).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let measures = measures.all
        let waiting = current.pipeline?.arrivals.withLock { $0 }.waiting() ?? [:]
        let names = state.inboxes.map(\.name)
        /// One sample for each inbox.
        func each(_ value: (DaemonState.Inbox) -> Double) -> [(labels: [String], value: Double)] {
            state.inboxes.map { ([$0.name], value($0)) }
        }

        var text = MetricsText(dialect)
        text.add(.buildInfo, [([state.program.version], 1)])
        text.add(.started, started.wall.unixSeconds)
        text.add(.sampled, now.wall.unixSeconds)

        text.add(
            .photos, state.inboxes.flatMap { inbox in inbox.counts.outcomes.map { ([inbox.name, $0], Double($1)) } })
        text.add(.filedBytes, each { Double(measures.bytes[$0.name] ?? 0) })
        text.add(
            .filingDelay, histograms: names.map { ([$0], measures.delay[$0] ?? MetricHistogram(.filingDelay)) })
        text.add(
            .stageDuration,
            histograms: FilingStep.allCases.filter { $0 != .recover }.map {
                ([$0.label], measures.stages[$0] ?? MetricHistogram(.stageDuration))
            })
        text.add(.photoSize, histograms: [([], measures.size)])
        text.add(
            .waiting,
            names.flatMap { name in
                ArrivalStage.names.map { ([name, $0], Double(waiting[name]?.stages[$0] ?? 0)) }
            })
        text.add(.oldestWaiting, each { waiting[$0.name]?.oldest?.wall.unixSeconds ?? 0 })
        text.add(.paused, each { $0.paused == nil ? 0 : 1 })

        text.add(
            .verdict,
            state.inboxes.flatMap { inbox in
                DaemonState.Inbox.verdicts.map { ([inbox.name, $0], inbox.verdict == $0 ? 1 : 0) }
            })
        text.add(.lastScan, each { inbox in roots[inbox.name].map { $0.lastComparison(now) } ?? 0 })
        text.add(
            .scanInterval,
            each { $0.coverage.flatMap { $0.intervalSeconds ?? $0.auditIntervalSeconds } ?? 0 })
        text.add(.knownFiles, each { Double($0.knownFiles) })
        text.add(.watches, each { Double($0.watches) })
        text.add(.polledDirectories, each { Double($0.polledDirectories) })
        text.add(.watchEvents, each { Double($0.events) })
        text.add(.missedEvents, each { Double($0.coverage?.missed ?? 0) })
        text.add(.overflows, Double(watch?.overflows ?? 0))

        let shown = Dictionary(grouping: state.problems.filter { $0.hiddenBy == nil }, by: \.code)
        text.add(
            .problems,
            ProblemCode.allCases.map {
                ([$0.rawValue, $0.row.severity.rawValue], Double(shown[$0.rawValue]?.count ?? 0))
            })
        text.add(.damaged, Double(storage.damagedCount))
        text.add(.lastVerification, storage.verified?.at.unixSeconds ?? 0)
        text.add(.freeBytes, state.libraryFreeBytes.map { [([], Double($0))] } ?? [])

        let queues = subsystems.map { $0.snapshot() }
        text.add(.queueStep, queues.map { ([$0.name], $0.stepSeconds(now)) })
        text.add(.queueSilence, queues.map { ([$0.name], max(0, $0.silence(now: now) ?? 0)) })
        text.add(.queueWaiting, queues.map { ([$0.name], Double($0.waiting)) })
        let hooks = state.hooks ?? []
        text.add(.hookWaiting, hooks.map { ([$0.name], Double($0.waiting)) })
        text.add(.hookFailing, hooks.map { ([$0.name], Double($0.failures)) })
        text.add(
            .thumbnails,
            [(["made"], Double(state.pictures?.made ?? 0)), (["failed"], Double(state.pictures?.failed ?? 0))])
        text.add(.logEntries, [(["sent"], Double(state.log.sent)), (["dropped"], Double(state.log.dropped))])
        text.add(.residentBytes, Double(state.program.residentBytes))
        text.add(.descriptors, Double(state.program.descriptors))
        text.add(.threads, Double(state.program.threads))
        return text.finished()
    }
}

extension DaemonState.Counts {
    /// Each outcome with how many had it.
    fileprivate var outcomes: [(String, Int)] {
        [
            (Outcome.filed.rawValue, filed), (Outcome.duplicate.rawValue, duplicate),
            (Outcome.quarantined.rawValue, quarantined), (Outcome.ignored.rawValue, ignored),
            (Outcome.withdrawn.rawValue, withdrawn),
        ]
    }
}

extension RootSnapshot {
    /// When it was last compared with what is known, in seconds since 1970; 0 if never.
    fileprivate func lastComparison(_ now: Moment) -> Double {
        let polled = [polling?.last, audit.pace?.last].compactMap(\.self).map {
            now.later(by: (Double($0) - Double(now.monotonic)) / 1e9).wall.unixSeconds
        }
        return (polled + [lastReconciliation?.ended.unixSeconds ?? 0]).max() ?? 0
    }
}

extension Subsystem.Snapshot {
    /// For how long its present step has lasted; 0 between two.
    fileprivate func stepSeconds(_ now: Moment) -> Double {
        guard let step, step != "idle" else { return 0 }
        return max(0, now.seconds(since: since))
    }
}

extension FileTime {
    /// Seconds since 1970, with their fraction.
    fileprivate var unixSeconds: Double { Double(seconds) + Double(nanoseconds) / 1e9 }
}
