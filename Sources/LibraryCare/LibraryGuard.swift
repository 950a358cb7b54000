package import Catalogue
package import FileValues
import Filing
package import LinuxKernel
package import Settings
import SystemPackage

/// Checks that the directory at the library's path is the library, and not a bare mount point, another disk or a new
/// directory. Photos filed there would be hidden when the library is mounted again, or lost with the disk.
///
/// A directory is the library if it has the recorded file system UUID and inode; or if nothing was filed yet; or if it
/// contains most of the photos filed last, since a person then moved or restored it. Without a UUID, and where other daemons
/// file into it, the last check is made once for each mount.
///
/// Any thread; reads the catalogue only if the directory is not the one that was accepted last.
package final class LibraryGuard: Sendable {
    /// The directory is not the library.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: BytePath
        /// The reason, for people.
        package let description: String
    }

    /// The file system of a place beside or within the library (quarantine, duplicates, returned, trash) is not
    /// mounted.
    package struct PlaceAway: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: BytePath
        /// The reason, for people.
        package let reason: String

        package var description: String { "\(path.escaped) is not available: \(reason)" }
    }

    /// The number of photos by which a library is recognized.
    private static let marks = 8

    private let catalogue: CatalogueFile
    /// The locks of this process against other daemons.
    package let locks = PlaceLocks()
    /// See ``CatalogueFile/databaseNumber()``.
    private let database = Locked<UInt64?>(nil)
    private let accepted = Locked<[BytePath: PlaceIdentity]>([:])
    /// The known mount points within libraries.
    private let mounts = Locked<[BytePath: Set<BytePath>]>([:])

    package init(_ catalogue: CatalogueFile) { self.catalogue = catalogue }

    /// Throws ``Refusal`` unless the open directory `root` is the library at `path`. Returns its identity if it is to
    /// be recorded. Waits for the catalogue and the library.
    @discardableResult
    package func check(_ root: borrowing OwnedDescriptor, at path: BytePath) throws -> KnownLibrary? {
        let identity = try PlaceIdentity(of: root)
        // With neither a UUID nor a unique mount identifier, the identity proves nothing, since mount numbers are
        // reused.
        let staysSame = identity.isLasting || identity.mount != nil
        if staysSame, accepted.withLock({ $0[path] }) == identity { return nil }
        let found = KnownLibrary(identity, path)
        let known = try catalogue.library(at: path)
        let isKnown = known == found
        if !isKnown || !identity.isLasting || catalogue.isShared { try requireMarks(in: root, at: path, isKnown) }
        if let known, !identity.isOnFileSystem(of: known), try !Self.isMountPoint(root),
            try catalogue.lastFiled(into: path, limit: 1).isEmpty
        {
            throw Refusal(path: path, description: "the file system that was there is not mounted")
        }
        // Until it has a photo, another host may file the first one elsewhere.
        if try !catalogue.isShared || !catalogue.lastFiled(into: path, limit: 1).isEmpty {
            accepted.withLock { $0[path] = identity }
        }
        return isKnown ? nil : found
    }

    /// Throws if the catalogue was removed or replaced, so that its records are lost.
    package func requireCatalogue() throws(CatalogueError) { if let loss = catalogue.loss() { throw loss } }

    /// Locks the library `root` at `path` until another is configured, against all daemons that do not share this catalogue.
    /// Throws ``PlaceLock/Taken``. Waits for the catalogue once.
    package func hold(_ root: borrowing OwnedDescriptor, at path: BytePath) throws {
        let known = database.withLock(\.self)
        let number = try known ?? catalogue.databaseNumber()
        database.withLock { $0 = number }
        _ = try locks.hold(root, at: path, forGood: true, sharing: number)
    }

    private func requireMarks(in root: borrowing OwnedDescriptor, at path: BytePath, _ isKnown: Bool) throws {
        let last = try catalogue.lastFiled(into: path, limit: Self.marks)
        if last.isEmpty, !isKnown, try catalogue.wasAccepted(at: path) {
            throw Refusal(path: path, description: "another directory lies there than the one that was accepted")
        }
        if last.isEmpty, !isKnown, try catalogue.library(at: path) != nil, try catalogue.hasMoves() {
            throw Refusal(
                path: path, description: "another directory lies there than the one whose photos were moved to a bucket"
            )
        }
        if last.isEmpty, catalogue.isShared, try !catalogue.wasAccepted(at: path),
            let other = try catalogue.libraries().first(where: { $0 != path })
        {
            // Records name it by its path: here each photo of the others would be missing, and be filed again.
            throw Refusal(
                path: path,
                description: "the photos of its catalogue are in \(other.escaped), which each host mounts there")
        }
        if last.isEmpty, try catalogue.isRebuilding(), try !Self.containsPhotos(path) {
            throw Refusal(
                path: path,
                description: "the catalogue was lost, and no photo is there by which the library could be known")
        }
        var held = 0
        for stored in last {
            let status = try? FileStatus(of: stored.photo.libraryPath, beneath: root)
            if status?.kind == .regular, status?.identity.size == stored.photo.size { held += 1 }
        }
        guard held * 2 >= last.count else {
            throw Refusal(
                path: path,
                description:
                    "another directory lies there, with \(held) of the \(last.count) photos that were filed last")
        }
    }

    private static func isMountPoint(_ root: borrowing OwnedDescriptor) throws(SystemCallError) -> Bool {
        try FileStatus(of: "..", in: root).device != FileStatus(of: root).device
    }

    /// Returns whether there is a photo among the first files of the directory.
    fileprivate static func containsPhotos(_ path: BytePath) throws -> Bool {
        try LibraryTree(path).firstPhoto(isRecorded: { _ in false }, hasRecord: { _ in false }) != nil
    }

    /// The result of comparing the catalogue with the library.
    package struct Census: Sendable {
        /// Another library with recorded photos, and their number.
        package var elsewhere: (library: BytePath, photos: Int)?
        /// An unrecorded photo of the library.
        package var unrecorded: BytePath?
    }

    /// Compares the catalogue with the library at `path`; nil during a rebuild. Reads the catalogue, and a few files if
    /// no photo or only a part is recorded.
    package func census(of path: BytePath) throws -> Census? {
        if try catalogue.isRebuilding() { return nil }
        let recorded = try catalogue.photosByLibrary()
        var census = Census()
        let hasNone = recorded[path] == nil
        let wasIncomplete = try catalogue.isIncomplete()
        if hasNone || wasIncomplete {
            let replaced = try catalogue.replacedPhotos(in: path)
            census.unrecorded = try LibraryTree(path).firstPhoto { photo in
                try replaced[photo] != nil || isRecorded(photo, in: path)
            } hasRecord: { hash in
                // A photo that is being filed has its name before its record. Intents are read first, so that it is
                // found in either state.
                try catalogue.pendingIntents().contains { $0.photo.sha256 == hash.bytes }
                    || catalogue.photo(withHash: hash.bytes) != nil
            }
        }
        // Recorded, because filing one photo does not change it.
        if wasIncomplete != (census.unrecorded != nil) {
            try catalogue.setIncomplete(!wasIncomplete, at: Moment.now.wall)
        }
        census.elsewhere = Self.elsewhere(than: path, recorded)
        return census
    }

    /// Returns the library that has the most photos of all but the one at `path`, and how many; nil if there is none.
    package static func elsewhere(
        than path: BytePath, _ recorded: [BytePath: Int]
    ) -> (library: BytePath, photos: Int)? {
        recorded.filter { $0.key != path && $0.key.isAbsolute }.max { ($0.value, $1.key) < ($1.value, $0.key) }
            .map { ($0.key, $0.value) }
    }

    /// Returns whether a photo is recorded at `path` of the library.
    package func isRecorded(_ path: BytePath, in library: BytePath) throws -> Bool {
        try catalogue.photo(library: library, path: path) != nil
    }

    /// Throws ``PlaceAway`` if the file system of `path`, a place beside the library, is not mounted, so that files put
    /// there would be hidden below its mount point. A place that never existed may be created only if `library` exists;
    /// pass nil if it is not to be created. Returns the identity to be recorded. Waits for the catalogue and the place.
    package func checkPlace(_ path: BytePath, toBeMadeBeside library: BytePath?) throws -> KnownLibrary? {
        let (identity, existing) = try nearest(path)
        if let known = try catalogue.library(at: path) {
            guard identity.isOnFileSystem(of: known) else {
                throw PlaceAway(path: path, reason: "the file system that it was on is not mounted there")
            }
            if existing != path, identity.fileSystem == nil || known.fileSystem == 0 {
                throw PlaceAway(path: path, reason: "it was there, and its file system has no UUID to be known by")
            }
            return nil
        }
        if existing == path { return KnownLibrary(identity, path) }
        // Only the library shows whether the disk is there.
        guard let library, (try? openDirectory(library)) == nil else { return nil }
        throw PlaceAway(path: path, reason: "it was not made yet, and the library is not there either")
    }

    /// Returns whether nothing lies at `path` of `place`, a place beside the library, because somebody removed it: the directory
    /// that had it stands, in the known place. Throws ``PlaceAway`` if that is unknown. Waits for the catalogue and the place.
    package func isRemoved(_ path: BytePath, from place: BytePath) throws -> Bool {
        func away(_ reason: String) -> PlaceAway { PlaceAway(path: place, reason: reason) }
        let root: OwnedDescriptor
        do { root = try openDirectory(place) } catch { throw away("\(error)") }
        let identity = try PlaceIdentity(of: root)
        guard let known = try catalogue.library(at: place) else { throw away("it is not known yet") }
        // Another directory in its place may be the wrong one, though it is on the same disk.
        let kind = FileSystemKind(magic: UInt32(truncatingIfNeeded: identity.fileSystemType))
        let isKnown =
            kind.inodes == .lasting ? KnownLibrary(identity, place) == known : identity.isOnFileSystem(of: known)
        guard isKnown else { throw away("another directory lies there than the one that files were put into") }
        let directory: OwnedDescriptor
        do { directory = try root.openDirectoryBeneath(path.parent) } catch { throw away("\(error)") }
        guard try FileStatus(of: directory).device == FileStatus(of: root).device else {
            throw away("something is mounted at \(path.parent.escaped) in it")
        }
        do throws(SystemCallError) {
            _ = try FileStatus(of: path.name, in: directory)
            return false
        } catch {
            if error.code == .noSuchFileOrDirectory { return true }
            throw away("\(error)")
        }
    }

    /// Throws ``PlaceAway`` if a known mount point of `library`, open as `root`, on the path to `directory` has no file
    /// system now, so that files put there would be hidden. Returns the identities to be recorded. Waits for the
    /// library, and once for the catalogue.
    package func checkMounts(
        toward directory: BytePath, in root: borrowing OwnedDescriptor, of library: BytePath
    ) throws -> [KnownLibrary] {
        var found: [KnownLibrary] = []
        var (relative, device): (BytePath, UInt64) = ("", try FileStatus(of: root).device)
        for name in directory.components {
            relative = relative.appending(name)
            let path = library.appending(relative)
            let inner: OwnedDescriptor
            do { inner = try root.openDirectoryBeneath(relative) } catch {
                // It will be created on the file system of its parent, which was checked.
                if error.code == .noSuchFileOrDirectory { break }
                throw FilingError(.openDestination, .destination, .system(error), path: path)
            }
            let status = try FileStatus(of: inner)
            let isKnown = try mounted(within: library).contains(path)
            if status.device == device {
                if isKnown { throw PlaceAway(path: path, reason: "the file system that was mounted there is not") }
            } else if !isKnown {
                found.append(KnownLibrary(try PlaceIdentity(of: inner), path))
                mounts.withLock { _ = $0[library]?.insert(path) }
            }
            device = status.device
        }
        return found
    }

    /// Returns for each known mount point of `library` why its file system is not mounted, or nil if it is.
    package func awayMounts(in root: borrowing OwnedDescriptor, of library: BytePath) throws -> [BytePath: String?] {
        var away: [BytePath: String?] = [:]
        for path in try mounted(within: library) {
            guard let relative = path.relative(to: library) else { continue }
            do {
                _ = try checkMounts(toward: relative, in: root, of: library)
                away.updateValue(nil, forKey: path)
            } catch let error as PlaceAway where error.path == path { away[path] = error.reason } catch { continue }
        }
        return away
    }

    /// Returns the mount points within `library` that are known from filing.
    private func mounted(within library: BytePath) throws -> Set<BytePath> {
        if let known = mounts.withLock({ $0[library] }) { return known }
        let known = Set(try catalogue.knownPlaces().filter { $0 != library && $0.relative(to: library) != nil })
        mounts.withLock { $0[library] = known }
        return known
    }

    /// Returns the directory at `path`, or its nearest existing ancestor.
    private func nearest(_ path: BytePath) throws(SystemCallError) -> (PlaceIdentity, BytePath) {
        var existing = path
        while true {
            do { return (try PlaceIdentity(of: try openDirectory(existing)), existing) } catch {
                guard error.code == .noSuchFileOrDirectory, !existing.isEmpty, existing != "/" else { throw error }
                existing = existing.parent.isEmpty ? "/" : existing.parent
            }
        }
    }
}

