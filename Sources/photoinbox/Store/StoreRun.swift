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
            do throws(StoreFailure) {
                switch work {
                case .copy: return
                case .compare, .bringBack: try await store.requireBucket()
                // What a server does not keep is removed from the library by nobody.
                case .move: _ = try await store.test()
                }
            } catch {
                state.withLock { ($0.failure, $0.failuresInARow) = (error, StoreRun.width) }
            }
        }

        func run() async {
            while !state.withLock({ $0.isOver }) {
                do throws(CatalogueError) {
                    guard let item = try source.next() else { return }
                    await handle(item)
                } catch { state.withLock { $0.error = error } }
            }
        }

        private func handle(_ item: StoreItem) async {
            do throws(StoreFailure) {
                var (isCopied, isMoved) = (false, false)
                var found: StoredObject
                switch work {
                case .bringBack(let target): found = try await target.fetch(item, from: store) ? .same : .missing
                case .compare: found = try await store.compare(item)
                case .copy, .move:
                    found = try await store.compare(item)
                    if found == .missing {
                        found = try await store.put(item)
                        isCopied = found == .same
                    }
                }
                if found == .same, case .move(let mover) = work {
                    if try await store.holds(item) {
                        try await mover.move(item)
                        isMoved = true
                    } else {
                        found = .other("its object has other bytes than the server says")
                    }
                }
                state.withLock { state in
                    state.bytes += item.size
                    state.failuresInARow = 0
                    switch found {
                    case .same where isMoved: state.moved += 1
                    case .same: if isCopied { state.copied += 1 } else { state.same += 1 }
                    case .missing: state.add("missing", item.path, nil)
                    case .other(let reason): state.add("different", item.path, reason)
                    }
                }
            } catch {
                state.withLock { state in
                    state.add("skipped", item.path, error.reason)
                    if error.scope == .object { return }
                    // A server may refuse one object for ever, and have the others.
                    state.failuresInARow += 1
                    if state.failure == nil { state.failure = error }
                }
            }
        }
    }

    private func showFaults() throws {
        let faults = state.withLock { state in
            defer { state.faults = [] }
            return state.faults
        }
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
