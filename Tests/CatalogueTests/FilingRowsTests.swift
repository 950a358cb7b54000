import Catalogue
import FileValues
import FleetRules
import Testing

@Suite("Rows of intents, photos, outcomes and kept sources", .withEachEngine)
struct FilingRowsTests {
    @Test("Every value is read as it was written, including hostile names and odd times")
    func roundTrip() throws {
        let place = try Place()
        let catalogue = try place.open()
        let new = intent(1)
        let id = try catalogue.beginIntents([new])[0]
        let begun = try #require(try catalogue.pendingIntents().first)
        #expect(begun.photo == new.photo)
        #expect(begun.step == .begun)
        #expect(begun.token == "t1")
        #expect(begun.temporary == new.temporary)
        #expect(begun.since == noon)
        #expect(begun.photoID == nil)
        #expect(try catalogue.photo(withHash: new.photo.sha256) == nil)

        var real = new.photo
        real.libraryPath = "2026/11/elsewhere-2.jpg"
        let filed = try catalogue.commitFiling(FilingCommit(intent: id, photo: real, filedAt: noon, reason: "complete"))
        let stored = try #require(try catalogue.photo(withHash: real.sha256))
        #expect(stored.id == filed.photo)
        #expect(stored.photo == real)
        #expect(stored.filedAt == noon)
        #expect(!stored.sourceKept)
        #expect(try catalogue.photo(id: filed.photo) == stored)
        #expect(try catalogue.photo(library: "/srv/photos", path: real.libraryPath) == stored)

        let recorded = try #require(try catalogue.pendingIntents().first)
        #expect(recorded.step == .recorded)
        #expect(recorded.photoID == filed.photo)
        #expect(recorded.photo.libraryPath == real.libraryPath)

        let outcome = try #require(try catalogue.outcome(id: filed.outcome)?.outcome)
        #expect(outcome.outcome == .filed)
        #expect(outcome.photoID == filed.photo)
        #expect(outcome.path == real.sourcePath)
        #expect(outcome.destination == real.libraryPath)
        try catalogue.closeIntent(id)
        #expect(try catalogue.pendingIntents().isEmpty)
        try catalogue.closeIntent(id)
    }

    @Test func absentValuesStayAbsent() throws {
        let place = try Place()
        let catalogue = try place.open()
        var bare = photo(1)
        (bare.captured, bare.width, bare.height, bare.orientation, bare.camera) = (nil, nil, nil, nil, nil)
        let id = try catalogue.beginIntent(token: "t", temporary: "x", photo: bare, since: noon)
        _ = try catalogue.commitFiling(FilingCommit(intent: id, photo: bare, filedAt: noon, reason: ""))
        #expect(try catalogue.photo(withHash: bare.sha256)?.photo == bare)
    }

    @Test("A batch with one refused filing records nothing")
    func batches() throws {
        let place = try Place()
        let catalogue = try place.open()
        let ids = try catalogue.beginIntents([intent(1), intent(2), intent(3)])
        let commits = zip(ids, UInt8(1)...3).map { id, number in
            FilingCommit(intent: id, photo: photo(number), filedAt: noon, reason: "complete")
        }
        var broken = commits
        broken[2].photo.sha256 = broken[0].photo.sha256
        let error = try failure { _ = try catalogue.commitFilings(broken) }
        guard case .alreadyRecorded = error.code else {
            Issue.record(error)
            return
        }
        #expect(try catalogue.totals().photos == 0)
        #expect(try catalogue.recentOutcomes(limit: 10).isEmpty)
        #expect(try catalogue.pendingIntents().map(\.step) == [.begun, .begun, .begun])
        #expect(try catalogue.commitFilings(commits).count == 3)
        #expect(try catalogue.totals() == (3, 12_000_000))
        try catalogue.closeIntents(ids)
        #expect(try catalogue.pendingIntents().isEmpty)
    }

