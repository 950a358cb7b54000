package import Catalogue
package import FileValues
package import Filing
package import LinuxKernel
import SystemPackage

/// Reads every photo of a library again and compares it with what was recorded. Changes nothing.
///
/// For a thread of its own. Goes by the photos' numbers, so that a run that was stopped goes on behind its last one.
package struct LibraryVerification {
    /// What is wrong with a photo.
    package enum Fault: Hashable, Sendable {
        case missing
        /// It is there, and not what was filed.
        case damaged
        /// It may be whole; it could not be read.
        case unreadable(String)
    }

    /// How far it is, in photos.
    package struct Progress: Hashable, Sendable {
        package var photos = 0
        package var bytes: UInt64 = 0
        package var missing = 0
        package var damaged = 0
        package var unreadable = 0
        /// The last photo that was looked at.
        package var last: Int64

        /// Whether nothing is wrong so far.
        package var isGood: Bool { missing + damaged + unreadable == 0 }
    }

    private static let page = 500

    private let catalogue: CatalogueFile
    private let library: BytePath
    private let root: DestinationRoot
    private let work: FileWork

    package init(
        of library: BytePath, against catalogue: CatalogueFile, work: FileWork = FileWork()
    ) throws(SystemCallError) {
        self.library = library
        self.catalogue = catalogue
        self.work = work
        root = try DestinationRoot(library)
    }

    /// Looks at every photo with a number above `start`; calls `tell` with each fault, and `progress` after each photo,
    /// which says whether to go on. `work` is asked within a photo: one that was begun is then left out.
    package func run(
        after start: Int64, progress: (Progress) throws -> Bool, tell: (StoredPhoto, Fault) throws -> Void
    ) throws -> (progress: Progress, isComplete: Bool) {
        var state = Progress(last: start)
        while true {
            let photos = try catalogue.photos(after: state.last, limit: Self.page)
            if photos.isEmpty { return (state, true) }
            for stored in photos {
                if stored.photo.library == library {
                    let fault: Fault?
                    do throws(FilingError) { fault = try look(at: stored) } catch {
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
                    }
                    if let fault { try tell(stored, fault) }
                }
                state.last = stored.id
                guard try progress(state) else { return (state, false) }
            }
        }
    }

    /// The photos whose files are not there, by their directory entries alone, and how many there should be.
    package func missing() throws -> (photos: Set<Int64>, recorded: Int) {
        var missing: Set<Int64> = []
        var recorded = 0
        var last: Int64 = 0
        while true {
            let photos = try catalogue.photos(after: last, limit: Self.page)
            guard let end = photos.last else { return (missing, recorded) }
            for stored in photos where stored.photo.library == library {
                recorded += 1
                if isMissing(stored.photo.libraryPath) { missing.insert(stored.id) }
            }
            last = end.id
        }
    }

    private func isMissing(_ path: BytePath) -> Bool {
        do {
            _ = try FileStatus(of: path, beneath: root.descriptor)
            return false
        } catch {
            return [.noSuchFileOrDirectory, .notDirectory].contains(error.code)
        }
    }

    private func look(at stored: StoredPhoto) throws(FilingError) -> Fault? {
        let photo = stored.photo
        guard let hash = ContentHash(photo.sha256) else { return .unreadable("its row has no hash") }
        do {
            if try root.holds(photo.libraryPath, hash: hash, size: photo.size, work: work) { return nil }
        } catch {
            if error.kind == .stopped { throw error }
            return .unreadable("\(error.cause)")
        }
        // It may have been undone or replaced since its row was read.
        guard let now = try? catalogue.photo(id: stored.id), now.supersededAt == nil else { return nil }
        if now.photo.libraryPath != photo.libraryPath { return try look(at: now) }
        return isMissing(photo.libraryPath) ? .missing : .damaged
    }
}
