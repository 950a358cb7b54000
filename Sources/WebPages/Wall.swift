package import Catalogue
import CommandContact
package import CommandSupport
package import ControlProtocol
import FileValues
import Filing
import HTTPValues
package import LinuxKernel
package import PhotoModel
package import Reporting
import WebAccounts
import WebServing

/// What of a photo is shown by parts of the program that the pages do not know.
package struct PhotoViews: Sendable {
    /// Opens a small picture of the photo with this hash.
    package typealias Opening = @Sendable ([UInt8], Picture) throws(SystemCallError) -> OwnedDescriptor
    /// What the commands say of a photo, with the daemon's answer to a question for its state.
    package typealias Telling =
        @Sendable (StoredPhoto, CatalogueFile, Result<DaemonState, CommandFailure>) throws(CatalogueError) -> Account

    package struct Account: Sendable {
        /// As `photoinbox show --json`.
        package let record: JSONValue
        /// As `photoinbox explain --json`.
        package let why: JSONValue
        /// Those that it has or could have.
        package let renditions: [Rendition]

        package init(record: JSONValue, why: JSONValue, renditions: [Rendition]) {
            (self.record, self.why, self.renditions) = (record, why, renditions)
        }
    }

    package struct Rendition: Hashable, Sendable {
        package let kind: RenditionKind
        package let state: String
        /// Why it cannot be made.
        package let reason: String?

        package init(_ kind: RenditionKind, state: String, reason: String?) {
            (self.kind, self.state, self.reason) = (kind, state, reason)
        }
    }

    let open: Opening
    let tell: Telling

    package init(open: @escaping Opening, tell: @escaping Telling) { (self.open, self.tell) = (open, tell) }
}

extension JSONValue {
    fileprivate func without(_ name: String) -> JSONValue {
        switch self {
        case .object(let fields):
            .object(fields.filter { $0.name != name }.map { JSONField($0.name, $0.value.without(name)) })
        case .array(let values): .array(values.map { $0.without(name) })
        default: self
        }
    }
}

/// Answers the addresses of the timeline and of its photos.
struct Wall: Sendable {
    private let wall: WallRecords
    private let searches: WallSearches
    private let originals: Originals
    private let records: Records
    private let looks: DaemonClient

    init(
        _ places: Places, _ views: PhotoViews, _ records: Records, _ looks: DaemonClient, _ options: PageServer.Options
    ) {
        wall = WallRecords(places, views.open)
        searches = WallSearches(places)
        originals = Originals(places, options)
        (self.records, self.looks) = (records, looks)
    }

    func answer(_ address: WallAddress, _ request: WebRequest, _ person: Person?) async -> WebResponse {
        do { return try await content(address, request, person) } catch let refusal as Refusal {
            return refusal.answer
        } catch let failure as CommandFailure {
            return .failure(failure)
        } catch { return .failure(.failed, "\(error)") }
    }

    private func content(
        _ address: WallAddress, _ request: WebRequest, _ person: Person?
    ) async throws -> WebResponse {
        let head = request.head
        switch address {
        case .days:
            try head.target.requireParameters(of: [])
            return days(try await wall.days(), head)
        case .tiles:
            try head.target.requireParameters(of: ["day", "from", "count"])
            let found = try await wall.tiles(
                of: try head.target.number("day", in: .min ... .max),
                from: try head.target.number("from", in: 0...Int(UInt32.max)),
                count: try head.target.number("count", in: 1...500))
            return WebResponse(
                .bytes, .bytes(found.bytes), caching: .never, fields: [("X-Day-Photos", "\(found.all)")])
        case .search:
            let query = try SearchQuery(head.target)
            return Self.list(try await searches.photos(matching: query, unless: request.hasLeft))
        case .places: return try await searches.places(in: try PlaceGrid(head.target), unless: request.hasLeft)
        case .leaflet(let part):
            guard let content = await wall.leaflet(part) else { return .notFound }
            return await content.response(part.type, head, caching: .asking)
        case .picture(let key, let picture):
            guard let content = try await wall.picture(picture, of: key) else { return .notFound }
            return await content.response(.jpeg, head, caching: .forADay)
        case .pictures:
            try head.target.requireParameters(of: ["of", "rendition"])
            let keys = try head.target.keys("of", atMost: 64)
            let picture = try head.target.picture("rendition")
            // What is missing now may be there soon.
            let caching: WebResponse.Caching = await wall.hasAll(picture, of: keys) ? .forADay : .never
            return WebResponse(.bytes, .stream(length: nil, pictures(picture, of: keys)), caching: caching)
        case .original(let key): return try await file(of: key, isFilm: false, request)
        case .film(let key): return try await file(of: key, isFilm: true, request)
        case .photo(let key):
            let state: Result<DaemonState, CommandFailure>
            // Each question may wait for the daemon, and is asked behind others.
            guard !request.hasLeft() else { return .notFound }
            do throws(CommandFailure) { state = .success(try await looks.recentState()) } catch {
                state = .failure(error)
            }
            guard let photo = try await records.photo(key, state) else { return .notFound }
            // An address of a download may be all that is needed to download more.
            return .json(person.map { $0.role >= .operator } == true ? photo : photo.without("origin"))
        }
    }

    /// One after the other, as they are sent, so that others get theirs meanwhile.
    private func pictures(_ picture: Picture, of keys: [PhotoKey]) -> AsyncStream<[UInt8]> {
        let rest = Locked(keys[...])
        return AsyncStream { [wall] in
            guard let key = rest.withLock({ $0.popFirst() }) else { return nil }
            return await wall.part(picture, of: key)
        }
    }

    private func days(_ bytes: [UInt8], _ head: RequestHead) -> WebResponse {
        var hasher = ContentHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        // What is compressed is another representation, with a tag of its own; whoever has it costs no compression.
        let tag = EntityTag("\(hasher.hash())\(head.acceptsGzip ? "-gzip" : "")")
        let fields = [(name: "ETag", value: tag.description)]
        switch Precondition(head, tag) {
        case .failed: return .failure(.preconditionFailed, "it has changed")
        case .notModified:
            return WebResponse(
                .days, .bytes([]), .notModified, caching: .asking, fields: fields + Compression.variance)
        case .proceed:
            return WebResponse(.days, .bytes(bytes), caching: .asking, fields: fields).compressed(for: head)
        }
    }

    private static func list(_ found: (bytes: [UInt8], isCut: Bool)) -> WebResponse {
        WebResponse(
            .bytes, .bytes(found.bytes), caching: .never, fields: found.isCut ? [("X-Photos-Left-Out", "yes")] : [])
    }

    private func file(of key: PhotoKey, isFilm: Bool, _ request: WebRequest) async throws -> WebResponse {
        let head = request.head
        // Counted before it waits: for a disk that hangs, too.
        guard let place = originals.downloads.take() else {
            throw Refusal(
                .unavailable, "\(Downloads.limit) files are being downloaded", action: "Try again.", seconds: 5)
        }
        guard let (content, hash) = try await originals.file(of: key, isFilm: isFilm, place, unless: request.hasLeft)
        else { return .notFound }
        return await content.response(
            .ofPhoto(named: content.name.escaped), head, caching: .asking, isDownload: !isFilm,
            fields: [("Repr-Digest", "sha-256=:\(base64Encoded(hash)):")])
    }
}
