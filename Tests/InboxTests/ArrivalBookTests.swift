import FileValues
import Filing
import LinuxKernel
import Testing

@testable import Ingest

private func moment(_ seconds: Double) -> Moment {
    Moment(monotonic: 0, wall: FileTime(seconds: 1_000_000, nanoseconds: 0)).later(by: seconds)
}

private let photo = ArrivalKey(inbox: "card", path: "IMG_1.JPG")

@Suite("Arrivals: every one is counted once, whatever happens to it")
struct ArrivalBookTests {
    @Test func anArrivalGoesFromSightToItsOutcome() throws {
        var book = ArrivalBook()
        let result1 = book.noticed(photo, now: moment(0))
        #expect(result1)
        let result2 = book.noticed(photo, now: moment(0))
        #expect(!result2, "seen twice, it waits once")
        let next = book.takeNext(inbox: "card", step: "examining", now: moment(1))
        let taken = try #require(next)
        #expect(taken.key == photo)
        let result3 = book.takeNext(inbox: "card", step: "examining", now: moment(1))
        #expect(result3 == nil)
        book.settled(photo, .ended(.filed), now: moment(2))
        let counts = book.counts(of: "card")
        #expect(counts.seen == 1 && counts.ended == [.filed: 1] && counts.inHand == 0 && counts.balances)
    }

