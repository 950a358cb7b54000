import FileValues
import LinuxKernel
import TestSupport

@testable import DirectoryWatch
@testable import WatchCore

/// Carries out one root's requests on the fake kernel in the smallest steps, so that anything may happen in between:
/// surveys in slices by two lanes, as two threads would.
struct FakeWorker {
    private struct Directory {
        let place: Int32
        let parent: Int32
        let path: BytePath
        let inode: UInt64
        let born: BirthMark
        let watch: Int32?
        let names: [String]
    }

    private struct Lane {
        var todo: [(parent: Int32, in: UInt64?, path: BytePath)] = []
        var opened: Directory?
        /// The place of its next directory; those of the two lanes are even and odd.
        var place: Int32
        /// What it found in this slice, which is reported at its end.
        var found: [Findings] = []

        var isIdle: Bool { todo.isEmpty && opened == nil }
    }

    private enum Task {
        case survey(SurveyRequest, [Lane])
        /// Opened: the directory's place in the request, and its inode if it was found.
        case lookUp(LookupRequest, done: [Observation], opened: (place: Int32, inode: UInt64?)?)
    }

    let root: Int
    let top: UInt64
    /// What its root is reported to lie on.
    var fileSystem = FileSystem(type: 0xEF53, identifier: 1)
    private var requests: [(epoch: UInt32, request: WorkRequest)] = []
    private var task: (epoch: UInt32, task: Task)?
    private(set) var results: [(epoch: UInt32, result: WorkResult)] = []
    /// Which lane goes on, and when a slice ends.
    private var dice = SeededGenerator(seed: 1)

    init(root: Int) {
        self.root = root
        top = FakeKernel.tops[root]
    }

    var isIdle: Bool { requests.isEmpty && task == nil && results.isEmpty }

    mutating func submit(_ request: WorkRequest, epoch: UInt32) { requests.append((epoch, request)) }
    mutating func removeResult() -> (epoch: UInt32, result: WorkResult)? {
        results.isEmpty ? nil : results.removeFirst()
    }

    mutating func step(_ kernel: inout FakeKernel) {
        guard let (epoch, current) = task else { return begin(&kernel) }
        switch current {
        case .survey(let request, let lanes): stepSurvey(epoch, request, lanes, &kernel)
        case .lookUp(let request, let done, let opened): stepLookup(epoch, request, done, opened, kernel)
        }
    }

    private mutating func begin(_ kernel: inout FakeKernel) {
        guard !requests.isEmpty else { return }
        let (epoch, request) = requests.removeFirst()
        switch request {
        case .adopt:
            let identity = RootIdentity(fileSystem: fileSystem, inode: top)
            results.append((epoch, .adopted(identity)))
        case .trace: results.append((epoch, .traced(RootPath(isComplete: true, isStable: true))))
        case .check: results.append((epoch, .checked))
        case .unwatch(let watches):
            for watch in watches { kernel.removeWatch(watch) }
            results.append((epoch, .unwatched(watches)))
        case .survey(let request):
            var parent: UInt64?
            if !request.path.isEmpty {
                parent = kernel.find(top, request.path.parent)
                if request.parentInode != 0, parent != request.parentInode { parent = nil }
            }
            task = (
                epoch,
                .survey(request, [Lane(todo: [(-1, parent, request.path)], place: 0), Lane(place: 1)])
            )
        case .lookUp(let request): task = (epoch, .lookUp(request, done: [], opened: nil))
        }
    }

    private mutating func stepSurvey(
        _ epoch: UInt32, _ request: SurveyRequest, _ lanes: [Lane], _ kernel: inout FakeKernel
    ) {
        var lanes = lanes
        let number = Int(dice.next() % 2)
        if dice.next() % 4 == 0 || lanes.allSatisfy(\.isIdle) {
            endSlice(epoch, request, &lanes)
            if lanes.allSatisfy(\.isIdle) {
                results.append((epoch, .surveyed(id: request.id, findings: Findings(), isComplete: true)))
                task = nil
                return
            }
        } else {
            stepLane(&lanes[lanes[number].isIdle ? 1 - number : number], request, &kernel)
        }
        task = (epoch, .survey(request, lanes))
    }

    /// Delivers the findings of each lane, and moves a share of the waiting directories to a lane that has none.
    private mutating func endSlice(_ epoch: UInt32, _ request: SurveyRequest, _ lanes: inout [Lane]) {
        for number in lanes.indices {
            for findings in lanes[number].found {
                results.append((epoch, .surveyed(id: request.id, findings: findings, isComplete: false)))
            }
            lanes[number].found = []
        }
        for (idle, busy) in [(0, 1), (1, 0)] where lanes[idle].isIdle && lanes[busy].todo.count >= 2 {
            let half = lanes[busy].todo.count / 2
            lanes[idle].todo = Array(lanes[busy].todo.prefix(half))
            lanes[busy].todo.removeFirst(half)
        }
    }

    private func stepLane(_ lane: inout Lane, _ request: SurveyRequest, _ kernel: inout FakeKernel) {
        var findings = Findings()
        if let opened = lane.opened {
            for name in opened.names {
                let seen = kernel.list(opened.inode, name)
                if seen == .absent { continue }
                BytePath(name).bytes.withUnsafeBytes { findings.add(entry: $0, seen) }
                if case .directory = seen, request.isRecursive {
                    lane.todo.append((opened.place, opened.inode, opened.path.appending(BytePath(name))))
                }
            }
            opened.path.name.bytes.withUnsafeBytes {
                findings.add(
                    directory: $0, at: opened.place, parent: opened.parent,
                    .listed(inode: opened.inode, born: opened.born, watch: opened.watch ?? -1))
            }
            lane.found.append(findings)
            lane.opened = nil
            return
        }
        guard let next = lane.todo.popLast() else { return }
        let place = lane.place
        lane.place += 2
        let inode = next.path.isEmpty ? top : next.in.flatMap { kernel.inodes[$0]?.entries[next.path.name.escaped] }
        if let inode, kernel.inodes[inode]?.isDirectory == true {
            let watch = kernel.addWatch(inode)
            let born = kernel.inodes[inode]?.birthMark ?? .unknown
            let names = (kernel.inodes[inode]?.entries.keys).map { $0.sorted() } ?? []
            lane.opened = Directory(
                place: place, parent: next.parent, path: next.path, inode: inode, born: born, watch: watch, names: names
            )
        } else {
            next.path.name.bytes.withUnsafeBytes {
                findings.add(directory: $0, at: place, parent: next.parent, .absent)
            }
            lane.found.append(findings)
        }
    }

    private mutating func stepLookup(
        _ epoch: UInt32, _ request: LookupRequest, _ done: [Observation], _ opened: (place: Int32, inode: UInt64?)?,
        _ kernel: FakeKernel
    ) {
        guard done.count < request.items.count else {
            results.append((epoch, .lookedUp(done)))
            task = nil
            return
        }
        let item = request.items[done.count]
        guard let opened, opened.place == item.directory else {
            let directory = request.directories[Int(item.directory)]
            let found = kernel.find(top, directory.path).flatMap { inode in
                inode == directory.inode && kernel.inodes[inode]?.isDirectory == true ? inode : nil
            }
            task = (epoch, .lookUp(request, done: done, opened: (item.directory, found)))
            return
        }
        var seen = opened.inode.map { kernel.lookUp($0, request.name(item).escaped) } ?? .unreached
        if item.asksForWriter { seen = kernel.askForWriter(seen) }
        task = (epoch, .lookUp(request, done: done + [seen], opened: opened))
    }
}