extension PlaceIdentity {
    /// False only if it is certainly on another file system.
    fileprivate func isOnFileSystem(of known: KnownLibrary) -> Bool {
        guard fileSystemType == known.fileSystemType else { return false }
        guard let fileSystem, known.fileSystem != 0 else { return true }
        return fileSystem == known.fileSystem
    }
}

extension KnownLibrary {
    init(_ identity: PlaceIdentity, _ path: BytePath) {
        self.init(
            path: path, fileSystemType: identity.fileSystemType, fileSystem: identity.fileSystem ?? 0,
            inode: identity.inode)
    }

    /// The directory at `path`, unchecked: for a person who declares that it is the library.
    package init(at path: BytePath) throws(SystemCallError) {
        self.init(try PlaceIdentity(of: try openDirectory(path)), path)
    }
}

extension LibrarySettings {
    /// The places of files that are not filed.
    package var besides: [BytePath] { [quarantine, duplicates, returned, trash] }
}

/// A directory is to be the library, and other hosts of the catalogue file into another.
package struct LibraryOfOtherHosts: Error, CustomStringConvertible {
    let path: BytePath
    let hosts: [String]

    package var description: String {
        """
        \(path.escaped) is not the library of this catalogue, into which \(hosts.joined(separator: ", ")) file\
        \(hosts.count == 1 ? "s" : ""). Mount that library here, or set "library" to where it is. If all hosts have moved to \
        \(path.escaped): stop photoinboxd on all of them, wait a minute, and run this again
        """
    }
}

