import Dispatch
import FileValues
import Filing
import LinuxKernel
import SystemPackage

/// The copies of some sets, which are synced together.
struct ImportBatch: Sendable {
    var copies: [ImportCopy] = []
    var bytes: UInt64 = 0
    /// Bounds the number of open descriptors, and the work that a crash can lose.
    static let most = (copies: 40, bytes: UInt64(192) << 20)
    var isFull: Bool { copies.count >= Self.most.copies || bytes >= Self.most.bytes }

    mutating func add(_ copy: ImportCopy) {
        copies.append(copy)
        bytes += copy.source.size
    }
}

/// The second thread: syncs a batch, reads it again, compares, and names the files, while the next batch is copied.
final class ImportFinisher: Sendable {
    private struct State {
        var batches: [ImportBatch] = []
        var isEnding = false
        var isAbandoned = false
        var findings: [ImportFinding] = []
        var run: BytePath?
        /// Keeps other runs from removing that directory while it is empty.
        var hold: HeldDescriptor?
    }

    private let plan: ImportPlan
    private let root: OwnedDescriptor
    private let inbox: ImportInbox
    private let memory: ImportMemory?
    private let knowledge: ImportKnowledge
    private let date: String
    private let state = Locked(State())
    private let hasWork = DispatchSemaphore(value: 0)
    /// Permits one waiting batch, while another one is processed.
    private let waitingSlot = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// `date` names the directory of a new run: 2026-11-22.
    init(
        _ plan: ImportPlan, root: consuming OwnedDescriptor, inbox: ImportInbox, knowledge: ImportKnowledge,
        memory: ImportMemory?, date: String
    ) throws(SystemCallError) {
        self.root = root
        (self.plan, self.inbox, self.knowledge) = (plan, inbox, knowledge)
        (self.memory, self.date) = (memory, date)
        // Not as the initial value: libdispatch traps if a semaphore is released with less than that.
        waitingSlot.signal()
        if let run = memory?.unfinishedRun { state.withLock { $0.run = run } }
        try startThread(named: "import-finish") { [self] in
            work()
            ended.signal()
        }
    }

    /// This run's directory, relative to the inbox; nil before the first photo.
    var run: BytePath? { state.withLock { $0.run } }

