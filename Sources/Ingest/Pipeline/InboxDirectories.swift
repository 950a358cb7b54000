import Catalogue
import FileValues
import Filing
import LibraryCare
import LinuxKernel
import SystemPackage

/// Opens the directories that one inbox's files come from and go to, after checking that each is what it is meant to be. On
/// the inbox's queue; what needs no open directory may be called from any thread.
final class InboxDirectories {
    let spec: InboxSpec
    let places: Places
    private let attributes: FiledAttributes
    private let catalogue: Catalogue
    private let libraryGuard: LibraryGuard
    // Opened when first needed and again after a failure, so that a root that comes back is found.
    private var roots: [BytePath: DestinationRoot] = [:]
    /// What file systems were found to do, by the directory that was tried.
    private var trials: [PlaceIdentity: FileSystemTrial] = [:]

    init(
        _ spec: InboxSpec, _ places: Places, _ attributes: FiledAttributes, _ catalogue: Catalogue,
        _ libraryGuard: LibraryGuard
    ) {
        self.spec = spec
        self.places = places
        self.attributes = attributes
        self.catalogue = catalogue
        self.libraryGuard = libraryGuard
    }

    /// Opens `path`, a file of this inbox.
    func source(_ path: BytePath) throws -> SourceFile { try SourceFile(path, beneath: try openInbox().descriptor) }

    /// The inbox's own directory, opened for one arrival: a card must be free to go when its photos are filed.
    func openInbox() throws -> InboxRoot {
        let directory = try openDirectory(spec.path)
        let device = try FileStatus(of: directory).device
        let staysMounted = [places.library, "/"].contains {
            (try? FileStatus(at: $0, followingLinks: true))?.device == device
        }
        let lock = try libraryGuard.locks.hold(directory, at: spec.path, forGood: staysMounted)
        return InboxRoot(directory, lock)
    }

    /// The library.
    func library() throws -> DestinationRoot { try root(places.library) }

    /// The tree at `path` to put files into. Quarantine and duplicates are made when they are first needed; a library
    /// that is not there is never made, since its disk may just not be mounted.
    func root(_ path: BytePath) throws -> DestinationRoot {
        let root = try open(path)
        if path == places.library { try admit(root) }
        if root.trial == nil { try tryNames(in: root) }
        return root
    }

    /// Where a request puts a file. An inbox is not made, since it may just not be mounted; nor is it kept open.
    func destination(_ path: BytePath) throws -> DestinationRoot {
        if path != spec.path { return try root(path) }
        do throws(SystemCallError) { return try DestinationRoot(path) } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: path)
        }
    }

    /// Where a request gets a file from; with `isLibrary`, a library, also one that was configured before.
    func origin(_ path: BytePath, isLibrary: Bool = false) throws -> OwnedDescriptor {
        let root = try openDirectory(path)
        if isLibrary || path == places.library { try libraryGuard.check(root, at: path) }
        return root
    }

    /// Whether somebody removed the file that was put at `path` of `place`, a place beside the library; see
    /// ``LibraryGuard/isRemoved(_:from:)``.
    func isRemoved(_ path: BytePath, from place: BytePath) throws -> Bool {
        try libraryGuard.isRemoved(path, from: place)
    }

    /// Closes all directories. After an error: whatever was open may be what went away.
    func close() { roots = [:] }

    private func open(_ path: BytePath) throws -> DestinationRoot {
        if let known = roots[path], Self.isAt(path, known.descriptor) { return known }
        roots[path] = nil
        if path != places.library { try checkPlace(path) }
        do throws(SystemCallError) {
            if path != places.library { try makeDirectory(path, mode: attributes.directoryMode) }
            let opened = try DestinationRoot(path, attributes: attributes)
            opened.isShared = path == places.library && catalogue.file.isShared
            roots[path] = opened
            return opened
        } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: path)
        }
    }

    private func checkPlace(_ path: BytePath) throws {
        do { catalogue.rememberSoon(try libraryGuard.checkPlace(path, toBeMadeBeside: places.library)) } catch let error
            as SystemCallError
        { throw FilingError(.openDestination, .destination, .system(error), path: path) }
    }

    /// Whether the directory that is open still stands where the configuration says: one that was moved away takes
    /// what is put into it along.
    private static func isAt(_ path: BytePath, _ descriptor: borrowing OwnedDescriptor) -> Bool {
        guard let there = try? FileStatus(at: path, followingLinks: true), let open = try? FileStatus(of: descriptor)
        else { return false }
        return there.device == open.device && there.identity.inode == open.identity.inode
    }

    /// Finds out how the file system of `root` gives names, once for each mount.
    private func tryNames(in root: DestinationRoot) throws {
        let place: PlaceIdentity
        do throws(SystemCallError) { place = try PlaceIdentity(of: root.descriptor) } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: root.path)
        }
        let trial = try trials[place] ?? FileSystemTrial(in: root.descriptor, path: root.path)
        // Without the number of its mount it may be another disk the next time.
        if place.mount != nil { trials[place] = trial }
        root.adopt(trial)
    }

    /// Requires that `library` is the configured one, and has room. Its identity is recorded when it is new, in good time:
    /// until then each start searches for what was filed last.
    private func admit(_ library: DestinationRoot) throws {
        catalogue.rememberSoon(try libraryGuard.check(library.descriptor, at: library.path))
        try libraryGuard.hold(library.descriptor, at: library.path)
        guard places.minFree > 0 else { return }
        let free: UInt64
        do { free = try FileSystemStatus(of: library.descriptor).available } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: library.path)
        }
        if free < places.minFree {
            throw FilingError(.openDestination, .destination, .tooLittleLeft(free: free), path: library.path)
        }
    }

    /// Throws where something is mounted on the way to `directory` of the library that hides what was filed there.
    func checkMounts(toward directory: BytePath, in library: DestinationRoot) throws {
        for found in try libraryGuard.checkMounts(toward: directory, in: library.descriptor, of: library.path) {
            catalogue.rememberSoon(found)
        }
    }

    /// A copy in the library as recorded: what a removal asks to see, by its path and in the library that is configured.
    func libraryCopy(
        _ path: BytePath, _ hash: ContentHash, size: UInt64, lastRead: FileStatus? = nil
    ) -> RecordedCopy {
        RecordedCopy(
            root: places.library, path: path, hash: hash, size: size, lastRead: lastRead, requirePlace: requireLibrary)
    }

    /// Throws ``LibraryGuard/Refusal`` unless the open directory is the configured library, and ``CatalogueError`` unless
    /// the catalogue that records what is in it is at its path.
    var requireLibrary: @Sendable (borrowing OwnedDescriptor) throws -> Void {
        { [libraryGuard, places] root in
            try libraryGuard.check(root, at: places.library)
            try libraryGuard.requireCatalogue()
        }
    }
}

/// An inbox's directory, held open while it is worked in, and locked against other daemons.
final class InboxRoot: Sendable {
    let descriptor: OwnedDescriptor
    private let lock: PlaceLock

    init(_ directory: consuming OwnedDescriptor, _ lock: PlaceLock) {
        descriptor = directory
        self.lock = lock
    }
}
