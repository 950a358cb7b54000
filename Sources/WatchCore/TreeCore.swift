package import FileValues

/// The decisions of the watcher: takes events and results of file work, gives notices and requests for file work.
///
/// A value without Dispatch, clock or I/O. Three ideas make it simple:
/// - *Level, not edge.* An event says no more than "look at this name"; what is seen there, compared with what is
///   known, makes the notice. Lost, late, doubled and stale events thus cost a lookup and never the truth.
/// - *One history per root.* The file work of a root is carried out one request after the other, so observations
///   arrive in the order in which they were made, and the last one of a name is the newest. Whatever happens to a name
///   after it was looked up raises an event, and so another lookup.
/// - *Events first.* An observation is applied once all events that were queued before it have been. One of a name of
///   which more was heard meanwhile is void: the name is looked up again. So each event is known to be older or newer
///   than what was reported, and a version of a file is reported once.
///
/// It is built of values that each own their state, each on the one before it, of which it uses what that offers:
/// ``Tree`` (what is known) · ``Agenda`` (what is to be done) · ``Watches`` · ``Events`` · ``Moves`` · ``FileObserver`` ·
/// ``Observer``.
package struct TreeCore {
    /// What it wants done; the caller takes it after each turn.
    package struct Output {
        package var notices: [WatchNotice] = []
        package var work: [(root: Int, epoch: UInt32, request: WorkRequest)] = []
        package var reconciled: [(root: Int, outcome: Reconciliation)] = []
        /// Records of watches that are not of trees.
        package var outside: [EventRecord] = []
    }

    private var observer: Observer
    private let policy: ComparePolicy
    package private(set) var events = 0
    package private(set) var overflows = 0

    package init(
        roots identifiers: [String], reportsChanges: Bool = false, policy: ComparePolicy = ComparePolicy()
    ) {
        let moves = Moves(events: Events(watches: Watches(agenda: Agenda(tree: Tree(roots: identifiers)))))
        observer = Observer(files: FileObserver(moves: moves, reportsChanges: reportsChanges))
        self.policy = policy
    }

    private var moves: Moves {
        @inline(__always) _read { yield observer.files.moves }
        @inline(__always) _modify { yield &observer.files.moves }
    }
    private(set) var watches: Watches {
        @inline(__always) _read { yield observer.files.moves.events.watches }
        @inline(__always) _modify { yield &observer.files.moves.events.watches }
    }
    private var agenda: Agenda {
        @inline(__always) _read { yield observer.files.moves.events.watches.agenda }
        @inline(__always) _modify { yield &observer.files.moves.events.watches.agenda }
    }
    package var tree: Tree {
        @inline(__always) _read { yield observer.files.moves.events.watches.agenda.tree }
        @inline(__always) _modify { yield &observer.files.moves.events.watches.agenda.tree }
    }
    package var roots: [RootState] {
        @inline(__always) _read { yield observer.files.moves.events.watches.agenda.roots }
        @inline(__always) _modify { yield &observer.files.moves.events.watches.agenda.roots }
    }
    package var output: Output { agenda.output }

    /// Watches in use.
    package var watchCount: Int { watches.count }
    /// Records of watches that nobody knows any more.
    package var strayEvents: Int { watches.strayEvents }

    /// Whether ``age()`` should be called in a moment.
    package var isWaiting: Bool { agenda.isWaiting || moves.isWaiting }

    /// What is wanted now, and no more after that.
    package mutating func takeOutput() -> Output {
        var output = Output()
        swap(&output, &agenda.output)
        return output
    }

    /// CLOCK_MONOTONIC in nanoseconds, as the caller has it at the beginning of a turn.
    package var now: UInt64 {
        get { agenda.now }
        set { agenda.now = newValue }
    }

    /// Sends the lookups that are due, and says which reconciliations are through. To be called at the end of each turn.
    package mutating func flush() {
        observer.surveyUnsure()
        for root in roots.indices where roots[root].isLive {
            if roots[root].names.underWay == nil, !roots[root].names.isEmpty { observer.sendLookups(root) }
            advanceComparison(root)
        }
        watches.forgetPast()
        moves.sweepShelf()
        if tree.directories.names.isWasteful {
            tree.sweepNames(keeping: agenda.waitingNames + moves.events.heldNames)
        }
    }

    /// Ends what has waited for its other half since the call before.
    package mutating func age() {
        agenda.age()
        moves.age()
    }

    /// Records of a watch that somebody else made go to the output from here on, or no more.
    package mutating func setOutsider(_ watch: Int32, _ isOne: Bool) { watches.setOutsider(watch, isOne) }
}

