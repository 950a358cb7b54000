import FileValues
import TestSupport
import Testing

@testable import Catalogue

@Suite("Paths and keys as long as they can be", .withEachEngine)
struct LongPathTests {
    /// 4,095 bytes that nothing compresses, without `/` and NUL.
    private static let paths = {
        var chance = SeededGenerator(seed: 41)
        return (0..<8).map { _ in
            BytePath((0..<4_095).map { _ in UInt8.random(in: UInt8(ascii: "0")...255, using: &chance) })
        }
    }()
    private static let content = String(paths[0].bytes.map { Character(UnicodeScalar($0 % 64 + 48)) })
    private static let set = SetPart(
        role: "picture", contentIdentifier: content, key: paths[1].bytes, shortKey: paths[2].bytes)
    private static let library = KnownLibrary(path: paths[3], fileSystemType: 1, fileSystem: 2, inode: 3)
    private static let kept = KeptSource(
        inbox: "card", path: paths[4], identity: identity(51), since: noon, why: "is no photo")

    /// The same path with another last byte.
    private static func other(_ path: BytePath) -> BytePath {
        BytePath(path.bytes.dropLast() + [path.bytes.last == 0xFF ? 0xFE : 0xFF])
    }

    /// Photos 1 and 2, of one set, are filed; photo 3 is about to be.
    static func fill(_ catalogue: CatalogueFile) throws {
        let new = zip(1...3, [paths[5], other(paths[5]), paths[7]]).map { number, path in
            var new = intent(UInt8(number))
            (new.photo.library, new.photo.libraryPath) = (paths[3], path)
            (new.photo.sourcePath, new.photo.part, new.setToken) = (paths[5], set, "set")
            return new
        }
        let ids = try catalogue.beginIntents(new)
        _ = try catalogue.commitFilings(
            zip(ids, new).prefix(2).map { FilingCommit(intent: $0, photo: $1.photo, filedAt: noon, reason: "") },
            set: .new)
        for _ in 1...2 {
            try catalogue.recordOutcome(
                OutcomeRecord(at: noon, inbox: "card", path: paths[4], outcome: .ignored, reason: ""), kept: kept)
            try catalogue.remember(library, at: noon)
            try catalogue.noteVerified(paths[3], at: noon)
            try catalogue.describe(DescriptionBatch(), from: paths[6], identity(99)) { _ in ImportPlace(line: 7) }
        }
    }