/// Records, as a person declared, that the directories at the configured paths are the library, quarantine and so on.
/// Returns the library's path; nil if none is configured. Throws ``StateLock/Taken`` while a daemon runs, and
/// ``LibraryOfOtherHosts`` while others of the catalogue do.
package func acceptLibrary(of settings: Settings) throws -> BytePath? {
    guard let library = settings.library else { return nil }
    let lock = try StateLock(settings.state)
    defer { withExtendedLifetime(lock) {} }
    let now = Moment.now.wall
    let catalogue = try lock.openCatalogue(at: settings.catalogue)
    let root = try openDirectory(library.path)
    var isAccepted = false
    do { try LibraryGuard(catalogue).check(root, at: library.path) } catch is LibraryGuard.Refusal { isAccepted = true }
    if isAccepted, catalogue.isShared {
        let own = try ServerMemory(in: settings.state).key
        let others = try catalogue.hosts().filter { $0.key != own && !$0.isForgotten && !$0.isSilent }
        guard others.isEmpty else { throw LibraryOfOtherHosts(path: library.path, hosts: others.map(\.name)) }
    }
    try catalogue.remember(
        KnownLibrary(try PlaceIdentity(of: root), library.path), at: now, isAccepted: isAccepted)
    for path in try catalogue.knownPlaces() where path != library.path && path.relative(to: library.path) != nil {
        try catalogue.forgetLibrary(at: path)
    }
    // The person accepted a library without photos, so there is nothing to rebuild from.
    if try catalogue.isRebuilding(), try !LibraryGuard.containsPhotos(library.path) { try catalogue.endRebuilding() }
    for path in library.besides {
        do throws(SystemCallError) {
            let place = try KnownLibrary(at: path)
            try? catalogue.remember(place, at: now)
        } catch {
            // It is created when it is first needed.
            if error.code == .noSuchFileOrDirectory { try catalogue.forgetLibrary(at: path) }
        }
    }
    catalogue.close()
    return library.path
}
