import Catalogue
import FileValues
import Filing
import Foundation
import LibraryCare
import LinuxKernel
import PhotoModel
import QueueActors
import Settings
import SystemMonitor
import TestSupport

@testable import Ingest

/// An inbox, a library and a catalogue below one directory, with the worker that files from one into the other.
struct WorkerHouse {
    let root: String
    let worker: InboxWorker
    let catalogue: CatalogueFile
    let writer: Catalogue
    let subsystem = Subsystem(name: "files", queue: MonitorQueue(label: "test.files"), isVital: false)

    init(_ root: String, extra: String = "") throws {
        self.root = root
        for name in ["inbox", "library", "state"] {
            try FileManager.default.createDirectory(
                atPath: "\(root)/\(name)", withIntermediateDirectories: true)
        }
        let text = """
            library = "\(root)/library"
            state = "\(root)/state"
            [inbox.card]
            path = "\(root)/inbox"
            quiet = "0s"
            \(extra)
            """
        var builder = SettingsBuilder(context: .ofProcess())
        builder.addFile(Array(text.utf8), path: "photoinbox.toml")
        let settings = try builder.build()
        guard let library = settings.library, let inbox = settings.inboxes.first else { throw Missing() }
        catalogue = try CatalogueFile.openForWriting("\(root)/state/catalogue.sqlite", now: .now)
        writer = Catalogue(
            catalogue,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
        worker = InboxWorker(
            spec: InboxSpec(inbox, sets: settings.sets),
            places: Places(library), attributes: FiledAttributes(library), catalogue: writer,
            libraryGuard: LibraryGuard(catalogue), subsystem: subsystem)
    }

    private struct Missing: Error {}

    /// Fixtures by their names in the inbox; those that begin with `<` or `{` are the text itself.
    static let set = ["IMG_1.jpg": "exif.jpg", "IMG_1.nef": "mosaic.nef", "IMG_1.nef.xmp": "<x:xmpmeta></x:xmpmeta>"]

    static func content(_ fixture: String) throws -> [UInt8] {
        if fixture.hasPrefix("<") || fixture.hasPrefix("{") { return Array(fixture.utf8) }
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try Array(Data(contentsOf: directory.appending(path: "Fixtures/\(fixture)")))
    }

    func drop(_ files: [String: String] = WorkerHouse.set) throws {
        for (name, fixture) in files {
            try Data(try Self.content(fixture)).write(to: URL(fileURLWithPath: "\(root)/inbox/\(name)"))
        }
    }

    /// Files what is there under these names as a set that is ready; the names that it reached end in `reached`.
    @discardableResult
    func file(_ names: some Sequence<String>, reached: @escaping @Sendable (String) -> Void = { _ in }) async
        -> [Conclusion]
    {
        let arrivals = names.sorted().map { name in
            let path = BytePath(name)
            return Arrival(
                key: ArrivalKey(inbox: "card", path: path), firstSeen: .now, stage: .working(step: "x"), since: .now,
                attempts: 0, quiet: nil, noticed: nil, setKeys: SetName(path).keys)
        }
        return await worker.process(Assignment(set: arrivals), reached: reached)
    }

    /// Contents by name, of all that is below.
    func files(_ directory: String) -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        let base = "\(root)/\(directory)"
        for case let name as String in FileManager.default.enumerator(atPath: base) ?? .init() {
            if let data = FileManager.default.contents(atPath: "\(base)/\(name)"),
                (try? FileManager.default.attributesOfItem(atPath: "\(base)/\(name)"))?[.type] as? FileAttributeType
                    == .typeRegular
            {
                found[name] = Array(data)
            }
        }
        return found
    }
}
