import FileValues
import LinuxKernel
import SystemPackage

/// Watches and lists single directories by a root's rule. Confined to its root's queue.
final class DirectoryLister {
    let backend: any WatchBackend
    private let exclude: (@Sendable (BytePath, FileKind) -> Bool)?
    private let reader = DirectoryReader()
    let probe: WriterGuess
    /// How reliable leases are on the root's file system.
    var leases: LeaseTrust
    /// The working directory of the thread that runs now, where it has its own.
    var place: ThreadDirectory?

    init(
        backend: any WatchBackend, exclude: (@Sendable (BytePath, FileKind) -> Bool)?, leases: LeaseTrust = .nothing,
        probe: WriterGuess
    ) {
        self.backend = backend
        self.exclude = exclude
        self.leases = leases
        self.probe = probe
    }

    /// A watch on an open directory, or the negative errno(3) (ENOSPC: `fs.inotify.max_user_watches` are in use; ENOMEM; that
    /// of a file system without watches): the directory is polled then.
    func watch(_ directory: borrowing OwnedDescriptor) -> Int32 {
        // The rule, which is asked next, is the caller's code, and may go by its working directory.
        defer { if exclude != nil { place?.leave() } }
        do throws(SystemCallError) { return try backend.addWatch(directory: directory, by: place) } catch {
            return -max(1, error.code.rawValue)
        }
    }

    func removeWatch(_ watch: Int32) { backend.removeWatch(watch) }

    /// Whether the rule excludes a directory; for those that an event named and no listing.
    func excludesDirectory(_ path: BytePath) -> Bool { exclude?(path, .directory) ?? false }

    /// Adds the entries of a directory, which was just opened, that the rule does not exclude, and calls `enter` with the name
    /// of each directory. `path` is called if there is a rule.
    func list(
        _ directory: borrowing OwnedDescriptor, _ path: () -> BytePath, to findings: inout Findings,
        enter: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemCallError) {
        let above = exclude == nil ? "" : path()
        // Looked up after the listing: some file systems do not support both at once, and the names need no memory twice.
        var kinds: [(name: Range<Int>, inode: UInt64, isDirectory: Bool)] = []
        var names: [UInt8] = []
        let now = WriterGuess.now
        try reader.readInPlace(directory, isAtStart: true) { name, inode, kind in
            let start = names.count
            names.append(contentsOf: name)
            names.append(0)
            kinds.append((start..<(names.count - 1), inode, kind == .directory))
        }
        names.withUnsafeBytes { names in
            for (range, inode, isDirectory) in kinds {
                let name = UnsafeRawBufferPointer(rebasing: names[range])
                var observation: Observation =
                    if isDirectory {
                        exclude?(above.appending(BytePath(name)), .directory) ?? false
                            ? .excluded : .directory(inode: inode)
                    } else {
                        lookUp(name, in: directory, above)
                    }
                switch observation {
                case .absent, .excluded, .unreached: continue
                case .directory, .mountRoot: enter(name)
                case .file(.regular, let identity, _) where abs(now - identity.changed.seconds) <= WriterGuess.recently:
                    observation = askForWriter(observation, name, in: directory)
                case .file, .unwritten, .writing, .failed: break
                }
                findings.add(entry: name, observation)
            }
        }
    }

    /// The same observation, with whether the file has a writer, by a lease.
    func askForWriter(
        _ seen: Observation, _ name: UnsafeRawBufferPointer, in directory: borrowing OwnedDescriptor
    ) -> Observation {
        guard case .file(.regular, let identity, let links) = seen, leases != .nothing else { return seen }
        switch probe.ask(name, identity, in: directory) {
        case .writer: return .writing(identity)
        case .noWriter where leases == .decides: return .unwritten(identity, links: links)
        case .noWriter, .unknown: return seen
        }
    }

    /// Looks up a name; a NUL follows its bytes.
    func lookUp(
        _ name: UnsafeRawBufferPointer, in directory: borrowing OwnedDescriptor, _ path: @autoclosure () -> BytePath
    ) -> Observation {
        guard let start = name.baseAddress?.assumingMemoryBound(to: CChar.self) else { return .absent }
        do throws(SystemCallError) {
            let status = try FileStatus(ofName: start, in: directory)
            if let exclude, exclude(path().appending(BytePath(name)), status.kind) { return .excluded }
            if status.kind == .directory {
                let status = try DirectoryStatus(ofName: start, in: directory)
                return status.isMountRoot
                    ? .mountRoot(inode: status.inode)
                    : .directory(inode: status.inode, born: BirthMark(status.born))
            }
            return .file(status.kind, status.identity, links: status.links)
        } catch {
            return error.code == .noSuchFileOrDirectory ? .absent : .failed
        }
    }
}
