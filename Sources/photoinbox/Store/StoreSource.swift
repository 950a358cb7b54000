import Catalogue
import FileValues
import Filing
import LinuxKernel
import Storing

/// The recorded photos of a library that are to be in a bucket, one after the other. Any thread.
final class StoreSource: Sendable {
    private struct State {
        /// The next ones, the first last.
        var ready: [StoreItem] = []
        /// Given ones that are not looked up yet, the first last.
        var wanted: [Int64]?
        var last: Int64 = 0
        var isOver = false
    }

    private static let page = 500
    /// Known damaged photos at most; a later run has the rest.
    private static let mostDamaged = 100_000

    private let catalogue: CatalogueFile
    private let library: BytePath
    /// The library and its known damaged photos, if only what is lost there is wanted.
    private let lost: (root: HeldDescriptor, damaged: Set<Int64>)?
    private let state: Locked<State>
    /// Nil for given ones.
    let total: (photos: Int, bytes: UInt64)?

    /// All photos recorded in `library`; with `photos`, those of these that are still; with `root`, those that are missing
    /// there, have another size, or are known as damaged.
    init(
        _ catalogue: CatalogueFile, library: BytePath, photos: [Int64]? = nil, lostIn root: HeldDescriptor? = nil
    ) throws(CatalogueError) {
        (self.catalogue, self.library) = (catalogue, library)
        lost = try root.map { root throws(CatalogueError) in
            let damaged = try catalogue.damagedPhotos(in: library, limit: Self.mostDamaged)
            return (root, Set(damaged.map(\.stored.id)))
        }
        total = photos == nil && root == nil ? try catalogue.totals() : nil
        state = Locked(State(wanted: photos?.reversed()))
    }

    /// Nil after the last.
    func next() throws(CatalogueError) -> StoreItem? {
        try state.withLock { state throws(CatalogueError) -> StoreItem? in
            while state.ready.isEmpty, !state.isOver { try readOn(&state) }
            return state.ready.popLast()
        }
    }

    private func readOn(_ state: inout State) throws(CatalogueError) {
        let photos: [StoredPhoto]
        if state.wanted != nil {
            guard let number = state.wanted?.popLast() else { return state.isOver = true }
            photos = try catalogue.photo(id: number).map { [$0] } ?? []
        } else {
            photos = try catalogue.photos(after: state.last, limit: Self.page)
            state.last = photos.last?.id ?? state.last
            state.isOver = photos.isEmpty
        }
        state.ready = photos.reversed().compactMap { stored in
            guard stored.photo.library == library, stored.supersededAt == nil, isWanted(stored),
                let hash = ContentHash(stored.photo.sha256)
            else { return nil }
            return StoreItem(path: stored.photo.libraryPath, size: stored.photo.size, hash: hash)
        }
    }

    private func isWanted(_ stored: StoredPhoto) -> Bool {
        guard let lost, !lost.damaged.contains(stored.id) else { return true }
        guard let file = try? lost.root.descriptor.openBeneath(stored.photo.libraryPath, [.read, .nonBlocking]),
            let status = try? FileStatus(of: file)
        else { return true }
        return status.kind != .regular || status.identity.size != stored.photo.size
    }
}
