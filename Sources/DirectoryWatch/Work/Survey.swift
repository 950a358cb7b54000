import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// A survey being carried out: watches each directory, then lists it, then goes on to those in it, depth first, in
/// slices, so that looks at single files need not wait for a large tree. Confined to its root's queue.
final class SurveyRun {
    /// An opened directory whose directories come next.
    private final class Frame {
        let directory: OwnedDescriptor
        let place: Int32
        let path: BytePath
        var names: [BytePath]

        init(_ directory: consuming OwnedDescriptor, place: Int32, path: BytePath, names: [BytePath]) {
            self.directory = directory
            self.place = place
            self.path = path
            self.names = names
        }
    }

    /// A directory too deep for its parents to be kept open.
    private struct Deferred {
        let place: Int32
        let parent: BytePath
        let parentInode: UInt64
        let name: BytePath
    }

    let request: SurveyRequest
    let epoch: UInt32
    let deliver: @Sendable (WorkResult) -> Void
    private let lister: DirectoryLister
    private var frames: [Frame] = []
    private var deferred: [Deferred] = []
    private var places: Int32 = 0
    private var findings: [DirectoryFinding] = []
    private var hasStarted = false

    /// How many directories one survey keeps open at most.
    private static let deepest = 48

    init(
        _ request: SurveyRequest, epoch: UInt32, lister: DirectoryLister,
        deliver: @escaping @Sendable (WorkResult) -> Void
    ) {
        self.request = request
        self.epoch = epoch
        self.lister = lister
        self.deliver = deliver
    }

    /// The path being surveyed, for people.
    var path: BytePath { frames.last?.path ?? request.path }

    /// Goes on until the deadline (CLOCK_MONOTONIC, nanoseconds), at least one directory far, and delivers what it
    /// found. Returns whether it is complete.
    func advance(in root: borrowing OwnedDescriptor, until deadline: UInt64) -> Bool {
        var isComplete = false
        repeat { isComplete = !step(in: root) } while !isComplete && monotonicNanoseconds() < deadline
        deliver(.surveyed(id: request.id, findings: findings, isComplete: isComplete))
        findings = []
        return isComplete
    }

    /// Surveys one directory; false if there is none left.
    private func step(in root: borrowing OwnedDescriptor) -> Bool {
        if !hasStarted {
            hasStarted = true
            visit(request.path, parentInode: request.parentInode, parent: -1, in: root)
            return true
        }
        while let frame = frames.last {
            guard let name = frame.names.popLast() else {
                frames.removeLast()
                continue
            }
            visit(name, in: frame)
            return true
        }
        guard let next = deferred.popLast() else { return false }
        visit(next.parent.appending(next.name), parentInode: next.parentInode, parent: next.place, in: root)
        return true
    }

    private func visit(
        _ path: BytePath, parentInode: UInt64, parent: Int32, in root: borrowing OwnedDescriptor
    ) {
        do throws(SystemCallError) {
            if path.isEmpty {
                enter(try root.openDirectoryBeneath(path), path, parent: parent)
                return
            }
            if lister.excludesDirectory(path) {
                throw SystemCallError("openat", .noSuchFileOrDirectory, path: path)
            }
            let above = try root.openDirectoryBeneath(path.parent)
            if parentInode != 0, try FileStatus(of: above).identity.inode != parentInode {
                throw SystemCallError("openat", .noSuchFileOrDirectory, path: path)
            }
            enter(try above.openBeneath(path.name, [.read, .directory, .nonBlocking]), path, parent: parent)
        } catch {
            add(DirectoryFinding(parent: parent, name: path.name, outcome: .init(error)))
        }
    }

    private func visit(_ name: BytePath, in frame: Frame) {
        do throws(SystemCallError) {
            let directory = try frame.directory.openBeneath(name, [.read, .directory, .nonBlocking])
            enter(directory, frame.path.appending(name), parent: frame.place)
        } catch {
            add(DirectoryFinding(parent: frame.place, name: name, outcome: .init(error)))
        }
    }

    /// Watches first, then lists: what comes after the listing raises an event.
    private func enter(_ directory: consuming OwnedDescriptor, _ path: BytePath, parent: Int32) {
        let outcome: DirectoryFinding.Outcome
        var names: [BytePath] = []
        var inode: UInt64 = 0
        do throws(SystemCallError) {
            inode = try FileStatus(of: directory).identity.inode
            let watch = lister.watch(directory)
            let entries = try lister.list(directory, path)
            if request.isRecursive {
                for entry in entries { if case .directory = entry.observation { names.append(entry.name) } }
            }
            outcome = .listed(inode: inode, watch: watch, entries: entries)
        } catch {
            outcome = .init(error)
        }
        let place = places
        add(DirectoryFinding(parent: parent, name: path.name, outcome: outcome))
        if names.isEmpty { return }
        if frames.count < Self.deepest {
            frames.append(Frame(directory, place: place, path: path, names: names.reversed()))
        } else {
            for name in names {
                deferred.append(Deferred(place: place, parent: path, parentInode: inode, name: name))
            }
        }
    }

    private func add(_ finding: DirectoryFinding) {
        findings.append(finding)
        places += 1
    }
}

extension DirectoryFinding.Outcome {
    /// Not there (or something else, or a link in its place), or there but closed to us.
    init(_ error: SystemCallError) {
        switch error.code {
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .staleNFSFileHandle: self = .absent
        default: self = .unreadable(error)
        }
    }
}
