import FileValues
import LinuxKernel

@testable import DirectoryWatch

/// Carries out one root's requests on the fake kernel in the smallest steps, so that anything may happen in between.
struct FakeWorker {
    private struct Directory {
        let place: Int32
        let parent: Int32
        let path: BytePath
        let inode: UInt64
        let watch: Int32?
        let names: [String]
    }

    private enum Task {
        case survey(
            SurveyRequest, todo: [(parent: Int32, in: UInt64?, path: BytePath)], opened: Directory?, places: Int32)
        case look([LookGroup], done: [[Observation]?], opened: (inode: UInt64, seen: [Observation])?)
    }

    let root: Int
    let top: UInt64
    private var requests: [(epoch: UInt32, request: WorkRequest)] = []
    private var task: (epoch: UInt32, task: Task)?
    private(set) var results: [(epoch: UInt32, result: WorkResult)] = []

    init(root: Int) {
        self.root = root
        top = FakeKernel.tops[root]
    }

    var isIdle: Bool { requests.isEmpty && task == nil && results.isEmpty }

    mutating func submit(_ request: WorkRequest, epoch: UInt32) { requests.append((epoch, request)) }
    mutating func takeResult() -> (epoch: UInt32, result: WorkResult)? {
        results.isEmpty ? nil : results.removeFirst()
    }

    mutating func step(_ kernel: inout FakeKernel) {
        guard let (epoch, current) = task else { return begin(&kernel) }
        switch current {
        case .survey(let request, let todo, let opened, let places):
            stepSurvey(epoch, request, todo, opened, places, &kernel)
        case .look(let groups, let done, let opened): stepLook(epoch, groups, done, opened, kernel)
        }
    }

    private mutating func begin(_ kernel: inout FakeKernel) {
        guard !requests.isEmpty else { return }
        let (epoch, request) = requests.removeFirst()
        switch request {
        case .adopt:
            let identity = RootIdentity(fileSystem: FileSystem(type: 0xEF53, identifier: 1), inode: top)
            results.append((epoch, .adopted(identity)))
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
            let first: (parent: Int32, in: UInt64?, path: BytePath) = (-1, parent, request.path)
            task = (epoch, .survey(request, todo: [first], opened: nil, places: 0))
        case .look(let groups): task = (epoch, .look(groups, done: [], opened: nil))
        }
    }

    private mutating func stepSurvey(
        _ epoch: UInt32, _ request: SurveyRequest, _ todo: [(parent: Int32, in: UInt64?, path: BytePath)],
        _ opened: Directory?, _ places: Int32, _ kernel: inout FakeKernel
    ) {
        var todo = todo
        if let opened {
            var entries: [DirectoryFinding.Entry] = []
            for name in opened.names {
                let seen = kernel.look(opened.inode, name)
                if seen == .absent { continue }
                entries.append(DirectoryFinding.Entry(name: BytePath(name), observation: seen))
                if case .directory = seen, request.isRecursive {
                    todo.append((opened.place, opened.inode, opened.path.appending(BytePath(name))))
                }
            }
            let outcome = DirectoryFinding.Outcome.listed(
                inode: opened.inode, watch: opened.watch.map { .made($0) } ?? .refused, entries: entries)
            deliver(epoch, request, DirectoryFinding(parent: opened.parent, name: opened.path.name, outcome: outcome))
            task = (epoch, .survey(request, todo: todo, opened: nil, places: places))
            return
        }
        guard let next = todo.popLast() else {
            results.append((epoch, .surveyed(id: request.id, findings: [], isComplete: true)))
            task = nil
            return
        }
        let inode = next.path.isEmpty ? top : next.in.flatMap { kernel.inodes[$0]?.entries[next.path.name.escaped] }
        if let inode, kernel.inodes[inode]?.isDirectory == true {
            let watch = kernel.addWatch(inode)
            let names = (kernel.inodes[inode]?.entries.keys).map { $0.sorted() } ?? []
            let directory = Directory(
                place: places, parent: next.parent, path: next.path, inode: inode, watch: watch, names: names)
            task = (epoch, .survey(request, todo: todo, opened: directory, places: places + 1))
        } else {
            deliver(epoch, request, DirectoryFinding(parent: next.parent, name: next.path.name, outcome: .absent))
            task = (epoch, .survey(request, todo: todo, opened: nil, places: places + 1))
        }
    }

    private mutating func deliver(_ epoch: UInt32, _ request: SurveyRequest, _ finding: DirectoryFinding) {
        results.append((epoch, .surveyed(id: request.id, findings: [finding], isComplete: false)))
    }

    private mutating func stepLook(
        _ epoch: UInt32, _ groups: [LookGroup], _ done: [[Observation]?],
        _ opened: (inode: UInt64, seen: [Observation])?, _ kernel: FakeKernel
    ) {
        guard done.count < groups.count else {
            results.append((epoch, .looked(done)))
            task = nil
            return
        }
        let group = groups[done.count]
        guard var opened else {
            let found = kernel.find(top, group.path)
            if let found, found == group.inode, kernel.inodes[found]?.isDirectory == true {
                task = (epoch, .look(groups, done: done, opened: (found, [])))
            } else {
                task = (epoch, .look(groups, done: done + [nil], opened: nil))
            }
            return
        }
        opened.seen.append(kernel.look(opened.inode, group.names[opened.seen.count].escaped))
        if opened.seen.count == group.names.count {
            task = (epoch, .look(groups, done: done + [opened.seen], opened: nil))
        } else {
            task = (epoch, .look(groups, done: done, opened: opened))
        }
    }
}
