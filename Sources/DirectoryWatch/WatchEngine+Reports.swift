import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

extension WatchEngine {
    /// The result of the core's part of a turn.
    struct Begun {
        var output: Output
        /// Nil if there are no notices.
        var handler: Handler?
    }

    /// The requests that a turn has completed.
    struct Ended {
        let watching: (@Sendable () -> Void)?
        let answers: [Ticket]
        /// Whether ``TreeCore/age()`` has to be called in a moment.
        let isAging: Bool
    }
}

extension WatchEngine.State {
    /// Ends the core's part of a turn; returns its reports and requests.
    mutating func begin() -> WatchEngine.Begun {
        let output = core.endTurn()
        if output.notices.isEmpty || handler == nil { return WatchEngine.Begun(output: output) }
        isDelivering = true
        return WatchEngine.Begun(output: output, handler: handler)
    }

    /// Ends the turn; nil if it completes nothing, as is usual.
    mutating func end(_ output: Output, _ settings: [WatchRoot]) -> WatchEngine.Ended? {
        isDelivering = false
        noteOverflows()
        let isAging = core.isWaiting && !self.isAging && !hasEnded
        if isAging { self.isAging = true }
        if output.reconciled.isEmpty, onWatching == nil, !isAging { return nil }
        let answers = output.reconciled.flatMap { answer($0.root, $0.outcome, settings[$0.root].id) }
        let isWatching = core.state.roots.allSatisfy(\.hasBegun)
        defer { if isWatching { onWatching = nil } }
        return WatchEngine.Ended(watching: isWatching ? onWatching : nil, answers: answers, isAging: isAging)
    }

    /// Notes the result of a reconciliation, and returns the tickets that are complete.
    private mutating func answer(_ root: Int, _ outcome: Reconciliation, _ id: String) -> [WatchEngine.Ticket] {
        let report = ReconcileReport(
            root: id, isComplete: core.state.roots[root].isLive, found: outcome.counts.found,
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
    /// The resource of inotify(7) that is missing here; nil if none is.
    func need(_ limits: InotifyLimits) -> WatchNeed? {
        core.shortage.map { shortage in
            shortage.isOfInstances
                ? WatchNeed(.instances, limit: limits.instances, used: 0, missing: 1, polled: shortage.polled)
                : WatchNeed(
                    .watches, limit: limits.watches, used: core.state.watches.count, missing: shortage.polled,
                    polled: shortage.polled)
        }
    }

    /// The state, without the present steps.
    func snapshot(label: String, _ settings: [WatchRoot], isAskedForLife: Bool) -> WatchSnapshot {
        let need = need(limits ?? InotifyLimits())
        let limit = need.flatMap { $0.resource == .watches ? $0.limit?.value : nil }
        let step = WatchStep(name: "idle", since: 0)
        return WatchSnapshot(
            label: label, roots: settings.indices.map { snapshot(of: $0, settings[$0], limit: limit, step) },
            events: core.events, overflows: core.overflows, strayEvents: core.state.watches.strayEvents,
            watches: core.state.watches.count,
            need: need, liveness: liveness(isAsked: isAskedForLife), step: step)
    }

    private func snapshot(of root: Int, _ settings: WatchRoot, limit: Int?, _ step: WatchStep) -> RootSnapshot {
        let (state, tree) = (core.state.roots[root], core.state.tree.roots[root])
        let isAllPolled = state.isLive && tree.changesElsewhere
        let isPolling = isAllPolled || tree.polledDirectories > 0 || tree.unreadableDirectories > 0
        return RootSnapshot(
            id: tree.id, path: settings.path, verdict: WatchVerdict(state.phase, tree, limit: limit),
            watches: tree.watched, directories: tree.directories,
            polled: isAllPolled ? tree.directories : tree.polledDirectories,
            polling: isPolling ? PaceReport(state.polling) : nil,
            audit: AuditReport(
                count: state.audit.count, missed: state.audit.missed, lastMissed: state.audit.lastMissed,
                pace: isAllPolled ? nil : state.audit.pace.map { PaceReport($0) }), since: state.since,
            unreadable: tree.unreadableDirectories,
            firstUnreadable: core.state.tree.firstUnreadable(of: root).map {
                UnreadableDirectory(path: $0.path, reason: Errno(rawValue: $0.failure))
            }, knownFiles: tree.files, unfinishedFiles: tree.unfinishedFiles, leftAlone: tree.leftAlone,
            notices: state.counts.notices,
            waitingLookups: state.waitingLookups, surveys: state.surveys, lastReconciliation: reports[root], step: step)
    }
}

extension RootSnapshot {
    func with(step: WatchStep) -> RootSnapshot {
        var copy = self
        copy.step = step
        return copy
    }
}

extension WatchVerdict {
    fileprivate init(_ phase: RootState.Phase, _ tree: Tree.Root, limit: Int?) {
        switch phase {
        case .starting: self = .starting
        case .gone(let loss): self = .gone(loss)
        case .live(let isListed):
            if tree.changesElsewhere {
                self = .polled(fileSystem: tree.identity?.fileSystem.name)
            } else if tree.polledDirectories == 0 {
                self = isListed ? .live : .starting
            } else if tree.watched == 0 {
                self = .polled(fileSystem: nil)
            } else {
                self = .partlyPolled(watched: tree.watched, polled: tree.polledDirectories, limit: limit)
            }
        }
    }
}