    @Test("A sidecar that its photo summons while it is being let go is looked at again")
    func summons() throws {
        let sidecar = ArrivalKey(inbox: "card", path: "IMG_1.xmp")
        var book = ArrivalBook()
        book.noticed(sidecar, now: moment(0))
        let first = book.takeNext(inbox: "card", step: "examining", now: moment(0))
        #expect(first?.key == sidecar)
        book.summoned(sidecar, now: moment(1))
        book.settled(sidecar, .ended(.ignored), now: moment(2))
        #expect(book.arrivals[sidecar]?.stage == .queued && book.counts(of: "card").balances)
        // One that waits comes by itself, and keeps its place.
        let again = book.takeNext(inbox: "card", step: "examining", now: moment(2))
        #expect(again?.key == sidecar)
        book.settled(sidecar, .defer(reason: "cut short"), now: moment(3))
        let stage = book.arrivals[sidecar]?.stage
        book.summoned(sidecar, now: moment(4))
        #expect(book.arrivals[sidecar]?.stage == stage)
        // One that is not in hand is.
        book.settled(try #require(taken(from: &book)), .ended(.ignored), now: moment(60))
        book.summoned(sidecar, now: moment(61))
        #expect(book.arrivals[sidecar]?.stage == .queued && book.counts(of: "card").balances)
    }

    /// The arrival whose wait is over, taken into work.
    private func taken(from book: inout ArrivalBook) -> ArrivalKey? {
        book.wake(now: moment(60))
        return book.takeNext(inbox: "card", step: "examining", now: moment(60))?.key
    }

    @Test("A back-off doubles up to a minute")
    func deferral() throws {
        var book = ArrivalBook()
        book.noticed(photo, now: moment(0))
        var now = moment(0)
        var waits: [Double] = []
        for _ in 1...8 {
            let taken = book.takeNext(inbox: "card", step: "examining", now: now)
            #expect(taken != nil)
            book.settled(photo, .defer(reason: "cut short"), now: now)
            #expect(book.counts(of: "card").deferred == 1 && book.counts(of: "card").balances)
            let wake = try #require(book.nextWake)
            waits.append(wake.seconds(since: now))
            let result5 = book.wake(now: moment(0))
            #expect(result5 == 0 || now == moment(0))
            now = wake
            let result6 = book.wake(now: now)
            #expect(result6 == 1)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    /// Takes the next and defers it; its name.
    private func defersNext(_ book: inout ArrivalBook, _ now: Moment) -> String? {
        guard let key = book.takeNext(inbox: "card", step: "examining", now: now)?.key else { return nil }
        book.settled(key, .defer(reason: "cut short"), now: now)
        return key.path.description
    }

    @Test("What has just come goes before what was deferred, but for one in eight; what was told again is news")
    func lines() throws {
        var book = ArrivalBook()
        func key(_ name: String) -> ArrivalKey { ArrivalKey(inbox: "card", path: BytePath(name)) }
        for number in 0..<20 { book.noticed(key("old-\(number)"), now: moment(Double(number) / 100)) }
        while defersNext(&book, moment(0)) != nil {}
        // One waits for quiet, and was never deferred.
        book.noticed(key("quiet"), now: moment(1))
        let quiet = book.takeNext(inbox: "card", step: "examining", now: moment(1))
        book.settled(try #require(quiet).key, .settle(reason: "weak", seconds: 1), now: moment(1))
        book.wake(now: moment(2))
        for number in 0..<12 { book.noticed(key("new-\(number)"), now: moment(2)) }
        book.noticed(key("old-19"), now: moment(2))
        book.noticed(key("old-19"), now: moment(2))
        #expect(book.queuedCount == 33)
        var order: [String] = []
        while let next = defersNext(&book, moment(3)) { order.append(next) }
        // The first look at the one that waited for quiet was the first of these seven.
        let first = ["quiet"] + (0..<5).map { "new-\($0)" } + ["old-0"]
        let second = (5..<12).map { "new-\($0)" } + ["old-1"]
        #expect(order == first + second + ["old-19"] + (2..<19).map { "old-\($0)" })
        #expect(book.queuedCount == 0 && book.counts(of: "card").balances)
    }

    @Test("Thousands that are due one after the other are woken in batches")
    func batches() throws {
        var book = ArrivalBook()
        for number in 0..<10_000 {
            book.noticed(ArrivalKey(inbox: "card", path: BytePath("\(number)")), now: moment(0))
        }
        for number in 0..<10_000 { _ = defersNext(&book, moment(Double(number) / 10_000)) }
        var wakes = 0
        var woken = 0
        while let next = book.nextWake, next.seconds(since: moment(0)) < 3 {
            woken += book.wake(now: next)
            wakes += 1
        }
        #expect(woken == 10_000 && wakes <= 12, "\(wakes) wakes")
    }

    @Test("It knows what refuses arrivals, until the last of them was tried again with success, or is gone")
    func refusals() {
        var book = ArrivalBook()
        let other = ArrivalKey(inbox: "card", path: "b.jpg")
        for (key, seen) in [(photo, 0), (other, 0.5)] {
            book.noticed(key, now: moment(seen))
            _ = book.takeNext(inbox: "card", step: "examining", now: moment(0))
        }
        book.refused(photo, by: .library)
        book.settled(photo, .defer(reason: "full"), now: moment(0))
        book.refused(other, by: [.library, .catalogue])
        book.settled(other, .defer(reason: "full"), now: moment(0))
        #expect(book.refusing(inbox: "card") == [.library, .catalogue] && book.refusing(inbox: "phone") == [])
        book.wake(now: moment(2))
        // Only who was tried again has shown anything.
        let again = book.takeNext(inbox: "card", step: "examining", now: moment(2))?.key
        #expect(again == photo && book.refusing(inbox: "card") == [.library, .catalogue])
        book.refused(photo, by: [])
        book.settled(photo, .ended(.filed), now: moment(2))
        #expect(book.refusing(inbox: "card") == [.library, .catalogue])
        let isGone = book.vanished(other)
        #expect(isGone && book.refusing(inbox: "card") == [])
    }

    @Test func whatWasSeenOfTheFileIsKeptWhileItWaits() throws {
        var book = ArrivalBook()
        book.noticed(photo, now: moment(0))
        _ = book.takeNext(inbox: "card", step: "examining", now: moment(0))
        let identity = FileIdentity(
            inode: 1, size: 1, modified: FileTime(seconds: 1, nanoseconds: 0),
            changed: FileTime(seconds: 1, nanoseconds: 0))
        let quiet = QuietCheck(identity, at: .now)
        book.observed(photo, quiet)
        book.settled(photo, .defer(reason: "cut short"), now: moment(0))
        book.wake(now: moment(1))
        let again = book.takeNext(inbox: "card", step: "examining", now: moment(1))
        #expect(again?.quiet == quiet)
    }

    @Test("A notice during work means that it is looked at again: at once, or as a new arrival")
    func noticeDuringWork() throws {
        var book = ArrivalBook()
        book.noticed(photo, now: moment(0))
        _ = book.takeNext(inbox: "card", step: "examining", now: moment(0))
        book.noticed(photo, now: moment(1))
        book.settled(photo, .defer(reason: "still written"), now: moment(2))
        let result8 = book.takeNext(inbox: "card", step: "examining", now: moment(2))
        #expect(result8 != nil)
        book.noticed(photo, now: moment(3))
        book.settled(photo, .ended(.filed), now: moment(4))
        #expect(book.counts(of: "card").seen == 2)
        let result9 = book.takeNext(inbox: "card", step: "examining", now: moment(4))
        #expect(result9 != nil)
    }

    @Test func whatVanishesIsWithdrawnUnlessItIsInWork() {
        var book = ArrivalBook()
        book.noticed(photo, now: moment(0))
        let result10 = book.vanished(photo)
        #expect(result10)
        #expect(book.counts(of: "card").ended == [.withdrawn: 1])
        let result11 = book.vanished(photo)
        #expect(!result11)
        book.noticed(photo, now: moment(1))
        _ = book.takeNext(inbox: "card", step: "filing", now: moment(1))
        let result12 = book.vanished(photo)
        #expect(!result12, "the removal may be our own")
        book.settled(photo, .ended(.filed), now: moment(2))
        #expect(book.counts(of: "card").balances)
    }

    @Test("After any sequence of events the counts balance", arguments: 0..<64)
    func balance(seed: UInt64) {
        var generator = SplitMix(state: seed)
        var book = ArrivalBook()
        var working: Set<ArrivalKey> = []
        var now = moment(0)
        for _ in 0..<500 {
            now = now.later(by: Double.random(in: 0...20, using: &generator))
            let key = ArrivalKey(
                inbox: ["a", "b"].randomElement(using: &generator)!,
                path: BytePath("\(Int.random(in: 0...9, using: &generator))"))
            switch Int.random(in: 0...6, using: &generator) {
            case 0, 1: book.noticed(key, now: now)
            case 2: _ = book.vanished(key)
            case 3:
                if let taken = book.takeNext(inbox: key.inbox, step: "x", now: now) { working.insert(taken.key) }
            case 4: book.wake(now: now)
            default:
                guard let done = working.sorted(by: { $0.path < $1.path }).randomElement(using: &generator) else {
                    continue
                }
                working.remove(done)
                let verdicts: [ArrivalBook.Verdict] = [
                    .ended(.filed), .ended(.duplicate), .ended(.withdrawn), .defer(reason: "r"),
                    .settle(reason: "q", seconds: 5),
                ]
                book.settled(done, verdicts.randomElement(using: &generator)!, now: now)
            }
            #expect(book.counts(of: "a").balances && book.counts(of: "b").balances)
        }
        book.leaveWaiting()
        #expect(book.counts(of: "a").balances && book.counts(of: "b").balances)
        #expect(book.arrivals.count == working.count)
    }
}

/// A seeded generator, so that a failure can be had again.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
