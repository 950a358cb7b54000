import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// A survey being carried out: watches each directory, then lists it, then goes on to those in it, depth first, in
/// slices, so that looks at single files need not wait for a large tree. Confined to its root's queue.
final class SurveyRun {
    /// An opened directory whose directories come next.
    private final class Frame {
        let directory: SharedDescriptor
        let place: Int32
        let name: BytePath
        let names: NameList
        var next = 0

        init(_ directory: SharedDescriptor, place: Int32, name: BytePath, names: NameList) {
            self.directory = directory
            self.place = place
            self.name = name
            self.names = names
        }
    }

    /// Names one after the other, each ended by NUL.
    private struct NameList {
        var bytes: [UInt8] = []
        var starts: [Int32] = []

        mutating func add(_ name: UnsafeRawBufferPointer) {
            starts.append(Int32(bytes.count))
            bytes.append(contentsOf: name)
            bytes.append(0)
        }

        func end(of place: Int) -> Int { (place + 1 < starts.count ? Int(starts[place + 1]) : bytes.count) - 1 }
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
    let deliver: RootWorker.Deliver
    private let lister: DirectoryLister
    private var frames: [Frame] = []
    private var deferred: [Deferred] = []
    private var places: Int32 = 0
    private var findings = Findings()
    private var hasStarted = false

    /// How many directories one survey keeps open at most.
    private static let deepest = 48

    init(_ request: SurveyRequest, epoch: UInt32, lister: DirectoryLister, deliver: @escaping RootWorker.Deliver) {
        self.request = request
        self.epoch = epoch
        self.lister = lister
        self.deliver = deliver
    }

    /// The path being surveyed.
    var path: BytePath {
        // The first frame's name is the path that the survey began with.
        frames.isEmpty ? request.path : frames.reduce("") { $0.appending($1.name) }
    }

    /// How many directories are known to be there and were not yet surveyed.
    var waiting: Int { frames.reduce(deferred.count) { $0 + $1.names.starts.count - $1.next } }

    /// Goes on until the deadline (CLOCK_MONOTONIC, nanoseconds), at least one directory far, and delivers what it
    /// found. Returns whether it is complete.
    func advance(in root: borrowing OwnedDescriptor, until deadline: UInt64) -> Bool {
        var isComplete = false
        repeat { isComplete = !step(in: root) } while !isComplete && monotonicNanoseconds() < deadline
        deliver(.surveyed(id: request.id, findings: findings, isComplete: isComplete), isComplete)
        findings = Findings()
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
            if frame.next < frame.names.starts.count {
                frame.next += 1
                visit(frame.next - 1, in: frame)
                return true
            }
            frames.removeLast()
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
                enter(SharedDescriptor(try root.openDirectoryBeneath(path)), named: "", at: path, parent: parent)
                return
            }
            if lister.excludesDirectory(path) {
                throw SystemCallError("openat", .noSuchFileOrDirectory, path: path)
            }
            let above = try root.openDirectoryBeneath(path.parent)
            if parentInode != 0, try FileStatus(of: above).identity.inode != parentInode {
                throw SystemCallError("openat", .noSuchFileOrDirectory, path: path)
            }
            let directory = SharedDescriptor(try above.openBeneath(path.name, [.read, .directory, .nonBlocking]))
            enter(directory, named: path.name, at: path, parent: parent)
        } catch {
            add(path.name, parent: parent, .init(error))
        }
    }

    private func visit(_ place: Int, in frame: Frame) {
        frame.names.bytes.withUnsafeBytes { bytes in
            let range = Int(frame.names.starts[place])..<frame.names.end(of: place)
            let name = UnsafeRawBufferPointer(rebasing: bytes[range])
            guard let start = name.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
            do throws(SystemCallError) {
                let directory = SharedDescriptor(try frame.directory.descriptor.openDirectory(named: start))
                enter(directory, name, at: nil, parent: frame.place)
            } catch {
                findings.add(directory: name, parent: frame.place, .init(error))
                places += 1
            }
        }
    }

    private func enter(_ directory: SharedDescriptor, named name: BytePath, at path: BytePath, parent: Int32) {
        name.bytes.withUnsafeBytes { enter(directory, $0, at: path, parent: parent) }
    }

    /// Watches first, then lists: what comes after the listing raises an event. `path` is known where a survey or a part
    /// of it begins.
    private func enter(
        _ directory: SharedDescriptor, _ name: UnsafeRawBufferPointer, at path: BytePath?, parent: Int32
    ) {
        let outcome: Findings.Outcome
        var names = NameList()
        var inode: UInt64 = 0
        var mount: FileSystem?
        do throws(SystemCallError) {
            let status = try DirectoryStatus(of: directory.descriptor)
            inode = status.inode
            // The root itself may be one, which is nothing to tell.
            if status.isMountRoot, parent >= 0 || !request.path.isEmpty {
                mount = try FileSystem(of: directory.descriptor)
            }
            let watch = lister.watch(directory.descriptor)
            try lister.list(directory.descriptor, { path ?? self.path.appending(BytePath(name)) }, to: &findings) {
                if request.isRecursive { names.add($0) }
            }
            outcome = .listed(inode: inode, watch: watch)
        } catch {
            findings.dropEntries()
            names = NameList()
            outcome = .init(error)
        }
        let place = places
        findings.add(directory: name, parent: parent, outcome)
        if let mount { findings.add(mount: mount) }
        places += 1
        if names.starts.isEmpty { return }
        if frames.count < Self.deepest {
            frames.append(Frame(directory, place: place, name: path ?? BytePath(name), names: names))
        } else {
            let above = path ?? self.path.appending(BytePath(name))
            for place in names.starts.indices {
                let range = Int(names.starts[place])..<names.end(of: place)
                deferred.append(
                    Deferred(
                        place: places - 1, parent: above, parentInode: inode, name: BytePath(names.bytes[range])))
            }
        }
    }

    private func add(_ name: BytePath, parent: Int32, _ outcome: Findings.Outcome) {
        name.bytes.withUnsafeBytes { findings.add(directory: $0, parent: parent, outcome) }
        places += 1
    }
}

extension Findings.Outcome {
    /// Not there (or something else, or a link in its place), or there but closed to us.
    init(_ error: SystemCallError) {
        switch error.code {
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .staleNFSFileHandle: self = .absent
        default: self = .unreadable(error.code)
        }
    }
}
