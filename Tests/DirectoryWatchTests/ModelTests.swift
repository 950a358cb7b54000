import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import DirectoryWatch
@testable import WatchCore

/// One thing that a program, the kernel, a worker or the clock does; the numbers pick what to do it to, whatever is
/// there, so that a sequence stays meaningful when parts of it are left out.
struct ModelStep: CustomStringConvertible {
    enum Kind: Int, CaseIterable {
        case create, create2, write, close, makeDirectory, makeDeep, remove, rename, rename2, moveOut, moveIn, exchange
        case link, burst, watchLimit
        case events, events2, work, work2, work3, results, results2, age, tick, reconcile
    }

    let kind: Kind
    let a: Int
    let b: Int

    var description: String { "(.\(kind), \(a), \(b))" }
}

/// The core over the fake kernel, step by step.
struct Model {
    var kernel = FakeKernel()
    var core: TreeCore
    var workers = [FakeWorker(root: 0), FakeWorker(root: 1)]
    var receiver = Receiver()
    var lastReports: [Reconciliation] = []
    var ticks = 0
    var results = HeldResults<(Int, UInt32, WorkResult)>()

    init() {
        core = TreeCore(roots: ["x", "y"])
        core.start(ticket: nil)
        pump()
    }

    mutating func pump() {
        let output = core.endTurn()
        for (root, epoch, request) in output.work { workers[root].submit(request, epoch: epoch) }
        for notice in output.notices {
            receiver.apply(notice, closes: notice.identity.flatMap { kernel.closes[$0.inode] } ?? 0)
        }
        lastReports += output.reconciled.map(\.outcome)
    }

    /// Records count as one byte each.
    private mutating func apply(_ records: some Collection<EventRecord>) {
        for record in records { core.apply(record) }
        for (root, epoch, result) in results.advance(by: records.count) { core.apply(result, root: root, epoch: epoch) }
    }

    private mutating func apply(_ result: WorkResult, root: Int, epoch: UInt32) {
        if let due = results.add((root, epoch, result), queued: kernel.queue.count) {
            core.apply(due.2, root: due.0, epoch: due.1)
        }
    }

    private func directory(_ number: Int) -> UInt64 {
        let all = FakeKernel.tops.flatMap { kernel.directories(below: $0) }
        return all[number % all.count].inode
    }

    private func entry(_ number: Int, in directory: UInt64) -> String? {
        let names = (kernel.inodes[directory]?.entries.keys).map { $0.sorted() } ?? []
        return names.isEmpty ? nil : names[number % names.count]
    }

    private static let names = ["a", "b", "c", "d"]

    mutating func perform(_ step: ModelStep) {
        let name = Self.names[step.b % Self.names.count]
        let here = directory(step.a)
        switch step.kind {
        case .create, .create2: kernel.create(here, name)
        case .write: kernel.write(step.a)
        case .close: kernel.close(step.a)
        case .makeDirectory: kernel.makeDirectory(here, name)
        case .makeDeep:
            var at = here
            for depth in 0..<(1 + step.b % 4) {
                kernel.makeDirectory(at, "deep")
                guard let next = kernel.inodes[at]?.entries["deep"] else { return }
                kernel.create(next, "f\(depth)")
                kernel.close(kernel.open.count - 1 < 0 ? 0 : kernel.open.count - 1)
                at = next
            }
        case .remove:
            if let name = entry(step.b, in: here) { kernel.remove(here, name, parentFirst: step.b % 2 == 0) }
        case .rename, .rename2, .exchange:
            guard let old = entry(step.b, in: here) else { return }
            let there = directory(step.a / 7 + step.b)
            let new = step.kind == .exchange ? entry(step.b / 5, in: there) : Self.names[(step.b / 3) % 4]
            if let new { kernel.rename(here, old, there, new, isExchange: step.kind == .exchange) }
        case .moveOut:
            if let old = entry(step.b, in: here) {
                kernel.rename(here, old, FakeKernel.outside, "o\(step.b % 3)", isExchange: false)
            }
        case .moveIn:
            if let old = entry(step.b, in: FakeKernel.outside) {
                kernel.rename(FakeKernel.outside, old, here, name, isExchange: false)
            }
        case .link: kernel.create(here, "l\(step.b % 2)", isLink: true)
        case .watchLimit: kernel.watchLimit = step.b % 2 == 0 ? .max : step.a % 8
        case .burst:
            for number in 0..<(step.b % 40) {
                kernel.create(here, "n\(number % 7)")
                if !kernel.open.isEmpty { kernel.close(kernel.open.count - 1) }
                if number % 5 == 0 { kernel.remove(here, "n\(number % 3)", parentFirst: true) }
            }
        case .events, .events2:
            let count = min(kernel.queue.count, 1 + step.a % 6)
            let records = Array(kernel.queue.prefix(count))
            kernel.queue.removeFirst(count)
            apply(records)
            pump()
        case .work, .work2, .work3:
            for _ in 0...(step.b % 4) { workers[step.a % 2].step(&kernel) }
        case .results, .results2:
            guard let (epoch, result) = workers[step.a % 2].removeResult() else { return }
            apply(result, root: step.a % 2, epoch: epoch)
            pump()
        case .age:
            core.age()
            pump()
        case .tick:
            ticks += 1
            core.tick(isPaced: false)
            pump()
        case .reconcile:
            core.reconcile(step.a % 2, ticket: nil)
            pump()
        }
    }

