import Catalogue
import CommandSupport
import Dispatch
import FileValues
import Filing
import LinuxKernel
import QueueActors
import Reporting
import Storing

/// Copies, compares or brings back what a source has, some at a time, and shows what is wrong.
struct StoreRun {
    /// Requests at a time: a server that is far away answers each after a while.
    private static let width = 8

    let store: ObjectStore
    let source: StoreSource
    let work: Work
    let address: String
    /// The command that finds out whether the server does all that copies depend on.
    let test: String
    let output: OutputOptions
    let display: ProgressDisplay
    let interruption: Interruption

    fileprivate struct State {
        var copied = 0
        var moved = 0
        var same = 0
        var faulty = 0
        var bytes: UInt64 = 0
        /// What is still to be shown.
        var faults: [(word: String, path: BytePath, reason: String?)] = []
        /// The first failure of the server, the bucket or this machine, and how many there were since the last photo without one.
        var failure: StoreFailure?
        var failuresInARow = 0
        var error: CatalogueError?
        var isStopped = false

        var seen: Int { copied + moved + same + faulty }
        var isOver: Bool { isStopped || failuresInARow >= StoreRun.width || error != nil }
    }

    /// What is done with each.
    enum Work: Sendable {
        case compare
        /// Copied, if it is missing.
        case copy
        case bringBack(StoreTarget)
        /// Copied, if it is missing, read there, and removed from the library.
        case move(StoreMover)

        var isBringing: Bool { if case .bringBack = self { true } else { false } }
    }

    private let state = Locked(State())

    init(
        _ work: Work, of source: StoreSource, at address: String, test: String, by store: ObjectStore,
        output: OutputOptions, display: ProgressDisplay, interruption: Interruption
    ) {
        (self.work, self.source, self.address, self.test, self.store) = (work, source, address, test, store)
        (self.output, self.display, self.interruption) = (output, display, interruption)
    }

    func run() throws {
        let done = DispatchSemaphore(value: 0)
        let worker = Worker(store: store, source: source, work: work, state: state)
        TaskQueue.start {
            await worker.requireBucket()
            // A bucket that has no other copy after all shows that with the first one that is moved.
            if case .move = worker.work { await worker.run(untilOneIsMoved: true) }
            await withTaskGroup { group in
                for _ in 0..<Self.width { group.addTask { await worker.run() } }
            }
            done.signal()
        }
        // Signals are read here, and progress is shown.
        while done.wait(timeout: .now() + .milliseconds(200)) == .timedOut {
            let isHurrying = interruption.mustStopAtOnce()
            if interruption.isStopRequested { state.withLock { $0.isStopped = true } }
            if isHurrying { throw CommandEnd(status: .someLeft) }
            try showFaults()
            let (seen, bytes) = state.withLock { ($0.seen, $0.bytes) }
            try display.show(
                photos: seen, totalPhotos: source.total?.photos, bytes: bytes, totalBytes: source.total?.bytes,
                asked: interruption.consumeProgressRequest())
        }
        try showFaults()
        display.clear()
        let end = state.withLock { $0 }
        if let error = end.error { throw error }
        try showSummary(end)
        if case .bringBack(let target) = work, end.same > 0, !target.isFiled {
            printRemark("photoinboxd is not running; it files them when it runs", asJSON: output.json)
        }
        if let failure = end.failure { throw CommandFailure(failure, at: address, test: test) }
        if end.faulty > 0 || end.isStopped { throw CommandEnd(status: .someLeft) }
    }

