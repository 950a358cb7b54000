import FileValues
import LinuxKernel
import Testing

@testable import Catalogue

@Suite("Rows of requests", .withEachEngine)
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

    @Test("A photo that is undone no longer counts as filed, and its content can be filed again")
    func undo() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let filed = try catalogue.file(1)
        #expect(try catalogue.lastFiled(into: "/srv/photos", limit: 8).map(\.id) == [filed.photo])
        try catalogue.closeFiled()
        let wanted = request(.undo, outcome: filed.outcome, photo: filed.photo, move(1))
        let id = try catalogue.recordRequest(wanted, step: .begun)
        let begun = try #require(try catalogue.pendingRequests(inbox: "card").first)
        #expect(begun.id == id && begun.request == wanted && begun.step == .begun && begun.endedAt == nil)
        #expect(try catalogue.photo(withHash: photo(1).sha256) != nil)
        // It may be out of the library already, which is not to be known by it.
        #expect(try catalogue.lastFiled(into: "/srv/photos", limit: 8).isEmpty)

        var real = move(1, to: "elsewhere-2.jpg")
        real.identity = identity(99)
        try catalogue.endRequest(id, at: noon, move: real)
        let done = try #require(try catalogue.requests(ofOutcome: filed.outcome).first)
        #expect(done.step == .done && done.endedAt == noon && done.request.move == real)
        #expect(try catalogue.photo(withHash: photo(1).sha256) == nil)
        let undone = try #require(try catalogue.photo(id: filed.photo))
        #expect(undone.supersededAt == noon && undone.undoneBy == id)
        #expect(try catalogue.requests(ofPhoto: filed.photo) == [done])
        #expect(try catalogue.pendingRequests(inbox: "card").isEmpty)
        try catalogue.file(1)
        #expect(try catalogue.photo(withHash: photo(1).sha256) != nil)
        // Ending it twice is refused and changes nothing.
        _ = try failure { try catalogue.endRequest(id, at: noon, move: nil) }
        #expect(try catalogue.request(id: id) == done)
    }

    @Test func failedUndoLeavesThePhotoFiled() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let filed = try catalogue.file(1)
        #expect(
            try failure {
                _ = try catalogue.recordRequest(
                    request(.undo, outcome: filed.outcome, photo: filed.photo, move(1)), step: .begun)
            }.code == .busy, "its source may still stand in the inbox")
        try catalogue.closeFiled()
        let id = try catalogue.recordRequest(
            request(.undo, outcome: filed.outcome, photo: filed.photo, move(1)), step: .begun)
        try catalogue.endRequest(id, at: noon, move: nil, note: "interrupted")
        #expect(try catalogue.photo(withHash: photo(1).sha256)?.undoneBy == nil)
        #expect(try catalogue.lastFiled(into: "/srv/photos", limit: 8).map(\.id) == [filed.photo])
        #expect(try catalogue.request(id: id)?.step == .undone)
        #expect(try catalogue.request(id: id)?.note == "interrupted")
    }

    @Test(
        "A photo that is moved to a bucket is recorded there, and nowhere else, and gives its place in the library free"
    )
    func store() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let bucket: BytePath = "https://nas.example.org/photos"
        func move(_ number: UInt8, from path: BytePath? = nil) -> RequestedMove {
            let path = path ?? photo(number).libraryPath
            return RequestedMove(
                token: "s\(number)", sourceRoot: "/srv/photos", sourcePath: path, destinationRoot: bucket,
                destinationPath: path, sha256: photo(number).sha256, identity: identity(UInt64(number)))
        }
        let filed = try catalogue.file(1)
        let wanted = request(.store, outcome: filed.outcome, photo: filed.photo, move(1))
        #expect(
            try failure { _ = try catalogue.recordRequest(wanted, step: .begun) }.code == .busy, "its source stands")
        try catalogue.closeFiled()
        // Of another content, or from another place, it is not what was asked for.
        for other in [move(2, from: photo(1).libraryPath), move(1, from: "elsewhere.jpg")] {
            let request = request(.store, outcome: filed.outcome, photo: filed.photo, other)
            #expect(try failure { _ = try catalogue.recordRequest(request, step: .begun) }.code == .busy)
        }
        _ = try catalogue.record(damage: [filed.photo: "it is missing"], at: noon)
        let id = try catalogue.recordRequest(wanted, step: .begun)
        #expect(try catalogue.photo(id: filed.photo)?.photo.library == "/srv/photos")
        let undo = request(.undo, outcome: filed.outcome, photo: filed.photo)
        #expect(try failure { _ = try catalogue.recordRequest(undo, step: .begun) }.code == .busy)
        try catalogue.endRequest(id, at: noon, move: move(1))
        let moved = try #require(try catalogue.photo(withHash: photo(1).sha256))
        #expect(moved.id == filed.photo && moved.photo.library == bucket && moved.photo.isInBucket)
        #expect(moved.photo.libraryPath == photo(1).libraryPath && moved.supersededAt == nil)
        #expect(try catalogue.libraries().isEmpty && catalogue.damage(ofPhoto: filed.photo) == nil)
        #expect(try catalogue.photo(library: "/srv/photos", path: photo(1).libraryPath) == nil)
        #expect(try catalogue.photo(library: bucket, path: photo(1).libraryPath)?.id == filed.photo)
        // A file with its bytes that lies in the library is the photo again.
        #expect(try catalogue.adopt([photo(1)], at: noon) == [.moved(filed.photo, from: photo(1).libraryPath)])
        #expect(try catalogue.libraries() == ["/srv/photos"])
    }

    @Test(
        "While a photo is moved to a bucket nobody strikes, adopts or reports it; what was recorded meanwhile does not count"
    )
    func storing() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let filed = try catalogue.file(1)
        try catalogue.closeFiled()
        let bucket: BytePath = "https://nas.example.org/photos"
        let move = RequestedMove(
            token: "s1", sourceRoot: "/srv/photos", sourcePath: photo(1).libraryPath, destinationRoot: bucket,
            destinationPath: photo(1).libraryPath, sha256: photo(1).sha256, identity: identity(1))
        let wanted = request(.store, outcome: filed.outcome, photo: filed.photo, move)
        let id = try catalogue.recordRequest(wanted, step: .begun)
        #expect(try catalogue.isRequestUnderWay(ofPhoto: filed.photo))
        try catalogue.strike([filed.photo], at: noon)
        #expect(try catalogue.photo(id: filed.photo)?.supersededAt == nil)
        #expect(try catalogue.record(damage: [filed.photo: "it is missing"], at: noon).isEmpty)
        var elsewhere = photo(1)
        elsewhere.libraryPath = "album/best.jpg"
        #expect(try catalogue.adopt([elsewhere], missing: [filed.photo], at: noon) == [.beingFiled])
        // The inbox is configured no longer.
        try catalogue.assignRequests(to: "card", unlessOf: ["card", "desk"])
        try catalogue.assignRequests(to: "desk", unlessOf: ["desk"])
        #expect(try catalogue.pendingRequests(inbox: "card").isEmpty)
        #expect(try catalogue.pendingRequests(inbox: "desk").map(\.id) == [id])
        // A program of an earlier version has struck it, or moved its row.
        try catalogue.write("a test") { db in
            try db.run("UPDATE photo SET superseded_at = 1, library_path = ?", [BytePath("album/best.jpg")])
        }
        try catalogue.endRequest(id, at: noon, move: move)
        let moved = try #require(try catalogue.photo(withHash: photo(1).sha256))
        #expect(moved.id == filed.photo && moved.photo.library == bucket)
        #expect(moved.photo.libraryPath == photo(1).libraryPath && moved.supersededAt == nil)
        #expect(try catalogue.record(damage: [filed.photo: "it is missing"], at: noon).isEmpty)
        #expect(try catalogue.damage(ofPhoto: filed.photo) == nil)
    }

    @Test("A release as it is is found by inbox, size and content as soon as it begins")
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

    private static let day: Int64 = 86_400_000_000_000

    @Test("Time in the trash ignores jumps of the wall clock and counts at most a day for a reboot")
    func trashTime() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        var catalogue = try place.open()
        func ages(_ boot: String, _ boottime: Int64, wall: Int64, of inbox: String = "card") throws -> [Int64] {
            let now = ClockReading(boot: boot, boottime: boottime * Self.day, wall: wall * Self.day)
            return try catalogue.trash(of: inbox, at: now).map { $0.age / Self.day }
        }
        func discard(_ number: UInt8) throws -> Int64 {
            let id = try catalogue.recordRequest(request(.discard, outcome: nil, move(number)), step: .begun)
            try catalogue.endRequest(id, at: noon, move: move(number))
            return id
        }
        #expect(try ages("a", 3, wall: 0) == [], "the trash is empty, so no time is counted")
        let first = try discard(1)
        // Put there before the clock was set, so the request's own time is meaningless.
        #expect(try ages("a", 10, wall: 0) == [0])
        #expect(try ages("a", 10, wall: 365) == [0])
        #expect(try ages("a", 12, wall: 1) == [2])
        _ = try discard(2)
        #expect(try ages("a", 15, wall: 400) == [5, 0])
        #expect(try ages("a", 16, wall: 400, of: "phones") == [], "another inbox has none")
        catalogue.close()
        catalogue = try place.open()
        #expect(try ages("a", 17, wall: 402) == [7, 2], "a restart of the daemon is counted in full")
        #expect(try ages("b", 0, wall: 900) == [8, 3])
        #expect(try ages("c", 500, wall: 900) == [8, 3], "another machine's uptime does not count")
        #expect(try ages("c", 499, wall: 900) == [8, 3])
        #expect(try ages("d", 0, wall: 100) == [8, 3])
        try catalogue.expireRequests([first])
        #expect(try ages("d", 30, wall: 100) == [33])
        let now = ClockReading.now
        #expect(now.boot == ClockReading.now.boot && now.boottime > 0 && now.wall > 0)
    }

    @Test func requestWithoutAMoveIsDoneAtOnce() throws {
        let place = try Place()
        defer { withExtendedLifetime(place) {} }
        let catalogue = try place.open()
        let id = try catalogue.recordRequest(request(.pause, outcome: nil), step: .done)
        let stored = try #require(try catalogue.request(id: id))
        #expect(stored.request.move == nil && stored.endedAt == noon && stored.step == .done)
        #expect(stored.request.user == 4_294_967_294)
    }
}