    /// Adds a batch; blocks while the previous one waits, until `isAbandoned` is true.
    func add(_ batch: ImportBatch, _ isAbandoned: () throws -> Bool) throws {
        guard !batch.copies.isEmpty else { return }
        while waitingSlot.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            if try isAbandoned() { throw ImportAbandoned() }
        }
        state.withLock { $0.batches.append(batch) }
        hasWork.signal()
    }

    /// Releases the directory of this run, so that it can be removed once it is empty.
    func releaseDirectory() { state.withLock { $0.hold = nil } }

    /// Returns the findings since the last call.
    func removeFindings() -> [ImportFinding] {
        state.withLock { $0.findings.takeAll() }
    }

    /// Waits for all batches. Once `isAbandoned` is true, no more copies get names.
    func finish(_ isAbandoned: () throws -> Bool) throws {
        state.withLock { $0.isEnding = true }
        hasWork.signal()
        while ended.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            if try isAbandoned() { return }
        }
        ended.signal()
    }

    /// Stops the thread, and waits for its end.
    func abandon() {
        state.withLock { state in
            state.isEnding = true
            state.isAbandoned = true
        }
        hasWork.signal()
        ended.wait()
        ended.signal()
    }

    private var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    private func work() {
        let reader = ImportCopier { [self] in isAbandoned }
        while true {
            hasWork.wait()
            let (batch, isLast) = state.withLock { state in
                (state.batches.isEmpty ? nil : state.batches.removeFirst(), state.isEnding && state.batches.isEmpty)
            }
            if let batch {
                waitingSlot.signal()
                finish(batch, reader)
            }
            if isLast || isAbandoned { return }
        }
    }

    private func finish(_ batch: ImportBatch, _ reader: ImportCopier) {
        var sound: [ImportCopy] = []
        // Write-back of all starts before the first sync: they share the file system's commits.
        for copy in batch.copies { copy.file?.descriptor.startWriting() }
        for copy in batch.copies {
            do throws(SystemCallError) {
                try copy.file?.descriptor.sync()
                sound.append(copy)
            } catch { fail(copy, ImportFileFailure(error, "the inbox").reason) }
        }
        for copy in sound { copy.file?.descriptor.dropCachedPages() }
        sound = verified(sound, reader)
        if isAbandoned { return batch.copies.forEach { inbox.discard($0.name) } }
        let placed = place(sound)
        report(placed)
    }

    /// Reads the copies again and returns those that are equal to their sources.
    private func verified(_ copies: [ImportCopy], _ reader: ImportCopier) -> [ImportCopy] {
        var equal: [ImportCopy] = []
        for (index, copy) in copies.enumerated() {
            if copies.indices.contains(index + 1) {
                let next = copies[index + 1]
                next.file?.descriptor.adviseReadingSoon(length: min(next.source.size, ImportBatch.most.bytes / 8))
            }
            do {
                guard let file = copy.file else { continue }
                let hash = try reader.read(file.descriptor, size: copy.source.size, "the copy") {
                    _, _ throws(SystemCallError) in
                }
                if hash == copy.hash {
                    equal.append(copy)
                } else {
                    fail(copy, "the copy differs from the file when read again")
                }
            } catch let trouble as ImportFileFailure {
                fail(copy, trouble.reason)
            } catch { return [] }
        }
        return equal
    }

    /// Names the copies in their order, so that those of a set arrive together; then makes the
    /// names durable. The memory is written first: an entry without its file does no harm.
    private func place(_ copies: [ImportCopy]) -> [(ImportCopy, BytePath)] {
        guard !copies.isEmpty else { return [] }
        var placed: [(ImportCopy, BytePath)] = []
        do throws(SystemCallError) {
            let run = try currentRun()
            try memory?.add(copies.map { $0.line(as: run.appending($0.source.path)) })
            for group in grouped(copies) {
                let path = run.appending(group[0].source.directory.path)
                let directory = try inbox.openDirectory(path)
                var fresh: [(ImportCopy, BytePath)] = []
                for copy in group {
                    copy.close()
                    do throws(SystemCallError) {
                        let name = try inbox.place(copy.name, in: directory, as: copy.source.name)
                        fresh.append((copy, path.appending(name)))
                    } catch { fail(copy, ImportFileFailure(error, "the inbox").reason) }
                }
                try directory.syncDirectory()
                placed += fresh
                // Copies whose name was taken have another one.
                let others = fresh.filter { copy, path in path.name != copy.source.name }
                if !others.isEmpty { try memory?.add(others.map { copy, path in copy.line(as: path) }) }
            }
        } catch {
            let named = Set(placed.map { $0.0.name })
            for copy in copies where !named.contains(copy.name) {
                fail(copy, ImportFileFailure(error, "the inbox").reason)
            }
        }
        return placed
    }

    private func grouped(_ copies: [ImportCopy]) -> [[ImportCopy]] {
        var groups: [[ImportCopy]] = []
        for copy in copies {
            if let last = groups.last?.last, last.source.directory.path == copy.source.directory.path {
                groups[groups.count - 1].append(copy)
            } else {
                groups.append([copy])
            }
        }
        return groups
    }

    private func currentRun() throws(SystemCallError) -> BytePath {
        let (known, isHeld) = state.withLock { ($0.run, $0.hold != nil) }
        if let known {
            if isHeld { return known }
            // The directory of an earlier run that was stopped; once empty, it may have been removed.
            if let hold = inbox.lockRun(known) {
                state.withLock { $0.hold = hold }
                return known
            }
        }
        let (made, hold) = try inbox.makeRun(date: date)
        try memory?.begin(made)
        state.withLock { state in
            state.run = made
            state.hold = hold
        }
        return made
    }

    private func report(_ placed: [(ImportCopy, BytePath)]) {
        for (copy, path) in placed {
            var finding = ImportFinding(.copied, copy.source.path, size: copy.source.size, path.escaped)
            if plan.removes {
                let removal = ImportRemoval(knowledge: knowledge) { [self] in isAbandoned }
                finding.kept = removal.remove(copy.source, copy.line(as: path).1, .waiting(path), root: root)
                if finding.kept == nil { finding.source = .removed }
            }
            state.withLock { $0.findings.append(finding) }
        }
    }

    private func fail(_ copy: ImportCopy, _ reason: String) {
        inbox.discard(copy.name)
        let finding = ImportFinding(.failed, copy.source.path, size: copy.source.size, reason)
        state.withLock { $0.findings.append(finding) }
    }
}
