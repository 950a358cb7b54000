import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// One thread's part of a survey: watches each directory, then lists it, then surveys those in it, depth first. Used by one
/// thread at a time.
final class SurveyLane {
    /// An open directory whose directories come next.
    private final class Frame {
        let directory: HeldDescriptor
        let position: Int32
        let name: BytePath
        var names: NameList
        var next = 0

        init(_ directory: HeldDescriptor, position: Int32, name: BytePath, names: NameList) {
            self.directory = directory
            self.position = position
            self.name = name
            self.names = names
        }

        var left: Int { names.count - next }
    }

    /// Directories in an open one, for another lane.
    struct Share: Sendable {
        fileprivate let directory: HeldDescriptor
        fileprivate let position: Int32
        fileprivate let path: BytePath
        fileprivate let names: NameList
    }

    /// A directory too deep for its parents to be kept open.
    private struct Deferred {
        let position: Int32
        let parent: BytePath
        let parentInode: UInt64
        let name: BytePath
    }

    private let request: SurveyRequest
    let lister: DirectoryLister
    private var frames: [Frame] = []
    private var deferred: [Deferred] = []
    /// The position of the next directory, and the step from one to the next.
    private var position: Int32 = 0
    private var step: Int32 = 1
    private var findings = Findings()
    private var hasStarted = false

    /// How many directories one survey keeps open at most.
    private static let deepest = 48

    /// The lane that begins with the requested directory.
    init(_ request: SurveyRequest, lister: DirectoryLister) {
        self.request = request
        self.lister = lister
    }

    /// A lane that begins with the directories that another one shares, and has every second position from this one on.
    init(_ request: SurveyRequest, _ share: Share, from position: Int32, lister: DirectoryLister) {
        self.request = request
        self.lister = lister
        self.position = position
        step = 2
        hasStarted = true
        accept(share)
    }

    /// From here on only every second position is used, so that no two lanes have one in common. Returns the first of the
    /// others.
    func skipEverySecondPosition() -> Int32 {
        step = 2
        return position + 1
    }

    /// The path being surveyed.
    var path: BytePath {
        // The first frame's name is the path that the lane began with.
        frames.isEmpty ? request.path : frames.reduce("") { $0.appending($1.name) }
    }

    /// How many directories are known to be there and were not yet surveyed.
    var waiting: Int { frames.reduce(deferred.count) { $0 + $1.left } }

    var isDone: Bool { hasStarted && waiting == 0 }

    /// Removes and returns the findings since the last call.
    func removeFindings() -> Findings {
        defer { findings = Findings() }
        return findings
    }

    /// Half of the directories in the topmost one that has several left, for a lane that has nothing to do. Frames below
    /// stay with this one.
    func share() -> Share? {
        guard let depth = frames.firstIndex(where: { $0.left >= 2 }) else { return nil }
        let frame = frames[depth]
        return Share(
            directory: frame.directory, position: frame.position,
            path: frames[...depth].reduce("") { $0.appending($1.name) },
            names: frame.names.split(at: frame.next + (frame.left + 1) / 2))
    }

    /// Adds the directories that another lane shares, to a lane that has none.
    func accept(_ share: Share) {
        frames = [Frame(share.directory, position: share.position, name: share.path, names: share.names)]
    }

    /// Surveys at least one directory, and more until the deadline (CLOCK_MONOTONIC, nanoseconds). `place` is the calling
    /// thread's own, where it has one.
    func advance(in root: borrowing OwnedDescriptor, by place: ThreadDirectory?, until deadline: UInt64) {
        lister.place = place
        defer {
            // Nothing is open between two slices, so that the root can be unmounted.
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
        visit(next.parent.appending(next.name), parentInode: next.parentInode, parent: next.position, in: root)
        return true
    }

    private func visit(
        _ path: BytePath, parentInode: UInt64, parent: Int32, in root: borrowing OwnedDescriptor
    ) {
        let name = path.name.bytes
        do throws(SystemCallError) {
            let directory = try open(path, parentInode: parentInode, in: root)
            let listing = name.withUnsafeBytes { enter(directory, $0, at: path, parent: parent) }
            let shared = HeldDescriptor(directory)
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
                let listing = enter(directory, name, at: nil, parent: frame.position)
                if listing.names.count > 0 { go(on: listing, in: HeldDescriptor(directory), at: nil, named: name) }
            } catch {
                add(name, parent: frame.position, .init(error))
            }
        }
    }

    /// The listing of a directory.
    private struct Listing {
        var position: Int32
        var inode: UInt64 = 0
        /// The directories in it.
        var names = NameList()
    }

    /// Watches a directory, then lists it: changes after the listing raise an event. `path` is known where a survey or a part of
    /// it begins.
    private func enter(
        _ directory: borrowing OwnedDescriptor, _ name: UnsafeRawBufferPointer, at path: BytePath?, parent: Int32
    ) -> Listing {
        let outcome: Findings.Outcome
        var listing = Listing(position: position)
        var mount: FileSystem?
        do throws(SystemCallError) {
            let status = try DirectoryStatus(of: directory)
            listing.inode = status.inode
            // The root itself may be one, which is not reported.
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
        on listing: Listing, in directory: HeldDescriptor, at path: BytePath?, named name: UnsafeRawBufferPointer
    ) {
        if listing.names.count == 0 { return }
        if frames.count < Self.deepest {
            frames.append(
                Frame(directory, position: listing.position, name: path ?? BytePath(name), names: listing.names))
            return
        }
        let above = path ?? self.path.appending(BytePath(name))
        for number in 0..<listing.names.count {
            deferred.append(
                Deferred(
                    position: listing.position, parent: above, parentInode: listing.inode,
                    name: BytePath(listing.names.bytes[listing.names.range(number)])))
        }
    }

    private func add(_ name: UnsafeRawBufferPointer, parent: Int32, _ outcome: Findings.Outcome) {
        findings.add(directory: name, at: position, parent: parent, outcome)
        position += step
    }
}

extension Findings.Outcome {
    /// Absent (or no directory), or there but not readable.
    init(_ error: SystemCallError) {
        switch error.code {
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .staleNFSFileHandle: self = .absent
        default: self = .unreadable(error.code.rawValue)
        }
    }
}
