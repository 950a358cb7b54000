import Catalogue
import FileValues
import Testing

@Suite("Rows of moves", .withEachEngine)
struct MoveRowsTests {
    private let record = MoveRecord(
        token: "t", since: noon, inbox: "card", path: hostileName, root: "/srv/quarantine",
        destination: BytePath("card").appending(hostileName), outcome: .quarantined, reason: "cut short",
        sha256: Array(repeating: 7, count: 32), photoID: nil, identity: identity(9))

    @Test func moveIsReadAsItWasWritten() throws {
        let place = try Place()
        let catalogue = try place.open()
        let begun = try catalogue.beginMove(record)
        #expect(try catalogue.pendingMoves(inbox: "card") == [begun])
        #expect(begun.move == record)
        #expect(try catalogue.pendingMoves(inbox: "other").isEmpty)
    }

    @Test("A move that is finished twice has one outcome and one kept source")
    func finishedOnce() throws {
        let place = try Place()
        let catalogue = try place.open()
        let begun = try catalogue.beginMove(record)
        let outcome = OutcomeRecord(
            at: noon, inbox: "card", path: hostileName, outcome: .quarantined, reason: "cut short",
            destination: "/srv/quarantine/card/a.jpg")
        let kept = KeptSource(inbox: "card", path: hostileName, identity: identity(9), since: noon, why: "cut short")
        let operation = try catalogue.finishMove(begun.id, outcome: outcome, kept: kept)
        #expect(operation != nil)
        #expect(try catalogue.finishMove(begun.id, outcome: outcome, kept: kept) == nil)
        #expect(try catalogue.pendingMoves(inbox: "card").isEmpty)
        #expect(try catalogue.recentOutcomes(limit: 5).map(\.id) == [operation])
        #expect(try catalogue.keptSource(like: identity(9), inbox: "card")?.outcomeID == operation)
    }

    @Test func moveFinishedWithoutOutcomeLeavesNoRow() throws {
        let place = try Place()
        let catalogue = try place.open()
        let begun = try catalogue.beginMove(record)
        #expect(try catalogue.finishMove(begun.id, outcome: nil) == nil)
        #expect(try catalogue.pendingMoves(inbox: "card").isEmpty)
        #expect(try catalogue.recentOutcomes(limit: 5).isEmpty)
    }
}
