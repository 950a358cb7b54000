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
        /// Opened: the directory's place in the request, and its inode if it was found.
        case look(LookRequest, done: [Observation], opened: (place: Int32, inode: UInt64?)?)
    }

    let root: Int
    let top: UInt64
    /// What its root is told to lie on.
    var fileSystem = FileSystem(type: 0xEF53, identifier: 1)
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
        case .look(let request, let done, let opened): stepLook(epoch, request, done, opened, kernel)
        }
    }

    private mutating func begin(_ kernel: inout FakeKernel) {
        guard !requests.isEmpty else { return }
        let (epoch, request) = requests.removeFirst()
        switch request {
        case .adopt:
            let identity = RootIdentity(fileSystem: fileSystem, inode: top)
            results.append((epoch, .adopted(identity)))
        case .trace: results.append((epoch, .traced(RootWay(isWhole: true, isSettled: true))))
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
        case .look(let request): task = (epoch, .look(request, done: [], opened: nil))
        }
    }

    private mutating func stepSurvey(
        _ epoch: UInt32, _ request: SurveyRequest, _ todo: [(parent: Int32, in: UInt64?, path: BytePath)],
        _ opened: Directory?, _ places: Int32, _ kernel: inout FakeKernel
    ) {
        var todo = todo
        if let opened {
            var findings = Findings()
            for name in opened.names {
                let seen = kernel.list(opened.inode, name)
                if seen == .absent { continue }
                BytePath(name).bytes.withUnsafeBytes { findings.add(entry: $0, seen) }
                if case .directory = seen, request.isRecursive {
                    todo.append((opened.place, opened.inode, opened.path.appending(BytePath(name))))
                }
            }
            opened.path.name.bytes.withUnsafeBytes {
                findings.add(
                    directory: $0, parent: opened.parent, .listed(inode: opened.inode, watch: opened.watch ?? -1))
            }
            results.append((epoch, .surveyed(id: request.id, findings: findings, isComplete: false)))
            task = (epoch, .survey(request, todo: todo, opened: nil, places: places))
            return
        }
        guard let next = todo.popLast() else {
            results.append((epoch, .surveyed(id: request.id, findings: Findings(), isComplete: true)))
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
            var findings = Findings()
            next.path.name.bytes.withUnsafeBytes { findings.add(directory: $0, parent: next.parent, .absent) }
            results.append((epoch, .surveyed(id: request.id, findings: findings, isComplete: false)))
            task = (epoch, .survey(request, todo: todo, opened: nil, places: places + 1))
        }
    }

    private mutating func stepLook(
        _ epoch: UInt32, _ request: LookRequest, _ done: [Observation], _ opened: (place: Int32, inode: UInt64?)?,
        _ kernel: FakeKernel
    ) {
        guard done.count < request.items.count else {
            results.append((epoch, .looked(done)))
            task = nil
            return
        }
        let item = request.items[done.count]
        guard let opened, opened.place == item.directory else {
            let directory = request.directories[Int(item.directory)]
            let found = kernel.find(top, directory.path).flatMap { inode in
                inode == directory.inode && kernel.inodes[inode]?.isDirectory == true ? inode : nil
            }
            task = (epoch, .look(request, done: done, opened: (item.directory, found)))
            return
        }
        let seen = opened.inode.map { kernel.look($0, request.name(item).escaped) } ?? .unreached
        task = (epoch, .look(request, done: done + [seen], opened: opened))
    }
}