// MARK: - Events

extension TreeCore {
    /// Applies one record; `name` is valid in the call alone.
    package mutating func apply(watch: Int32, mask: InotifyMask, cookie: UInt32, name: UnsafeRawBufferPointer) {
        events += 1
        if mask.contains(.queueOverflow) { return applyOverflow() }
        let isOfPathAlone = watches.applyToPaths(watch, mask, name)
        if let node = watches.owner(of: watch) {
            moves.events.apply(mask, cookie: cookie, name: name, in: node)
        } else if !isOfPathAlone {
            let record = EventRecord(watch: watch, mask: mask, cookie: cookie, name: BytePath(name))
            if !watches.applyStray(record) { applyOverflow() }
        }
    }

    /// Records were lost: everything is compared.
    private mutating func applyOverflow() {
        overflows += 1
        moves.events.expireAll()
        watches.recheckAllPaths()
        for root in roots.indices where roots[root].isLive {
            moves.report(root, "", .overflow)
            roots[root].audit.ledger.void()
            roots[root].comparison.want(from: agenda.now) { $0.heals = true }
        }
    }

    /// The mount table changed in these places, as paths from the process's root directory.
    package mutating func applyMounts(_ points: Set<BytePath>) {
        watches.recheckAllPaths()
        for root in roots.indices where roots[root].isLive {
            roots[root].names.mayHaveMoved = true
            guard let place = roots[root].mountPath else { continue }
            for point in points {
                guard let path = point.relative(to: place), !path.isEmpty else { continue }
                recheckMount(root, path)
            }
        }
    }

    private mutating func recheckMount(_ root: Int, _ path: BytePath) {
        var node = tree.roots[root].top
        for name in path.components {
            let name = tree.intern(name)
            guard let child = tree.directories.child(of: node, named: name) else {
                return agenda.schedule(node, name, Hints(signs: []))
            }
            node = child
        }
        // Opened, not looked up: the root of one disk has the same number as that of any other.
        agenda.survey(node, isRecursive: true)
    }
}

// MARK: - Roots

extension TreeCore {
    /// Asks for every root to be opened; its first reconciliation carries the ticket.
    package mutating func start(ticket: UInt64?) {
        for root in roots.indices {
            roots[root].comparison.want(from: agenda.now) { $0.tickets = ticket.map { [$0] } ?? [] }
            watches.recheckPath(root)
        }
    }

    /// Applies results of file work, in the order in which it was done.
    package mutating func apply(_ result: WorkResult, root: Int, epoch: UInt32) {
        switch result {
        case .placed(let path): roots[root].mountPath = path
        case .traced(let way): watches.applyTraced(root, way)
        case .unwatched(let removed): watches.applyRemoved(removed)
        case .surveyed(let id, let findings, let isComplete):
            observer.apply(findings, ofSurvey: id, isComplete: isComplete, root: root)
        case _ where epoch != roots[root].epoch: break
        case .lookedUp(let observations): observer.apply(observations, root: root)
        case .checked: agenda.endOpening(root)
        case .adopted(let identity): applyAdopted(root, identity)
        case .lost(let loss): lose(root, loss)
        }
    }

    private mutating func applyAdopted(_ root: Int, _ identity: RootIdentity) {
        guard !roots[root].isLive else { return }
        let rule = IdentityRule(identity.fileSystem)
        if let before = tree.roots[root].identity, !rule.isSame(before, identity) {
            // For the next life; in this one the tree itself is kept.
            if let memory = tree.memory(of: root), memory.files > 0 { roots[root].memories = memories(of: root) }
            moves.replaceTop(of: root, before, by: identity)
        }
        tree.setIdentity(identity, of: root)
        if roots[root].isGone { moves.report(root, "", .rootBack) }
        roots[root].live(since: agenda.now)
        roots[root].polling = PollPace(policy.polling, startingWith: policy.polling.shortest, now: agenda.now)
        roots[root].audit.setPace(policy.audit, now: agenda.now)
        if let number = roots[root].memories.firstIndex(where: { rule.isSame($0.identity, identity) }) {
            tree.recall(roots[root].memories.remove(at: number), in: root)
        }
        roots[root].comparison.want(from: agenda.now) { $0.isFirst = true }
        agenda.endOpening(root)
    }

