package import Catalogue
package import FileValues
package import LinuxKernel

/// What the catalogue that a rebuild replaces knows of the library. Confined to one thread at a time.
package final class FormerCatalogue {
    private static let unread = "it could not be read when the catalogue was made anew"
    /// The number of photos by which a library is recognised at another path.
    private static let marks = 8

    /// See ``CatalogueFile/replacedPhotos(in:)``.
    package private(set) var replaced: [BytePath: StoredPhoto] = [:]
    /// Why it cannot be read, or not all of it.
    package private(set) var failure: CatalogueError?

    private let catalogue: CatalogueFile
    private let library: BytePath
    /// The path that the library had when its photos were recorded.
    package private(set) var recorded: BytePath

    /// `root` is the library, now at `library`: a person may have renamed a directory above it since.
    package init(_ catalogue: CatalogueFile, of library: BytePath, at root: borrowing OwnedDescriptor) {
        self.catalogue = catalogue
        self.library = library
        recorded = library
        do throws(CatalogueError) {
            recorded = try Self.recordedPath(of: library, catalogue, root)
            replaced = try catalogue.replacedPhotos(in: recorded, columns: "*").mapValues(here)
        } catch { failure = error }
    }

    /// Returns the recorded library that no directory has any more, and whose latest photos are in this one; this one's own path
    /// if there is none.
    private static func recordedPath(
        of library: BytePath, _ catalogue: CatalogueFile, _ root: borrowing OwnedDescriptor
    ) throws(CatalogueError) -> BytePath {
        let known = try catalogue.libraries()
        if known.contains(library) { return library }
        for other in known where (try? FileStatus(at: other, followingLinks: true)) == nil {
            var last: [PhotoRecord] = []
            for stored in try catalogue.lastFiled(into: other, limit: marks) { last.append(stored.photo) }
            var held = 0
            for photo in last {
                let status = try? FileStatus(of: photo.libraryPath, beneath: root)
                if status?.kind == .regular, status?.identity.size == photo.size { held += 1 }
            }
            if held > 0, held * 2 >= last.count { return other }
        }
        return library
    }

    /// The same photo, in the library where it is now.
    private func here(_ stored: StoredPhoto) -> StoredPhoto {
        guard stored.photo.library == recorded else { return stored }
        var moved = stored
        moved.photo.library = library
        return moved
    }

    /// The photo that it has recorded at `path`; nil if there is none, or that cannot be read.
    package func photo(at path: BytePath) -> StoredPhoto? {
        read { () throws(CatalogueError) in try catalogue.recorded(in: recorded, at: path) }
    }

    /// The photo that it has recorded with this content; nil if there is none, or that cannot be read.
    func photo(withHash sha256: [UInt8]) -> StoredPhoto? {
        read { () throws(CatalogueError) in
            if let photo = try catalogue.recorded(withHash: sha256, areSidecars: false).first { return photo }
            return try catalogue.recorded(withHash: sha256, areSidecars: true).first
        }
    }

    private func read(_ body: () throws(CatalogueError) -> StoredPhoto?) -> StoredPhoto? {
        do throws(CatalogueError) { return try body().map(here) } catch {
            failure = error
            return nil
        }
    }

    /// Records in `new`, as damaged, the photos whose files have other bytes, as `damaged` has them, and those that are neither at
    /// their places in the library `root` nor anywhere else in the new catalogue: their files are missing, or could not be read.
    /// Without that, nobody would know of them any more. Call it when all that was found is recorded. Calls `report` with each
    /// of the latter.
    package func keepDamaged(
        _ damaged: [PhotoRecord], in new: CatalogueFile, beneath root: borrowing OwnedDescriptor, at time: FileTime,
        report: (BytePath, _ isThere: Bool) -> Void
    ) throws(CatalogueError) {
        try new.keepDamaged(damaged.map { ($0, "\(PhotoDamage.notFiled)") }, at: time)
        var missing: [(photo: PhotoRecord, reason: String)] = []
        var moved: Set<BytePath> = []
        let loss = try catalogue.salvagePhotos(of: recorded) { photos throws(CatalogueError) in
            for photo in photos.map({ here($0).photo })
            where photo.sha256.count == 32 && photo.libraryPath.isSafeBeneath {
                guard try new.recorded(in: library, at: photo.libraryPath) == nil else { continue }
                let isThere = (try? FileStatus(of: photo.libraryPath, beneath: root))?.kind == .regular
                // One that this program has written to is read as what it says, and gets no row.
                if isThere, photo.part.isSidecar { continue }
                if try isElsewhere(photo, in: new, &moved) { continue }
                let reason = isThere ? Self.unread : "\(PhotoDamage.notFiled)"
                missing.append((PhotoRecord(adopting: photo.libraryPath, asFiled: photo), reason))
                report(photo.libraryPath, isThere)
            }
            if !missing.isEmpty { try new.keepDamaged(missing, at: time) }
            missing = []
        }
        failure = failure ?? loss
    }

    /// Whether the new catalogue has the photo at another path. Each of two sidecars of the same bytes is another file: one that
    /// was found counts for one of them, and is added to `moved`.
    private func isElsewhere(
        _ photo: PhotoRecord, in new: CatalogueFile, _ moved: inout Set<BytePath>
    ) throws(CatalogueError) -> Bool {
        let found = try new.recorded(withHash: photo.sha256, areSidecars: photo.part.isSidecar).map(\.photo)
        guard photo.part.isSidecar else { return !found.isEmpty }
        for path in found.map(\.libraryPath) where !moved.contains(path) {
            if try catalogue.recorded(in: recorded, at: path)?.photo.sha256 == photo.sha256 { continue }
            moved.insert(path)
            return true
        }
        return false
    }
}
