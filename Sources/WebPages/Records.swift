import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import HTTPValues
import LinuxKernel
import PhotoModel
import Reporting
import Settings
import SystemMonitor
import SystemPackage
import WebServing

/// What is read for the pages: the catalogue, small pictures, and quarantined files. On a queue that may wait.
actor Records {
    private let queue = MonitorQueue(label: "photo-inbox.web.records")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let places: Places
    private let views: PhotoViews
    private let mayNotOpen: @Sendable () -> Bool
    /// How many quarantined files are listed.
    private static let listed = 200

    init(_ places: Places, _ views: PhotoViews, mayNotOpen: @escaping @Sendable () -> Bool) {
        (self.places, self.views, self.mayNotOpen) = (places, views, mayNotOpen)
    }

    /// The quarantined files, newest first.
    func quarantined() throws(CommandFailure) -> [JSONValue] {
        let found: [StoredOutcome] = try places.reading { catalogue throws(CatalogueError) in
            try catalogue.outcomes(.quarantined, inbox: nil, since: nil, limit: Self.listed)
        }
        return found.map { outcome in
            let file = outcome.outcome.destination
            let status = file.flatMap { try? FileStatus(at: $0) }
            let size = status?.kind == .regular ? status?.identity.size : nil
            let type = file.map { MediaType.ofPhoto(named: $0.name.escaped) }
            return .object(
                outcome.fields + [
                    JSONField("size", size.map { HumanText.bytes($0) }),
                    JSONField("picture", size != nil && type?.isPicture == true),
                ])
        }
    }

    /// A quarantined file; nil if there is none by this number.
    func file(quarantinedBy operation: Int64) throws(CommandFailure) -> OpenContent? {
        let found: StoredOutcome? = try places.reading { catalogue throws(CatalogueError) in
            try catalogue.outcome(id: operation)
        }
        guard let outcome = found?.outcome, outcome.outcome == .quarantined, let path = outcome.destination else {
            return nil
        }
        do throws(SystemCallError) { return OpenContent(try open(path), named: path.name, queue: queue) } catch {
            guard error.code != .noSuchFileOrDirectory else { return nil }
            if error.code == .permissionDenied, mayNotOpen() {
                throw CommandFailure(.unavailable, "the quarantine was made or mounted just now", action: "Try again.")
            }
            throw CommandFailure(
                error.code == .permissionDenied ? .permission : .failed,
                "the quarantined file cannot be opened: \(error.code)",
                action: "The pages' user must be able to read the quarantine.")
        }
    }

    /// In the configured quarantine alone, whatever path the catalogue has.
    private func open(_ path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        guard let quarantine = places.settings?.library?.quarantine else {
            return try openDirectory(path.parent).openBeneath(path.name, [.read, .nonBlocking])
        }
        guard let inside = path.relative(to: quarantine) else {
            throw SystemCallError("open", .noSuchFileOrDirectory, path: path)
        }
        return try openDirectory(quarantine).openBeneath(inside, [.read, .nonBlocking])
    }

    /// Large enough for near duplicates to be compared.
    func thumbnail(of hash: [UInt8]) -> OpenContent? {
        guard let file = try? views.open(hash, .rendition(.thumbnail)) else { return nil }
        return OpenContent(file, named: "thumbnail.jpg", queue: queue)
    }

    /// What is known of a photo; nil if there is no such photo.
    func photo(
        _ key: PhotoKey, _ state: Result<DaemonState, CommandFailure>
    ) throws(CommandFailure) -> JSONValue? {
        try places.reading { catalogue throws(CatalogueError) in
            guard let stored = try catalogue.photo(id: Int64(key.id)), stored.supersededAt == nil,
                key.isOf(stored.photo.sha256)
            else { return nil }
            let account = try views.tell(stored, catalogue, state)
            return .object([
                JSONField("key", key.description), JSONField("record", account.record), JSONField("why", account.why),
                JSONField("dated_by", stored.photo.captured?.source),
                JSONField("members", try catalogue.photos(inSetOf: stored).compactMap(Self.member)),
                JSONField(
                    "renditions",
                    account.renditions.filter(\.kind.isPicture).map { rendition in
                        JSONValue.object([
                            JSONField("name", rendition.kind.rawValue), JSONField("state", rendition.state),
                            JSONField("reason", rendition.reason),
                        ])
                    }),
            ])
        }
    }

    private static func member(_ stored: StoredPhoto) -> JSONValue? {
        guard let id = UInt32(exactly: stored.id) else { return nil }
        let photo = stored.photo
        return .object(
            [
                JSONField("key", PhotoKey(id: id, hash: photo.sha256).description),
                JSONField("role", photo.part.role), JSONField("size", photo.size),
            ] + JSONField.path("name", photo.originalName))
    }
}

