import FileValues
import TestSupport
import Testing

@testable import Catalogue

@Suite("Events of hooks are read from the outcomes", .withEachEngine)
struct HookRowsTests {
    private let place: Place
    private let catalogue: CatalogueFile
    private let all = HookInterest(kinds: Set(HookEventKind.allCases))

    init() throws {
        place = try Place()
        catalogue = try place.open()
    }

    private func events(_ batch: HookBatch) -> [String] {
        batch.events.map { event in
            let set = event.set.isEmpty ? "" : " of \(event.set.map { String($0.id) }.joined(separator: "+"))"
            return "\(event.outcome.id) \(event.kind.rawValue)\(set)"
        }
    }

    @discardableResult
    private func quarantine(_ name: String, inbox: String = "card", as kind: OutcomeKind = .quarantined) throws -> Int64
    {
        try catalogue.recordOutcome(
            OutcomeRecord(at: noon, inbox: inbox, path: BytePath(name), outcome: kind, reason: "test"))
    }

    /// Files photos as one set.
    private func file(_ numbers: [UInt8], _ set: SetPlace = .new) throws -> [FiledIDs] {
        let intents = numbers.map { intent($0) }
        let ids = try catalogue.beginIntents(intents)
        return try catalogue.commitFilings(
            zip(ids, intents).map { FilingCommit(intent: $0, photo: $1.photo, filedAt: noon, reason: "") }, set: set)
    }

    @Test func newHookBeginsAtTheNewestOutcomeAndKnownHookAtItsPosition() throws {
        #expect(try catalogue.placeOfHook("first", at: noon) == 0)
        let one = try quarantine("a")
        #expect(try catalogue.placeOfHook("second", at: noon) == one)
        #expect(try catalogue.placeOfHook("first", at: noon) == 0)
        _ = try catalogue.perform([.hook("first", told: one)])
        let again = try place.open()
        #expect(try again.placeOfHook("first", at: noon) == one)
        // What one skipped is neither the other's, nor a later one's of its name.
        _ = try again.perform([.hook("first", told: one, skipped: [one])])
        #expect(try again.skippedOutcomes(by: "first") == [one] && again.skippedOutcomes(by: "firs").isEmpty)
        try again.forgetHooks(except: ["second"])
        #expect(try again.skippedOutcomes(by: "first").isEmpty)
        try quarantine("b")
        #expect(try catalogue.placeOfHook("first", at: noon) == 2, "its position was deleted, so it is new")
        #expect(try catalogue.placeOfHook("second", at: noon) == one)
    }

    @Test func batchHasTheSubscribedEventsInOrder() throws {
        try quarantine("a")
        try catalogue.file(1)
        try quarantine("b", as: .duplicate)
        try quarantine("c", inbox: "phones")
        try quarantine("d", as: .ignored)
        let batch = try catalogue.hookBatch(after: 0, all, limit: 10)
        #expect(events(batch) == ["1 quarantined", "2 filed", "4 quarantined"])
        #expect(batch.through == 5 && batch.isLast && batch.waiting == 3)
        #expect(batch.events[1].photo?.photo == photo(1) && batch.events[1].outcome.outcome.path == photo(1).sourcePath)
        let filed = HookInterest(kinds: [.filed])
        #expect(events(try catalogue.hookBatch(after: 0, filed, limit: 10)) == ["2 filed"])
        #expect(try catalogue.hookBatch(after: 2, filed, limit: 10).events.isEmpty)
        let phones = HookInterest(kinds: [.quarantined, .filed], inboxes: ["phones"])
        #expect(events(try catalogue.hookBatch(after: 0, phones, limit: 10)) == ["4 quarantined"])
        // A batch that is not the last says so, and the next one has the rest.
        let part = try catalogue.hookBatch(after: 0, all, limit: 2)
        #expect(events(part) == ["1 quarantined", "2 filed"] && !part.isLast && part.through == 2 && part.waiting == 3)
        #expect(events(try catalogue.hookBatch(after: part.through, all, limit: 2)) == ["4 quarantined"])
    }

    @Test func setCompleteIsReportedOnceAndAgainWhenAFileJoins() throws {
        let alone = try file([1])
        let set = try file([2, 3, 4])
        let sets = HookInterest(kinds: [.setComplete])
        let first = try catalogue.hookBatch(after: 0, sets, limit: 10)
        let members = set.map { String($0.photo) }.joined(separator: "+")
        #expect(events(first) == ["\(set[2].outcome) set-complete of \(members)"], "a photo alone is no set")
        let late = try file([5], .joining(photo: set[0].photo))
        #expect(
            events(try catalogue.hookBatch(after: first.through, sets, limit: 10))
                == ["\(late[0].outcome) set-complete of \(members)+\(late[0].photo)"])
        // A single photo becomes a set: a hook that reads both outcomes late gets one event, with the second.
        let joined = try file([6], .joining(photo: alone[0].photo))
        #expect(
            events(try catalogue.hookBatch(after: 0, HookInterest(kinds: [.setComplete, .filed]), limit: 2))
                == ["1 filed", "2 filed"])
        #expect(
            events(try catalogue.hookBatch(after: late[0].outcome, sets, limit: 10))
                == ["\(joined[0].outcome) set-complete of \(alone[0].photo)+\(joined[0].photo)"])
        // Wherever a batch ends, the set is reported with its last file.
        #expect(try catalogue.hookBatch(after: 1, sets, limit: 2).events.isEmpty)
        #expect(try catalogue.hookBatch(after: 3, sets, limit: 1).events.isEmpty, "the next one joins it at once")
        #expect(try catalogue.hookBatch(after: 4, sets, limit: 1).events.count == 1)
    }
}
