import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import SystemPackage

extension WatchEngine {
    /// What a turn of the core has begun.
    struct Begun {
        var output: TreeCore.Output
        /// Nil where there is nothing to tell.
        var handler: Handler?
    }

    /// What a turn has ended.
    struct Ended {
        let watching: (@Sendable () -> Void)?
        let answers: [Ticket]
        /// Whether to age in a moment what waits for its other half.
        let isAging: Bool
    }
}

extension WatchEngine.State {
    /// Ends the core's part of a turn: what it wants done now.
    mutating func begin() -> WatchEngine.Begun {
        core.flush()
        defer { core.output = TreeCore.Output() }
        if core.output.notices.isEmpty || handler == nil { return WatchEngine.Begun(output: core.output) }
        isDelivering = true
        return WatchEngine.Begun(output: core.output, handler: handler)
    }

    /// Ends the turn; nil where nothing more follows from it, as is usual.
    mutating func end(_ output: TreeCore.Output, _ settings: [WatchRoot]) -> WatchEngine.Ended? {
        isDelivering = false
        noteOverflows()
        let isAging = core.isHolding && !self.isAging && !hasEnded
        if isAging { self.isAging = true }
        if output.reconciled.isEmpty, onWatching == nil, !isAging { return nil }
        let answers = output.reconciled.flatMap { answer($0.root, $0.outcome, settings[$0.root].id) }
        let isWatching = core.roots.allSatisfy { $0.hasBegun || $0.isLost }
        defer { if isWatching { onWatching = nil } }
        return WatchEngine.Ended(watching: isWatching ? onWatching : nil, answers: answers, isAging: isAging)
    }

    /// Notes the outcome of a reconciliation, and returns whose waiting is over.
    private mutating func answer(_ root: Int, _ outcome: Reconciliation, _ id: String) -> [WatchEngine.Ticket] {
        let report = ReconcileReport(
            root: id, isComplete: core.roots[root].isLive, found: outcome.counts.found,
            vanished: outcome.counts.vanished, renamed: outcome.counts.renamed, directories: outcome.directories,
            files: outcome.files, duration: outcome.began == 0 ? 0 : monotonicNanoseconds() - outcome.began,
            ended: .now)
        reports[root] = report
        var ended: [WatchEngine.Ticket] = []
        for number in outcome.tickets {
            guard var ticket = tickets[number] else { continue }
            ticket.missing -= 1
            ticket.reports.append(report)
            tickets[number] = ticket.missing == 0 ? nil : ticket
            if ticket.missing == 0 { ended.append(ticket) }
        }
        return ended
    }
}

extension WatchEngine.State {
    /// What inotify(7) lacks here; nil if nothing.
    func need(_ limits: InotifyLimits) -> WatchNeed? {
        core.shortage.map { shortage in
            shortage.isOfInstances
                ? WatchNeed(.instances, limit: limits.instances, used: 0, missing: 1, polled: shortage.polled)
                : WatchNeed(
                    .watches, limit: limits.watches, used: core.watches.count, missing: shortage.polled,
                    polled: shortage.polled)
        }
    }

    /// What is told of it; the steps are for others to say.
    func snapshot(label: String, _ settings: [WatchRoot], isAskedForLife: Bool) -> WatchSnapshot {
        let need = need(limits ?? InotifyLimits())
        let step = WatchStep(name: "idle", since: 0)
        return WatchSnapshot(
            label: label,
            roots: settings.indices.map {
                core.snapshot(
                    of: $0, settings[$0], lastReconciliation: reports[$0],
                    limit: need.flatMap { $0.resource == .watches ? $0.limit?.value : nil }, step: step)
            },
            events: core.counters.events, overflows: core.counters.overflows,
            strayEvents: core.counters.strayEvents, watches: core.watches.count, need: need,
            liveness: liveness(isAsked: isAskedForLife), step: step)
    }
}

extension TreeCore {
    func snapshot(
        of root: Int, _ settings: WatchRoot, lastReconciliation: ReconcileReport?, limit: Int?, step: WatchStep
    ) -> RootSnapshot {
        let state = roots[root]
        let isAllPolled = state.isLive && state.tellsOwnChangesOnly
        let isPolling = isAllPolled || !state.polled.isEmpty || !state.unreadable.isEmpty
        return RootSnapshot(
            id: state.id, path: settings.path, verdict: state.verdict(limit: limit),
            watches: state.watched, directories: state.directories,
            polled: isAllPolled ? state.directories : state.polled.count,
            polling: isPolling ? PaceReport(state.polling) : nil,
            audit: AuditReport(
                count: state.audits, missed: state.missed, lastMissed: state.lastMissed,
                pace: isAllPolled ? nil : state.audit.map { PaceReport($0) }), since: state.since,
            unreadable: state.unreadable.count, firstUnreadable: firstUnreadable(root), knownFiles: state.knownFiles,
            unfinishedFiles: state.unsettled.count, notices: state.counts.notices, waitingLooks: state.dirty.count,
            surveys: state.surveys,
            lastReconciliation: lastReconciliation, step: step)
    }

    /// The one that has been known longest, of a few.
    private func firstUnreadable(_ root: Int) -> UnreadableDirectory? {
        let nodes = roots[root].unreadable
        guard let first = nodes.count > 64 ? nodes.first : nodes.min(by: { $0.index < $1.index }),
            let reason = roots[root].unreadableReason.map({ Errno(rawValue: $0) })
        else { return nil }
        return UnreadableDirectory(path: table.path(of: first), reason: reason)
    }
}

extension RootSnapshot {
    func with(step: WatchStep) -> RootSnapshot {
        var copy = self
        copy.step = step
        return copy
    }
}

extension RootState {
    var isLost: Bool { if case .gone = phase { true } else { false } }

    func verdict(limit: Int?) -> WatchVerdict {
        switch phase {
        case .starting: return .starting
        case .gone(let loss): return .gone(loss)
        case .live:
            if let fileSystem = identity?.fileSystem, fileSystem.changesElsewhere {
                return .polled(fileSystem: fileSystem.name)
            }
            if polled.isEmpty { return hasBegun ? .live : .starting }
            if watched == 0 { return .polled(fileSystem: nil) }
            return .partlyPolled(watched: watched, polled: polled.count, limit: limit)
        }
    }
}
