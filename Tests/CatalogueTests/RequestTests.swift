import Catalogue
import FileValues
import Testing

@Suite("What people asked for")
struct RequestTests {
    private func move(_ number: UInt8, to path: BytePath = hostileName) -> RequestedMove {
        RequestedMove(
            token: "r\(number)", sourceRoot: "/srv/photos", sourcePath: photo(number).libraryPath,
            destinationRoot: "/srv/returned", destinationPath: BytePath("card").appending(path),
            sha256: photo(number).sha256, identity: identity(UInt64(number)))
    }

    private func request(
        _ what: RequestKind, outcome: Int64?, photo: Int64? = nil, isAsIs: Bool = false, _ move: RequestedMove? = nil
    ) -> RequestRecord {
        RequestRecord(
            at: noon, what: what, user: 4_294_967_294, userName: "ana", inbox: "card", path: hostileName,
            outcomeID: outcome, photoID: photo, isAsIs: isAsIs, move: move)
    }

    @Test("An undo ends the photo in the same transaction, and its content can be filed anew")
    func undo() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let filed = try catalogue.file(1)
        let wanted = request(.undo, outcome: filed.outcome, photo: filed.photo, move(1))
        let id = try catalogue.recordRequest(wanted, step: .begun)
        let begun = try #require(try catalogue.pendingRequests(inbox: "card").first)
        #expect(begun.id == id && begun.request == wanted && begun.step == .begun && begun.endedAt == nil)
        #expect(try catalogue.photo(withHash: photo(1).sha256) != nil)

        var real = move(1, to: "elsewhere-2.jpg")
        real.identity = identity(99)
        try catalogue.endRequest(id, at: noon, move: real)
        let done = try #require(try catalogue.requests(ofOutcome: filed.outcome).first)
        #expect(done.step == .done && done.endedAt == noon && done.request.move == real)
        #expect(try catalogue.photo(withHash: photo(1).sha256) == nil)
        let gone = try #require(try catalogue.photo(id: filed.photo))
        #expect(gone.supersededAt == noon && gone.undoneBy == id)
        #expect(try catalogue.requests(ofPhoto: filed.photo) == [done])
        #expect(try catalogue.pendingRequests(inbox: "card").isEmpty)
        for intent in try catalogue.pendingIntents() { try catalogue.closeIntent(intent.id) }
        try catalogue.file(1)
        #expect(try catalogue.photo(withHash: photo(1).sha256) != nil)
        // Ending it twice is refused, with nothing changed.
        _ = try failure { try catalogue.endRequest(id, at: noon, move: nil) }
        #expect(try catalogue.request(id: id) == done)
    }

    @Test func anUndoThatCameToNothingLeavesThePhotoFiled() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let filed = try catalogue.file(1)
        let id = try catalogue.recordRequest(
            request(.undo, outcome: filed.outcome, photo: filed.photo, move(1)), step: .begun)
        try catalogue.endRequest(id, at: noon, move: nil, note: "interrupted")
        #expect(try catalogue.photo(withHash: photo(1).sha256)?.undoneBy == nil)
        #expect(try catalogue.request(id: id)?.step == .undone)
        #expect(try catalogue.request(id: id)?.note == "interrupted")
    }

    @Test("What was released as it is is known by inbox, size and content, from its beginning on")
    func asIs() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        #expect(try !catalogue.hasReleaseAsIs(inbox: "card", size: 4_000_000))
        let id = try catalogue.recordRequest(request(.release, outcome: nil, isAsIs: true, move(1)), step: .begun)
        #expect(try catalogue.hasReleaseAsIs(inbox: "card", size: 4_000_000))
        #expect(try !catalogue.hasReleaseAsIs(inbox: "phones", size: 4_000_000))
        #expect(
            try catalogue.releaseAsIs(inbox: "card", size: 4_000_000, sha256: photo(1).sha256)?.request.asker == "ana")
        #expect(try catalogue.releaseAsIs(inbox: "card", size: 4_000_000, sha256: photo(2).sha256) == nil)
        try catalogue.endRequest(id, at: noon, move: nil)
        #expect(try !catalogue.hasReleaseAsIs(inbox: "card", size: 4_000_000))
    }

    @Test func discardedFilesAreListedUntilTheyExpire() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let id = try catalogue.recordRequest(request(.discard, outcome: nil, move(3)), step: .begun)
        #expect(try catalogue.discarded(inbox: "card").isEmpty)
        try catalogue.endRequest(id, at: noon, move: move(3))
        #expect(try catalogue.discarded(inbox: "card").map(\.id) == [id])
        #expect(try catalogue.discarded(inbox: "phones").isEmpty)
        try catalogue.expireRequests([id], note: "not deleted: it is gone")
        #expect(try catalogue.discarded(inbox: "card").isEmpty)
        #expect(try catalogue.request(id: id)?.step == .expired)
    }

    @Test func aRequestThatMovesNothing() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let id = try catalogue.recordRequest(request(.pause, outcome: nil), step: .done)
        let stored = try #require(try catalogue.recentRequests(limit: 5).first)
        #expect(stored.id == id && stored.request.move == nil && stored.endedAt == noon && stored.step == .done)
        #expect(stored.request.user == 4_294_967_294)
    }
}
