import FileValues
import FleetRules
import LinuxKernel
import PhotoFormats
import PhotoModel
import PostgresSupport
import TestSupport
import Testing

@testable import Catalogue
@testable import PostgreSQL

/// Which daemon may write in a database.
@Suite(.enabled(if: PostgresPrograms.debian != nil, "\(PostgresPrograms.skipped)"))
struct HostTests {
    private let place: CataloguePlace
    private let server: CatalogueServer

    init() throws {
        let running = try PostgresServer.shared(try #require(PostgresPrograms.debian))
        let words = running.parameters("dbname=\(try running.makeDatabase())").connection
        place = .server(words)
        server = CatalogueServer(words, client: "tests")
    }

    private func open(_ key: String, isLost: Bool = false) throws -> CatalogueFile {
        try CatalogueFile.open(
            place, for: CatalogueHost(key: key, name: "machine-\(key)"), now: noon, isLost: isLost)
    }

    @Test("Of each host the newest life writes; one that was forgotten writes again once it has begun anew")
    func lives() throws {
        let first = try open("a")
        try first.file(1)
        let second = try open("a")
        #expect(try failure { try first.file(2) }.code == .anotherHost)
        try second.file(2)
        let other = try open("b")
        try other.file(3, inbox: "desk")
        #expect(try other.hosts().map(\.name) == ["machine-a", "machine-b"])
        let command = try CatalogueFile.openForRepair(place)
        #expect(try command.forgetHost("machine-c") == false)
        #expect(try command.forgetHost("machine-a"))
        #expect(try failure { try second.file(4) }.code == .anotherHost)
        try other.file(4, inbox: "desk")
        #expect(try other.hosts().map(\.isForgotten) == [true, false])
        try open("a").file(5)
        #expect(try other.totals().photos == 5)
    }

    @Test("Machines of one name get names of their own, and keep them")
    func names() throws {
        for _ in 0..<2 {
            for key in ["a", "b", "c"] {
                _ = try CatalogueFile.open(
                    place, for: CatalogueHost(key: key, name: "nas"), now: noon, isLost: false)
            }
        }
        #expect(try open("d").hosts().map(\.name) == ["machine-d", "nas", "nas-2", "nas-3"])
    }

    @Test("An inbox is one host's until that is forgotten; a refusal leaves what is recorded with it alone")
    func inboxes() throws {
        let (a, b) = (try open("a"), try open("b"))
        try a.file(1)
        let refused = try failure { try b.file(2) }
        #expect(refused.code == .inboxOfAnother && refused.leavesNothing)
        #expect(refused.message == "the host machine-a has an inbox of this name")
        var own = intent(3)
        own.photo.inbox = "desk"
        let results = try b.perform([.begin([intent(2)]), .begin([own])])
        guard case .failure(let failed) = results[0], case .success(.begun) = results[1] else {
            Issue.record("\(results)")
            return
        }
        #expect(failed.code == .inboxOfAnother)
        _ = try CatalogueFile.openForRepair(place).forgetHost("machine-a")
        try b.file(2)
        // What the other had begun is seen to by the new one of that inbox.
        #expect(try b.pendingIntents(inbox: "card").map(\.token) == ["t1", "t2"])
        #expect(try failure { try a.file(4) }.code == .anotherHost)
        #expect(try failure { try open("a").file(4) }.code == .inboxOfAnother)
    }

    @Test(
        "A content is begun by one host; one that is silent for longer than its lease loses it, and may begin it again")
    func takeover() throws {
        let (a, b) = (try open("a"), try open("b"))
        var other = intent(1)
        (other.photo.inbox, other.token) = ("desk", "other")
        let begun = try a.beginIntents([intent(1)])[0]
        #expect(try failure { _ = try b.beginIntents([other]) }.code == .beingFiled(intent: begun))
        try age("a")
        let taken = try b.beginIntents([other])[0]
        let lost = try #require(try a.pendingIntents(inbox: "card").first)
        #expect(lost.step == .lost)
        #expect(try failure { _ = try a.commitFiling(commit(begun)) }.code == .noSuchIntent(begun))
        #expect(try failure { try a.beginAgain([lost]) }.code == .beingFiled(intent: taken))
        #expect(try a.claims(on: lost.photo.sha256).isBegun)
        // Whose intent is lost may be the one that goes on.
        try age("b")
        try a.beginAgain([lost])
        let photo = try a.commitFiling(commit(begun)).photo
        #expect(
            try failure { _ = try b.commitFiling(commit(taken, other.photo)) }.code == .alreadyRecorded(photo: photo))
        let second = try #require(try b.pendingIntents(inbox: "desk").first)
        #expect(second.step == .lost)
        #expect(try failure { try b.beginAgain([second]) }.code == .alreadyRecorded(photo: photo))
        try b.beginAgain([second], superseding: photo)
    }

