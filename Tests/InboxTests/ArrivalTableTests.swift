import FileValues
import Filing
import LinuxKernel
import TestSupport
import Testing

@testable import Catalogue
@testable import Ingest

private func moment(_ seconds: Double) -> Moment {
    Moment(monotonic: 0, wall: FileTime(seconds: 1_000_000, nanoseconds: 0)).later(by: seconds)
}

private let photo = ArrivalKey(inbox: "card", path: "IMG_1.JPG")

@Suite("Arrivals: every one is counted once, whatever happens to it")
struct ArrivalTableTests {
    @Test func anArrivalGoesFromSightToItsOutcome() throws {
        var table = ArrivalTable()
        let result1 = table.noticed(photo, now: moment(0))
        #expect(result1)
        let result2 = table.noticed(photo, now: moment(0))
        #expect(!result2, "seen twice, it waits once")
        let next = table.beginNext(inbox: "card", step: "examining", now: moment(1))
        let taken = try #require(next)
        #expect(taken.key == photo)
        let result3 = table.beginNext(inbox: "card", step: "examining", now: moment(1))
        #expect(result3 == nil)
        table.concluded(photo, .ended(.filed), now: moment(2))
        let counts = table.counts(of: "card")
        #expect(counts.seen == 1 && counts.ended == [.filed: 1] && counts.inHand == 0 && counts.balances)
    }

