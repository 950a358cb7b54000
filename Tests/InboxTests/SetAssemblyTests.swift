import FileValues
import LinuxKernel
import PhotoModel
import TestSupport
import Testing

@testable import Ingest

private func moment(_ seconds: Double) -> Moment {
    Moment(monotonic: 0, wall: FileTime(seconds: 1_000_000, nanoseconds: 0)).later(by: seconds)
}

private func key(_ name: String, inbox: String = "card") -> ArrivalKey {
    ArrivalKey(inbox: inbox, path: BytePath(name))
}

private func candidate(
    _ name: String, hopes: SetExpectations = SetExpectations(), content: String? = nil, wait: Double = 2
) -> SetCandidate {
    let parsed = SetName(BytePath(name))
    return SetCandidate(
        traits: SetTraits(role: parsed.role ?? .picture, keys: parsed.keys, contentIdentifier: content), hopes: hopes,
        wait: wait)
}

@Suite("A set is ready when all are there or its wait is over, and nothing of it is in work")
struct SetAssemblyTests {
    private func ready(_ assembly: inout SetAssembly, at seconds: Double, inWork: Bool = false) -> [String]? {
        assembly.wake(now: moment(seconds), all: false)
        return assembly.nextReady(inbox: "card", now: moment(seconds)) { _ in inWork }?.map { $0.path.escaped }
    }

    @Test func whatWasInSightEndsTheWait() {
        var assembly = SetAssembly()
        _ = assembly.add(key("a.JPG"), candidate("a.JPG", hopes: SetExpectations(inSight: ["a.NEF"])), now: moment(0))
        #expect(ready(&assembly, at: 0.1) == nil)
        #expect(assembly.words(for: key("a.JPG")) == "waits for a.NEF, which lies beside it")
        _ = assembly.add(key("a.NEF"), candidate("a.NEF", hopes: SetExpectations(inSight: ["a.JPG"])), now: moment(1))
        #expect(ready(&assembly, at: 1) == ["a.JPG", "a.NEF"])
        #expect(assembly.count == 0)
    }

    @Test func theWaitCountsFromTheLastProof() {
        var assembly = SetAssembly()
        let hopes = SetExpectations(roles: .film)
        _ = assembly.add(key("a.JPG"), candidate("a.JPG", hopes: hopes), now: moment(0))
        _ = assembly.add(key("a.NEF"), candidate("a.NEF", hopes: hopes), now: moment(1.5))
        #expect(ready(&assembly, at: 2.5) == nil)
        #expect(assembly.nextMoment(after: moment(2.5)) == moment(3.5))
        #expect(ready(&assembly, at: 3.5) == ["a.JPG", "a.NEF"])
    }

    @Test func whatIsInWorkHoldsItsSetUpButNotForEver() {
        var assembly = SetAssembly()
        _ = assembly.add(key("a.JPG"), candidate("a.JPG", hopes: SetExpectations(company: true)), now: moment(0))
        #expect(ready(&assembly, at: 10, inWork: true) == nil)
        #expect(assembly.nextMoment(after: moment(10)) == moment(SetAssembly.longestWait))
        #expect(ready(&assembly, at: SetAssembly.longestWait, inWork: true) == ["a.JPG"])
    }

    @Test func companyAloneDoesNotMakeItWaitLongerThanTheyAreInWork() {
        var assembly = SetAssembly()
        _ = assembly.add(key("a.JPG"), candidate("a.JPG", hopes: SetExpectations(company: true)), now: moment(0))
        #expect(ready(&assembly, at: 0.1, inWork: true) == nil)
        assembly.touch(inbox: "card", SetName("a.NEF").keys)
        #expect(assembly.nextReady(inbox: "card", now: moment(0.2)) { _ in false } == [key("a.JPG")])
    }

    @Test func aSidecarWaitsForAnyPhoto() {
        var assembly = SetAssembly()
        _ = assembly.add(key("a.xmp"), candidate("a.xmp", hopes: SetExpectations(roles: .photos)), now: moment(0))
        #expect(assembly.words(for: key("a.xmp")) == "waits for its photo")
        #expect(ready(&assembly, at: 1) == nil)
        _ = assembly.add(key("a.CR3"), candidate("a.CR3"), now: moment(1))
        #expect(ready(&assembly, at: 1) == ["a.CR3", "a.xmp"])
    }

    @Test func contentIdentifiersTieAndPart() {
        var assembly = SetAssembly()
        let hopes = SetExpectations(roles: .film)
        let first = assembly.add(key("a.HEIC"), candidate("a.HEIC", hopes: hopes, content: "X"), now: moment(0))
        let other = assembly.add(key("b.MOV"), candidate("b.MOV", content: "Y"), now: moment(0))
        #expect(first.set != other.set)
        let same = assembly.add(key("c.MOV"), candidate("c.MOV", content: "X"), now: moment(0))
        #expect(same.set == first.set)
        let parted = assembly.add(key("a.MOV"), candidate("a.MOV", content: "Z"), now: moment(0))
        #expect(parted.set != first.set)
        // A sidecar named like both makes one of no two that say they are not.
        let tied = assembly.add(key("b.AAE"), candidate("b.AAE"), now: moment(0))
        #expect(tied.set == other.set)
    }

