import FileValues
import Glibc
import LinuxKernel
import Testing

@testable import DirectoryWatch

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
    /// Notices without an identity.
    var heard = 0
    /// Reads that told of one file alone.
    var alone = 0
    /// Files that were told before the core heard of them.
    var toldEarly = 0
    private var early = EarlyTelling()
    private let earlyLines = Locked<[[UInt8]]>([])

    /// - Parameter identifiesFiles: Otherwise the receiver looks at files itself, and files may be told by events alone.
    init(identifiesFiles: Bool = true) {
        core = TreeCore(roots: ["x", "y"], identifiesFiles: identifiesFiles)
        for root in core.roots.indices { core.roots[root].hasNoRule = true }
        early.teller = EarlyTeller(
            frame: { root, directory in (Array("\(root) ".utf8) + directory, []) },
            write: { [earlyLines] line in
                earlyLines.withLock { $0.append(Array(line)) }
                return true
            })
        core.start(ticket: nil)
        pump()
    }

    mutating func pump() {
        core.flush()
        for (root, epoch, request) in core.output.work { workers[root].submit(request, epoch: epoch) }
        for notice in core.output.notices { receiver.take(identified(notice)) }
        lastReports += core.output.reconciled.map(\.outcome)
        core.output = TreeCore.Output()
    }

    /// What was told without a look, the receiver looks at; what is gone again, or closed later, events tell of.
    private mutating func identified(_ notice: WatchNotice) -> WatchNotice {
        switch notice.kind {
        case .finished, .renamed: break
        default: return notice
        }
        guard notice.identity == nil, let root = core.roots.firstIndex(where: { $0.id == notice.root }) else {
            return notice
        }
        heard += 1
        let identity = kernel.find(FakeKernel.tops[root], notice.path).map { kernel.identity($0) }
        return WatchNotice(
            root: notice.root, path: notice.path, kind: notice.kind,
            identity: identity
                ?? FileIdentity(
                    inode: 0, size: 0, modified: FileTime(seconds: 0, nanoseconds: 0),
                    changed: FileTime(seconds: 0, nanoseconds: 0)))
    }

    private mutating func take(_ records: some Collection<EventRecord>) {
        if records.isEmpty { return }
        let (isAll, readAt) = (
            records.count == kernel.queue.count, FileTime(seconds: kernel.clock, nanoseconds: 1)
        )
        let bytes = records.flatMap(Self.asKernelWrites)
        if isAll, tellEarly(bytes, at: readAt) { return }
        settle()
        core.beginRead(at: readAt, isAll: isAll)
        if let file = bytes.withUnsafeBytes({ core.takeAlone(InotifyRecords($0)) }) {
            alone += file.records == records.count ? 1 : 0
            early.grant(file.permit)
        } else {
            for record in records { core.take(record) }
        }
    }

    private mutating func tellEarly(_ bytes: [UInt8], at readAt: FileTime) -> Bool {
        let isTaken = bytes.withUnsafeBytes { bytes in
            if case .refused = early.take(bytes, now: { readAt }) { false } else { true }
        }
        for line in earlyLines.withLock({ lines in
            defer { lines = [] }
            return lines
        }) {
            toldEarly += 1
            let root = core.roots[Int(line[0] - UInt8(ascii: "0"))].id
            receiver.take(
                identified(
                    WatchNotice(root: root, path: BytePath(line.dropFirst(2)), kind: .finished(.closeWrite))))
        }
        return isTaken
    }

    /// Before anything else is done with the core.
    mutating func settle() {
        if let account = early.settle() { core.take(account) }
    }

    /// A record as inotify(7) describes it.
    private static func asKernelWrites(_ record: EventRecord) -> [UInt8] {
        let padded = record.name.isEmpty ? 0 : (record.name.bytes.count / 16 + 1) * 16
        let header = [UInt32(bitPattern: record.watch), record.mask.rawValue, record.cookie, UInt32(padded)]
        let padding = [UInt8](repeating: 0, count: padded - record.name.bytes.count)
        return header.withUnsafeBytes { Array($0) } + record.name.bytes + padding
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
            take(kernel.queue.prefix(count))
            kernel.queue.removeFirst(count)
            pump()
        case .work, .work2, .work3:
            for _ in 0...(step.b % 4) { workers[step.a % 2].step(&kernel) }
        case .results, .results2:
            guard let (epoch, result) = workers[step.a % 2].takeResult() else { return }
            settle()
            core.take(result, root: step.a % 2, epoch: epoch)
            pump()
        case .age:
            settle()
            core.age()
            pump()
        case .tick:
            ticks += 1
            settle()
            core.tick(isPaced: false)
            pump()
        case .reconcile:
            settle()
            core.reconcile(step.a % 2, ticket: nil)
            pump()
        }
    }

    /// Closes what is open, then lets everything run until nothing is left to do. False if that never comes.
    mutating func drain() -> Bool {
        while !kernel.open.isEmpty { kernel.close(0) }
        guard rest() else { return false }
        // What could not be watched is polled, and watched as soon as it can be.
        kernel.watchLimit = .max
        ticks += 1
        settle()
        core.tick(isPaced: false)
        pump()
        return rest()
    }

    private mutating func rest() -> Bool {
        for round in 0..<20_000 {
            if kernel.queue.isEmpty, workers.allSatisfy(\.isIdle) {
                if early.release() { settle() }
                pump()
                if !workers.allSatisfy(\.isIdle) { continue }
                settle()
                guard core.isHolding else { return true }
                core.age()
                pump()
                continue
            }
            take(kernel.queue)
            kernel.queue = []
            pump()
            for root in workers.indices {
                workers[root].step(&kernel)
                if let (epoch, result) = workers[root].takeResult() {
                    settle()
                    core.take(result, root: root, epoch: epoch)
                    pump()
                }
            }
            if round % 64 == 63 {
                settle()
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
            let id = core.roots[root].id
            for (path, number) in kernel.directories(below: top) {
                if !path.isEmpty { directories.insert(Receiver.Place(root: id, path: path)) }
                guard let inode = kernel.inodes[number] else { continue }
                for (name, child) in inode.entries where kernel.inodes[child]?.isDirectory == false {
                    files[Receiver.Place(root: id, path: path.appending(BytePath(name)))] =
                        kernel.inodes[child]?.isLink == true ? .special : .finished(kernel.identity(child))
                }
                guard let node = core.find(root, path) else {
                    faults.append("\(id)/\(path) is not in the table")
                    continue
                }
                if inode.watch == nil || core.table[node].watch != inode.watch {
                    faults.append("\(id)/\(path) has watch \(inode.watch ?? -1), the table \(core.table[node].watch)")
                } else if core.owner(of: core.table[node].watch) != node {
                    faults.append("\(id)/\(path) does not own its watch")
                }
            }
        }
        for (place, entry) in files where receiver.entries[place] != entry {
            faults.append(
                "\(place.root)/\(place.path) is \(entry), told \(String(describing: receiver.entries[place]))")
        }
        for place in receiver.entries.keys where files[place] == nil { faults.append("told \(place), not there") }
        for place in directories.symmetricDifference(receiver.directories) {
            faults.append("directory \(place.root)/\(place.path): told or there, not both")
        }
        let watched = kernel.inodes.values.count { $0.watch != nil }
        if watched != directories.count + 2 { faults.append("\(watched) watches for \(directories.count + 2)") }
        if core.table.count != directories.count + 2 { faults.append("\(core.table.count) directories in the table") }
        if core.roots.map(\.directories).reduce(0, +) != core.table.count { faults.append("directories miscounted") }
        if core.roots.map(\.watched).reduce(0, +) != watched { faults.append("watches miscounted") }
        if core.roots.map(\.knownFiles).reduce(0, +) != files.count { faults.append("files miscounted") }
        return faults
    }

    /// What is wrong after a sequence; empty if nothing.
    static func run(_ steps: [ModelStep], identifiesFiles: Bool = true) -> [String] {
        var model = Model(identifiesFiles: identifiesFiles)
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
        if model.receiver.changes != before { return ["a reconciliation without differences told some"] }
        if model.lastReports.count != reports + 2 { return ["reconciliations without end"] }
        return model.faults()
    }

    /// The same fault with as few steps as can be found by leaving out.
    static func shrink(_ steps: [ModelStep], identifiesFiles: Bool = true) -> [ModelStep] {
        var best = steps
        var size = max(1, best.count / 2)
        while true {
            var start = 0
            while start < best.count {
                var shorter = best
                shorter.removeSubrange(start..<min(start + size, best.count))
                if run(shorter, identifiesFiles: identifiesFiles).isEmpty { start += size } else { best = shorter }
            }
            if size == 1 { return best }
            size = max(1, size / 2)
        }
    }
}

