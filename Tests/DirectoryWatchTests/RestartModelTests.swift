import FileValues
import LinuxKernel
import TestSupport
import Testing

@testable import DirectoryWatch
@testable import WatchCore

/// The model with restarts in between: programs go on while no watch runs.
private struct RestartModel {
    var model = Model()
    let fileSystem: FileSystem
    /// The last saved memory; later changes are lost in a crash.
    private var saved = WatchMemory()
    var reported = 0

    init(_ fileSystem: FileSystem) {
        self.fileSystem = fileSystem
        begin(with: WatchMemory())
    }

    var rule: IdentityRule { IdentityRule(fileSystem) }

    /// Acknowledges a share of the reported files.
    mutating func acknowledge(_ share: Double, using numbers: inout SeededGenerator) {
        for (place, entry) in model.receiver.entries.sorted(by: { $0.key.path < $1.key.path }) {
            guard Double.random(in: 0..<1, using: &numbers) < share else { continue }
            let root = model.core.state.tree.roots.firstIndex { $0.id == place.root } ?? 0
            switch entry {
            case .finished(let identity): model.core.acknowledge(root, place.path, identity)
            case .special: model.core.acknowledge(root, place.path, nil)
            case .writing: break
            }
        }
    }

    mutating func save() throws {
        var memory = WatchMemory()
        for (place, root) in model.core.state.tree.roots.enumerated() {
            memory.roots[root.id] = model.core.memories(of: place)
        }
        saved = try WatchMemory(decoding: memory.encoded())
    }

    /// Ends the watch as a crash does; programs go on; another begins with the last saved memory.
    mutating func restart(while steps: [ModelStep]) {
        for inode in model.kernel.inodes.keys { model.kernel.inodes[inode]?.watch = nil }
        for step in steps where step.kind.isOfPrograms { model.perform(step) }
        if !rule.countsInodes { model.kernel.renumber() }
        model.kernel.queue = []
        begin(with: saved)
    }

    private mutating func begin(with memory: WatchMemory) {
        reported += model.receiver.changes
        model.core = TreeCore(roots: ["x", "y"], memories: memory.roots)
        model.workers = [FakeWorker(root: 0), FakeWorker(root: 1)]
        model.results = HeldResults()
        model.receiver = Receiver()
        for place in model.workers.indices {
            model.workers[place].fileSystem = fileSystem
        }
        recallInReceiver(memory)
        reported -= model.receiver.changes
        model.core.start(ticket: nil)
        model.pump()
    }

    /// The receiver knows the files that it acknowledged, and no others.
    private mutating func recallInReceiver(_ memory: WatchMemory) {
        for (id, memories) in memory.roots {
            guard let top = model.core.state.tree.roots.firstIndex(where: { $0.id == id }).map({ FakeKernel.tops[$0] })
            else {
                continue
            }
            var paths: [BytePath] = []
            var notices: [WatchNotice] = []
            memories.first?.forEach(
                directory: { parent, name, _ in
                    paths.append(parent.map { paths[$0].appending(name) } ?? "")
                    if parent != nil {
                        notices.append(WatchNotice(root: id, path: paths[paths.count - 1], kind: .directoryAppeared))
                    }
                },
                entry: { entry in
                    let path = paths[paths.count - 1].appending(entry.name)
                    // The number that it has now, if that is all that is new.
                    let now = model.kernel.find(top, path).map { model.kernel.identity($0) }
                    let identity = now.flatMap { rule.isSame($0, entry.identity) ? $0 : nil } ?? entry.identity
                    let kind: WatchNotice.Kind = entry.kind == .regular ? .finished(.found) : .notRegular(entry.kind)
                    notices.append(WatchNotice(root: id, path: path, kind: kind, identity: identity))
                })
            for notice in notices {
                model.receiver.apply(notice, closes: notice.identity.flatMap { model.kernel.closes[$0.inode] } ?? 0)
            }
        }
    }
}

extension ModelStep.Kind {
    /// Whether it happens without a watch, too.
    fileprivate var isOfPrograms: Bool {
        switch self {
        case .events, .events2, .work, .work2, .work3, .results, .results2, .age, .tick, .reconcile, .watchLimit: false
        default: true
        }
    }
}

extension FakeKernel {
    /// Mounted anew where numbers are made up: everything but the tops has another.
    fileprivate mutating func renumber() {
        let tops = Set(Self.tops + [Self.outside])
        func other(_ number: UInt64) -> UInt64 { tops.contains(number) ? number : number + 100_003 }
        var renumbered: [UInt64: Inode] = [:]
        for (number, var inode) in inodes {
            inode.entries = inode.entries.mapValues(other)
            renumbered[other(number)] = inode
        }
        inodes = renumbered
        open = open.map { Open(inode: other($0.inode), directory: other($0.directory), name: $0.name) }
    }
}

@Suite("After a restart only changes since the last watch are reported", .tags(.heavy))
struct RestartModelTests {
    private static func steps(_ count: ClosedRange<Int>, using numbers: inout SeededGenerator) -> [ModelStep] {
        (0..<Int.random(in: count, using: &numbers)).map { _ in
            ModelStep(
                kind: ModelStep.Kind.allCases.randomElement(using: &numbers) ?? .create,
                a: Int.random(in: 0..<1000, using: &numbers), b: Int.random(in: 0..<1000, using: &numbers))
        }
    }

    private static let ext4 = FileSystem(type: 0xEF53, identifier: 1)
    private static let vfat = FileSystem(type: 0x4D44, identifier: 1)

    @Test(
        "Random sequences with restarts, crashes, old memories and partial acknowledgement: the notices agree with the directory",
        arguments: 0..<ModelTests.seeds)
    func sequence(seed: Int) throws {
        var numbers = SeededGenerator(seed: UInt64(seed) + 1 << 32)
        var run = RestartModel(seed.isMultiple(of: 4) ? Self.vfat : Self.ext4)
        for _ in 0..<4 {
            for step in Self.steps(5...80, using: &numbers) { run.model.perform(step) }
            run.acknowledge(.random(in: 0...1, using: &numbers), using: &numbers)
            // Without, it crashes with an older memory.
            if Bool.random(using: &numbers) { try run.save() }
            run.restart(while: Self.steps(0...20, using: &numbers))
        }
        for step in Self.steps(5...80, using: &numbers) { run.model.perform(step) }
        let rests = run.model.drain()
        #expect(rests)
        let faults = run.model.faults()
        #expect(faults.isEmpty, "seed \(seed): \(faults.joined(separator: "; "))")
    }

    @Test("With all files acknowledged and no changes, a restart reports nothing", arguments: 0..<ModelTests.seeds)
    func silence(seed: Int) throws {
        var numbers = SeededGenerator(seed: UInt64(seed) + 1 << 33)
        var run = RestartModel(seed.isMultiple(of: 2) ? Self.vfat : Self.ext4)
        for step in Self.steps(5...150, using: &numbers) { run.model.perform(step) }
        for _ in 0..<3 {
            let rests = run.model.drain()
            #expect(rests)
            run.acknowledge(1, using: &numbers)
            try run.save()
            let before = run.reported + run.model.receiver.changes
            run.restart(while: [])
            let restsAgain = run.model.drain()
            #expect(restsAgain)
            let faults = run.model.faults()
            #expect(faults.isEmpty, "seed \(seed): \(faults.joined(separator: "; "))")
            #expect(run.reported + run.model.receiver.changes == before, "seed \(seed)")
        }
    }
}
