import FileValues
import LinuxKernel
import PhotoFormats
import PhotoModel
import PostgresSupport
import TestSupport
import Testing

@testable import Catalogue

@Suite(
    "Copies of a catalogue into another engine and back",
    .enabled(if: TestEngine.installed.contains(.postgresql), "\(PostgresPrograms.skipped)"))
struct CopyTests {
    private let scratch: ScratchDirectory
    private let source: CatalogueFile

    init() throws {
        scratch = try ScratchDirectory()
        source = try CatalogueFile.openForWriting(scratch.appending("source.db"), now: noon)
    }

    /// Rows in every table, with what refers to later rows, what has no value, and bytes that are no text.
    private func fill(_ catalogue: CatalogueFile) throws {
        let filed = try (1...9).map { try catalogue.file($0) }
        let photos = filed.map(\.photo)
        _ = try catalogue.file(1, supersedes: photos[0])
        try catalogue.closeIntents(try catalogue.pendingIntents().dropLast(2).map(\.id))
        let move = RequestedMove(
            token: "r", sourceRoot: "/srv/photos", sourcePath: photo(2).libraryPath, destinationRoot: "/srv/returned",
            destinationPath: hostileName, sha256: photo(2).sha256, identity: identity(2))
        let request = try catalogue.recordRequest(
            RequestRecord(
                at: noon, what: .undo, user: 4_294_967_294, userName: "ana", inbox: "card", path: hostileName,
                outcomeID: filed[1].outcome, photoID: photos[1], isAsIs: false, move: move), step: .begun)
        try catalogue.endRequest(request, at: noon, move: move)
        let record = MoveRecord(
            token: "m", since: noon, inbox: "card", path: hostileName, root: "/srv/quarantine",
            destination: hostileName,
            outcome: .quarantined, reason: "cut short", sha256: photo(50).sha256, photoID: nil, identity: identity(50))
        _ = try catalogue.beginMove(record)
        let kept = KeptSource(inbox: "card", path: hostileName, identity: identity(51), since: noon, why: "is no photo")
        _ = try catalogue.recordOutcome(
            OutcomeRecord(at: noon, inbox: "card", path: hostileName, outcome: .ignored, reason: "is no photo"),
            kept: kept)
        let five = try #require(try catalogue.photo(id: photos[4]))
        _ = try catalogue.beginIntents([intent(60), intent(61)])
        try catalogue.write("binding a set") { db in
            try db.run("UPDATE photo SET set_id = ?, role = 'raw' WHERE id = ?", [photos[3], five.id])
            try db.run("UPDATE photo SET set_id = ? WHERE id = ?", [photos[3], photos[3]])
            try db.run(
                "INSERT INTO trash_clock (id, counted, boot, boottime, wall) VALUES (1, 5, 'b', 6, 7) "
                    + "ON CONFLICT (id) DO UPDATE SET counted = 5")
            try db.run(
                "INSERT INTO library (path, file_system_type, file_system, inode, since) VALUES (?, 1, ?, 3, 4)",
                ["/srv/photos" as BytePath, Int64.min])
        }
        var metadata = PhotoMetadata()
        metadata.title = "Förde\0"
        metadata.position = PhotoMetadata.Position(latitude: 54.3233, longitude: -0.0)
        var batch = MetadataBatch()
        for due in try catalogue.photosToRead(in: "/srv/photos", after: photos[5], limit: 2) {
            batch.add(MetadataDecision([.xmp: metadata]), of: due)
        }
        try catalogue.record(batch)
        for number in [3, 70] as [UInt8] {
            var batch = DescriptionBatch()
            let key = batch.add(Array(repeating: number, count: 32))
            let (title, none) = (batch.add("harbour\n\u{1F5BC}".utf8), batch.add([]))
            batch.end(.content, key: key, title: title, keywords: none, rating: 4, taken: none, place: none)
            try catalogue.describe(batch, from: "table.csv", identity(99)) { _ in ImportPlace() }
        }
        // Described before it was filed, and not read yet.
        try catalogue.file(70)
        _ = try catalogue.record(damage: [photos[6]: "cut short"], at: noon)
        try catalogue.noteVerified("/srv/photos", at: noon)
        _ = try catalogue.placeOfHook("mail", at: noon)
        try catalogue.record([RenditionRecord(photoID: photos[7], kind: "hash", at: noon, likeness: .max)])
        try catalogue.setIncomplete(true, at: noon)
    }

    private func server() throws -> CatalogueServer { try TestEngine.server() }

