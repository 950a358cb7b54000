import Catalogue
import FileValues
import FleetRules
import Glibc
import TestSupport
import Testing

let noon = FileTime(seconds: 1_795_262_400, nanoseconds: 123_456_789)

func identity(_ inode: UInt64) -> FileIdentity {
    FileIdentity(
        inode: inode, size: 4_000_000, modified: FileTime(seconds: -5, nanoseconds: 999_999_999),
        changed: FileTime(seconds: 1_795_262_000, nanoseconds: 1))
}

/// A name of 255 bytes with a newline and invalid UTF-8 in it.
let hostileName = BytePath([0x0A, 0xFF, 0x2D] + Array(repeating: 0x80, count: 248) + Array(".jpg".utf8))

/// Photos of different numbers have nothing unique in common.
func photo(_ number: UInt8, name: BytePath = hostileName) -> PhotoRecord {
    PhotoRecord(
        sha256: Array(repeating: number, count: 32), size: 4_000_000, library: "/srv/photos",
        libraryPath: BytePath("2026/11/\(number)").appending(name), inbox: "card",
        sourcePath: BytePath("DCIM").appending(name), originalName: name, format: "jpeg",
        captured: RecordedCaptureDate(
            local: "2026-11-21T14:07:31", offset: -3_600, provenance: "EXIF DateTimeOriginal"),
        width: 4_032, height: 3_024, orientation: 6, camera: "Canon EOS R5",
        proof: "no writer left (lease), ends with its end marker", sourceIdentity: identity(UInt64(number)))
}

func intent(_ number: UInt8) -> NewIntent {
    NewIntent(
        token: "t\(number)", temporary: BytePath("2026/11/.photo-inbox-t\(number).part"), photo: photo(number),
        since: noon)
}

/// A catalogue of the engine that is tested.
struct Place {
    let scratch: ScratchDirectory
    /// Of a catalogue in SQLite.
    var path: String { scratch.appending("catalogue.db") }
    private let server: CatalogueServer?

    init() throws {
        scratch = try ScratchDirectory()
        server = TestEngine.current == .postgresql ? try TestEngine.server() : nil
    }

    func open() throws -> CatalogueFile {
        guard let server else { return try CatalogueFile.openForWriting(path, now: noon) }
        // Where other programs take the processors for longer than a transaction may be idle, the server ends the one that makes
        // the schema; what opens a catalogue opens it again, as the daemon does.
        for _ in 1..<5 {
            do throws(CatalogueError) { return try CatalogueFile.open(server, forWriting: true) } catch {
                guard error.code == .unreachable else { throw error }
            }
        }
        return try CatalogueFile.open(server, forWriting: true)
    }

    func openForReading() throws -> CatalogueFile {
        try server.map { try CatalogueFile.open($0, forWriting: false) } ?? CatalogueFile.openForReading(path)
    }
}

extension CatalogueFile {
    /// Files photo `number` from intent to commit.
    @discardableResult
    func file(
        _ number: UInt8, inbox: String = "card", token given: String? = nil, supersedes: Int64? = nil
    ) throws -> FiledIDs {
        var new = intent(number)
        new.photo.inbox = inbox
        let token = given ?? supersedes.map { "\(new.token) after \($0)" } ?? new.token
        let id = try beginIntent(
            token: token, temporary: new.temporary, photo: new.photo, since: noon, supersedes: supersedes)
        return try commitFiling(
            FilingCommit(
                intent: id, photo: new.photo, filedAt: noon, reason: "complete",
                supersedes: supersedes.map { [$0] } ?? []))
    }

    /// Whether a file in exactly this state is a kept source.
    func isKept(_ identity: FileIdentity, inbox: String) throws -> Bool {
        try keptSource(like: identity, inbox: inbox)?.identity == identity
    }

    /// Closes what is filed, whose sources are gone.
    func closeFiled() throws {
        for intent in try pendingIntents() where intent.step == .recorded { try closeIntent(intent.id) }
    }
}

/// Returns the ``CatalogueError`` that `body` must throw.
func failure(_ body: () throws -> Void) throws -> CatalogueError {
    do { try body() } catch let error as CatalogueError { return error }
    throw NothingThrown()
}

struct NothingThrown: Error {}