    /// The root's path leads elsewhere or nowhere. What is known of it is kept as it is.
    private mutating func lose(_ root: Int, _ loss: WatchNotice.Loss) {
        switch roots[root].phase {
        case .gone:
            roots[root].lose(loss, since: nil)
            agenda.endOpening(root)
        case .starting:
            roots[root].lose(loss, since: agenda.now)
            moves.report(root, "", .rootGone(loss))
            answerWanted(root)
            agenda.endOpening(root)
        case .live:
            roots[root].lose(loss, since: agenda.now)
            // Requests that are still under way see the new root, if any: their results are void.
            agenda.endLife(root)
            observer.endLife(root)
            moves.endLife(root)
            watches.releaseAll(below: tree.roots[root].top)
            endComparison(root)
            answerWanted(root)
            moves.report(root, "", .rootGone(loss))
            // Another directory there can be watched at once, and one that comes is reported.
            watches.recheckPath(root)
        }
    }

    /// What is remembered of a root: first what lies there, or lay there last.
    package func memories(of root: Int) -> [RootMemory] {
        let all = [tree.memory(of: root)].compactMap(\.self) + roots[root].memories
        return Array(all.prefix(RootMemory.mostOfRoot))
    }

    /// What the caller does not want known any more, because it took care of it.
    package mutating func forget(_ root: Int, _ path: BytePath) {
        guard let directory = tree.find(root, path.parent), let name = tree.directories.names.find(path.name),
            tree.setFile(directory, name, nil) != nil
        else { return }
        roots[root].audit.ledger.forget(AuditLedger.Key(directory: directory, name: path.name))
    }
}

// MARK: - Comparisons

extension TreeCore {
    /// Cheap checks, a few seconds apart: that each root's path still leads to it, that files which were made came to
    /// rest, and what no event reports, as far as it is due; all of it without a pace. `hasQueuedRecords` if the kernel's
    /// queue holds any.
    package mutating func tick(isPaced: Bool, hasQueuedRecords: Bool = false) {
        for root in roots.indices {
            guard roots[root].isLive else {
                watches.recheckPath(root)
                continue
            }
            if watches.isPathUncertain(root) { watches.trace(root) }
            agenda.open(root)
            // It was away for a moment when it was to be listed, and is back as what it was.
            if tree[tree.roots[root].top].coverage == .unwatched, !roots[root].isObserving {
                reconcile(root, ticket: nil)
            }
            for directory in roots[root].names.takeFailed(Self.failuresAtOnce) {
                if tree.directories.isValid(directory) { agenda.survey(directory, isRecursive: false) }
            }
            for key in tree.roots[root].unfinished {
                agenda.schedule(key.directory, key.name, Hints(signs: .restCheck))
            }
            // Every record that was queued when the audit ended has been applied.
            if !hasQueuedRecords, agenda.surveys.isEmpty { roots[root].audit.finish() }
            compareWhatIsDue(root, isPaced: isPaced)
        }
    }

    /// Directories that are listed again on one tick because names in them could not be looked up.
    private static let failuresAtOnce = 16

    /// Asks for a root to be compared with what is known; its outcome carries the tickets given.
    package mutating func reconcile(_ root: Int, ticket: UInt64?) {
        roots[root].comparison.want(from: agenda.now) { if let ticket { $0.tickets.append(ticket) } }
        if roots[root].isGone { answerWanted(root) }
    }

    /// What no event reports: compared on ticks, at a pace of its own. Without a pace everything is due.
    private mutating func compareWhatIsDue(_ root: Int, isPaced: Bool) {
        let now = agenda.now
        // One at a time: a slow root is not asked again before it answered.
        guard roots[root].surveys == 0, roots[root].comparison.isIdle else { return }
        if !isPaced || roots[root].polling.isDue(at: now) {
            if tree.roots[root].changesElsewhere {
                roots[root].polling.begin(at: now)
                roots[root].comparison.want(from: now) { $0.isPoll = true }
                return
            }
            if pollDirectories(root) { return }
        }
        if isPaced, roots[root].audit.beginIfDue(at: now) { roots[root].comparison.want(from: now) }
    }