    @Test("A second record of a content or a path is refused")
    func once() throws {
        let place = try Place()
        let catalogue = try place.open()
        let first = try catalogue.file(1)
        var again = intent(2)
        let id = try catalogue.beginIntents([again])[0]
        again.photo.sha256 = photo(1).sha256
        let same = try failure {
            _ = try catalogue.commitFiling(FilingCommit(intent: id, photo: again.photo, filedAt: noon, reason: ""))
        }
        #expect(same.code == .alreadyRecorded(photo: first.photo))
        again.token = "t3"
        #expect(try failure { _ = try catalogue.beginIntents([again]) }.code == same.code)
        var third = intent(2)
        third.token = "t3"
        let busy = try failure { _ = try catalogue.beginIntents([third]) }
        #expect(busy.code == .beingFiled(intent: id))
        #expect(busy.isTransient)
        var elsewhere = photo(2)
        elsewhere.libraryPath = photo(1).libraryPath
        let taken = try failure {
            _ = try catalogue.commitFiling(FilingCommit(intent: id, photo: elsewhere, filedAt: noon, reason: ""))
        }
        #expect(taken.code == .pathTaken(photo: first.photo))
        let unknown = try failure {
            _ = try catalogue.commitFiling(FilingCommit(intent: 99, photo: photo(3), filedAt: noon, reason: ""))
        }
        #expect(unknown.code == .noSuchIntent(99))
        #expect(try catalogue.totals().photos == 1)
    }

    @Test("A new filing supersedes the row of a damaged copy, which is kept")
    func superseding() throws {
        let place = try Place()
        let catalogue = try place.open()
        let old = try catalogue.file(1)
        let new = intent(1)
        let id = try catalogue.beginIntent(
            token: "again", temporary: new.temporary, photo: new.photo, since: noon, supersedes: old.photo)
        let filed = try catalogue.commitFiling(
            FilingCommit(intent: id, photo: new.photo, filedAt: noon, reason: "copy damaged", supersedes: [old.photo]))
        #expect(try catalogue.photo(withHash: new.photo.sha256)?.id == filed.photo)
        #expect(try catalogue.photo(id: old.photo)?.supersededAt == noon)
        var all = PhotoFilter()
        #expect(try catalogue.photos(matching: all, limit: 10).count == 1)
        all.includesSuperseded = true
        #expect(try catalogue.photos(matching: all, limit: 10).count == 2)
    }

    @Test func photosAreFilteredAndPaged() throws {
        let place = try Place()
        let catalogue = try place.open()
        for number in UInt8(1)...9 { try catalogue.file(number) }
        func found(_ change: (inout PhotoFilter) -> Void) throws -> Int {
            var filter = PhotoFilter()
            change(&filter)
            return try catalogue.photos(matching: filter, limit: 5).count
        }
        #expect(try found { _ in } == 5)
        #expect(try found { $0.before = 4 } == 3)
        #expect(try found { $0.inbox = "phones" } == 0)
        #expect(try found { $0.format = "jpeg" } == 5)
        #expect(try found { $0.capturedFrom = "2026-11" } == 5)
        #expect(try found { $0.capturedBefore = "2026-11" } == 0)
        #expect(try found { $0.nameContains = BytePath([0xFF, 0x2D]) } == 5)
        #expect(try found { $0.nameContains = "'; DROP TABLE photo; --" } == 0)
        #expect(try catalogue.photos(matching: PhotoFilter(), limit: 100).map(\.id) == (1...9).reversed())
    }

