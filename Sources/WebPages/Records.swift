import Catalogue
import CommandContact
import CommandSupport
import FileValues
import HTTPValues
import LinuxKernel
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
    private let thumbnails: PageServer.Thumbnails
    /// How many quarantined files are listed.
    private static let listed = 200

    init(_ places: Places, thumbnails: @escaping PageServer.Thumbnails) {
        self.places = places
        self.thumbnails = thumbnails
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
        guard let outcome = found?.outcome, outcome.outcome == .quarantined, let path = outcome.destination,
            let file = try? open(path)
        else { return nil }
        return OpenContent(file, named: path.name, queue: queue)
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

    func thumbnail(of hash: [UInt8]) -> OpenContent? {
        guard let file = try? thumbnails(hash) else { return nil }
        return OpenContent(file, named: "thumbnail.jpg", queue: queue)
    }
}

extension Places {
    /// What `body` reads from the catalogue.
    func reading<Value>(_ body: (CatalogueFile) throws(CatalogueError) -> Value) throws(CommandFailure) -> Value {
        do {
            let catalogue = try openCatalogue()
            defer { catalogue.close() }
            return try body(catalogue)
        } catch let error as CatalogueError {
            throw CommandFailure(error, path: catalogue.escaped)
        } catch let error as CommandFailure { throw error } catch { throw CommandFailure(.failed, "\(error)") }
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
    private var rest: Range<UInt64> = 0..<0

    private static let piece: UInt64 = 128 << 10

    /// Nil unless it is a regular file.
    init?(_ file: consuming OwnedDescriptor, named name: BytePath, queue: MonitorQueue) {
        guard let status = try? FileStatus(of: file), status.kind == .regular else { return nil }
        let identity = status.identity
        size = identity.size
        let changed = identity.changed
        tag = EntityTag("\(identity.inode)-\(identity.size)-\(changed.seconds).\(changed.nanoseconds)")
        self.name = name
        self.queue = queue
        self.file = file
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
