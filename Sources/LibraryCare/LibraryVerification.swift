package import Catalogue
package import FileValues
package import Filing
package import LinuxKernel
import SystemPackage

/// Verifies every photo of a library. Changes nothing.
///
/// Run it on a separate thread. Proceeds by the photos' numbers, so that a stopped run can continue after its last
/// photo.
package struct LibraryVerification {
    package enum Fault: Hashable, Sendable {
        case missing
        /// The file differs from the filed one.
        case damaged
        /// The file could not be read; it may be intact.
        case unreadable(String)
        /// A sidecar with other bytes than the filed one: people and programs write to sidecars.
        case edited
        /// It is intact, but the catalogue has other metadata than the readers find in it and its sidecars.
        case outdated
    }

    /// Counts of photos.
    package struct Progress: Hashable, Sendable {
        package var photos = 0
        package var bytes: UInt64 = 0
        package var missing = 0
        package var damaged = 0
        package var unreadable = 0
        package var outdated = 0
        package var edited = 0
        /// The last photo that was examined.
        package var last: Int64

        /// Whether no fault was found so far.
        package var isGood: Bool { missing + damaged + unreadable == 0 }
    }

    private static let page = 500

    private let catalogue: CatalogueFile
    private let library: BytePath
    private let root: DestinationRoot
    private let metadata: MetadataReading
    private let work: FileWork

    package init(
        of library: BytePath, against catalogue: CatalogueFile, work: FileWork = FileWork()
    ) throws(SystemCallError) {
        self.library = library
        self.catalogue = catalogue
        self.work = work
        root = try DestinationRoot(library)
        metadata = try MetadataReading(of: library, for: catalogue)
    }

    /// Verifies every photo with a number above `start`. Calls `report` with each fault, and `progress`, which returns
    /// whether to continue, after each photo. A stop by `work` takes effect within a photo, which then does not count.
    package func run(
        after start: Int64, progress: (Progress) throws -> Bool, report: (StoredPhoto, Fault) throws -> Void
    ) throws -> (progress: Progress, isComplete: Bool) {
        var state = Progress(last: start)
        while true {
            let photos = try catalogue.photos(after: state.last, limit: Self.page)
            if photos.isEmpty { return (state, true) }
            for stored in photos {
                if stored.photo.library == library {
                    let fault: Fault?
                    do throws(FilingError) { fault = try verify(stored) } catch {
                        if error.kind == .stopped { return (state, false) }
                        throw error
                    }
                    state.photos += 1
                    state.bytes += stored.photo.size
                    switch fault {
                    case nil: break
                    case .missing: state.missing += 1
                    case .damaged: state.damaged += 1
                    case .unreadable: state.unreadable += 1
                    case .outdated: state.outdated += 1
                    case .edited: state.edited += 1
                    }
                    if let fault { try report(stored, fault) }
                }
                state.last = stored.id
                guard try progress(state) else { return (state, false) }
            }
        }
    }

    /// Returns the photos without a directory entry, but for those below `away`, and the number of recorded photos.
    package func missing(outside away: [BytePath] = []) throws -> (photos: Set<Int64>, recorded: Int) {
        var missing: Set<Int64> = []
        var recorded = 0
        var last: Int64 = 0
        while true {
            let photos = try catalogue.photos(after: last, limit: Self.page)
            guard let end = photos.last else { return (missing, recorded) }
            for stored in photos where stored.photo.library == library {
                recorded += 1
                let path = library.appending(stored.photo.libraryPath)
                if away.contains(where: { path.relative(to: $0) != nil }) { continue }
                if isMissing(stored.photo.libraryPath), try isExpected(stored) { missing.insert(stored.id) }
            }
            last = end.id
        }
    }

    /// Calls `report` with each photo that was filed again elsewhere while its damaged file still lies at its path, and with the
    /// one that has its content now. What has the recorded bytes again is no damage, nor is what has those of another photo,
    /// which was moved there.
    package func replaced(report: (_ damaged: StoredPhoto, _ whole: StoredPhoto?) throws -> Void) throws {
        let replaced = try catalogue.replacedPhotos(in: library)
        for (path, stored) in replaced.sorted(by: { $0.key < $1.key }) where !isMissing(path) {
            guard let hash = ContentHash(stored.photo.sha256) else { continue }
            // What cannot be read may be whole.
            guard let holds = try? root.holds(path, hash: hash, size: stored.photo.size, work: work), !holds else {
                continue
            }
            let found = try? SourceFile(path, beneath: root.descriptor, mayHaveLinks: true).hash(work)
            if let found, try catalogue.photo(withHash: found.bytes) != nil { continue }
            try report(stored, try catalogue.photo(withHash: stored.photo.sha256))
        }
    }

    /// Whether its file is to be there still: a request may be moving it, or have moved it.
    private func isExpected(_ stored: StoredPhoto) throws(CatalogueError) -> Bool {
        guard try catalogue.photo(id: stored.id)?.photo.library == library else { return false }
        return try !catalogue.isRequestUnderWay(ofPhoto: stored.id)
    }

    private func isMissing(_ path: BytePath) -> Bool {
        do {
            _ = try FileStatus(of: path, beneath: root.descriptor)
            return false
        } catch {
            return [.noSuchFileOrDirectory, .notDirectory].contains(error.code)
        }
    }

    private func verify(_ stored: StoredPhoto) throws(FilingError) -> Fault? {
        let photo = stored.photo
        guard let hash = ContentHash(photo.sha256) else { return .unreadable("its row has no hash") }
        do {
            if try root.holds(photo.libraryPath, hash: hash, size: photo.size, work: work) {
                // What cannot be compared now is compared by the next run.
                return (try? metadata.isOutdated(stored)) == true ? .outdated : nil
            }
        } catch {
            if error.kind == .stopped { throw error }
            return .unreadable("\(error.cause)")
        }
        // It may have been undone or replaced after its row was read.
        guard let now = try? catalogue.photo(id: stored.id), now.supersededAt == nil,
            (try? isExpected(stored)) == true
        else { return nil }
        if now.photo.libraryPath != photo.libraryPath { return try verify(now) }
        if isMissing(photo.libraryPath) { return .missing }
        return photo.part.isSidecar ? .edited : .damaged
    }
}
