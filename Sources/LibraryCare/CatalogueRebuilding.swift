package import Catalogue
package import FileValues
import LinuxKernel
import SystemPackage

/// A rebuild of the catalogue beside the one in use, which it replaces when it is complete. Holds the state lock, so
/// that no daemon files meanwhile.
package final class CatalogueRebuilding {
    package struct Result: Hashable, Sendable {
        /// The new path of the old catalogue, if there was one.
        package var old: BytePath?
        /// The number of photos whose titles, keywords, ratings or places were copied.
        package var descriptions = 0
        /// Why these could not be read from the old catalogue; nil if they could, or there was none.
        package var withoutDescriptions: String?
    }

    /// The catalogue in use, for reading; nil if it is missing or cannot be opened.
    package let old: CatalogueFile?
    /// Why the catalogue in use cannot be read, or not whole.
    package let damage: CatalogueError?

    private let path: BytePath
    private let lock: StateLock
    private let isThere: Bool

    /// Acquires the lock. Throws ``StateLock/Taken`` while a daemon runs. Changes nothing in a dry run.
    package init(_ path: BytePath, state: BytePath, isDry: Bool) throws {
        let path = linkedPath(path)
        self.path = path
        lock = try StateLock(state)
        let directory = try openDirectory(state)
        try directory.openBeneath("lock", [.read, .nonBlocking]).giveToOwner(of: directory)
        if !isDry { _ = try CatalogueFile.finishRestoring(Self.text(path)) }
        // An empty file counts as missing.
        isThere = (try? FileStatus(at: path, followingLinks: true)).map { $0.identity.size > 0 } ?? false
        do throws(CatalogueError) { old = isThere ? try CatalogueFile.openForReading(Self.text(path)) : nil } catch {
            // One that is unreadable only now must not be replaced.
            guard [.missing, .corrupt].contains(error.code) else { throw error }
            (old, damage) = (nil, error.code == .corrupt ? error : nil)
            return
        }
        do throws(CatalogueError) {
            // What is asked of it before a rebuild, and what a rebuild takes from it.
            _ = try old?.totals()
            _ = try old?.hasMoves()
            _ = try old?.knownPlaces()
            _ = try old?.photos(after: 0, limit: 1)
            damage = nil
        } catch {
            guard error.code == .corrupt else { throw error }
            damage = error
        }
    }

    /// ``old``, if it can be read whole.
    package var wholeOld: CatalogueFile? { damage == nil ? old : nil }

    private var new: BytePath { path.addingSuffix(".rebuilding") }

    private static func text(_ path: BytePath) -> String { String(decoding: path.bytes, as: UTF8.self) }

    /// Opens the new catalogue, which may be that of an interrupted run. It gets the old one's owner, group and mode,
    /// or else the directory's owner, since the daemon could not open one of root.
    package func begin(for library: BytePath) throws -> CatalogueFile {
        try CatalogueFile.setAsideRestored(Self.text(path), now: Moment.now.wall)
        do {
            let catalogue = try open()
            if try catalogue.libraries().allSatisfy({ $0 == library }) {
                try strikeChanged(in: catalogue, beneath: try openDirectory(library))
                return catalogue
            }
            // It was begun for another library.
            catalogue.close()
        } catch let error as CatalogueError where error.code == .corrupt {}
        try remove()
        return try open()
    }

    /// Files that an interrupted run has recorded may have been changed, renamed or removed since.
    private func strikeChanged(in catalogue: CatalogueFile, beneath root: borrowing OwnedDescriptor) throws {
        var last: Int64 = 0
        while true {
            let photos = try catalogue.photos(after: last, limit: 500)
            guard let end = photos.last else { return }
            var changed: [Int64] = []
            for stored in photos {
                let status = try? FileStatus(of: stored.photo.libraryPath, beneath: root)
                if status?.identity != stored.photo.sourceIdentity { changed.append(stored.id) }
            }
            try catalogue.strike(changed, at: Moment.now.wall)
            last = end.id
        }
    }

    /// Records in the new catalogue which photos are in buckets alone: the library, whose photos are recorded there by then,
    /// does not show them. Returns why the old one could not be read for that, or not whole.
    package func keepMoved(in catalogue: CatalogueFile) throws(CatalogueError) -> CatalogueError? {
        let loss = try old.flatMap { old throws(CatalogueError) in try catalogue.keepMoved(of: old) }
        return damage ?? loss
    }

    /// Closes and deletes the new catalogue; the old one stays.
    package func discard(_ catalogue: CatalogueFile) throws {
        catalogue.close()
        try remove()
    }

    private func remove() throws(SystemCallError) {
        let directory = try openParent(of: path)
        for suffix in ["", "-wal", "-shm"] { try? directory.unlink(new.name.addingSuffix(suffix)) }
    }

    private func open() throws -> CatalogueFile {
        let directory = try openParent(of: path)
        // Before SQLite opens it, since SQLite creates its other files with the same attributes.
        let file = try openNew(in: directory)
        let status = try FileStatus(of: file)
        guard status.kind == .regular, status.links == 1 else {
            throw SystemCallError("open", .fileExists, path: new)
        }
        if let old = try? FileStatus(of: path.name, in: directory), old.kind == .regular {
            try file.setOwner(user: old.user, group: old.group)
            try file.setMode(old.mode & 0o777)
        } else {
            try file.giveToOwner(of: directory)
            try file.setMode(0o640)
        }
        return try CatalogueFile.openForRepair(Self.text(new))
    }

    private func openNew(in directory: borrowing OwnedDescriptor) throws(SystemCallError) -> OwnedDescriptor {
        do { return try directory.openBeneath(new.name, [.readWrite, .createNew], mode: 0o600) } catch {
            guard error.code == .fileExists else { throw error }
            return try directory.openBeneath(new.name, [.readWrite, .nonBlocking])
        }
    }

    /// Copies descriptions into the new catalogue and puts it in the old one's place.
    package func finish(_ catalogue: CatalogueFile, now: FileTime) throws -> Result {
        var result = Result()
        old?.close()
        if isThere {
            do throws(CatalogueError) { result.descriptions = try catalogue.copyDescriptions(from: path) } catch {
                result.withoutDescriptions = "\(error)"
            }
        }
        try catalogue.closeWhole()
        let directory = try openParent(of: path)
        var stamp = now.seconds
        // Another rebuild may have ended in the same second.
        while ["", "-wal", "-shm"].contains(where: { suffix in
            (try? FileStatus(of: path.name.addingSuffix(".before-rebuild-\(stamp)\(suffix)"), in: directory)) != nil
        }) { stamp += 1 }
        let ending = ".before-rebuild-\(stamp)"
        // After a crash between the next two steps, whoever opens the catalogue makes the last one.
        let ready = path.name.addingSuffix(CatalogueFile.restored)
        try directory.rename(new.name, to: directory, as: ready)
        try directory.syncDirectory()
        if (try? FileStatus(of: path.name, in: directory)) != nil { result.old = path.addingSuffix(ending) }
        // The file itself first: a log alone is harmless, while the file without its log would seem complete. A log
        // without a file is moved, too, since SQLite would apply it to the new file.
        for suffix in ["", "-wal", "-shm"] {
            do throws(SystemCallError) {
                try directory.rename(
                    path.name.addingSuffix(suffix), to: directory, as: path.name.addingSuffix(ending + suffix))
            } catch {
                if error.code != .noSuchFileOrDirectory { throw error }
            }
        }
        try directory.rename(ready, to: directory, as: path.name)
        try directory.syncDirectory()
        withExtendedLifetime(lock) {}
        return result
    }
}
