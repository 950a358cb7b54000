import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// One thread's part of a survey: watches each directory, then lists it, then goes on to those in it, depth first.
/// Belongs to whoever advances it.
final class SurveyLane {
    /// An opened directory whose directories come next.
    private final class Frame {
        let directory: SharedDescriptor
        let place: Int32
        let name: BytePath
        var names: NameList
        var next = 0

        init(_ directory: SharedDescriptor, place: Int32, name: BytePath, names: NameList) {
            self.directory = directory
            self.place = place
            self.name = name
            self.names = names
        }

        var left: Int { names.count - next }
    }

    /// Directories in one that is open, which another lane is to go on to.
    struct Share: Sendable {
        fileprivate let directory: SharedDescriptor
        fileprivate let place: Int32
        fileprivate let path: BytePath
        fileprivate let names: NameList
    }

    /// A directory too deep for its parents to be kept open.
    private struct Deferred {
        let place: Int32
        let parent: BytePath
        let parentInode: UInt64
        let name: BytePath
    }

    private let request: SurveyRequest
    let lister: DirectoryLister
    private var frames: [Frame] = []
    private var deferred: [Deferred] = []
    /// The place of the next directory, and how far from one to the next.
    private var place: Int32 = 0
    private var step: Int32 = 1
    private var findings = Findings()
    private var hasStarted = false

    /// How many directories one survey keeps open at most.
    private static let deepest = 48

    /// The lane that begins with what the survey was asked for.
    init(_ request: SurveyRequest, lister: DirectoryLister) {
        self.request = request
        self.lister = lister
    }

    /// A lane that begins with what another one shares, which leaves it every second place from this one on.
    init(_ request: SurveyRequest, _ share: Share, from place: Int32, lister: DirectoryLister) {
        self.request = request
        self.lister = lister
        self.place = place
        step = 2
        hasStarted = true
        accept(share)
    }

    /// From here on only every second place is taken, so that no two lanes have a place in common. Returns the first that
    /// is left out.
    func leaveEverySecondPlace() -> Int32 {
        step = 2
        return place + 1
    }

    /// The path being surveyed.
    var path: BytePath {
        // The first frame's name is the path that the lane began with.
        frames.isEmpty ? request.path : frames.reduce("") { $0.appending($1.name) }
    }

    /// How many directories are known to be there and were not yet surveyed.
    var waiting: Int { frames.reduce(deferred.count) { $0 + $1.left } }

    var isDone: Bool { hasStarted && waiting == 0 }

    /// What was found since the last call.
    func takeFindings() -> Findings {
        defer { findings = Findings() }
        return findings
    }

    /// Half of the directories in the topmost one that has several left, for a lane that has nothing to do. Frames below
    /// stay with this one.
    func share() -> Share? {
        guard let depth = frames.firstIndex(where: { $0.left >= 2 }) else { return nil }
        let frame = frames[depth]
        return Share(
            directory: frame.directory, place: frame.place,
            path: frames[...depth].reduce("") { $0.appending($1.name) },
            names: frame.names.split(at: frame.next + (frame.left + 1) / 2))
    }

    /// Goes on with what another lane shares, having nothing else to do.
    func accept(_ share: Share) {
        frames = [Frame(share.directory, place: share.place, name: share.path, names: share.names)]
    }

    /// Goes on until the deadline (CLOCK_MONOTONIC, nanoseconds), at least one directory far. `place` is the calling
    /// thread's own, where it has one.
    func advance(in root: borrowing OwnedDescriptor, by place: ThreadDirectory?, until deadline: UInt64) {
        lister.place = place
        defer {
            // Nothing is held between two slices, so that the root can be unmounted.
            lister.place = nil
            place?.leave()
        }
        while step(in: root), monotonicNanoseconds() < deadline {}
    }

