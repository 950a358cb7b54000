import Catalogue
import FileValues
import Filing
import LinuxKernel
import Storing

/// The recorded photos of a library that are to be in a bucket, one after the other. Any thread.
final class StoreSource: Sendable {
    private struct State {
        /// The next ones, the first last: each alone, or with its set.
        var ready: [[StoreItem]] = []
        /// Given ones that are not looked up yet, the first last.
        var wanted: [Int64]?
        var last: Int64 = 0
        var isOver = false
    }

    private static let page = 500
    /// Known damaged photos at most; a later run has the rest.
    private static let mostDamaged = 100_000

    /// Which photos of a library are wanted.
    struct Choice {
        /// Those that are missing in this directory, have another size there, or are known as damaged.
        var lostIn: HeldDescriptor?
        /// Those that were moved to this bucket, too.
        var bucket: BytePath?
        /// Those that were taken at this time or later, and until then, as ``SearchQuery`` has it.
        var from: String?
        var until: String?
        /// Whether what is recorded of a set comes at once, its sidecars first.
        var hasSets = false

        fileprivate var isOfTime: Bool { from != nil || until != nil }

        fileprivate func wants(takenAt taken: String) -> Bool {
            from.map { taken >= $0 } != false && until.map { taken.prefix($0.count) <= $0 } != false
        }
    }

    private let catalogue: CatalogueFile
    private let library: BytePath
    private let choice: Choice
    /// Known damaged photos, if only what is lost is wanted.
    private let damaged: Set<Int64>
    private let state: Locked<State>
    /// Nil for given ones.
    let total: (photos: Int, bytes: UInt64)?

    /// All photos recorded in `library` that are chosen; with `photos`, those of these that are still.
    init(
        _ catalogue: CatalogueFile, library: BytePath, photos: [Int64]? = nil, _ choice: Choice
    ) throws(CatalogueError) {
        (self.catalogue, self.library, self.choice) = (catalogue, library, choice)
        let known = choice.lostIn == nil ? [] : try catalogue.damagedPhotos(in: library, limit: Self.mostDamaged)
        damaged = Set(known.map(\.stored.id))
        let hasAll = photos == nil && choice.lostIn == nil && !choice.isOfTime
        total = hasAll ? try catalogue.totals() : nil
        state = Locked(State(wanted: photos?.reversed()))
    }

    /// What ``next()`` begins with; nil if there is none.
    func first() throws(CatalogueError) -> StoreItem? {
        try state.withLock { state throws(CatalogueError) -> StoreItem? in
            while state.ready.isEmpty, !state.isOver { try readOn(&state) }
            return state.ready.last?.first
        }
    }

    /// Nil after the last.
    func next() throws(CatalogueError) -> [StoreItem]? {
        try state.withLock { state throws(CatalogueError) -> [StoreItem]? in
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
        for stored in photos.reversed() where stored.supersededAt == nil && isWanted(stored) {
            guard try isOfTime(stored) else { continue }
            var set = [stored]
            if choice.hasSets {
                set = try catalogue.photos(inSetOf: stored).filter(isWanted)
                guard set.first?.id == stored.id else { continue }
            }
            state.ready.append(
                (set.filter(\.photo.part.isSidecar) + set.filter { !$0.photo.part.isSidecar }).compactMap { stored in
                    ContentHash(stored.photo.sha256).map {
                        StoreItem(
                            photo: stored.id, path: stored.photo.libraryPath, size: stored.photo.size, hash: $0)
                    }
                })
        }
    }

    /// A set stays together: the time of the first of its photos that has one is that of all.
    private func isOfTime(_ stored: StoredPhoto) throws(CatalogueError) -> Bool {
        guard choice.isOfTime else { return true }
        let taken = try catalogue.photos(inSetOf: stored).lazy.compactMap(\.photo.captured?.local).first
        return taken.map { choice.wants(takenAt: $0) } ?? false
    }

    private func isWanted(_ stored: StoredPhoto) -> Bool {
        guard stored.photo.library == library else { return stored.photo.library == choice.bucket }
        guard let root = choice.lostIn, !damaged.contains(stored.id) else { return true }
        guard let file = try? root.descriptor.openBeneath(stored.photo.libraryPath, [.read, .nonBlocking]),
            let status = try? FileStatus(of: file)
        else { return true }
        return status.kind != .regular || status.identity.size != stored.photo.size
    }
}
