import FileValues
import LinuxKernel
import Testing

@testable import Catalogue

@Suite("Rows of damaged photos that were filed again, and of quarantined files", .withEachEngine)
struct ReplacedRowsTests {
    /// Files photo `number` under another path than it had, as if that were taken.
    private func fileAgain(_ number: UInt8, superseding old: Int64, in catalogue: CatalogueFile) throws -> Int64 {
        var again = photo(number)
        again.libraryPath = BytePath("2026/11/\(number)/again.jpg")
        let id = try catalogue.beginIntent(
            token: "again\(number)", temporary: "x", photo: again, since: noon, supersedes: old)
        return try catalogue.commitFiling(
            FilingCommit(intent: id, photo: again, filedAt: noon, reason: "complete", supersedes: [old])
        ).photo
    }

    @Test("The path of a damaged file is remembered until another photo has it")
    func replaced() throws {
        let place = try Place()
        let catalogue = try place.open()
        let library = photo(1).library
        let old = try catalogue.file(1).photo
        #expect(try catalogue.replacedPhotos(in: library).isEmpty)
        _ = try fileAgain(1, superseding: old, in: catalogue)
        #expect(try catalogue.replacedPhotos(in: library).mapValues(\.id) == [photo(1).libraryPath: old])
        #expect(try catalogue.replacedPhotos(in: "/elsewhere").isEmpty)
        var other = photo(2)
        other.libraryPath = photo(1).libraryPath
        #expect(try catalogue.adopt([other], at: noon).count == 1)
        #expect(try catalogue.replacedPhotos(in: library).isEmpty)
    }

    @Test("Neither a photo that was filed again in its place nor one that was taken back leaves a damaged file")
    func notReplaced() throws {
        let place = try Place()
        let catalogue = try place.open()
        let old = try catalogue.file(1).photo
        try catalogue.file(1, token: "same place", supersedes: old)
        try catalogue.file(2)
        try catalogue.strike([3], at: noon)
        #expect(try catalogue.replacedPhotos(in: photo(1).library).isEmpty)
    }

    @Test("A record that a rebuild keeps is damaged, or replaced by the photo that has its content; once")
    func kept() throws {
        let place = try Place()
        let catalogue = try place.open()
        let library = photo(1).library
        var whole = photo(2)
        whole.libraryPath = "2026/11/2/again.jpg"
        _ = try catalogue.adopt([whole], at: noon)
        for _ in 0..<2 {
            try catalogue.keepDamaged([1, 2].map { (photo($0), "not what was filed") }, at: noon)
        }
        #expect(try catalogue.damagedPhotos(in: library, limit: 9).map(\.stored.photo) == [photo(1)])
        #expect(try catalogue.replacedPhotos(in: library).keys.map { $0 } == [photo(2).libraryPath])
        #expect(try catalogue.totals().photos == 2)
        let damaged = try #require(try catalogue.photo(withHash: photo(1).sha256))
        #expect(damaged.operation != nil, "people name it by a number")
        // Dropped again, it is filed, and the damage is over.
        _ = try fileAgain(1, superseding: damaged.id, in: catalogue)
        #expect(try catalogue.damagedCount(in: library) == 0)
        #expect(try catalogue.replacedPhotos(in: library).count == 2)
    }

    @Test("A quarantined file that somebody deleted is closed once, and not while another request moves it")
    func deleted() throws {
        let place = try Place()
        let catalogue = try place.open()
        func quarantine(_ name: String) throws -> Int64 {
            try catalogue.recordOutcome(
                OutcomeRecord(
                    at: noon, inbox: "card", path: BytePath(name), outcome: .quarantined, reason: "cut short",
                    destination: BytePath("/srv/quarantine/card/\(name)")))
        }
        let ids = try ["a.jpg", "b.jpg", "c.jpg"].map { try quarantine($0) }
        func request(_ outcome: Int64, _ what: RequestKind = .discard) -> RequestRecord {
            RequestRecord(at: noon, what: what, user: 0, userName: "ana", inbox: "card", path: "x", outcomeID: outcome)
        }
        #expect(try catalogue.waitingInQuarantine(inbox: "card").map(\.id) == ids)
        #expect(try catalogue.waitingInQuarantine(inbox: "phones").isEmpty)
        _ = try catalogue.recordRequest(request(ids[1], .release), step: .begun)
        #expect(try catalogue.closeDeleted(request(ids[1]), note: "deleted") == nil)
        #expect(try catalogue.closeDeleted(request(ids[0]), note: "deleted") != nil)
        #expect(try catalogue.closeDeleted(request(ids[0]), note: "deleted") == nil)
        #expect(try catalogue.closeDeleted(request(99), note: "deleted") == nil)
        #expect(try catalogue.waitingInQuarantine().map(\.id) == [ids[2]])
        let closed = try #require(try catalogue.requests(ofOutcome: ids[0]).first)
        #expect(closed.step == .expired && closed.note == "deleted" && closed.request.move == nil)
        #expect(try catalogue.discarded(inbox: "card").isEmpty, "nothing of it is in the trash")
    }
}
