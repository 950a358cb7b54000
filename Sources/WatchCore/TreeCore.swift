package import FileValues

/// The decisions of the watcher: applies events and results of file work, returns notices and requests for file work.
///
/// A value without Dispatch, clock or I/O. Three rules make it simple:
/// - *Events are hints.* An event only has its name looked up; the difference between the result and what is known makes
///   the notice. Lost, late, doubled and stale events thus cost a lookup, and no notice is wrong for them.
/// - *One history per root.* The file work of a root is carried out one request after the other, so observations arrive in
///   the order in which they were made, and the last one of a name is the newest. A change after that raises an event, and
///   so another lookup.
/// - *Events first.* An observation is applied once all events that were queued before it have been. One of a name with
///   more events meanwhile is void: the name is looked up again. So each event is known to be older or newer than the last
///   report, and a version of a file is reported once.
///
/// The state is a ``TreeState``, whose parts change by their own methods alone; the operations on it are in the types that
/// end in *Handling*.
package struct TreeCore {
    package private(set) var state: TreeState
    private let policy: ComparePolicy
    /// Records applied.
    package private(set) var events = 0
    package private(set) var overflows = 0

    package init(
        roots identifiers: [String], memories: [String: [RootMemory]] = [:], reportsChanges: Bool = false,
        policy: ComparePolicy = ComparePolicy()
    ) {
        state = TreeState(roots: identifiers, reportsChanges: reportsChanges)
        for (root, id) in identifiers.enumerated() { state.roots[root].memories = memories[id] ?? [] }
        self.policy = policy
    }

    /// Begins a turn. `now` is CLOCK_MONOTONIC in nanoseconds.
    package mutating func beginTurn(at now: UInt64) { state.now = now }

    /// Ends a turn: requests the lookups that are due, and completes reconciliations. Returns its reports and requests.
    package mutating func endTurn() -> Output {
        if !state.surveys.postponed.isEmpty { SurveyHandling.surveyPostponed(in: &state) }
        for root in state.roots.indices where state.roots[root].isLive {
            if state.roots[root].lookups.underWay == nil, !state.roots[root].lookups.isEmpty {
                LookupHandling.send(root, in: &state)
            }
            ComparisonHandling.advance(root, in: &state)
        }
        if state.surveys.isEmpty { state.watches.forgetEnded() }
        DirectoryHandling.sweepParked(in: &state)
        if state.tree.directories.names.isWasteful { state.sweepNames() }
        return state.output.removeAll()
    }
}

// MARK: - Events

extension TreeCore {
    /// Applies one record; the bytes of `name` are valid during the call alone.
    package mutating func apply(watch: Int32, mask: InotifyMask, cookie: UInt32, name: UnsafeRawBufferPointer) {
        events += 1
        if mask.contains(.queueOverflow) { return applyOverflow() }
        let isOfPathAlone = RootPathHandling.apply(watch, mask, name, in: &state)
        if let node = state.owner(of: watch) {
            EventHandling.apply(mask, cookie: cookie, name: name, of: node, in: &state)
        } else if !isOfPathAlone {
            let record = EventRecord(watch: watch, mask: mask, cookie: cookie, name: BytePath(name))
            if !WatchHandling.applyStray(record, in: &state) { applyOverflow() }
        }
    }

    /// Records were lost: everything is compared.
    private mutating func applyOverflow() {
        overflows += 1
        EventHandling.expireRenames(in: &state)
        RootPathHandling.recheckAll(in: &state)
        for root in state.roots.indices where state.roots[root].isLive {
            state.report(root, "", .overflow)
            state.roots[root].audit.ledger.void()
            state.roots[root].comparison.request(at: state.now) { $0.heals = true }
        }
    }

    /// The mount table changed at these paths from the process's root directory.
    package mutating func applyMounts(_ points: Set<BytePath>) {
        RootPathHandling.recheckAll(in: &state)
        for root in state.roots.indices where state.roots[root].isLive {
            state.roots[root].lookups.mayHaveMoved = true
            guard let place = state.roots[root].mountPath else { continue }
            for point in points {
                guard let path = point.relative(to: place), !path.isEmpty else { continue }
                recheckMount(root, path)
            }
        }
    }