    fileprivate struct Worker: Sendable {
        let store: ObjectStore
        let source: StoreSource
        let work: Work
        let state: Locked<State>

        /// Some servers make a bucket for the first object.
        func requireBucket() async {
            do {
                switch work {
                case .copy: return
                case .compare, .bringBack: try await store.requireBucket()
                // What a server does not keep is removed from the library by nobody.
                case .move: _ = try await store.test(in: try source.first()?.path.parent ?? "")
                }
            } catch let failure as StoreFailure {
                state.withLock { ($0.failure, $0.failuresInARow) = (failure, StoreRun.width) }
            } catch { state.withLock { $0.error = error as? CatalogueError } }
        }

        func run(untilOneIsMoved endsEarly: Bool = false) async {
            while !state.withLock({ $0.isOver || endsEarly && $0.moved > 0 }) {
                do throws(CatalogueError) {
                    guard let group = try source.next() else { return }
                    await handle(group)
                } catch { state.withLock { $0.error = error } }
            }
        }

        /// One after the other; of a set that is moved each object is read, and the daemon asked about each file, before the
        /// first file is removed.
        private func handle(_ group: [StoreItem]) async {
            guard case .move(let mover) = work else {
                for item in group { _ = await handle(item, step) }
                return
            }
            var ready: [StoreItem] = []
            for item in group where await handle(item, step) { ready.append(item) }
            if group.count > 1, ready.count == group.count {
                ready = []
                for item in group {
                    let isMovable = await handle(item) { item throws(StoreFailure) in
                        try await mover.move(item, isDryRun: true)
                        return (.same, nil)
                    }
                    if isMovable { ready.append(item) }
                }
            }
            var left = ready[...]
            if ready.count == group.count {
                while let item = left.popFirst(), await move(item, by: mover) {}
            }
            state.withLock { state in
                for item in left { state.add("skipped", item.path, "another file of its set stays") }
            }
        }

        /// Counts what `step` finds of an item, and in what if it is the same. Returns whether it is.
        private func handle(
            _ item: StoreItem,
            _ step: (StoreItem) async throws(StoreFailure) -> (StoredObject, WritableKeyPath<State, Int>?)
        ) async -> Bool {
            do throws(StoreFailure) {
                let (found, count) = try await step(item)
                state.withLock { state in
                    state.failuresInARow = 0
                    if let count { state.bytes += item.size; state[keyPath: count] += 1 }
                    switch found {
                    case .same: break
                    case .missing: state.add("missing", item.path, nil)
                    case .other(let reason): state.add("different", item.path, reason)
                    }
                }
                return found == .same
            } catch {
                state.withLock { state in
                    state.add("skipped", item.path, error.reason)
                    if error.scope == .object { return }
                    // A server may refuse one object for ever, and have the others.
                    state.failuresInARow += 1
                    if state.failure == nil { state.failure = error }
                }
                return false
            }
        }

        /// What the work is, but for the removal of what is moved.
        private func step(
            _ item: StoreItem
        ) async throws(StoreFailure) -> (StoredObject, WritableKeyPath<State, Int>?) {
            if case .bringBack(let target) = work {
                let isBack = try await target.fetch(item, from: store)
                return (isBack ? .same : .missing, isBack ? \.same : nil)
            }
            let found = try await store.compare(item)
            switch work {
            case .compare, .bringBack: return (found, found == .same ? \.same : nil)
            case .copy:
                guard found == .missing else { return (found, found == .same ? \.same : nil) }
                let now = try await store.put(item)
                return (now, now == .same ? \.copied : nil)
            case .move:
                let now = found == .missing ? try await store.put(item) : found
                guard now == .same else { return (now, nil) }
                let isWhole = try await store.holds(item)
                return (isWhole ? .same : .other("its object has other bytes than the server says"), nil)
            }
        }

        /// Has its file removed from the library, then looks for its object once more. Returns whether both went well.
        private func move(_ item: StoreItem, by mover: StoreMover) async -> Bool {
            let isMoved = await handle(item) { item throws(StoreFailure) in
                try await mover.move(item)
                return (.same, \.moved)
            }
            guard isMoved else { return false }
            let doubt: StoreFailure
            do throws(StoreFailure) {
                if try await store.compare(item) == .same { return true }
                doubt = StoreFailure(
                    .all, "its object is gone since its file was removed: the bucket is no other place")
            } catch {
                doubt = StoreFailure(
                    error.scope == .object ? .all : error.scope,
                    "it is moved, and cannot be seen in the bucket now: \(error.reason)")
            }
            // Nothing more is moved to this bucket.
            state.withLock { state in
                state.isStopped = true
                state.add("missing", item.path, doubt.reason)
                state.failure = state.failure ?? doubt
            }
            return false
        }
    }

    private func showFaults() throws {
        let faults = state.withLock { $0.faults.takeAll() }
        for (word, path, reason) in faults {
            if output.json {
                try printJSON(
                    [JSONField("type", "fault"), JSONField("fault", word)]
                        + JSONField.path("path", path) + [JSONField("reason", reason)])
            } else {
                display.clear()
                try printOut("\(word)  \(path)" + (reason.map { ": \(printable($0))" } ?? "") + "\n")
            }
        }
    }

    private func showSummary(_ end: State) throws {
        if output.json {
            return try printJSON([
                JSONField("type", "summary"), JSONField("copied", end.copied), JSONField("moved", end.moved),
                JSONField("same", work.isBringing ? 0 : end.same),
                JSONField("brought_back", work.isBringing ? end.same : 0),
                JSONField("faults", end.faulty), JSONField("bytes", end.bytes),
                JSONField("complete", !end.isOver),
            ])
        }
        var words =
            switch work {
            case .compare: ["\(HumanText.count(end.same)) are there, with the recorded SHA-256"]
            case .copy: ["\(HumanText.count(end.copied)) copied", "\(HumanText.count(end.same)) were there"]
            case .bringBack: ["\(HumanText.count(end.same)) brought back"]
            case .move: ["\(HumanText.count(end.moved)) moved"]
            }
        if end.faulty > 0 { words.append("\(HumanText.count(end.faulty)) not") }
        if end.isOver { words.append("stopped") }
        try printOut("\(words.joined(separator: ", "))\n")
    }
}

extension StoreRun.State {
    fileprivate mutating func add(_ word: String, _ path: BytePath, _ reason: String?) {
        faulty += 1
        faults.append((word, path, reason))
    }
}
