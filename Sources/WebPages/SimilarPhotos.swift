import Catalogue
import CommandContact
import CommandSupport
import FileValues
import PhotoModel
import Reporting
import SystemMonitor

/// Groups of filed photos that look alike, as `photoinbox similar` lists them. On a queue of its own, since the hashes of a
/// million photos take seconds to compare.
actor SimilarPhotos {
    private let queue = MonitorQueue(label: "photo-inbox.web.similar")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let places: Places
    private var last: (answer: JSONValue, at: ContinuousClock.Instant)?

    /// How many of 64 bits may differ, how many groups are listed, and how many photos of each.
    private static let (distance, groups, members) = (4, 30, 12)
    /// For how long an answer is given again: many pages cost no more than one.
    private static let age: Duration = .seconds(30)

    init(_ places: Places) { self.places = places }

    /// The groups, those with the newest photos first, and how many there are.
    func list() throws(CommandFailure) -> JSONValue {
        if let last, last.at.duration(to: .now) < Self.age { return last.answer }
        let answer: JSONValue = try places.reading { catalogue throws(CatalogueError) in
            let all = try catalogue.likenesses()
            let found = SimilarIndex(all.map(\.likeness), distance: Self.distance).groups
            let newest = found.sorted { ($0.last ?? 0) > ($1.last ?? 0) }.prefix(Self.groups)
            var groups: [JSONValue] = []
            for group in newest {
                var photos: [JSONValue] = []
                for member in group.prefix(Self.members) {
                    guard let stored = try catalogue.photo(id: all[member].photoID) else { continue }
                    let bits = (all[member].likeness ^ all[group[0]].likeness).nonzeroBitCount
                    photos.append(Self.photo(stored, bits: bits))
                }
                groups.append(
                    .object([JSONField("photos", photos), JSONField("omitted", group.count - photos.count)]))
            }
            return .object([
                JSONField("described", all.count), JSONField("found", found.count), JSONField("groups", groups),
            ])
        }
        last = (answer, .now)
        return answer
    }

    /// Something was taken back by the pages: the next answer is new.
    func forget() { last = nil }

    private static func photo(_ stored: StoredPhoto, bits: Int) -> JSONValue {
        let photo = stored.photo
        let pixels = photo.width.flatMap { width in photo.height.map { "\(width) × \($0)" } }
        return .object(
            [
                JSONField("operation", stored.operation), JSONField("bits", bits),
                JSONField("sha256", hexadecimal(photo.sha256)), JSONField("pixels", pixels),
                JSONField("size", HumanText.bytes(photo.size)), JSONField("taken", photo.captured?.text),
            ] + JSONField.path("path", photo.libraryPath))
    }
}
