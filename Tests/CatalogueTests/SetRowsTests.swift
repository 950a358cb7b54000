import Catalogue
import FileValues
import GRDB
import Testing

@Suite("Rows of sets", .withEachEngine)
struct SetRowsTests {
    private func member(_ number: UInt8, _ role: String, key: String = "card/a", content: String? = nil) -> NewIntent {
        var new = intent(number)
        new.photo.part = SetPart(role: role, contentIdentifier: content, key: Array(key.utf8))
        new.setToken = "set"
        return new
    }

    private func file(
        _ catalogue: CatalogueFile, _ members: [NewIntent], _ set: SetPlace = .new
    ) throws -> [Int64] {
        let ids = try catalogue.beginIntents(members)
        return try catalogue.commitFilings(
            zip(ids, members).map { FilingCommit(intent: $0, photo: $1.photo, filedAt: noon, reason: "") }, set: set
        ).map(\.photo)
    }

    @Test func setIsFoundByAnyOfItsKeys() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        var short = member(2, "raw")
        short.photo.part.shortKey = Array("cut".utf8)
        let ids = try file(catalogue, [member(1, "picture", content: "X"), short])
        func found(_ keys: [String], _ content: String? = nil, inbox: String = "card") throws -> [Int64] {
            try catalogue.filedSet(
                SetQuery(inbox: inbox, keys: keys.map { Array($0.utf8) }, contentIdentifier: content)
            ).map(\.id)
        }
        #expect(try found(["card/a"]) == ids && found(["cut"]) == ids && found([], "X") == ids)
        #expect(try found(["card/b"]).isEmpty && found([], "Y").isEmpty && found(["card/a"], inbox: "phones").isEmpty)
        #expect(try catalogue.arrival(identity(0), inbox: "card", keys: [Array("card/a".utf8)]).hasSet)
        #expect(try !catalogue.arrival(identity(0), inbox: "card", keys: [Array("card/b".utf8)]).hasSet)
        #expect(try catalogue.photo(id: ids[0])?.setID == catalogue.photo(id: ids[1])?.setID)
    }

    @Test func lateFileJoinsItsSet() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let first = try file(catalogue, [member(1, "picture")])
        #expect(try catalogue.photo(id: first[0])?.setID == nil, "alone")
        let late = try file(catalogue, [member(2, "sidecar")], .joining(photo: first[0]))
        let later = try file(catalogue, [member(3, "raw")], .joining(photo: late[0]))
        let set = try catalogue.filedSet(SetQuery(inbox: "card", keys: [Array("card/a".utf8)]))
        #expect(set.map(\.id) == first + late + later)
        #expect(try catalogue.recentRoles(inbox: "card", limit: 10).map(\.role) == ["raw", "sidecar", "picture"])
    }

    @Test("A set that was filed from another inbox is found by the path of a duplicate of it")
    func setOfADuplicate() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let ids = try file(catalogue, [member(1, "picture"), member(2, "raw")])
        func found() throws -> [Int64] {
            try catalogue.filedSet(
                SetQuery(inbox: "phones", keys: [Array("phones/b".utf8)], paths: ["b.jpg", "b.JPG"])
            ).map(\.id)
        }
        #expect(try found().isEmpty)
        for (path, inbox) in [("b.jpg", "desk"), ("c.jpg", "phones"), ("b.JPG", "phones")] {
            let outcome = OutcomeRecord(
                at: noon, inbox: inbox, path: BytePath(path), outcome: .duplicate, reason: "", sha256: photo(1).sha256,
                photoID: ids[0])
            try catalogue.recordOutcome(outcome)
            #expect(try found() == (path == "b.JPG" ? ids : []))
        }
    }

    @Test("A sidecar that a set has, or that is being added to it, is not begun for it once more")
    func sidecarOfASetOnce() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let photos = try file(catalogue, [member(1, "picture"), member(2, "raw")])
        func sidecar(_ token: UInt8, joining photo: Int64, named name: String = "a.xmp") -> NewIntent {
            var new = member(3, "sidecar")
            (new.token, new.joins) = ("s\(token)", photo)
            new.photo.originalName = BytePath(name)
            new.photo.libraryPath = BytePath("\(token)/\(name)")
            return new
        }
        // Of two that begin, one goes on, whichever of the photos they join.
        let first = sidecar(1, joining: photos[1])
        let begun = try catalogue.beginIntents([first])
        #expect(
            try failure { _ = try catalogue.beginIntents([sidecar(2, joining: photos[0])]) }.code
                == .beingFiled(intent: photos[0]))
        _ = try catalogue.beginIntents([sidecar(3, joining: photos[0], named: "a.nef.xmp")])
        let filed = try catalogue.commitFilings(
            [FilingCommit(intent: begun[0], photo: first.photo, filedAt: noon, reason: "")],
            set: .joining(photo: photos[1]))
        try catalogue.closeFiled()
        #expect(
            try failure { _ = try catalogue.beginIntents([sidecar(4, joining: photos[1])]) }.code
                == .beingFiled(intent: photos[0]))
        // Of another set, and to take its place.
        let other = try file(catalogue, [member(5, "picture", key: "card/b")])
        _ = try catalogue.beginIntents([sidecar(5, joining: other[0])])
        var replacing = sidecar(6, joining: photos[0])
        replacing.supersedes = filed[0].photo
        _ = try catalogue.beginIntents([replacing])
    }

    @Test func sidecarsMayHaveTheSameBytesButPhotosMayNot() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        var one = member(1, "sidecar")
        var other = member(2, "sidecar", key: "card/b")
        (one.photo.sha256, other.photo.sha256) = (photo(9).sha256, photo(9).sha256)
        _ = try file(catalogue, [one, other])
        // A photo with these bytes is still recorded only once.
        try catalogue.file(9)
        let again = try failure { try catalogue.file(9) }
        guard case .alreadyRecorded = again.code else {
            Issue.record("\(again)")
            return
        }
        #expect(try catalogue.photo(withHash: photo(9).sha256)?.photo.part.role == nil, "the photo before the sidecars")
    }

    @Test func intentsKeepWhatRecoveryNeeds() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        var new = member(1, "sidecar", content: "X")
        (new.joins, new.numberAfter) = (7, 5)
        _ = try catalogue.beginIntents([new])
        let stored = try #require(try catalogue.pendingIntents().first)
        #expect(stored.setToken == "set" && stored.joins == 7 && stored.numberAfter == 5 && stored.photo == new.photo)
    }

    @Test("A photo filed before sets were known is found by its path in the inbox")
    func olderRows() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let old = try catalogue.file(1)
        let query = SetQuery(inbox: "card", keys: [[1]], paths: [photo(1).sourcePath, "x"])
        #expect(try catalogue.filedSet(query).map(\.id) == [old.photo])
    }

    @Test("A refused change does not affect the others of its transaction")
    func together() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        try catalogue.file(1)
        let results = try catalogue.perform([
            .begin([intent(2)]), .begin([intent(1)]), .begin([intent(3), intent(2)]), .close([99], kept: []),
            .record([OutcomeRecord(at: noon, inbox: "card", path: "x", outcome: .ignored, reason: "r")], kept: []),
        ])
        #expect(results.map { (try? $0.get()) != nil } == [true, false, false, true, true])
        guard case .failure(let refused) = results[1], case .alreadyRecorded = refused.code else {
            Issue.record("\(results[1])")
            return
        }
        #expect(try catalogue.pendingIntents().map(\.token) == ["t1", "t2"], "nothing of the third is kept")
        #expect(try catalogue.outcomes(forPath: "x").count == 1)
    }

    @Test("Rows of the first schema are kept by the migration to the second", .tags(.file))
    func migration() throws {
        let place = try Place()
        let old = try DatabaseQueue(path: place.path)
        try old.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                    INSERT INTO grdb_migrations VALUES ('1 photos, intents, outcomes, kept sources');
                    """)
            try db.execute(sql: firstSchema)
            try db.execute(
                sql: """
                    INSERT INTO photo (filed_at, source_kept, sha256, size, library, library_path, inbox, source_path,
                        original_name, format, proof, source_inode, source_modified, source_modified_ns,
                        source_changed, source_changed_ns)
                    VALUES (1, 0, zeroblob(32), 1, x'2F', x'61', 'card', x'61', x'61', 'jpeg', 'p', 1, 0, 0, 0, 0)
                    """)
        }
        try old.close()
        let catalogue = try place.open()
        let stored = try #require(try catalogue.photo(id: 1))
        #expect(stored.setID == nil && stored.photo.part == SetPart())
        try catalogue.file(1)
        #expect(try catalogue.totals().photos == 2)
    }
}

/// The tables as the first migration created them. It never changes, so neither does this.
private let firstSchema: String = {
    let columns = """
        sha256 BLOB NOT NULL CHECK (length(sha256) = 32), size INTEGER NOT NULL, library BLOB NOT NULL,
        library_path BLOB NOT NULL, inbox TEXT NOT NULL, source_path BLOB NOT NULL, original_name BLOB NOT NULL,
        format TEXT NOT NULL, captured TEXT, captured_offset INTEGER, captured_provenance TEXT, width INTEGER,
        height INTEGER, orientation INTEGER, camera TEXT, proof TEXT NOT NULL, source_inode INTEGER NOT NULL,
        source_modified INTEGER NOT NULL, source_modified_ns INTEGER NOT NULL, source_changed INTEGER NOT NULL,
        source_changed_ns INTEGER NOT NULL
        """
    return """
        CREATE TABLE photo (id INTEGER PRIMARY KEY AUTOINCREMENT, filed_at INTEGER NOT NULL,
            source_kept INTEGER NOT NULL, superseded_at INTEGER, superseded_by INTEGER REFERENCES photo (id),
            \(columns)) STRICT;
        CREATE UNIQUE INDEX photo_sha256 ON photo (sha256) WHERE superseded_at IS NULL;
        CREATE UNIQUE INDEX photo_library_path ON photo (library, library_path) WHERE superseded_at IS NULL;
        CREATE TABLE intent (id INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL UNIQUE, since INTEGER NOT NULL,
            step TEXT NOT NULL, temporary BLOB NOT NULL, photo_id INTEGER REFERENCES photo (id), \(columns)) STRICT;
        CREATE TABLE outcome (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, inbox TEXT NOT NULL,
            path BLOB NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, sha256 BLOB, photo_id INTEGER,
            destination BLOB) STRICT;
        CREATE TABLE kept_source (id INTEGER PRIMARY KEY AUTOINCREMENT, inbox TEXT NOT NULL, path BLOB NOT NULL,
            since INTEGER NOT NULL, why TEXT NOT NULL, outcome_id INTEGER, sha256 BLOB, inode INTEGER NOT NULL,
            size INTEGER NOT NULL, modified INTEGER NOT NULL, modified_ns INTEGER NOT NULL, changed INTEGER NOT NULL,
            changed_ns INTEGER NOT NULL) STRICT;
        """
}()