    @Test func whatTiesTwoSetsTogetherMakesThemOne() {
        var assembly = SetAssembly()
        let wait = SetExpectations(roles: .raw)
        let first = assembly.add(key("a.HEIC"), candidate("a.HEIC", hopes: wait), now: moment(0))
        let second = assembly.add(key("b.HEIC"), candidate("b.HEIC", hopes: wait, content: "X"), now: moment(1))
        let both = assembly.add(key("a.MOV"), candidate("a.MOV", content: "X"), now: moment(1))
        #expect(first.set != second.set && assembly.count == 1 && both.set == first.set)
        #expect(ready(&assembly, at: 3) == ["a.HEIC", "a.MOV", "b.HEIC"])
    }

    @Test func whoLeavesIsNotWaitedWith() {
        var assembly = SetAssembly()
        _ = assembly.add(key("a.JPG"), candidate("a.JPG", hopes: SetExpectations(roles: .raw)), now: moment(0))
        assembly.remove(key("a.JPG"))
        #expect(assembly.count == 0)
        #expect(ready(&assembly, at: 5) == nil)
    }

    @Test func anotherInboxIsAnotherWorld() {
        var assembly = SetAssembly()
        let one = assembly.add(key("a.JPG"), candidate("a.JPG", content: "X"), now: moment(0))
        let other = assembly.add(key("a.NEF", inbox: "phone"), candidate("a.NEF", content: "X"), now: moment(0))
        #expect(one.set != other.set)
        #expect(assembly.nextReady(inbox: "phone", now: moment(0)) { _ in false } == [key("a.NEF", inbox: "phone")])
    }
}

@Suite("What lately came together is expected")
struct PairHistoryTests {
    @Test func halfOfTheLastOnesDecide() {
        var history = PairHistory()
        #expect(history.expected(with: .raw).isEmpty)
        history.filed([.raw, .picture])
        #expect(history.expected(with: .raw) == .picture && history.expected(with: .picture) == .raw)
        #expect(history.expected(with: .film).isEmpty)
        for _ in 0..<2 { history.filed([.picture]) }
        #expect(history.expected(with: .picture).isEmpty, "one of three")
        #expect(history.expected(with: .raw) == .picture)
        for _ in 0..<4 { history.filed([.picture, .sidecar(.xmp)]) }
        #expect(history.expected(with: .picture) == .sidecar)
        #expect(history.expected(with: .sidecar(.xmp)).isEmpty, "a sidecar waits anyway")
    }

    @Test func whatComesLateCounts() {
        var history = PairHistory()
        history.filed([.picture])
        history.filed([.raw], beside: [.picture])
        #expect(history.expected(with: .picture) == .raw && history.expected(with: .raw) == .picture)
    }
}

@Suite("Sets in the table: none is lost, none is taken twice")
struct GatheringTests {
    @Test func aSetIsTakenTogether() throws {
        var table = ArrivalTable()
        for name in ["a.JPG", "a.NEF"] {
            table.noticed(key(name), now: moment(0))
        }
        let first = table.beginNext(inbox: "card", step: "x", now: moment(0))
        let jpeg = try #require(first)
        #expect(table.hasCompany(jpeg))
        table.concluded(jpeg.key, .gather(candidate("a.JPG", hopes: SetExpectations(company: true))), now: moment(0))
        #expect(table.counts(of: "card").inHand == 2 && table.counts(of: "card").balances)
        let held = table.beginReadySet(inbox: "card", step: "x", now: moment(0.1))
        #expect(held == nil, "the other has not been looked at")
        let second = table.beginNext(inbox: "card", step: "x", now: moment(0.2))
        let raw = try #require(second)
        table.concluded(raw.key, .gather(candidate("a.NEF", hopes: SetExpectations(company: true))), now: moment(0.3))
        let ready = table.beginReadySet(inbox: "card", step: "x", now: moment(0.3))
        let set = try #require(ready)
        #expect(set.map(\.key) == [key("a.JPG"), key("a.NEF")])
        for arrival in set { table.concluded(arrival.key, .ended(.filed), now: moment(1)) }
        #expect(table.counts(of: "card").ended == [.filed: 2] && table.counts(of: "card").balances)
    }

    @Test func aMemberThatChangesIsLookedAtAgainFirst() {
        var table = ArrivalTable()
        table.noticed(key("a.JPG"), now: moment(0))
        _ = table.beginNext(inbox: "card", step: "x", now: moment(0))
        table.concluded(key("a.JPG"), .gather(candidate("a.JPG", hopes: SetExpectations(roles: .raw))), now: moment(0))
        #expect(table.nextWake == moment(2))
        let again = table.noticed(key("a.JPG"), now: moment(1))
        #expect(again)
        table.wake(now: moment(5))
        let none = table.beginReadySet(inbox: "card", step: "x", now: moment(5))
        #expect(none == nil)
        let next = table.beginNext(inbox: "card", step: "x", now: moment(5))
        #expect(next != nil)
    }