    @Test("Every row of every table is there, new ones go on with the numbers, and the way back gives the same")
    func bothWays() throws {
        try fill(source)
        let server = try server()
        let target = try CatalogueFile.open(server, forWriting: true, isCopied: true)
        let counts = try CatalogueCopy(from: source, to: target).run()
        for (table, rows) in counts { #expect(rows > 0, "\(table)") }
        let tables = try source.read("listing tables") { db in
            try db.values(
                String.self,
                """
                SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                AND name NOT LIKE 'photo_text%' AND name NOT LIKE 'photo_position%'
                AND name NOT IN ('grdb_migrations', 'pending_task')
                """)
        }
        #expect(Set(tables) == Set(counts.map(\.table)) && tables.count == counts.count)
        target.close()

        let opened = try CatalogueFile.open(server, forWriting: true)
        #expect(try opened.isIncomplete(), "what is to be finished is copied, too")
        var query = SearchQuery()
        query.words = ["harb"]
        #expect(try opened.search(query).map { $0.photo?.id } == source.search(query).map { $0.photo?.id })
        query.words = ["forde"]
        #expect(try opened.search(query).count == 2)
        #expect(try opened.file(80).photo == source.file(80).photo)
        #expect(
            try opened.recentOutcomes(limit: 100).map(\.id) == source.recentOutcomes(limit: 100).map(\.id))

        let back = try CatalogueFile.openForCopy(scratch.appending("back.db"))
        let again = try CatalogueCopy(from: opened, to: back).run()
        #expect(again.map(\.table) == counts.map(\.table))
        #expect(try back.file(81).photo == source.file(81).photo)
    }

    @Test("Paths and keys as long as they can be are copied there and back")
    func long() throws {
        try LongPathTests.fill(source)
        let server = try server()
        let target = try CatalogueFile.open(server, forWriting: true, isCopied: true)
        _ = try CatalogueCopy(from: source, to: target).run()
        target.close()
        let opened = try CatalogueFile.open(server, forWriting: true)
        try LongPathTests.expectFound(opened)
        let back = try CatalogueFile.openForCopy(scratch.appending("back.db"))
        _ = try CatalogueCopy(from: opened, to: back).run()
        try LongPathTests.expectFound(back)
    }

    /// Rows in all tables that number theirs, the last ones of which are deleted; returns their numbers.
    private func number(_ catalogue: CatalogueFile, _ number: UInt8) throws -> [Int64?] {
        let filed = try catalogue.file(number)
        _ = try catalogue.recordRequest(
            RequestRecord(at: noon, what: .pause, user: 0, userName: nil, photoID: filed.photo, isAsIs: false),
            step: .done)
        let kept = KeptSource(inbox: "card", path: BytePath("n\(number)"), identity: identity(52), since: noon, why: "")
        _ = try catalogue.recordOutcome(
            OutcomeRecord(at: noon, inbox: "card", path: BytePath("n\(number)"), outcome: .ignored, reason: ""),
            kept: kept)
        _ = try catalogue.beginMove(
            MoveRecord(
                token: "m\(number)", since: noon, inbox: "card", path: "a", root: "/", destination: "a",
                outcome: .duplicate, reason: "", sha256: photo(50).sha256, photoID: nil, identity: identity(50)))
        return try catalogue.write("deleting what is done") { db in
            let numbers = try ["photo", "intent", "outcome", "kept_source", "request", "move"].map { table in
                try db.value(Int64.self, "SELECT max(id) FROM \(table)")
            }
            for table in ["intent", "kept_source", "move"] { try db.run("DELETE FROM \(table)") }
            return numbers
        }
    }

    @Test("Numbers that were given are not given again, and PostgreSQL plans with the size of its tables")
    func numbers() throws {
        try source.write("skipping numbers") { db in
            try db.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('photo', 1000), ('move', 5000000000)")
        }
        _ = try number(source, 1)
        let server = try server()
        let target = try CatalogueFile.open(server, forWriting: true, isCopied: true)
        let counts = try CatalogueCopy(from: source, to: target).run()
        // Photos of a day are a view of what each host has counted.
        for (table, rows) in counts where rows > 0 && table != "tile_day" {
            let known = try target.read("reading statistics") { db in
                try db.value(
                    Int.self, "SELECT CAST(reltuples AS bigint) FROM pg_class WHERE oid = '\(table)'::regclass")
            }
            #expect(known == rows, "\(table)")
        }
        target.close()
        let opened = try CatalogueFile.open(server, forWriting: true)
        let second = try number(opened, 2)
        #expect(try second == number(source, 2) && second == [1_002, 2, 4, 2, 2, 5_000_000_002])
        let back = try CatalogueFile.openForCopy(scratch.appending("back.db"))
        _ = try CatalogueCopy(from: opened, to: back).run()
        #expect(try number(back, 3) == number(source, 3))
    }

    @Test("A catalogue of a newer program is not copied, even if it may be read, and not copied into")
    func newer() throws {
        try source.file(1)
        let server = try server()
        let target = try CatalogueFile.open(server, forWriting: true, isCopied: true)
        let engine = PostgreSQLEngine(server, writes: true)
        func setNewer(_ isNewer: Bool) throws {
            try engine.write { db in
                try db.run(
                    isNewer
                        ? "INSERT INTO schema_version VALUES (99, 'later', 1, 1)"
                        : "DELETE FROM schema_version WHERE version = 99")
            }
        }
        try setNewer(true)
        #expect(try failure { _ = try CatalogueCopy(from: source, to: target).run() }.code == .newerSchema)
        #expect(try target.totals().photos == 0)
        try setNewer(false)
        _ = try CatalogueCopy(from: source, to: target).run()
        try setNewer(true)
        let back = try CatalogueFile.openForCopy(scratch.appending("back.db"))
        let newer = try CatalogueFile.open(server, forWriting: false)
        #expect(try newer.totals().photos == 1, "it may be read")
        let error = try failure { _ = try CatalogueCopy(from: newer, to: back).run() }
        #expect(error.code == .newerSchema && error.message.contains(server.schema))
        #expect(try back.totals().photos == 0)
    }