    /// Closes all open files, then lets everything run until nothing is left to do. False if that never comes.
    mutating func drain() -> Bool {
        while !kernel.open.isEmpty { kernel.close(0) }
        guard rest() else { return false }
        // What could not be watched is polled, and watched as soon as it can be.
        kernel.watchLimit = .max
        ticks += 1
        core.tick(isPaced: false)
        pump()
        return rest()
    }

    private mutating func rest() -> Bool {
        for round in 0..<20_000 {
            if kernel.queue.isEmpty, workers.allSatisfy(\.isIdle) {
                pump()
                if !workers.allSatisfy(\.isIdle) { continue }
                guard core.isWaiting else { return true }
                core.age()
                pump()
                continue
            }
            let records = kernel.queue
            kernel.queue = []
            apply(records)
            pump()
            for root in workers.indices {
                workers[root].step(&kernel)
                if let (epoch, result) = workers[root].removeResult() {
                    apply(result, root: root, epoch: epoch)
                    pump()
                }
            }
            if round % 64 == 63 {
                core.age()
                pump()
            }
        }
        return false
    }

    /// Everything that is wrong now that nothing is left to do.
    func faults() -> [String] {
        var faults = receiver.complaints
        var files: [Receiver.Place: Receiver.Entry] = [:]
        var directories: Set<Receiver.Place> = []
        for (root, top) in FakeKernel.tops.enumerated() {
            let id = core.state.tree.roots[root].id
            for (path, number) in kernel.directories(below: top) {
                if !path.isEmpty { directories.insert(Receiver.Place(root: id, path: path)) }
                guard let inode = kernel.inodes[number] else { continue }
                for (name, child) in inode.entries where kernel.inodes[child]?.isDirectory == false {
                    files[Receiver.Place(root: id, path: path.appending(BytePath(name)))] =
                        kernel.inodes[child]?.isLink == true ? .special : .finished(kernel.identity(child))
                }
                guard let node = core.state.tree.find(root, path) else {
                    faults.append("\(id)/\(path) is not in the table")
                    continue
                }
                if inode.watch == nil || core.state.tree[node].watch != inode.watch {
                    faults.append(
                        "\(id)/\(path) has watch \(inode.watch ?? -1), the table \(core.state.tree[node].watch)")
                } else if core.state.owner(of: core.state.tree[node].watch) != node {
                    faults.append("\(id)/\(path) does not own its watch")
                }
            }
        }
        for (place, entry) in files where receiver.entries[place] != entry {
            faults.append(
                "\(place.root)/\(place.path) is \(entry), reported \(String(describing: receiver.entries[place]))")
        }
        for place in receiver.entries.keys where files[place] == nil { faults.append("reported \(place), not there") }
        for place in directories.symmetricDifference(receiver.directories) {
            faults.append("directory \(place.root)/\(place.path): reported or there, not both")
        }
        let watched = kernel.inodes.values.count { $0.watch != nil }
        if watched != directories.count + 2 { faults.append("\(watched) watches for \(directories.count + 2)") }
        if core.state.tree.directories.count != directories.count + 2 {
            faults.append("\(core.state.tree.directories.count) directories in the table")
        }
        if core.state.tree.roots.map(\.directories).reduce(0, +) != core.state.tree.directories.count {
            faults.append("directories miscounted")
        }
        if core.state.tree.roots.map(\.watched).reduce(0, +) != watched { faults.append("watches miscounted") }
        if core.state.tree.roots.map(\.files).reduce(0, +) != files.count { faults.append("files miscounted") }
        return faults
    }

    /// What is wrong after a sequence; empty if nothing.
    static func run(_ steps: [ModelStep]) -> [String] {
        var model = Model()
        for step in steps { model.perform(step) }
        guard model.drain() else { return ["never comes to rest"] }
        let faults = model.faults()
        if !faults.isEmpty { return faults }
        // And now a reconciliation has nothing to say.
        let before = model.receiver.changes
        let reports = model.lastReports.count
        for root in model.workers.indices { model.core.reconcile(root, ticket: nil) }
        model.pump()
        guard model.drain() else { return ["never comes to rest after reconciling"] }
        if model.receiver.changes != before { return ["a reconciliation without differences reported some"] }
        if model.lastReports.count != reports + 2 { return ["reconciliations without end"] }
        return model.faults()
    }

    /// The same fault with as few steps as can be found by leaving out.
    static func shrink(_ steps: [ModelStep]) -> [ModelStep] {
        var best = steps
        var size = max(1, best.count / 2)
        while true {
            var start = 0
            while start < best.count {
                var shorter = best
                shorter.removeSubrange(start..<min(start + size, best.count))
                if run(shorter).isEmpty { start += size } else { best = shorter }
            }
            if size == 1 { return best }
            size = max(1, size / 2)
        }
    }
}

@Suite("After any sequence of operations the notices agree with the directory", .tags(.heavy))
struct ModelTests {
    /// More with `PHOTOINBOX_SEEDS`.
    static let seeds = RealModelTests.number("PHOTOINBOX_SEEDS") ?? 1_000

    @Test("Random operations of programs, kernel, workers and clock", arguments: 0..<Self.seeds)
    func sequence(seed: Int) {
        var numbers = SeededGenerator(seed: UInt64(seed))
        let steps = (0..<Int.random(in: 20...250, using: &numbers)).map { _ in
            ModelStep(
                kind: ModelStep.Kind.allCases.randomElement(using: &numbers) ?? .create,
                a: Int.random(in: 0..<1000, using: &numbers), b: Int.random(in: 0..<1000, using: &numbers))
        }
        let faults = Model.run(steps)
        if faults.isEmpty { return }
        let least = Model.shrink(steps)
        Issue.record("seed \(seed): \(Model.run(least).joined(separator: "; "))\nof \(least)")
    }
}