    /// Surveys one directory; false if there is none left.
    private func step(in root: borrowing OwnedDescriptor) -> Bool {
        if !hasStarted {
            hasStarted = true
            visit(request.path, parentInode: request.parentInode, parent: -1, in: root)
            return true
        }
        while let frame = frames.last {
            if frame.left > 0 {
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
        let name = path.name.bytes
        do throws(SystemCallError) {
            let directory = try open(path, parentInode: parentInode, in: root)
            let listing = name.withUnsafeBytes { enter(directory, $0, at: path, parent: parent) }
            let shared = SharedDescriptor(directory)
            name.withUnsafeBytes { go(on: listing, in: shared, at: path, named: $0) }
        } catch {
            name.withUnsafeBytes { add($0, parent: parent, .init(error)) }
        }
    }

    private func open(
        _ path: BytePath, parentInode: UInt64, in root: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> OwnedDescriptor {
        if path.isEmpty { return try root.openDirectoryBeneath(path) }
        let gone = SystemCallError("openat", .noSuchFileOrDirectory, path: path)
        if lister.excludesDirectory(path) { throw gone }
        let above = try root.openDirectoryBeneath(path.parent)
        if parentInode != 0, try FileStatus(of: above).identity.inode != parentInode { throw gone }
        return try above.openBeneath(path.name, [.read, .directory, .nonBlocking])
    }

    private func visit(_ number: Int, in frame: Frame) {
        frame.names.bytes.withUnsafeBytes { bytes in
            let name = UnsafeRawBufferPointer(rebasing: bytes[frame.names.range(number)])
            guard let start = name.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
            do throws(SystemCallError) {
                let directory = try frame.directory.descriptor.openDirectory(named: start)
                let listing = enter(directory, name, at: nil, parent: frame.place)
                if listing.names.count > 0 { go(on: listing, in: SharedDescriptor(directory), at: nil, named: name) }
            } catch {
                add(name, parent: frame.place, .init(error))
            }
        }
    }

    /// What was found of a directory that is entered.
    private struct Listing {
        var place: Int32
        var inode: UInt64 = 0
        /// The directories in it.
        var names = NameList()
    }

    /// Watches first, then lists: what comes after the listing raises an event. `path` is known where a survey or a part
    /// of it begins.
    private func enter(
        _ directory: borrowing OwnedDescriptor, _ name: UnsafeRawBufferPointer, at path: BytePath?, parent: Int32
    ) -> Listing {
        let outcome: Findings.Outcome
        var listing = Listing(place: place)
        var mount: FileSystem?
        do throws(SystemCallError) {
            let status = try DirectoryStatus(of: directory)
            listing.inode = status.inode
            // The root itself may be one, which is nothing to tell.
            if status.isMountRoot, parent >= 0 || !request.path.isEmpty {
                mount = try FileSystem(of: directory)
            }
            let watch = lister.watch(directory)
            try lister.list(directory, { path ?? self.path.appending(BytePath(name)) }, to: &findings) {
                if request.isRecursive { listing.names.add($0) }
            }
            outcome = .listed(inode: status.inode, born: BirthMark(status.born), watch: watch)
        } catch {
            findings.dropEntries()
            listing.names = NameList()
            outcome = .init(error)
        }
        add(name, parent: parent, outcome)
        if let mount { findings.add(mount: mount) }
        return listing
    }

    /// The directories in one that was listed come next.
    private func go(
        on listing: Listing, in directory: SharedDescriptor, at path: BytePath?, named name: UnsafeRawBufferPointer
    ) {
        if listing.names.count == 0 { return }
        if frames.count < Self.deepest {
            frames.append(Frame(directory, place: listing.place, name: path ?? BytePath(name), names: listing.names))
            return
        }
        let above = path ?? self.path.appending(BytePath(name))
        for number in 0..<listing.names.count {
            deferred.append(
                Deferred(
                    place: listing.place, parent: above, parentInode: listing.inode,
                    name: BytePath(listing.names.bytes[listing.names.range(number)])))
        }
    }

    private func add(_ name: UnsafeRawBufferPointer, parent: Int32, _ outcome: Findings.Outcome) {
        findings.add(directory: name, at: place, parent: parent, outcome)
        place += step
    }
}

extension Findings.Outcome {
    /// Not there (or something else, or a link in its place), or there but closed to us.
    init(_ error: SystemCallError) {
        switch error.code {
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .staleNFSFileHandle: self = .absent
        default: self = .unreadable(error.code.rawValue)
        }
    }
}
