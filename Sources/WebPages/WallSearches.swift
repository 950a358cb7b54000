import Catalogue
import CommandContact
import CommandSupport
import FileValues
import HTTPValues
import Reporting
import SystemMonitor
import WebServing

/// Searches for the timeline: one at a time, for a limited time, and for as long as somebody waits for the answer. Nothing is
/// kept from one to the next.
actor WallSearches {
    /// Whether nobody waits for an answer any more.
    typealias HasLeft = @Sendable () -> Bool

    /// The catalogue, on a queue that may wait: no request that is refused waits with it.
    private actor Runner {
        private let queue = MonitorQueue(label: "photo-inbox.web.searches")
        nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

        private var catalogue: KeptCatalogue

        init(_ places: Places) { catalogue = KeptCatalogue(places) }

        func run<Value: Sendable>(
            _ body: @Sendable (CatalogueFile) throws(CatalogueError) -> Value
        ) throws(CommandFailure) -> Value { try catalogue.read(body) }
    }

    private let runner: Runner
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// The most results.
    private static let (photos, cells) = (20_000, 1_000)
    /// How many requests wait for another's search to end.
    static let places = 8
    /// How long a search may take.
    private let patience: Duration
    /// The longest pause after one. In it the catalogue is not read, so that the daemon can reset its log: it does so with a
    /// commit in whose moment nobody reads. A pause is as long as the search was.
    private static let longestPause = Duration.milliseconds(250)

    init(_ places: Places, patience: Duration = .seconds(10)) {
        (runner, self.patience) = (Runner(places), patience)
    }

    /// 16 bytes a photo, and whether some were left out.
    func photos(
        matching query: SearchQuery, unless hasLeft: @escaping HasLeft
    ) async throws(Refusal) -> (bytes: [UInt8], isCut: Bool) {
        let found = try await search(unless: hasLeft) { catalogue, goesOn throws(CatalogueError) in
            try catalogue.tiles(matching: query, limit: Self.photos, while: goesOn)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(found.values.count * 16)
        for tile in found.values {
            bytes.append(littleEndian: tile.day)
            bytes.append(tile)
        }
        return (bytes, found.isCut)
    }

    /// The cells of a part of the map, and how many photos they have.
    func places(in grid: PlaceGrid, unless hasLeft: @escaping HasLeft) async throws(Refusal) -> WebResponse {
        let found = try await search(unless: hasLeft) { catalogue, goesOn throws(CatalogueError) in
            try catalogue.cells(of: grid, limit: Self.cells, while: goesOn)
        }
        let cells = found.values.map { cell in
            JSONValue.object([
                JSONField("photos", cell.photos), JSONField("key", "\(PhotoKey(id: cell.newest, hash: cell.mark))"),
                JSONField("place", cell.place), JSONField("latitude", cell.latitude),
                JSONField("longitude", cell.longitude),
                JSONField("box", .array([cell.west, cell.south, cell.east, cell.north].map(JSONValue.number))),
            ])
        }
        return .json(
            .object([
                JSONField("photos", found.values.reduce(0) { $0 + $1.photos }), JSONField("cells", .array(cells)),
                JSONField("more", found.isCut),
            ]))
    }

    private func search<Value: Sendable>(
        unless hasLeft: @escaping HasLeft,
        _ body: @escaping @Sendable (CatalogueFile, @escaping () -> Bool) throws(CatalogueError) -> Value
    ) async throws(Refusal) -> Value {
        if isBusy {
            guard waiting.count < Self.places else {
                throw Refusal(.unavailable, "too many searches wait", action: "Try again.", seconds: 1)
            }
            await withCheckedContinuation { waiting.append($0) }
        }
        isBusy = true
        let begun = ContinuousClock.now
        let end = begun + patience
        defer { pause(min(Self.longestPause, begun.duration(to: .now))) }
        guard !hasLeft() else { throw Self.abandoned }
        do throws(CommandFailure) {
            return try await runner.run { catalogue throws(CatalogueError) in
                try body(catalogue) { !hasLeft() && ContinuousClock.now < end }
            }
        } catch {
            if hasLeft() { throw Self.abandoned }
            guard ContinuousClock.now < end else {
                throw Refusal(.unavailable, "the search took too long", action: "Name more conditions.")
            }
            throw Refusal(.failure(error))
        }
    }

    /// Nobody reads it.
    private static let abandoned = Refusal(.unavailable, "nobody waits for it any more")

    /// Then the next one's turn comes.
    private func pause(_ time: Duration) {
        Task {
            try? await Task.sleep(for: time)
            if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
        }
    }
}