    @Test("A sidecar that its photo summons while it is being let go is looked at again")
    func summons() throws {
        let sidecar = ArrivalKey(inbox: "card", path: "IMG_1.xmp")
        var table = ArrivalTable()
        table.noticed(sidecar, now: moment(0))
        let first = table.beginNext(inbox: "card", step: "examining", now: moment(0))
        #expect(first?.key == sidecar)
        table.summoned(sidecar, now: moment(1))
        table.concluded(sidecar, .ended(.ignored), now: moment(2))
        #expect(table.arrivals[sidecar]?.stage == .queued && table.counts(of: "card").balances)
        // One that waits comes by itself, and keeps its place.
        let again = table.beginNext(inbox: "card", step: "examining", now: moment(2))
        #expect(again?.key == sidecar)
        table.concluded(sidecar, .defer(reason: "cut short"), now: moment(3))
        let stage = table.arrivals[sidecar]?.stage
        table.summoned(sidecar, now: moment(4))
        #expect(table.arrivals[sidecar]?.stage == stage)
        // One that is not in hand is.
        table.concluded(try #require(taken(from: &table)), .ended(.ignored), now: moment(60))
        table.summoned(sidecar, now: moment(61))
        #expect(table.arrivals[sidecar]?.stage == .queued && table.counts(of: "card").balances)
    }

    /// The arrival whose wait is over, taken into work.
    private func taken(from table: inout ArrivalTable) -> ArrivalKey? {
        table.wake(now: moment(60))
        return table.beginNext(inbox: "card", step: "examining", now: moment(60))?.key
    }

    @Test("A back-off doubles up to a minute")
    func deferral() throws {
        var table = ArrivalTable()
        table.noticed(photo, now: moment(0))
        var now = moment(0)
        var waits: [Double] = []
        for _ in 1...8 {
            let taken = table.beginNext(inbox: "card", step: "examining", now: now)
            #expect(taken != nil)
            table.concluded(photo, .defer(reason: "cut short"), now: now)
            #expect(table.counts(of: "card").deferred == 1 && table.counts(of: "card").balances)
            let wake = try #require(table.nextWake)
            waits.append(wake.seconds(since: now))
            let result5 = table.wake(now: moment(0))
            #expect(result5 == 0 || now == moment(0))
            now = wake
            let result6 = table.wake(now: now)
            #expect(result6 == 1)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    /// Takes the next and defers it; its name.
    private func defersNext(_ table: inout ArrivalTable, _ now: Moment) -> String? {
        guard let key = table.beginNext(inbox: "card", step: "examining", now: now)?.key else { return nil }
        table.concluded(key, .defer(reason: "cut short"), now: now)
        return key.path.description
    }

    @Test("What has just come goes before what was deferred, but for one in eight; what was told again is news")
    func lines() throws {
        var table = ArrivalTable()
        func key(_ name: String) -> ArrivalKey { ArrivalKey(inbox: "card", path: BytePath(name)) }
        for number in 0..<20 { table.noticed(key("old-\(number)"), now: moment(Double(number) / 100)) }
        while defersNext(&table, moment(0)) != nil {}
        // One waits for quiet, and was never deferred.
        table.noticed(key("quiet"), now: moment(1))
        let quiet = table.beginNext(inbox: "card", step: "examining", now: moment(1))
        table.concluded(try #require(quiet).key, .waitForQuiet(reason: "weak", seconds: 1), now: moment(1))
        table.wake(now: moment(2))
        for number in 0..<12 { table.noticed(key("new-\(number)"), now: moment(2)) }
        table.noticed(key("old-19"), now: moment(2))
        table.noticed(key("old-19"), now: moment(2))
        #expect(table.queuedCount == 33)
        var order: [String] = []
        while let next = defersNext(&table, moment(3)) { order.append(next) }
        // The first look at the one that waited for quiet was the first of these seven.
        let first = ["quiet"] + (0..<5).map { "new-\($0)" } + ["old-0"]
        let second = (5..<12).map { "new-\($0)" } + ["old-1"]
        #expect(order == first + second + ["old-19"] + (2..<19).map { "old-\($0)" })
        #expect(table.queuedCount == 0 && table.counts(of: "card").balances)
    }

    @Test("Thousands that are due one after the other are woken in batches")
    func batches() throws {
        var table = ArrivalTable()
        for number in 0..<10_000 {
            table.noticed(ArrivalKey(inbox: "card", path: BytePath("\(number)")), now: moment(0))
        }
        for number in 0..<10_000 { _ = defersNext(&table, moment(Double(number) / 10_000)) }
        var wakes = 0
        var woken = 0
        while let next = table.nextWake, next.seconds(since: moment(0)) < 3 {
            woken += table.wake(now: next)
            wakes += 1
        }
        #expect(woken == 10_000 && wakes <= 12, "\(wakes) wakes")
    }

    @Test("It knows what refuses arrivals, until the last of them was tried again with success, or is gone")
    func refusals() {
        var table = ArrivalTable()
        let other = ArrivalKey(inbox: "card", path: "b.jpg")
        for (key, seen) in [(photo, 0), (other, 0.5)] {
            table.noticed(key, now: moment(seen))
            _ = table.beginNext(inbox: "card", step: "examining", now: moment(0))
        }
        table.refused(photo, by: .library)
        table.concluded(photo, .defer(reason: "full"), now: moment(0))
        table.refused(other, by: [.library, .catalogue])
        table.concluded(other, .defer(reason: "full"), now: moment(0))
        #expect(table.refusing(inbox: "card") == [.library, .catalogue] && table.refusing(inbox: "phone") == [])
        table.wake(now: moment(2))
        // Only who was tried again has shown anything.
        let again = table.beginNext(inbox: "card", step: "examining", now: moment(2))?.key
        #expect(again == photo && table.refusing(inbox: "card") == [.library, .catalogue])
        table.refused(photo, by: [])
        table.concluded(photo, .ended(.filed), now: moment(2))
        #expect(table.refusing(inbox: "card") == [.library, .catalogue])
        let isGone = table.vanished(other)
        #expect(isGone && table.refusing(inbox: "card") == [])
    }

    @Test("What a server refused that is back is tried again at once, and not what a full disk refused")
    func refusedByAServer() {
        var table = ArrivalTable()
        let other = ArrivalKey(inbox: "card", path: "b.jpg")
        for (key, seen) in [(photo, 0), (other, 0.5)] {
            table.noticed(key, now: moment(seen))
            _ = table.beginNext(inbox: "card", step: "examining", now: moment(0))
        }
        let errors = [(photo, CatalogueError.Code.unreachable), (other, .diskFull)]
        for (key, code) in errors {
            let symptom = Symptom.catalogue(failure: CatalogueError(code, "recording", "refused"))
            table.refused(key, by: [symptom].refusal)
            table.concluded(key, .defer(reason: "refused"), now: moment(0))
        }
        #expect(table.refusing(inbox: "card") == [.server, .catalogue])
        table.retry(now: moment(0.1), refusedBy: .server)
        #expect(table.beginNext(inbox: "card", step: "examining", now: moment(0.1))?.key == photo)
        #expect(table.beginNext(inbox: "card", step: "examining", now: moment(0.1)) == nil)
    }

    @Test func whatWasSeenOfTheFileIsKeptWhileItWaits() throws {
        var table = ArrivalTable()
        table.noticed(photo, now: moment(0))
        _ = table.beginNext(inbox: "card", step: "examining", now: moment(0))
        let identity = FileIdentity(
            inode: 1, size: 1, modified: FileTime(seconds: 1, nanoseconds: 0),
            changed: FileTime(seconds: 1, nanoseconds: 0))
        let quiet = QuietCheck(identity, at: .now)
        table.observed(photo, quiet)
        table.concluded(photo, .defer(reason: "cut short"), now: moment(0))
        table.wake(now: moment(1))
        let again = table.beginNext(inbox: "card", step: "examining", now: moment(1))
        #expect(again?.quiet == quiet)
    }

    @Test("A notice during work means that it is looked at again: at once, or as a new arrival")
    func noticeDuringWork() throws {
        var table = ArrivalTable()
        table.noticed(photo, now: moment(0))
        _ = table.beginNext(inbox: "card", step: "examining", now: moment(0))
        table.noticed(photo, now: moment(1))
        table.concluded(photo, .defer(reason: "still written"), now: moment(2))
        let result8 = table.beginNext(inbox: "card", step: "examining", now: moment(2))
        #expect(result8 != nil)
        table.noticed(photo, now: moment(3))
        table.concluded(photo, .ended(.filed), now: moment(4))
        #expect(table.counts(of: "card").seen == 2)
        let result9 = table.beginNext(inbox: "card", step: "examining", now: moment(4))
        #expect(result9 != nil)
    }

    @Test func whatVanishesIsWithdrawnUnlessItIsInWork() {
        var table = ArrivalTable()
        table.noticed(photo, now: moment(0))
        let result10 = table.vanished(photo)
        #expect(result10)
        #expect(table.counts(of: "card").ended == [.withdrawn: 1])
        let result11 = table.vanished(photo)
        #expect(!result11)
        table.noticed(photo, now: moment(1))
        _ = table.beginNext(inbox: "card", step: "filing", now: moment(1))
        let result12 = table.vanished(photo)
        #expect(!result12, "the removal may be our own")
        table.concluded(photo, .ended(.filed), now: moment(2))
        #expect(table.counts(of: "card").balances)
    }

    @Test("What is not found as it was reported is tried again until the watch agrees, or ten seconds")
    func missed() throws {
        var table = ArrivalTable()
        func begin(at seconds: Double) {
            table.wake(now: moment(seconds), all: true)
            _ = table.beginNext(inbox: "card", step: "opening", now: moment(seconds))
        }
        // Its directory is elsewhere for a moment, again and again: the watch sees no difference.
        table.noticed(photo, now: moment(0))
        for seconds in stride(from: 0.0, through: 9, by: 3) {
            begin(at: seconds)
            let result1 = table.concluded(photo, .missed(.withdrawn), now: moment(seconds))
            #expect(!result1)
            #expect(table.counts(of: "card").deferred == 1)
        }
        // Found in between, it has ten seconds anew.
        begin(at: 10)
        let result2 = table.concluded(photo, .waitForQuiet(reason: "weak", seconds: 1), now: moment(10))
        #expect(!result2)
        begin(at: 12)
        let result3 = table.concluded(photo, .missed(.ignored), now: moment(12))
        #expect(!result3)
        begin(at: 23)
        let result4 = table.concluded(photo, .missed(.ignored), now: moment(23))
        #expect(result4)
        #expect(table.counts(of: "card").ended == [.ignored: 1])
        // The watch agrees, while it is in work and before.
        for isEarlier in [true, false] {
            table.noticed(photo, now: moment(30))
            begin(at: 30)
            if isEarlier {
                let early = table.vanished(photo)
                #expect(!early)
                let result5 = table.concluded(photo, .missed(.withdrawn), now: moment(30))
                #expect(result5)
            } else {
                let result6 = table.concluded(photo, .missed(.withdrawn), now: moment(30))
                #expect(!result6)
                let late = table.vanished(photo)
                #expect(late)
            }
        }
        #expect(table.counts(of: "card").ended == [.ignored: 1, .withdrawn: 2])
        // It came again after it had gone: it is examined as it is now.
        table.noticed(photo, now: moment(40))
        begin(at: 40)
        _ = table.vanished(photo)
        table.noticed(photo, now: moment(40))
        let result7 = table.concluded(photo, .missed(.withdrawn), now: moment(40))
        #expect(!result7)
        #expect(table.arrivals[photo]?.stage == .queued && table.counts(of: "card").balances)
    }

    @Test("After any sequence of events the counts balance", arguments: 0..<64)
    func balance(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = ArrivalTable()
        var working: Set<ArrivalKey> = []
        var now = moment(0)
        for _ in 0..<500 {
            now = now.later(by: Double.random(in: 0...20, using: &generator))
            let key = ArrivalKey(
                inbox: ["a", "b"].randomElement(using: &generator)!,
                path: BytePath("\(Int.random(in: 0...9, using: &generator))"))
            switch Int.random(in: 0...6, using: &generator) {
            case 0, 1: table.noticed(key, now: now)
            case 2: _ = table.vanished(key)
            case 3:
                if let taken = table.beginNext(inbox: key.inbox, step: "x", now: now) { working.insert(taken.key) }
            case 4: table.wake(now: now)
            default:
                guard let done = working.sorted(by: { $0.path < $1.path }).randomElement(using: &generator) else {
                    continue
                }
                working.remove(done)
                let verdicts: [ArrivalTable.Verdict] = [
                    .ended(.filed), .ended(.duplicate), .ended(.withdrawn), .defer(reason: "r"),
                    .waitForQuiet(reason: "q", seconds: 5), .missed(.withdrawn), .missed(.ignored),
                ]
                table.concluded(done, verdicts.randomElement(using: &generator)!, now: now)
            }
            #expect(table.counts(of: "a").balances && table.counts(of: "b").balances)
        }
        table.leaveWaiting()
        #expect(table.counts(of: "a").balances && table.counts(of: "b").balances)
        #expect(table.arrivals.count == working.count)
    }
}