    @Test func whatGathersIsWithdrawnWhenItGoesAndForgottenAtTheEnd() {
        var table = ArrivalTable()
        for name in ["a.JPG", "b.JPG"] {
            table.noticed(key(name), now: moment(0))
            _ = table.beginNext(inbox: "card", step: "x", now: moment(0))
            table.concluded(key(name), .gather(candidate(name, hopes: SetExpectations(roles: .raw))), now: moment(0))
        }
        let gone = table.vanished(key("a.JPG"))
        #expect(gone && table.counts(of: "card").ended == [.withdrawn: 1])
        table.leaveWaiting()
        #expect(table.arrivals.isEmpty && table.counts(of: "card").balances)
        table.wake(now: moment(100))
        let none = table.beginReadySet(inbox: "card", step: "x", now: moment(100))
        #expect(none == nil)
    }

    private static let names = ["a.JPG", "a.NEF", "a.xmp", "b.HEIC", "b.MOV", "c.MOV", "c.jpg", "d.png", "d.jpg.json"]

    private static func verdict(_ key: ArrivalKey, _ generator: inout SeededGenerator) -> ArrivalTable.Verdict {
        switch Int.random(in: 0...9, using: &generator) {
        case 0: return .ended(.duplicate)
        case 1: return .defer(reason: "r")
        case 2: return .waitForQuiet(reason: "q", seconds: 5)
        case 3: return .ended(.filed)
        default:
            var hopes = SetExpectations(roles: SetRoles(rawValue: UInt8.random(in: 0...15, using: &generator)))
            hopes.company = Bool.random(using: &generator)
            if Bool.random(using: &generator) {
                hopes.inSight = [BytePath(names.randomElement(using: &generator)!)]
            }
            let content = ["X", "Y", nil, nil].randomElement(using: &generator)!
            return .gather(candidate(key.path.escaped, hopes: hopes, content: content))
        }
    }

    @Test("Any sequence of events: the counts balance, and all come to an end", arguments: 0..<64)
    func model(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = ArrivalTable()
        var working: Set<ArrivalKey> = []
        var now = moment(0)
        func take(_ arrivals: [Arrival]) {
            for arrival in arrivals {
                #expect(working.insert(arrival.key).inserted, "\(arrival.key) was in work already")
                #expect(table.arrivals[arrival.key]?.stage == .working(step: "x"))
            }
        }
        func check() {
            for inbox in ["a", "b"] { #expect(table.counts(of: inbox).balances) }
            for key in working { #expect(table.arrivals[key] != nil, "\(key) was lost in work") }
        }
        for _ in 0..<600 {
            now = now.later(by: Double.random(in: 0...3, using: &generator))
            let any = key(
                Self.names.randomElement(using: &generator)!, inbox: ["a", "b"].randomElement(using: &generator)!)
            switch Int.random(in: 0...8, using: &generator) {
            case 0, 1, 2: table.noticed(any, now: now)
            case 3: _ = table.vanished(any)
            case 4:
                if let next = table.beginNext(inbox: any.inbox, step: "x", now: now) { take([next]) }
            case 5:
                if let set = table.beginReadySet(inbox: any.inbox, step: "x", now: now) {
                    #expect(!set.isEmpty)
                    take(set)
                }
            case 6: table.wake(now: now, all: Int.random(in: 0...9, using: &generator) == 0)
            default:
                let sorted = working.sorted { ($0.inbox, $0.path) < ($1.inbox, $1.path) }
                guard let done = sorted.randomElement(using: &generator) else { continue }
                working.remove(done)
                table.concluded(done, Self.verdict(done, &generator), now: now)
            }
            check()
        }
        // Then nothing new comes, and whatever is looked at is gathered once and filed.
        for key in working { table.concluded(key, .ended(.filed), now: now) }
        working = []
        var gathered: Set<ArrivalKey> = []
        for _ in 0..<200 where !table.arrivals.isEmpty {
            for inbox in ["a", "b"] {
                while let set = table.beginReadySet(inbox: inbox, step: "x", now: now) {
                    for arrival in set { table.concluded(arrival.key, .ended(.filed), now: now) }
                }
                guard let next = table.beginNext(inbox: inbox, step: "x", now: now) else { continue }
                let isNew = gathered.insert(next.key).inserted
                let hopes = SetExpectations(roles: .film, company: true)
                table.concluded(
                    next.key, isNew ? .gather(candidate(next.key.path.escaped, hopes: hopes)) : .ended(.filed), now: now
                )
            }
            if let next = table.nextWake, table.queuedCount == 0 { now = next.later(by: 0.001) }
            table.wake(now: now)
            check()
        }
        #expect(table.arrivals.isEmpty, "\(table.arrivals.values.map { "\($0.key) \($0.stage)" })")
    }
}