    @Test func outcomesAreFoundAndCounted() throws {
        let place = try Place()
        let catalogue = try place.open()
        let filed = try catalogue.file(1)
        let later = FileTime(seconds: noon.seconds + 60, nanoseconds: 0)
        let ids = try catalogue.recordOutcomes([
            OutcomeRecord(
                at: later, inbox: "card", path: photo(1).sourcePath, outcome: .duplicate, reason: "equal to photo 1",
                sha256: photo(1).sha256, photoID: filed.photo, destination: "duplicates/x"),
            OutcomeRecord(at: later, inbox: "phones", path: "a.txt", outcome: .ignored, reason: "*.txt"),
            OutcomeRecord(at: later, inbox: "phones", path: "b.txt", outcome: .ignored, reason: "*.txt"),
        ])
        #expect(try catalogue.recentOutcomes(limit: 2).map(\.id) == [ids[2], ids[1]])
        #expect(try catalogue.outcomes(forPath: photo(1).sourcePath).map(\.outcome.outcome) == [.duplicate, .filed])
        #expect(try catalogue.outcomes(forPath: "a.txt", inbox: "card").isEmpty)
        #expect(try catalogue.outcomes(forPath: "a.txt", inbox: "phones").count == 1)
        #expect(try catalogue.outcomes(ofPhoto: filed.photo).count == 2)
        #expect(try catalogue.outcomeCount(ofPhoto: filed.photo) == 2)
        // That which filed it, however old.
        for limit in [0, 1, 2] {
            let found = try catalogue.outcomes(ofPhoto: filed.photo, limit: limit).map(\.outcome.outcome)
            #expect(found == (limit == 0 ? [.filed] : [.duplicate, .filed]))
        }
        let counts = try catalogue.countsByDay(since: later, inbox: nil)
        #expect(counts.map(\.inbox) == ["card", "phones"])
        #expect(counts.map(\.files) == [[.duplicate: 1], [.ignored: 2]])
        #expect(try catalogue.countsByDay(since: noon, inbox: "card").map(\.files) == [[.filed: 1, .duplicate: 1]])
        #expect(try catalogue.countsByDay(since: FileTime(seconds: .max, nanoseconds: 0), inbox: nil).isEmpty)
        #expect(try catalogue.countsByDay(since: FileTime(seconds: .min, nanoseconds: 0), inbox: nil).count == 2)
    }

    @Test("A kept source is recognized only in its recorded state")
    func keptSources() throws {
        let place = try Place()
        let catalogue = try place.open()
        let new = intent(1)
        let id = try catalogue.beginIntents([new])[0]
        let filed = try catalogue.commitFiling(FilingCommit(intent: id, photo: new.photo, filedAt: noon, reason: ""))
        let kept = KeptSource(
            inbox: "card", path: new.photo.sourcePath, identity: identity(1), since: noon, why: "copy mode",
            sha256: new.photo.sha256, outcomeID: filed.outcome)
        try catalogue.closeIntents([id], kept: [kept])
        #expect(try catalogue.photo(id: filed.photo)?.sourceKept == true)
        #expect(try catalogue.isKept(identity(1), inbox: "card"))
        #expect(try !catalogue.isKept(identity(1), inbox: "phones"))
        #expect(try !catalogue.isKept(identity(2), inbox: "card"))
        #expect(try catalogue.keptSource(like: identity(1), inbox: "card") == kept)
        // Renamed: the same content and a later change time. The caller compares hashes.
        let renamed = FileIdentity(inode: 1, size: 4_000_000, modified: identity(1).modified, changed: noon)
        #expect(try !catalogue.isKept(renamed, inbox: "card"))
        #expect(try catalogue.keptSource(like: renamed, inbox: "card") == kept)

        let ignored = OutcomeRecord(at: noon, inbox: "card", path: "x.txt", outcome: .ignored, reason: "*.txt")
        let operation = try catalogue.recordOutcome(
            ignored, kept: KeptSource(inbox: "card", path: "x.txt", identity: identity(3), since: noon, why: "ignored"))
        #expect(try catalogue.keptSource(like: identity(3), inbox: "card")?.outcomeID == operation)
        try catalogue.forgetKept(inbox: "card", path: "x.txt")
        #expect(try !catalogue.isKept(identity(3), inbox: "card"))
    }
}