    private mutating func recheckMount(_ root: Int, _ path: BytePath) {
        var node = state.tree.roots[root].top
        for name in path.components {
            let name = state.tree.intern(name)
            guard let child = state.tree.directories.child(of: node, named: name) else {
                return state.schedule(node, name, Hints(signs: []))
            }
            node = child
        }
        // Opened, not looked up: the roots of any two disks have the same inode number.
        state.survey(node, isRecursive: true)
    }

    /// Declares that a watch on the same instance is not of a tree, or no longer so. Its records go to the output.
    package mutating func setForeign(_ watch: Int32, _ isForeign: Bool) { state.watches.setForeign(watch, isForeign) }

    /// Whether ``age()`` has to be called in a moment.
    package var isWaiting: Bool { state.isWaiting }

    /// Ends what has waited for another event since the last call.
    package mutating func age() {
        EventHandling.age(in: &state)
        DirectoryHandling.age(in: &state)
    }
}

// MARK: - Roots

extension TreeCore {
    /// Requests that every root is opened; its first reconciliation carries the ticket.
    package mutating func start(ticket: UInt64?) {
        for root in state.roots.indices {
            state.roots[root].comparison.request(at: state.now) { $0.tickets = ticket.map { [$0] } ?? [] }
            RootPathHandling.recheck(root, in: &state)
        }
    }

    /// Applies a result of file work. Results of one root come in the order of its requests.
    package mutating func apply(_ result: WorkResult, root: Int, epoch: UInt32) {
        switch result {
        case .located(let path): state.roots[root].mountPath = path
        case .traced(let path): RootPathHandling.applyTraced(path, of: root, in: &state)
        case .unwatched(let removed): for watch in removed { WatchHandling.end(watch, in: &state) }
        case .surveyed(let id, let findings, let isComplete):
            SurveyHandling.apply(findings, of: id, isComplete: isComplete, root: root, in: &state)
        case _ where epoch != state.roots[root].epoch: break
        case .lookedUp(let observations): LookupHandling.apply(observations, root: root, in: &state)
        case .checked: state.endOpening(root)
        case .adopted(let identity): RootHandling.adopt(identity, as: root, policy, in: &state)
        case .lost(let loss): RootHandling.lose(root, loss, in: &state)
        }
    }

    /// Checks all roots, every few seconds, and begins the polls and audits that are due; every poll is due if `isPaced` is
    /// false. `hasQueuedRecords` if the kernel's queue is not empty.
    package mutating func tick(isPaced: Bool, hasQueuedRecords: Bool = false) {
        for root in state.roots.indices {
            if state.roots[root].isLive {
                ComparisonHandling.tick(root, isPaced: isPaced, hasQueuedRecords: hasQueuedRecords, in: &state)
            } else {
                RootPathHandling.recheck(root, in: &state)
            }
        }
    }

    /// Requests that a root is compared with its tree; the result carries the ticket given.
    package mutating func reconcile(_ root: Int, ticket: UInt64?) {
        ComparisonHandling.request(root, ticket: ticket, in: &state)
    }
}

// MARK: - The receiver

extension TreeCore {
    /// The receiver has processed a file with this identity; nil for what is no regular file.
    package mutating func acknowledge(
        _ root: Int, _ path: BytePath, _ identity: FileIdentity?, isLeftAlone: Bool = false
    ) {
        RootHandling.acknowledge(root, path, identity, isLeftAlone: isLeftAlone, in: &state)
    }

    /// The receiver does not want a file known any more.
    package mutating func forget(_ root: Int, _ path: BytePath) { RootHandling.forget(root, path, in: &state) }

    /// The memories of a root: of the directory that is at its path, or was last, and of those before.
    package func memories(of root: Int) -> [RootMemory] { state.memories(of: root) }

    /// Replaces the memories of a root that was not opened yet.
    package mutating func replaceMemories(of root: Int, by memories: [RootMemory]) {
        state.roots[root].memories = memories
        state.tree.noteMemoryChange()
    }

    /// Directories of all roots that are polled because inotify(7) had no watch for them; nil if there are none.
    package var shortage: WatchShortage? {
        // Where events would not come, no watch is missing.
        let lacking = state.tree.roots.indices.filter {
            state.roots[$0].isLive && !state.tree.roots[$0].polled.isEmpty && !state.tree.roots[$0].changesElsewhere
        }.map { state.tree.roots[$0] }
        return WatchShortage(failures: lacking.map(\.watchFailure), polled: lacking.reduce(0) { $0 + $1.polled.count })
    }
}