    @Test("Of several filings that were lost all are begun again, or none")
    func allAgain() throws {
        let (a, b) = (try open("a"), try open("b"))
        _ = try a.beginIntents([intent(1), intent(2)])
        try age("a")
        for number: UInt8 in 1...2 {
            var other = intent(number)
            (other.photo.inbox, other.token) = ("desk", "other\(number)")
            _ = try b.beginIntents([other])
        }
        let lost = try a.pendingIntents(inbox: "card")
        let taken = try b.pendingIntents(inbox: "desk")
        try b.closeIntent(taken[0].id)
        #expect(try failure { try a.beginAgain(lost) }.code == .beingFiled(intent: taken[1].id))
        #expect(try a.pendingIntents(inbox: "card").map(\.step) == [.lost, .lost])
        try b.closeIntent(taken[1].id)
        try a.beginAgain(lost)
        #expect(try a.pendingIntents(inbox: "card").map(\.step) == [.begun, .begun])
    }

    @Test("A content that is recorded between the look for it and its claim is not begun")
    func secondLook() throws {
        let (a, b) = (try open("a"), try open("b"))
        let photo = try a.file(1).photo
        try CatalogueFile.openForRepair(place).write("hiding a photo") { db in
            try db.run("UPDATE photo SET superseded_at = 1")
            try db.run(
                """
                CREATE FUNCTION appear() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    UPDATE photo SET superseded_at = NULL;
                    RETURN new;
                END $$
                """)
            try db.run("CREATE TRIGGER appear BEFORE INSERT ON intent FOR EACH ROW EXECUTE FUNCTION appear()")
        }
        var other = intent(1)
        (other.photo.inbox, other.token) = ("desk", "other")
        #expect(try failure { _ = try b.beginIntents([other]) }.code == .alreadyRecorded(photo: photo))
        #expect(try b.pendingIntents(inbox: "desk").isEmpty)
    }

    @Test("The server itself refuses that a content is begun twice, and has any number of sidecars begun")
    func begunOnce() throws {
        var sidecar = intent(2)
        sidecar.photo.part.role = SetPart.sidecar
        _ = try open("a").beginIntents([intent(1), sidecar])
        let command = try CatalogueFile.openForRepair(place)
        func beginAgain(_ token: String) throws {
            try command.write("beginning a filing") { db in
                try db.run("CREATE TEMPORARY TABLE again AS SELECT * FROM intent WHERE token = '\(token)'")
                try db.run("UPDATE again SET id = id + 100, token = 'again'")
                try db.run("INSERT INTO intent SELECT * FROM again")
            }
        }
        #expect(try failure { try beginAgain("t1") }.message.contains("intent_content"))
        try beginAgain("t2")
    }

