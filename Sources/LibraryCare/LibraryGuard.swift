package import Catalogue
package import FileValues
import Filing
package import LinuxKernel
package import Settings
import SystemPackage

/// Tells the library from whatever else lies at its path: a bare mount point, a disk that was mixed up, a directory that
/// somebody made. What is filed into one of those is hidden when the library comes back, and lost with the disk.
///
/// A directory is the library if it is the very one that was filed into before, by its file system's UUID and its inode;
/// or if nothing was filed yet; or if it holds most of what was filed last, since then it was moved or restored by
/// somebody. Without a UUID that is asked once for each mount.
///
/// Any thread; reads the catalogue only when the directory is not the one that was accepted last.
package final class LibraryGuard: Sendable {
    /// What lies there is not the library.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: BytePath
        /// Why, for people.
        package let description: String
    }

    /// A place beside the library (quarantine, duplicates, returned, trash) is not on its file system: that is not mounted.
    package struct PlaceAway: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: BytePath
        /// Why, for people.
        package let reason: String

        package var description: String { "\(path.escaped) is not available: \(reason)" }
    }

    /// How many photos are looked for.
    private static let marks = 8

    private let catalogue: CatalogueFile
    /// What this process keeps other daemons away from.
    package let locks = PlaceLocks()
    private let accepted = Locked<[BytePath: PlaceIdentity]>([:])
    /// Places within libraries on which file systems were mounted.
    private let mounts = Locked<[BytePath: Set<BytePath>]>([:])

    package init(_ catalogue: CatalogueFile) { self.catalogue = catalogue }

    /// Throws ``Refusal`` unless `root`, open, is the library at `path`. Gives back its identity if that is to be
    /// remembered. Waits for the catalogue and the library.
    @discardableResult
    package func check(_ root: borrowing OwnedDescriptor, at path: BytePath) throws -> KnownLibrary? {
        let identity = try PlaceIdentity(of: root)
        // The number of a mount that is given away again, and no UUID, say nothing.
        let staysSame = identity.isLasting || identity.mount != nil
        if staysSame, accepted.withLock({ $0[path] }) == identity { return nil }
        let found = KnownLibrary(identity, path)
        let known = try catalogue.library(at: path)
        let isKnown = known == found
        if !isKnown || !identity.isLasting { try requireMarks(in: root, at: path, isKnown) }
        if let known, !identity.isOnFileSystem(of: known), try !Self.isMountPoint(root),
            try catalogue.lastFiled(into: path, limit: 1).isEmpty
        {
            throw Refusal(path: path, description: "the file system that was there is not mounted")
        }
        accepted.withLock { $0[path] = identity }
        return isKnown ? nil : found
    }

    /// Throws if the catalogue was removed or replaced: what is recorded in it is not recorded.
    package func requireCatalogue() throws(CatalogueError) { if let loss = catalogue.loss() { throw loss } }

    /// Keeps other daemons away from the library at `path`, which is `root`, until another is configured. Throws
    /// ``PlaceLock/Taken``.
    package func hold(_ root: borrowing OwnedDescriptor, at path: BytePath) throws {
        _ = try locks.hold(root, at: path, forGood: true)
    }

    private func requireMarks(in root: borrowing OwnedDescriptor, at path: BytePath, _ isKnown: Bool) throws {
        let last = try catalogue.lastFiled(into: path, limit: Self.marks)
        if last.isEmpty, !isKnown, try catalogue.wasAccepted(at: path) {
            throw Refusal(path: path, description: "another directory lies there than the one that was accepted")
        }
        if last.isEmpty, try catalogue.isRebuilding(), try !Self.holdsPhotos(path) {
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

    /// Whether a photo is in the directory, among the first files of it.
    fileprivate static func holdsPhotos(_ path: BytePath) throws -> Bool {
        try LibraryTree(path).firstPhoto(isRecorded: { _ in false }, hasRecord: { _ in false }) != nil
    }

    /// Of the photos that are recorded or stand in the library at `path`, those that are not both.
    package struct Census: Sendable {
        /// Another library than the one of now, and how many photos are recorded there.
        package var elsewhere: (library: BytePath, photos: Int)?
        /// One of those in the library where none is recorded.
        package var unrecorded: BytePath?
    }

    /// Counts; nil while the catalogue is made anew. Reads a few files where nothing is recorded, and the catalogue.
    package func census(of path: BytePath) throws -> Census? {
        if try catalogue.isRebuilding() { return nil }
        var recorded = try catalogue.photosByLibrary()
        var census = Census()
        let hasNone = recorded.removeValue(forKey: path) == nil
        let wasIncomplete = try catalogue.isIncomplete()
        if hasNone || wasIncomplete {
            census.unrecorded = try LibraryTree(path).firstPhoto { photo in
                try isRecorded(photo, in: path)
            } hasRecord: { hash in
                // One that is being filed has its name before it is recorded; asked for first, it is found in either state.
                try catalogue.pendingIntents().contains { $0.photo.sha256 == hash.bytes }
                    || catalogue.photo(withHash: hash.bytes) != nil
            }
        }
        // Whoever files a photo into it makes that no better.
        if wasIncomplete != (census.unrecorded != nil) {
            try catalogue.setIncomplete(!wasIncomplete, at: Moment.now.wall)
        }
        census.elsewhere = recorded.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { ($0.key, $0.value) }
        return census
    }

    /// Whether a photo is recorded at `path` of the library.
    package func isRecorded(_ path: BytePath, in library: BytePath) throws -> Bool {
        try catalogue.photo(library: library, path: path) != nil
    }

    /// Throws ``PlaceAway`` if `path`, a place beside the library, was on another file system than it is or would be made
    /// on: then that is not mounted, and what is put there would be hidden below it. One that was never there is to be
    /// made only if `library` stands; nil for who makes none. Gives back what is to be remembered of it. Waits for the
    /// catalogue and the place.
    package func checkPlace(_ path: BytePath, toBeMadeBeside library: BytePath?) throws -> KnownLibrary? {
        let (identity, standing) = try nearest(path)
        if let known = try catalogue.library(at: path) {
            guard identity.isOnFileSystem(of: known) else {
                throw PlaceAway(path: path, reason: "the file system that it was on is not mounted there")
            }
            if standing != path, identity.fileSystem == nil || known.fileSystem == 0 {
                throw PlaceAway(path: path, reason: "it was there, and its file system has no UUID to be known by")
            }
            return nil
        }
        if standing == path { return KnownLibrary(identity, path) }
        // Whether its disk is there can only be told by the library's.
        guard let library, (try? openDirectory(library)) == nil else { return nil }
        throw PlaceAway(path: path, reason: "it was not made yet, and the library is not there either")
    }

    /// Throws ``PlaceAway`` if a file system that was mounted within `library`, which is open as `root`, on the way to
    /// `directory` is not mounted now: what is filed there would be hidden below its mount point. Gives back what is to be
    /// remembered. Waits for the library, and once for the catalogue.
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
                // It is made on the file system of the one above, which was looked at.
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

    /// Why file systems that were mounted within `library` are away, by their places; nil for those that are not.
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

    /// Where file systems were mounted within `library` when something was filed there.
    private func mounted(within library: BytePath) throws -> Set<BytePath> {
        if let known = mounts.withLock({ $0[library] }) { return known }
        let known = Set(try catalogue.knownPlaces().filter { $0 != library && $0.relative(to: library) != nil })
        mounts.withLock { $0[library] = known }
        return known
    }

    /// The directory at `path`, or the nearest above it that there is.
    private func nearest(_ path: BytePath) throws(SystemCallError) -> (PlaceIdentity, BytePath) {
        var standing = path
        while true {
            do { return (try PlaceIdentity(of: try openDirectory(standing)), standing) } catch {
                guard error.code == .noSuchFileOrDirectory, !standing.isEmpty, standing != "/" else { throw error }
                standing = standing.parent.isEmpty ? "/" : standing.parent
            }
        }
    }
}

extension PlaceIdentity {
    /// False where it is on another file system for certain.
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

    /// The directory that lies at `path` now, whatever it is: for whoever says that it is the library.
    package init(lyingAt path: BytePath) throws(SystemCallError) {
        self.init(try PlaceIdentity(of: try openDirectory(path)), path)
    }
}

extension LibrarySettings {
    /// Where files go that are not filed.
    package var besides: [BytePath] { [quarantine, duplicates, returned, trash] }
}

/// Records that what lies at the library's path is the library, and what lies at those of quarantine and the like is
/// these, on somebody's word; the library's path, nil if none is configured. Throws ``StateLock/Taken`` while a daemon
/// runs.
package func acceptLibrary(of settings: Settings) throws -> BytePath? {
    guard let library = settings.library else { return nil }
    let lock = try StateLock(settings.state)
    defer { withExtendedLifetime(lock) {} }
    let now = Moment.now.wall
    let catalogue = try CatalogueFile.openForWriting(
        String(decoding: settings.catalogue.bytes, as: UTF8.self), now: now, isLost: lock.hadCatalogue)
    lock.noteCatalogue()
    let root = try openDirectory(library.path)
    var isAccepted = false
    do { try LibraryGuard(catalogue).check(root, at: library.path) } catch is LibraryGuard.Refusal { isAccepted = true }
    try catalogue.remember(
        KnownLibrary(try PlaceIdentity(of: root), library.path), at: now, isAccepted: isAccepted)
    for path in try catalogue.knownPlaces() where path != library.path && path.relative(to: library.path) != nil {
        try catalogue.forgetLibrary(at: path)
    }
    // There is nothing to make the catalogue anew from, and that is meant so.
    if try catalogue.isRebuilding(), try !LibraryGuard.holdsPhotos(library.path) { try catalogue.endRebuilding() }
    for path in library.besides {
        do throws(SystemCallError) {
            let place = try KnownLibrary(lyingAt: path)
            try? catalogue.remember(place, at: now)
        } catch {
            // It is made when it is first needed.
            if error.code == .noSuchFileOrDirectory { try catalogue.forgetLibrary(at: path) }
        }
    }
    catalogue.close()
    return library.path
}