/// An open file, read in pieces as they are sent.
actor OpenContent {
    private let queue: MonitorQueue
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    nonisolated let name: BytePath
    nonisolated let size: UInt64
    /// The same file, not written to since, has the same tag.
    nonisolated let tag: EntityTag
    private let file: OwnedDescriptor
    /// What is taken as long as it is open.
    private let place: Downloads.Place?
    private var rest: Range<UInt64> = 0..<0

    private static let piece: UInt64 = 128 << 10

    /// Nil unless it is a regular file. Without a tag, its is made of what changes when it is written to.
    init?(
        _ file: consuming OwnedDescriptor, named name: BytePath, queue: MonitorQueue, tag: EntityTag? = nil,
        holding place: Downloads.Place? = nil
    ) {
        guard let status = try? FileStatus(of: file), status.kind == .regular else { return nil }
        let identity = status.identity
        size = identity.size
        let changed = identity.changed
        self.tag =
            tag ?? EntityTag("\(identity.inode)-\(identity.size)-\(changed.seconds).\(changed.nanoseconds)")
        self.name = name
        self.queue = queue
        self.file = file
        self.place = place
    }

    /// These bytes, read as they are asked for. Ends early where the file does, or cannot be read.
    func stream(_ range: Range<UInt64>) -> AsyncStream<[UInt8]> {
        rest = range
        return AsyncStream { await self.next() }
    }

    private func next() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        let count = Int(min(Self.piece, UInt64(rest.count)))
        guard let bytes = try? file.read(count, at: rest.lowerBound), !bytes.isEmpty else { return nil }
        rest = rest.lowerBound + UInt64(bytes.count)..<rest.upperBound
        return bytes
    }
}

extension OpenContent {
    /// A content, or the part of it that was asked for.
    nonisolated func response(
        _ type: MediaType, _ head: RequestHead, caching: WebResponse.Caching, isDownload: Bool = false,
        fields others: [(name: String, value: String)] = []
    ) async -> WebResponse {
        var fields = [(name: "ETag", value: tag.description), (name: "Accept-Ranges", value: "bytes")] + others
        switch Precondition(head, tag) {
        case .failed: return .failure(.preconditionFailed, "it has changed")
        case .notModified: return WebResponse(type, .bytes([]), .notModified, caching: caching, fields: fields)
        case .proceed: break
        }
        if isDownload {
            fields.append(("Content-Disposition", "attachment; filename*=UTF-8''\(percentEncoded(name.bytes))"))
        }
        let (range, status): (Range<UInt64>, HTTPStatus)
        switch head.range(of: size, tag) {
        case .unsatisfiable:
            return .failure(
                .rangeNotSatisfiable, "it has \(size) bytes",
                fields: [("Content-Range", "bytes */\(size)")])
        case .whole: (range, status) = (0..<size, .ok)
        case .part(let part):
            (range, status) = (part, .partialContent)
            let last = part.upperBound - 1
            fields.append(("Content-Range", "bytes \(part.lowerBound)-\(last)/\(size)"))
        }
        let body = WebResponse.Body.stream(length: UInt64(range.count), await stream(range))
        return WebResponse(type, body, status, caching: caching, fields: fields)
    }
}