    @Test("A duplicate is not set aside while its photo is returned, and a photo is not returned while one is")
    func uses() throws {
        let (a, b) = (try open("a"), try open("b"))
        let photo = try a.file(1).photo
        let undo = RequestRecord(
            at: noon, what: .undo, user: 0, userName: nil, inbox: "card", path: "a.jpg", photoID: photo)
        #expect(
            try failure { _ = try b.recordRequest(undo, step: .begun) }.message
                == "its source is still to be removed from the inbox card")
        try a.closeFiled()
        let move = MoveRecord(
            token: "m", since: noon, inbox: "desk", path: "a.jpg", root: "/dup", destination: "desk/a.jpg",
            outcome: .duplicate, reason: "", sha256: Array(repeating: 1, count: 32), photoID: photo,
            identity: identity(9))
        let begun = try b.beginMove(move)
        #expect(try failure { _ = try a.recordRequest(undo, step: .begun) }.code == .busy)
        _ = try b.finishMove(begun.id, outcome: nil)
        let request = try a.recordRequest(undo, step: .begun)
        for refused in [
            try failure { _ = try b.beginMove(move) },
            try failure { try b.file(1, inbox: "desk", token: "again", supersedes: photo) },
        ] {
            #expect(refused.code == .busy && refused.leavesNothing)
            #expect(refused.message == "this photo is being returned to the inbox card")
        }
        #expect(try failure { _ = try b.recordRequest(undo, step: .begun) }.code == .busy)
        try a.endRequest(request, at: noon, move: nil)
        let left = try b.beginMove(move)
        #expect(try failure { _ = try a.recordRequest(undo, step: .begun) }.code == .busy)
        var other = undo
        other.photoID = try b.file(2, inbox: "desk").photo
        #expect(try failure { _ = try a.recordRequest(other, step: .begun) }.code == .busy)
        // The move, and the filing, of a host that never comes back keep nobody from it.
        _ = try CatalogueFile.openForRepair(place).forgetHost("machine-b")
        _ = try a.recordRequest(undo, step: .begun)
        _ = try a.recordRequest(other, step: .begun)
        #expect(try open("b").pendingMoves(inbox: "desk").map(\.id) == [left.id])
    }

    @Test(
        "While a photo is missing and filed again, no undo of it begins and no duplicate is set aside, nor the other way round"
    )
    func supersession() throws {
        let (a, b) = (try open("a"), try open("b"))
        let missing = try a.file(1).photo
        try a.closeFiled()
        let undo = RequestRecord(
            at: noon, what: .undo, user: 0, userName: nil, inbox: "card", path: "a.jpg", photoID: missing)
        let move = MoveRecord(
            token: "m", since: noon, inbox: "card", path: "a.jpg", root: "/dup", destination: "card/a.jpg",
            outcome: .duplicate, reason: "", sha256: photo(1).sha256, photoID: missing, identity: identity(9))
        var again = intent(1)
        (again.photo.inbox, again.token, again.supersedes) = ("desk", "again", missing)
        let begun = try b.beginIntents([again])[0]
        let reason = "this photo is missing, and is being filed again from the inbox desk"
        #expect(try failure { _ = try a.recordRequest(undo, step: .begun) }.message == reason)
        #expect(try failure { _ = try a.beginMove(move) }.message == reason)
        try b.closeIntent(begun)
        // One that gets its place is filed in its place, too.
        var other = intent(2)
        (other.photo.inbox, other.token, other.photo.libraryPath) = ("desk", "other", photo(1).libraryPath)
        var filing = commit(try b.beginIntents([other])[0], other.photo)
        filing.supersedes = [missing]
        let duplicate = try a.beginMove(move)
        for refused in [
            try failure { _ = try b.beginIntents([again]) }, try failure { _ = try b.commitFilings([filing]) },
        ] {
            #expect(refused.message == "a duplicate of this photo is being set aside from the inbox card")
            #expect(refused.code == .busy)
        }
        _ = try a.finishMove(duplicate.id, outcome: nil)
        let request = try a.recordRequest(undo, step: .begun)
        #expect(
            try failure { _ = try b.commitFilings([filing]) }.message
                == "this photo is being returned to the inbox card")
        // Nor is one begun again that was lost, and whose copy would be filed in its place.
        let lost = try #require(try b.pendingIntents(inbox: "desk").first)
        try b.giveUp(lost.id)
        let refused = try failure { try b.beginAgain([lost], superseding: missing) }
        #expect(refused.message == "this photo is being returned to the inbox card" && refused.code == .busy)
        try a.endRequest(request, at: noon, move: nil)
        #expect(try b.pendingIntents(inbox: "desk").map(\.step) == [.lost])
        try b.beginAgain([lost], superseding: missing)
        _ = try b.commitFilings([filing])
        #expect(try b.photo(id: missing)?.supersededAt == noon)
    }

    @Test("A host that is forgotten loses what it had begun, and the clock of its trash")
    func forgetting() throws {
        let a = try open("a")
        let begun = try a.beginIntents([intent(1)])[0]
        _ = try CatalogueFile.openForRepair(place).forgetHost("machine-a")
        let b = try open("b")
        #expect(try b.pendingIntents(inbox: "card").map(\.step) == [.lost])
        let photo = try b.file(1, token: "b").photo
        let again = try open("a")
        #expect(try failure { _ = try again.commitFiling(commit(begun)) }.code == .alreadyRecorded(photo: photo))
    }

    @Test("The time of the trash is counted by each host with its own clock")
    func trash() throws {
        let (a, b) = (try open("a"), try open("b"))
        func age(_ host: CatalogueFile, _ inbox: String, _ boottime: Int64) throws -> [Int64] {
            try host.trash(of: inbox, at: ClockReading(boot: inbox, boottime: boottime, wall: 0)).map(\.age)
        }
        for (host, inbox) in [(a, "card"), (b, "desk")] {
            let move = RequestedMove(
                token: inbox, sourceRoot: "/q", sourcePath: "a.jpg", destinationRoot: "/trash",
                destinationPath: "a.jpg",
                sha256: Array(repeating: 1, count: 32), identity: identity(1))
            let request = RequestRecord(
                at: noon, what: .discard, user: 0, userName: nil, inbox: inbox, path: "a.jpg", move: move)
            try host.endRequest(host.recordRequest(request, step: .begun), at: noon, move: move)
        }
        #expect(try age(a, "card", 1_000) == [0] && age(b, "desk", 9_000_000) == [0])
        #expect(try age(a, "card", 1_005) == [5] && age(b, "desk", 9_000_007) == [7])
        #expect(try age(a, "card", 1_006) == [6])
    }

    @Test("Hooks have a place for each host, and hear of its own inboxes alone")
    func hooks() throws {
        let (a, b) = (try open("a"), try open("b"))
        for host in [a, b] { _ = try host.placeOfHook("h", at: noon) }
        try a.file(1)
        var other = intent(2)
        other.photo.inbox = "desk"
        let id = try b.beginIntents([other])[0]
        let outcome = try b.commitFiling(commit(id, other.photo)).outcome
        let interest = HookInterest(kinds: [.filed])
        #expect(try a.hookBatch(after: 0, interest, limit: 9).events.map(\.outcome.outcome.inbox) == ["card"])
        #expect(try b.hookBatch(after: 0, interest, limit: 9).events.map(\.outcome.outcome.inbox) == ["desk"])
        #expect(try b.outcomes(after: 0, limit: 9, own: true).map(\.id) == [outcome])
        #expect(try b.outcomes(after: 0, limit: 9).count == 2)
        _ = try b.perform([.hook("h", told: outcome, skipped: [outcome])])
        #expect(try a.hookCursors().map(\.told) == [0] && b.hookCursors().map(\.told) == [outcome])
        #expect(try a.skippedOutcomes(by: "h").isEmpty && b.hookCursors().map(\.skipped) == [[outcome]])
        try a.forgetHooks(except: [])
        _ = try a.placeOfHook("h", at: noon)
        try b.forgetHooks(except: ["h"])
        #expect(try b.skippedOutcomes(by: "h") == [outcome])
        try b.forgetHooks(except: [])
        #expect(try a.hookCursors().count == 1 && b.hookCursors().isEmpty)
        #expect(try b.skippedOutcomes(by: "h").isEmpty)
        // What belongs to nobody is nobody's: its inboxes are free.
        _ = try b.perform([.hook("h", told: outcome, skipped: [outcome])])
        #expect(try CatalogueFile.openForRepair(place).forgetHost("machine-b"))
        #expect(try a.skippedOutcomes(by: "h").isEmpty)
    }

    @Test("What is due of a host that is away is another's")
    func care() throws {
        let (a, b) = (try open("a"), try open("b"))
        try a.file(1)
        #expect(try a.photosToRead(in: "/srv/photos", after: 0, limit: 9).count == 1)
        #expect(try b.photosToRead(in: "/srv/photos", after: 0, limit: 9).isEmpty)
        try age("a")
        #expect(try b.photosToRead(in: "/srv/photos", after: 0, limit: 9).count == 1)
    }

    @Test("The first version's catalogue is brought to the second, and goes on with its host")
    func migration() throws {
        let engine = PostgreSQLEngine(server, writes: true)
        try engine.write { db in
            try db.run("CREATE SCHEMA photoinbox")
            try db.run(
                """
                CREATE TABLE schema_version (version bigint PRIMARY KEY, name text NOT NULL, oldest_writer bigint NOT NULL,
                    oldest_reader bigint NOT NULL)
                """)
            try db.run(PostgreSQLSchema.versions[0].sql)
            try db.run("INSERT INTO schema_version VALUES (1, '1', 1, 1)")
            try db.run("INSERT INTO host (key, name, life, epoch, seen) VALUES ('a', 'nas', 'x', 1, now())")
            try db.run("INSERT INTO hook VALUES ('h', 7, 1)")
        }
        let catalogue = try open("a")
        #expect(try catalogue.hookCursors().map(\.told) == [7])
        try catalogue.file(1)
        #expect(try catalogue.hosts().map(\.name) == ["nas"])
    }

    @Test("What a filing reads does not grow with the catalogue, by plans that were made while that was empty")
    func keptPlans() throws {
        let catalogue = try open("a")
        func file(_ number: UInt8) throws {
            let id = try catalogue.file(number).photo
            var metadata = PhotoMetadata()
            metadata.title = "Harbour"
            var batch = MetadataBatch()
            batch.add(
                MetadataDecision([.xmp: metadata]),
                of: DuePhoto(stored: try #require(try catalogue.photo(id: id)), turn: 0))
            try catalogue.record(batch)
        }
        for number: UInt8 in 1...8 { try file(number) }
        let other = try CatalogueFile.openForRepair(place)
        let rows: Int64 = 20_000
        try other.write("filling") { db in
            try db.run("SET LOCAL session_replication_role = replica")
            try db.run(
                """
                INSERT INTO photo SELECT made.* FROM generate_series(1001, \(1000 + rows)) AS i,
                    (SELECT * FROM photo LIMIT 1) AS one,
                    LATERAL jsonb_populate_record(NULL::photo, to_jsonb(one) || jsonb_build_object(
                        'id', i, 'sha256', '\\x' || encode(sha256(int8send(i)), 'hex'), 'set_id', i,
                        'library_path', '\\x' || encode(int8send(i), 'hex'), 'set_key', '\\x' || encode(int8send(i), 'hex')
                    )) AS made
                """)
            try db.run("INSERT INTO photo_text SELECT id, 'a:1'::tsvector FROM photo WHERE id > 1000")
        }
        /// The rows of tables and indexes that were read until so many photos were recorded.
        func rowsRead(until inserted: Int64) throws -> Int64 {
            // Else it is counted some time after it was done.
            for one in [catalogue, other] {
                try one.write("counting") { db in try db.run("SELECT CAST(pg_stat_force_next_flush() AS TEXT)") }
            }
            let row = try #require(
                try other.read("counting") { db in
                    try db.first(
                        """
                        SELECT sum(n_tup_ins) FILTER (WHERE relname = 'photo')::bigint AS inserted,
                            sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint + (SELECT sum(idx_tup_read)::bigint
                                FROM pg_stat_user_indexes) AS read FROM pg_stat_user_tables
                        """)
                })
            #expect(try row.value("inserted") as Int64 == inserted)
            return try row.value("read")
        }
        let before = try rowsRead(until: rows + 8)
        try file(9)
        let read = try rowsRead(until: rows + 9) - before
        #expect(read < 1_000, "\(read) rows")
    }

    private func age(_ key: String) throws {
        try CatalogueFile.openForRepair(place).write("aging a host") { db in
            try db.run("UPDATE host SET seen = clock_timestamp() - interval '1 hour' WHERE key = ?", [key])
        }
    }

    private func commit(_ intent: Int64, _ row: PhotoRecord = photo(1)) -> FilingCommit {
        FilingCommit(intent: intent, photo: row, filedAt: noon, reason: "complete")
    }

    @Test("A refusal as another's may have kept something: what was copied stays")
    func leavesNothing() throws {
        let first = try open("a")
        _ = try open("a")
        #expect(try failure { try first.file(1) }.leavesNothing == false)
    }

    @Test("A database that went back is found out with the next write, or at the next start, and rebuilt")
    func wentBack() throws {
        let catalogue = try open("a")
        for number: UInt8 in 1...3 { try catalogue.file(number) }
        #expect(try catalogue.loss() == nil && !catalogue.isRebuilding())
        let other = try CatalogueFile.openForRepair(place)
        try other.write("going back") { db in try db.run("UPDATE host SET writes = writes - 1") }
        for _ in 0..<2 { #expect(try failure { try catalogue.file(4) }.code == .replaced) }
        #expect(catalogue.loss()?.code == .replaced)
        #expect(try catalogue.isRebuilding())
        let next = try open("a")
        #expect(try next.loss() == nil && next.isRebuilding() && next.totals().photos == 3)
        try next.endRebuilding()
        try next.file(4)
        let scratch = try ScratchDirectory()
        let memory = try ServerMemory(in: scratch.bytePath)
        memory.wrote(next.written)
        let known = CatalogueHost(key: "a", name: "machine-a", memory: memory)
        #expect(try !CatalogueFile.open(place, for: known, now: noon, isLost: false).isRebuilding())
        memory.wrote(next.written + 1)
        try openDirectory(scratch.bytePath).unlink("begun.log")
        let ahead = CatalogueHost(key: "a", name: "machine-a", memory: try ServerMemory(in: scratch.bytePath))
        #expect(try CatalogueFile.open(place, for: ahead, now: noon, isLost: false).isRebuilding())
    }

    /// The catalogue as the daemon with this state directory has it.
    private func open(in state: ScratchDirectory) throws -> CatalogueFile {
        let memory = try ServerMemory(in: state.bytePath)
        return try CatalogueFile.open(
            place, for: CatalogueHost(key: memory.key, name: "nas", memory: memory), now: noon, isLost: false)
    }

    /// Takes back photo 1.
    private static let undo = RequestRecord(
        at: noon, what: .undo, user: 0, userName: nil, inbox: "card", path: "a.jpg", outcomeID: nil, photoID: 1,
        isAsIs: false,
        move: RequestedMove(
            token: "r", sourceRoot: "/srv/photos", sourcePath: photo(1).libraryPath, destinationRoot: "/srv/returned",
            destinationPath: "a.jpg", sha256: photo(1).sha256, identity: photo(1).sourceIdentity))

    @Test(
        "Of a database that lacks this life, or all of this host, the next start inserts again what it had begun",
        arguments: [false, true])
    func beginsAgain(isUnknown: Bool) throws {
        let scratch = try ScratchDirectory()
        func open() throws -> CatalogueFile { try self.open(in: scratch) }
        let first = try open()
        try first.file(1)
        try first.closeFiled()
        let running = try open()
        let before = running.written
        try running.file(2)
        let request = Self.undo
        _ = try running.recordRequest(request, step: .begun)
        var late = [intent(5), intent(6)]
        (late[0].joins, late[1].joins) = (2, 1)
        _ = try running.beginIntents(late)
        // The state before this life began.
        try CatalogueFile.openForRepair(place).write("going back") { db in
            for text in [
                "DELETE FROM request", "DELETE FROM outcome WHERE photo_id = 2", "DELETE FROM intent",
                "DELETE FROM metadata_due",
                "DELETE FROM photo WHERE id = 2",
            ] { try db.run(text) }
            try db.run("UPDATE host SET writes = ?, life = 'x', epoch = epoch - 1", [before])
            guard isUnknown else { return }
            for table in ["outcome", "photo", "inbox", "library", "host"] { try db.run("DELETE FROM \(table)") }
        }
        #expect(try failure { try running.file(3) }.code == .anotherHost)
        #expect(try failure { try running.file(3) }.code == .replaced)
        #expect(try running.loss() != nil && !running.isRebuilding())
        let next = try open()
        #expect(next.takeBegunAgain() == (isUnknown ? 5 : 4) && next.takeBegunAgain() == 0)
        #expect(try !next.isRebuilding() && next.loss() == nil)
        let intents = try next.pendingIntents()
        #expect(intents.allSatisfy { $0.step == .lost })
        #expect(intents.map(\.photo) == (isUnknown ? [1, 2, 5, 6] : [2, 5, 6]).map { intent($0).photo })
        // What is lost together with the photo that it joins is recovered as one set with it.
        #expect(intents.map(\.setToken) == (isUnknown ? ["t1", "t2", "t2", "t1"] : ["t2", "t2", nil]))
        #expect(intents.map(\.joins) == (isUnknown ? [nil, nil, nil, nil] : [nil, nil, 1]))
        let requests = try next.pendingRequests(inbox: "card")
        var expected = request
        if isUnknown { expected.photoID = nil }
        #expect(requests.map(\.request) == [expected])
        let again = next.written
        try next.file(4)
        #expect(try open().takeBegunAgain() == 0)
        // A second failover, which has lost what was begun again, too.
        try CatalogueFile.openForRepair(place).write("going back") { db in
            for table in ["request", "outcome", "intent", "metadata_due", "photo"] {
                try db.run("DELETE FROM \(table)")
            }
            try db.run("UPDATE host SET writes = ?", [again])
        }
        #expect(try open().takeBegunAgain() == (isUnknown ? 6 : 5))
    }

    @Test(
        "A request that is begun again is that of the photo or sidecar at its place, not of one that was filed since",
        arguments: [false, true])
    func requestBegunAgain(isFiledSince: Bool) throws {
        let scratch = try ScratchDirectory()
        func open() throws -> CatalogueFile { try self.open(in: scratch) }
        let first = try open()
        try first.file(1)
        try first.closeFiled()
        let running = try open()
        let before = running.written
        _ = try running.recordRequest(Self.undo, step: .begun)
        // Another host has met the file's absence, and filed the content again.
        try CatalogueFile.openForRepair(place).write("going back") { db in
            try db.run("DELETE FROM request")
            try db.run(
                isFiledSince ? "UPDATE photo SET library_path = '\\x61'::bytea" : "UPDATE photo SET role = 'sidecar'")
            try db.run("UPDATE host SET writes = ?", [before])
        }
        let next = try open()
        #expect(next.takeBegunAgain() == 1)
        #expect(try next.pendingRequests(inbox: "card").map(\.request.photoID) == [isFiledSince ? nil : 1])
        #expect(try next.lastFiled(into: "/srv/photos", limit: 8).count == (isFiledSince ? 1 : 0))
    }

    @Test("A server of an older timeline than was met is not used, whatever it is asked")
    func oldPrimary() throws {
        let scratch = try ScratchDirectory()
        func host() throws -> CatalogueHost {
            let memory = try ServerMemory(in: scratch.bytePath)
            return CatalogueHost(key: memory.key, name: "nas", memory: memory)
        }
        try CatalogueFile.open(place, for: try host(), now: noon, isLost: false).file(1)
        let file = try openDirectory(scratch.bytePath).openBeneath("host", .readWrite)
        let text = try file.read(256)
        #expect(String(decoding: text.suffix(21), as: UTF8.self) == String(repeating: " ", count: 19) + "1\n")
        try file.write(Array("2".utf8), at: UInt64(text.count - 2))
        let refused = try CatalogueFile.open(place, for: try host(), now: noon, isLost: false)
        for failed in [try failure { try refused.file(2) }, try failure { _ = try refused.totals() }] {
            #expect(failed.code == .unreachable && failed.message.contains("old primary"), "\(failed)")
        }
        #expect(try CatalogueFile.openForRepair(place).totals().photos == 1)
    }

    @Test("A connection that was made before is not used once another one has met a newer primary")
    func newerPrimary() throws {
        let scratch = try ScratchDirectory()
        let memory = try ServerMemory(in: scratch.bytePath)
        let catalogue = try CatalogueFile.open(
            place, for: CatalogueHost(key: memory.key, name: "nas", memory: memory), now: noon, isLost: false)
        try catalogue.file(1)
        #expect(try catalogue.totals().photos == 1)
        let text = try openDirectory(scratch.bytePath).openBeneath("host", .read).read(256)
        let cluster = try #require(
            String(decoding: text, as: UTF8.self).split(separator: "\n").dropFirst(2).first.flatMap {
                Int64($0.drop { $0 == " " })
            })
        try memory.admit(
            PostgresConnection.Server(
                version: 150_018, systemIdentifier: cluster, timeline: 2, isInRecovery: false))
        for failed in [try failure { _ = try catalogue.totals() }, try failure { try catalogue.file(2) }] {
            #expect(failed.code == .unreachable && failed.message.contains("old primary"), "\(failed)")
        }
    }

    @Test("A schema that is new is to be rebuilt if there was a catalogue before", arguments: [false, true])
    func lost(isLost: Bool) throws {
        let catalogue = try open("a", isLost: isLost)
        #expect(try catalogue.isRebuilding() == isLost)
        catalogue.close()
        #expect(try open("a", isLost: true).isRebuilding() == isLost, "one that is there is not lost")
    }

    @Test("A heartbeat says how a host is, and counts as no write")
    func heartbeat() throws {
        let (first, second) = (try open("a"), try open("b"))
        let written = first.written
        #expect(try first.heartbeat("one").map(\.said) == [nil])
        #expect(try first.heartbeat("two").map(\.name) == ["machine-b"])
        #expect(try second.heartbeat("three").map(\.said) == ["two"])
        #expect(first.written == written, "a server that lost it would else have gone back")
        try first.file(1)
        let command = try CatalogueFile.openForRepair(place)
        #expect(try command.hosts().map(\.isSilent) == [false, false])
        for (age, isSilent) in [(CatalogueFile.lease - 5, false), (CatalogueFile.lease + 1, true)] {
            try command.write("waiting") { db in
                try db.run(
                    "UPDATE host SET seen = clock_timestamp() - make_interval(secs => ?) WHERE key = 'b'", [Double(age)]
                )
            }
            #expect(try first.heartbeat("four").map(\.isSilent) == [isSilent])
        }
        try second.heartbeat("five")
        #expect(try first.heartbeat("six").map(\.isSilent) == [false])
        // What is longer than what a daemon writes is no daemon's.
        let longest = String(repeating: "x", count: CatalogueFile.longestStatement)
        try second.heartbeat(longest)
        #expect(try first.heartbeat("seven").map(\.said) == [longest])
        try second.heartbeat(longest + "x")
        #expect(try first.heartbeat("eight").map(\.said) == [nil])
        #expect(try command.forgetHost("machine-b"))
        let forgotten = try failure { try second.heartbeat("nine") }
        #expect(forgotten.code == .anotherHost && forgotten.message == "this host, machine-b, was forgotten")
        #expect(try command.hosts().map(\.isForgotten) == [false, true])
        #expect(try command.hosts().map(\.isSilent) == [false, false])
        let next = try open("a")
        let copied = try failure { try first.heartbeat("ten") }
        #expect(copied.code == .anotherHost && copied.message.contains("as this host, machine-a, with a copy of"))
        try next.heartbeat("eleven")
        #expect(try command.hosts().first?.said == "eleven")
    }

    @Test("The server says its version, and a file has neither hosts nor a server")
    func facts() throws {
        let facts = try #require(try open("a").serverFacts())
        #expect(facts.version.hasPrefix("1") && facts.roundTrip > .zero, "\(facts)")
        let scratch = try ScratchDirectory()
        let file = try CatalogueFile.openForWriting(scratch.appending("catalogue.sqlite"), now: noon)
        #expect(try file.serverFacts() == nil && file.heartbeat("one").isEmpty && file.hosts().isEmpty)
    }
}