    /// Whether all of ``fill(_:)`` is found, each once, and nothing else.
    static func expectFound(_ catalogue: CatalogueFile) throws {
        for (number, path) in [(1 as UInt8, paths[5]), (2, other(paths[5]))] {
            #expect(try catalogue.photo(library: paths[3], path: path)?.photo.sha256 == photo(number).sha256)
            #expect(try catalogue.isFiled(at: path, in: paths[3]))
        }
        #expect(try catalogue.isFiled(at: paths[7], in: paths[3]), "photo 3")
        #expect(try catalogue.photo(library: other(paths[3]), path: paths[5]) == nil)
        #expect(try !catalogue.isFiled(at: other(paths[7]), in: paths[3]))
        for (key, count) in [(paths[1], 2), (paths[2], 2), (other(paths[1]), 0), (other(paths[2]), 0)] {
            let query = SetQuery(inbox: "card", keys: [key.bytes])
            #expect(try catalogue.filedSet(query).count == count)
            #expect(try catalogue.arrival(identity(0), inbox: "card", keys: [key.bytes]).hasSet == (count > 0))
        }
        for (text, count) in [(content, 2), (content + "0", 0)] {
            #expect(
                try catalogue.filedSet(SetQuery(inbox: "card", keys: [], contentIdentifier: text)).count == count)
        }
        #expect(
            try catalogue.outcomes(forPath: paths[5]).count == 2 && catalogue.outcomes(forPath: paths[4]).count == 2)
        #expect(try catalogue.library(at: paths[3]) == library && catalogue.knownPlaces() == [paths[3]])
        #expect(try catalogue.library(at: other(paths[3])) == nil)
        #expect(try catalogue.verification(of: paths[3])?.at == noon)
        #expect(try catalogue.verification(of: other(paths[3])) == nil)
        #expect(try catalogue.placeOfImport(paths[6], identity(99))?.line == 7)
        #expect(try catalogue.placeOfImport(other(paths[6]), identity(99)) == nil)
        #expect(try catalogue.keptSource(like: identity(51), inbox: "card")?.path == paths[4])
        var batch = DescriptionBatch()
        for path in [paths[5], other(paths[6])] {
            let (key, none) = (batch.add(path.bytes), batch.add([]))
            batch.end(.path, key: key, title: none, keywords: none, rating: nil, taken: none, place: none)
        }
        #expect(try catalogue.unknown(in: batch) == [1])
    }

    @Test("They are found again, and what is unique stays so")
    func found() throws {
        let place = try Place()
        let catalogue = try place.open()
        try Self.fill(catalogue)
        try Self.expectFound(catalogue)
        for table in ["kept_source", "library", "verification", "description_import"] {
            let refused = try failure {
                try catalogue.write("inserting a row twice") { db in
                    let rows = try db.rows("SELECT * FROM \(table)")
                    try #require(rows.count == 1)
                    let columns = rows[0].columns.names.filter { $0 != "id" }.map { "\"\($0)\"" }
                    let list = columns.joined(separator: ", ")
                    try db.run("INSERT INTO \(table) (\(list)) SELECT \(list) FROM \(table)")
                }
            }
            #expect(refused.code == (TestEngine.current == .sqlite ? .other : .busy), "\(table): \(refused)")
        }
        let taken = try failure {
            try catalogue.write("giving a photo the path of another") { db in
                try db.run("UPDATE photo SET library_path = ? WHERE id = 1", [Self.other(Self.paths[5])])
            }
        }
        #expect(taken.code == (TestEngine.current == .sqlite ? .other : .busy), "\(taken)")
        try catalogue.forgetKept(inbox: "card", path: Self.other(Self.paths[4]))
        #expect(try catalogue.keptSource(like: identity(51), inbox: "card") != nil)
        try catalogue.forgetKept(inbox: "card", path: Self.paths[4])
        #expect(try catalogue.keptSource(like: identity(51), inbox: "card") == nil)
        try catalogue.finishImport(Self.paths[6])
        #expect(try catalogue.placeOfImport(Self.paths[6], identity(99)) == nil)
        try catalogue.forgetLibrary(at: Self.paths[3])
        #expect(try catalogue.knownPlaces().isEmpty)
    }

    @Test("PostgreSQL finds them by indexes")
    func indexes() throws {
        guard TestEngine.current == .postgresql else { return }
        let place = try Place()
        let catalogue = try place.open()
        let words = catalogue.words
        let wanted: [(table: String, condition: String, index: String)] = [
            ("photo", words.isAt("'a'", "'b'"), "photo_library_path"),
            ("photo", "set_key = 'b' AND superseded_at IS NULL", "photo_set_key"),
            ("photo", "short_key = 'b' AND superseded_at IS NULL", "photo_short_key"),
            ("photo", "content_id = 'b' AND superseded_at IS NULL", "photo_content_id"),
            ("outcome", "path = 'a'", "outcome_path"),
            ("kept_source", "inbox = 'a' AND \(words.isKey("path", "'b'"))", "kept_source_path"),
            ("library", words.isKey("path", "'a'"), "library_path"),
            ("verification", words.isKey("library", "'a'"), "verification_library"),
            ("description_import", words.isKey("path", "'a'"), "description_import_path"),
        ]
        try catalogue.write("explaining") { db in
            try db.run("SET LOCAL enable_seqscan = off")
            for (table, condition, index) in wanted {
                let plan = try db.values(String.self, "EXPLAIN SELECT * FROM \(table) WHERE \(condition)")
                #expect(plan.contains { $0.contains(" \(index) ") }, "\(plan)")
            }
        }
    }
}
