import Catalogue
import FileValues
import FleetRules
import Foundation
import GRDB
import Glibc
import TestSupport
import Testing

private let isRoot = geteuid() == 0

@Suite("Opening: migrations, damage, readers, crashes")
struct OpeningTests {
    private func execute(_ sql: String, at path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    private func overwrite(_ path: String, at offset: off_t, with bytes: [UInt8]) {
        let file = open(path, O_WRONLY)
        defer { close(file) }
        #expect(pwrite(file, bytes, bytes.count, offset) == bytes.count)
    }

    @Test("A closed catalogue refuses operations, also while others are still reading")
    func closed() async throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { while (try? catalogue.totals()) != nil { await Task.yield() } } }
            group.addTask { catalogue.close() }
        }
        #expect(try failure { _ = try catalogue.totals() }.message.contains("it is closed"))
        #expect(try place.open().totals().photos == 1)
    }

    @Test func newCatalogueUsesWriteAheadLogging() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        #expect(catalogue.setAside == nil)
        catalogue.close()
        let queue = try DatabaseQueue(path: place.path)
        let mode = try queue.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
        #expect(mode == "wal")
        let tables = try queue.read {
            try String.fetchSet($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        #expect(tables.isSuperset(of: ["photo", "intent", "outcome", "kept_source"]))
        #expect(try place.open().totals().photos == 1)
    }

    @Test("A check that meets an unreadable page is an I/O error, not damage")
    func unreadablePage() throws {
        #expect(
            CatalogueFile.code(of: ["*** in database main ***\nPage 5: unable to get the page. error code=8458"])
                == .inputOutput)
        #expect(
            CatalogueFile.code(of: ["*** in database main ***\nPage 7: unable to get the page. error code=7"])
                == .inputOutput)
        #expect(CatalogueFile.code(of: ["*** in database main ***\nPage 7: never used"]) == .corrupt)
        #expect(CatalogueFile.code(of: ["Page 5: unable to get the page. error code=11"]) == .corrupt)
    }

    @Test("A copy is kept before a migration, and none is made without one")
    func backup() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        catalogue.close()
        #expect(try place.open().setAside == nil)
        let names = { try FileManager.default.contentsOfDirectory(atPath: BytePath(place.path).parent.description) }
        #expect(try !names().contains { $0.contains(".before-") })
        // The state of an older version: without one table and its migration.
        try execute("DROP TABLE library; DELETE FROM grdb_migrations WHERE identifier LIKE '5 %'", at: place.path)
        #expect(try place.open().totals().photos == 1)
        let backup = try #require(try names().first { $0.contains(".before-") })
        let queue = try DatabaseQueue(path: "\(BytePath(place.path).parent)/\(backup)")
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM photo") } == 1)
        #expect(try queue.read { try !$0.tableExists("library") })
    }

    @Test("A newer schema is refused by writers and readers, and not changed")
    func newer() throws {
        let place = try Place()
        try place.open().close()
        try execute("INSERT INTO grdb_migrations VALUES ('999 from the future')", at: place.path)
        #expect(try failure { _ = try place.open() }.code == .newerSchema)
        #expect(try failure { _ = try CatalogueFile.openForReading(place.path) }.code == .newerSchema)
        try execute("DELETE FROM grdb_migrations WHERE identifier LIKE '999%'", at: place.path)
        #expect(try place.open().setAside == nil)
    }

    @Test func readersNeitherCreateNorMigrate() throws {
        let place = try Place()
        #expect(try failure { _ = try CatalogueFile.openForReading(place.path) }.code == .missing)
        #expect(access(place.path, F_OK) != 0)
        try execute("CREATE TABLE other (x)", at: place.path)
        #expect(try failure { _ = try CatalogueFile.openForReading(place.path) }.code == .olderSchema)
    }

    @Test("A damaged file is set aside and reported", arguments: ["header", "page", "text"])
    func damaged(how: String) throws {
        let place = try Place()
        let catalogue = try place.open()
        for number in UInt8(1)...50 { try catalogue.file(number) }
        catalogue.close()
        try execute("PRAGMA wal_checkpoint(TRUNCATE)", at: place.path)
        switch how {
        case "header": overwrite(place.path, at: 0, with: Array(repeating: 0x58, count: 100))
        case "page": for page in 2..<12 { overwrite(place.path, at: off_t(page * 4096), with: someNoise(4096)) }
        default:
            unlink(place.path)
            let file = open(place.path, O_CREAT | O_WRONLY, 0o600)
            overwrite(place.path, at: 0, with: Array(repeating: 0x41, count: 10_000))
            close(file)
        }
        let fresh = try place.open()
        let aside = try #require(fresh.setAside)
        #expect(aside.path == "\(place.path).damaged-\(noon.seconds)")
        #expect(!aside.reason.isEmpty)
        #expect(access(aside.path, F_OK) == 0)
        #expect(try fresh.totals().photos == 0)
        try fresh.file(1)
        fresh.close()
        #expect(try place.open().setAside == nil)
    }

    @Test("A second damaged file in the same second does not replace the first")
    func damagedTwice() throws {
        let place = try Place()
        for ending in ["", "-2"] {
            try? place.open().close()
            // Otherwise the log, which stays, has an intact copy of the page.
            try execute("PRAGMA wal_checkpoint(TRUNCATE)", at: place.path)
            overwrite(place.path, at: 0, with: Array(repeating: 0x58, count: 100))
            #expect(try place.open().setAside?.path == "\(place.path).damaged-\(noon.seconds)\(ending)")
        }
    }

    @Test("A reader sees each commit of a concurrent writer")
    func concurrentReader() throws {
        let place = try Place()
        let writer = try place.open()
        let reader = try CatalogueFile.openForReading(place.path)
        for number in UInt8(1)...20 {
            try writer.file(number)
            #expect(try reader.totals().photos == Int(number))
        }
        #expect(try failure { try reader.file(21) }.code == .readOnly)
        // Still readable without a daemon, since the log files stay.
        writer.close()
        #expect(access("\(place.path)-wal", F_OK) == 0)
        #expect(try CatalogueFile.openForReading(place.path).totals().photos == 20)
    }

    @Test("A writer killed in a transaction leaves exactly the earlier commits")
    func killed() async throws {
        let place = try Place()
        let path = place.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let catalogue = try CatalogueFile.openForWriting(path, now: noon)
            for number in UInt8(1)...5 { try catalogue.file(number) }
            _ = try catalogue.beginIntents([intent(6)])
            // Killed in the sixth filing: its rows are written, but not committed.
            let queue = try DatabaseQueue(path: path)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "BEGIN IMMEDIATE; UPDATE photo SET format = 'half'; DELETE FROM intent")
                kill(getpid(), SIGKILL)
            }
        }
        let catalogue = try place.open()
        #expect(catalogue.setAside == nil)
        #expect(
            try catalogue.photos(matching: PhotoFilter(), limit: 10).map(\.photo.format)
                == Array(repeating: "jpeg", count: 5))
        #expect(try catalogue.pendingIntents().last?.step == .begun)
        #expect(try catalogue.pendingIntents().count == 6)
    }

    @Test(
        "A full disk is a transient error until there is space", .enabled(if: isRoot, "skipped: needs root to mount"))
    func diskFull() throws {
        let scratch = try ScratchDirectory()
        try runProgram(["/bin/mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", scratch.path])
        defer { try? runProgram(["/bin/umount", "-l", scratch.path]) }
        let catalogue = try CatalogueFile.openForWriting(scratch.appending("catalogue.db"), now: noon)
        var filed: UInt8 = 0
        let error = try failure {
            while filed < 250 {
                try catalogue.file(filed + 1)
                filed += 1
            }
        }
        #expect(error.code == .diskFull)
        #expect(error.isTransient)
        #expect(try catalogue.totals().photos == Int(filed))
        try runProgram(["/bin/mount", "-o", "remount,size=8m", scratch.path])
        for intent in try catalogue.pendingIntents() where intent.step == .begun {
            try catalogue.closeIntent(intent.id)
        }
        try catalogue.file(filed + 1)
        #expect(try catalogue.totals().photos == Int(filed) + 1)
    }

    @Test func pathThatCannotBeCreatedIsAPermissionError() throws {
        let error = try failure { _ = try CatalogueFile.openForWriting("/proc/nowhere/catalogue.db", now: noon) }
        #expect(error.code == .permission)
        #expect(error.description.contains("/proc/nowhere/catalogue.db"))
    }
}

private func someNoise(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) } }