/// SplitMix64: the same numbers from the same seed.
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

@Suite("Whatever happens, in whatever order, the notices agree with the directory")
struct ModelTests {
    /// More with `PHOTOINBOX_SEEDS`.
    static let seeds = RealModelTests.number("PHOTOINBOX_SEEDS") ?? 1_000

    @Test("Random sequences of what programs, kernel, workers and clock do", arguments: 0..<Self.seeds)
    func sequence(seed: Int) {
        var numbers = SeededNumbers(state: UInt64(seed))
        let steps = (0..<Int.random(in: 20...250, using: &numbers)).map { _ in
            ModelStep(
                kind: ModelStep.Kind.allCases.randomElement(using: &numbers) ?? .create,
                a: Int.random(in: 0..<1000, using: &numbers), b: Int.random(in: 0..<1000, using: &numbers))
        }
        for identifiesFiles in [true, false] {
            let faults = Model.run(steps, identifiesFiles: identifiesFiles)
            if faults.isEmpty { continue }
            let least = Model.shrink(steps, identifiesFiles: identifiesFiles)
            let leastFaults = Model.run(least, identifiesFiles: identifiesFiles).joined(separator: "; ")
            Issue.record("seed \(seed)\(identifiesFiles ? "" : " without identities"): \(leastFaults)\nof \(least)")
        }
    }
}