    @Test("It goes on wherever it was stopped, and nobody can open the other one before its end")
    func resumed() throws {
        try fill(source)
        let server = try server()
        var target = try CatalogueFile.open(server, forWriting: true, isCopied: true)
        var stops = 0
        while true {
            var asked = 0
            do throws(CatalogueError) {
                _ = try CatalogueCopy(
                    from: source, to: target,
                    shouldStop: {
                        asked += 1
                        return asked > stops + 1
                    }
                ).run()
                break
            } catch {
                #expect(error.code == .interrupted)
                stops += 1
            }
            for writes in [true, false] {
                let refused = try failure { _ = try CatalogueFile.open(server, forWriting: writes) }
                #expect(refused.message.contains("unfinished"))
            }
            target.close()
            target = try CatalogueFile.open(server, forWriting: true, isCopied: true)
        }
        #expect(stops > 20)
        #expect(try CatalogueFile.open(server, forWriting: false).totals() == source.totals())
    }

    @Test("What is something else is refused, and not changed")
    func others() throws {
        try source.file(1)
        let other = scratch.appending("other.db")
        try SQLiteEngine(other, for: .writing).write { db in try db.run("CREATE TABLE photo (id INTEGER)") }
        let before = try FileStatus(at: BytePath(other)).identity
        #expect(try failure { _ = try CatalogueFile.openForCopy(other) }.message.contains("something already"))
        #expect(try FileStatus(at: BytePath(other)).identity == before)
        let empty = scratch.appending("empty.db")
        try CatalogueFile.openForWriting(empty, now: noon).close()
        #expect(try failure { _ = try CatalogueFile.openForCopy(empty) }.message.contains("something already"))
        let server = try server()
        try PostgreSQLEngine(server, writes: true).write { db in
            try db.run("CREATE SCHEMA \(server.schema)")
            try db.run("CREATE TABLE \(server.schema).mine (id bigint)")
        }
        for isCopied in [true, false] {
            let error = try failure { _ = try CatalogueFile.open(server, forWriting: true, isCopied: isCopied) }
            #expect(error.message.contains("tables of something else"))
        }
        #expect(try failure { _ = try CatalogueFile.open(server, forWriting: false) }.code == .missing)
        let whole = try self.server()
        try CatalogueFile.open(whole, forWriting: true).close()
        let error = try failure { _ = try CatalogueFile.open(whole, forWriting: true, isCopied: true) }
        #expect(error.message.contains("something already"))
    }

    @Test("Of two copies into one catalogue, the later one ends without a change")
    func two() throws {
        try fill(source)
        let server = try server()
        let target = try CatalogueFile.open(server, forWriting: true, isCopied: true)
        var isFirst = true
        let error = try failure {
            _ = try CatalogueCopy(
                from: source, to: target,
                report: { [source] progress in
                    guard isFirst, progress.table == "outcome" else { return }
                    isFirst = false
                    let other = try CatalogueFile.open(server, forWriting: true, isCopied: true)
                    _ = try CatalogueCopy(from: source, to: other).run()
                }
            ).run()
        }
        #expect(error.message.contains("another copy"))
        #expect(try CatalogueFile.open(server, forWriting: true).totals() == source.totals())
    }

    @Test("A catalogue that has rows is refused, and one that changes while it is copied is found out")
    func refused() throws {
        try source.file(1)
        let other = try CatalogueFile.openForWriting(scratch.appending("other.db"), now: noon)
        try other.file(2)
        let full = try failure { _ = try CatalogueCopy(from: source, to: other).run() }
        #expect(full.message.contains("not empty"))
        #expect(try other.totals().photos == 1)

        let target = try CatalogueFile.open(server(), forWriting: true, isCopied: true)
        let changed = try failure {
            _ = try CatalogueCopy(
                from: source, to: target,
                report: { [source] progress in
                    guard progress.isComparing, progress.table == "photo" else { return }
                    try source.write("changing it") { db in try db.run("UPDATE outcome SET reason = 'other'") }
                }
            ).run()
        }
        #expect(changed.message.contains("differs in a row of outcome"))

        let file = try CatalogueFile.openForCopy(scratch.appending("later.db"))
        let writer = try CatalogueFile.openForRepair(scratch.appending("source.db"))
        let late = try failure {
            _ = try CatalogueCopy(
                from: source, to: file,
                report: { progress in
                    guard progress.isComparing, progress.table == "outcome" else { return }
                    try writer.write("changing it") { db in
                        try db.run("INSERT INTO hook (name, told, since) VALUES ('late', 0, 0)")
                        try db.run("DELETE FROM hook")
                    }
                }
            ).run()
        }
        #expect(late.message.contains("was changed while"))
        #expect(try target.read("reading") { db in try CatalogueCopy.isUnfinished(db) })
    }
}