    /// Lists the directories that have no watch, and tries those again that could not be read.
    private mutating func pollDirectories(_ root: Int) -> Bool {
        let (polled, unreadable) = (tree.roots[root].polled, tree.roots[root].unreadable)
        if polled.isEmpty && unreadable.isEmpty { return false }
        roots[root].polling.begin(at: agenda.now)
        let outcome = Reconciliation(isPoll: true, began: agenda.now)
        roots[root].comparison.begin(.init(outcome: outcome, startCounts: roots[root].counts, isWhole: false))
        for node in polled where tree.directories.isValid(node) { agenda.survey(node, isRecursive: false) }
        for node in unreadable where tree.directories.isValid(node) { agenda.survey(node, isRecursive: true) }
        return true
    }

    /// Starts the comparison that is wanted, and ends the one that is through: its surveys are done, and the lookups that
    /// they and the events before them asked for.
    private mutating func advanceComparison(_ root: Int) {
        if roots[root].comparison.isIdle { return }
        startComparison(root)
        guard let underWay = roots[root].comparison.underWay, roots[root].surveys == 0, !observer.hasUnsure(in: root)
        else { return }
        let (completed, then) = (roots[root].names.completed, roots[root].names.completedThen)
        guard roots[root].comparison.hasLookedUp(completed, then) else { return }
        if underWay.isWhole { moves.dropDisplaced(root) }
        endComparison(root)
        startComparison(root)
    }

    private mutating func startComparison(_ root: Int) {
        guard roots[root].comparison.underWay == nil, let wanted = roots[root].comparison.takeWanted(),
            agenda.survey(tree.roots[root].top, isRecursive: true)
        else { return }
        // Those that are asked for are audits as well, but for a root's first and those that heal an overflow: there
        // events were missed, as everybody knows.
        let isAudit = !wanted.isFirst && !wanted.heals && !tree.roots[root].changesElsewhere
        if isAudit { roots[root].audit.begin(at: agenda.now) }
        roots[root].comparison.begin(
            .init(outcome: wanted, startCounts: roots[root].counts, isAudit: isAudit))
    }

    private mutating func endComparison(_ root: Int) {
        guard let comparison = roots[root].comparison.end() else { return }
        var outcome = comparison.outcome
        outcome.counts = roots[root].counts - comparison.startCounts
        outcome.directories = tree.roots[root].directories
        outcome.files = tree.roots[root].files
        if outcome.isPoll {
            roots[root].polling.end(at: agenda.now, foundDifferences: outcome.counts.notices > 0)
        }
        if comparison.isAudit { roots[root].audit.end(at: agenda.now, isVoid: outcome.heals) }
        guard comparison.isWhole else { return }
        if outcome.heals { moves.report(root, "", .healed) }
        agenda.output.reconciled.append((root, outcome))
    }

    /// Of a root that is gone nothing can be compared.
    private mutating func answerWanted(_ root: Int) {
        if let wanted = roots[root].comparison.takeWanted() { agenda.output.reconciled.append((root, wanted)) }
    }

    /// Directories of all roots that are polled because inotify(7) had no watch for them; nil if there are none.
    package var shortage: WatchShortage? {
        // What is polled because events would not come there needs none.
        let lacking = tree.roots.indices.filter {
            roots[$0].isLive && !tree.roots[$0].polled.isEmpty && !tree.roots[$0].changesElsewhere
        }.map { tree.roots[$0] }
        let polled = lacking.reduce(0) { $0 + $1.polled.count }
        if lacking.contains(where: { $0.watchFailure == WatchShortage.tooManyOpenFiles }) {
            return WatchShortage(isOfInstances: true, polled: polled)
        }
        guard lacking.contains(where: { $0.watchFailure == WatchShortage.noSpace }) else { return nil }
        return WatchShortage(isOfInstances: false, polled: polled)
    }
}
