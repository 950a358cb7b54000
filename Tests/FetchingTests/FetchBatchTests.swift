import Fetching
import Settings
import Testing

@Suite("Batches")
struct FetchBatchTests {
    private func begun(_ actions: [FetchBatch.Action]) -> [Int] {
        actions.compactMap { if case .begin(let member, _) = $0 { member } else { nil } }
    }

    @Test("Downloads run in order, up to the limit; an arrival frees a slot")
    func order() {
        let batch = Batch(count: 5, limits: FetchLimits(atOnce: 2, deadline: 10))
        #expect(batch.advance(at: 0) == [.begin(0, milliseconds: 10_000), .begin(1, milliseconds: 10_000)])
        #expect(batch.advance(at: 1).isEmpty)
        batch.arrived(0)
        #expect(batch.advance(at: 2).isEmpty)
        #expect(batch.stored(0, FetchEnd(.arrived, "x")) == [.ended(0, FetchEnd(.arrived, "x", tries: 1))])
        #expect(begun(batch.advance(at: 3)) == [2])
        #expect(batch.running == 2 && batch.endedCount == 1)
    }

    @Test("Pauses double with each try, up to the limit of tries; waiting downloads precede queued ones")
    func tries() {
        let batch = Batch(count: 2, limits: FetchLimits(atOnce: 1, deadline: 100, tries: 3, pause: 100))
        let broken = TryFailure("reset", isTemporary: true)
        _ = batch.advance(at: 0)
        #expect(batch.failed(0, broken, at: 10).isEmpty)
        #expect(batch.nextTime == 110)
        #expect(begun(batch.advance(at: 20)) == [1])
        // No slot is free, so no wake-up is needed.
        #expect(batch.nextTime == nil)
        batch.arrived(1)
        _ = batch.stored(1, FetchEnd(.arrived, ""))
        #expect(batch.advance(at: 109).isEmpty)
        #expect(batch.advance(at: 110) == [.begin(0, milliseconds: 99_890)])
        #expect(batch.failed(0, broken, at: 120).isEmpty)
        #expect(batch.nextTime == 320)
        #expect(begun(batch.advance(at: 320)) == [0])
        #expect(batch.failed(0, broken, at: 330) == [.ended(0, FetchEnd(.failed, "reset", tries: 3))])
        #expect(batch.isOver)
    }

    @Test("No try begins after the deadline; permanent failures are not retried")
    func ends() {
        let batch = Batch(count: 2, limits: FetchLimits(atOnce: 2, deadline: 1, tries: 9, pause: 600))
        _ = batch.advance(at: 0)
        #expect(
            batch.failed(0, TryFailure("gone", isTemporary: false), at: 1) == [
                .ended(0, FetchEnd(.failed, "gone", tries: 1))
            ])
        let late = batch.failed(1, TryFailure("slow", isTemporary: true), at: 500)
        #expect(late == [.ended(1, FetchEnd(.failed, "slow; no time left for another try", tries: 1))])
    }

    @Test("A server's Retry-After is respected, within bounds")
    func asked() {
        let limits = FetchLimits(pause: 100)
        #expect(limits.pause(before: 2, asked: 7_000) == 7_000)
        #expect(limits.pause(before: 2, asked: 10) == 100)
        #expect(limits.pause(before: 4, asked: nil) == 400)
        #expect(limits.pause(before: 2, asked: 10_000_000) == FetchLimits.longestPause)
        #expect(limits.pause(before: 1_000, asked: nil) == FetchLimits.longestPause)
    }

    @Test("A download is cancelled in any phase, and ends once")
    func cancelled() {
        let batch = Batch(count: 5, limits: FetchLimits(atOnce: 3, pause: 1_000))
        _ = batch.advance(at: 0)
        _ = batch.failed(2, TryFailure("reset", isTemporary: true), at: 1)
        batch.arrived(1)
        let end = { (tries: Int) in FetchEnd(.cancelled, "cancelled", tries: tries) }
        #expect(batch.cancel(0) == [.abort(0), .ended(0, end(1))])
        #expect(batch.cancel(1) == [.withhold(1)])
        #expect(batch.cancel(2) == [.ended(2, end(1))])
        #expect(batch.cancel(3) == [.ended(3, end(0))])
        #expect(batch.cancel(0).isEmpty && batch.cancel(99).isEmpty && batch.cancel(-1).isEmpty)
        #expect(begun(batch.advance(at: 2)) == [4])
        #expect(batch.cancelAll() == [.withhold(1), .abort(4), .ended(4, end(1))])
        #expect(!batch.isOver)
        #expect(batch.stored(1, end(0)) == [.ended(1, end(1))])
        #expect(batch.isOver && batch.running == 0 && batch.nextTime == nil)
    }

    @Test("In any order of events, every download ends once and the limit holds", arguments: 0..<200)
    func model(_ seed: Int) {
        var generator = SystemRandomNumberGenerator()
        let count = Int.random(in: 1...30, using: &generator)
        let limits = FetchLimits(atOnce: .random(in: 1...5), deadline: 60, tries: .random(in: 1...4), pause: 50)
        let batch = Batch(count: count, limits: limits)
        var (running, storing, ended): (Set<Int>, Set<Int>, Set<Int>) = ([], [], [])
        var now: Int64 = 0
        func carryOut(_ actions: [FetchBatch.Action]) {
            for action in actions {
                switch action {
                case .begin(let member, _): #expect(running.insert(member).inserted && !ended.contains(member))
                case .abort(let member): #expect(running.remove(member) != nil)
                case .withhold(let member): #expect(storing.contains(member))
                case .ended(let member, _): #expect(ended.insert(member).inserted && !running.contains(member))
                }
            }
            #expect(running.count + storing.count <= limits.atOnce)
        }
        var steps = 0
        while !batch.isOver, steps < 10_000 {
            steps += 1
            now += Int64.random(in: 0...80, using: &generator)
            carryOut(batch.advance(at: now))
            switch Int.random(in: 0..<12, using: &generator) {
            case 0: carryOut(batch.cancel(.random(in: 0..<count, using: &generator)))
            case 1...4:
                guard let member = running.randomElement(using: &generator) else { continue }
                running.remove(member)
                carryOut(batch.failed(member, TryFailure("x", isTemporary: .random()), at: now))
            case 5...8:
                guard let member = running.randomElement(using: &generator) else { continue }
                running.remove(member)
                storing.insert(member)
                batch.arrived(member)
            default:
                guard let member = storing.randomElement(using: &generator) else { continue }
                storing.remove(member)
                carryOut(batch.stored(member, FetchEnd(.arrived, "")))
            }
        }
        #expect(batch.isOver && ended.count == count && running.isEmpty && storing.isEmpty)
    }
}

/// A batch that tests may change inside of expectations.
private final class Batch {
    private var value: FetchBatch
    init(count: Int, limits: FetchLimits) { value = FetchBatch(count: count, limits: limits) }

    var isOver: Bool { value.isOver }
    var running: Int { value.running }
    var endedCount: Int { value.endedCount }
    var nextTime: Int64? { value.nextTime }

    func advance(at now: Int64) -> [FetchBatch.Action] { value.advance(at: now) }
    func arrived(_ member: Int) { value.arrived(member) }
    func stored(_ member: Int, _ end: FetchEnd) -> [FetchBatch.Action] { value.stored(member, end) }
    func failed(_ member: Int, _ failure: TryFailure, at now: Int64) -> [FetchBatch.Action] {
        value.failed(member, failure, at: now)
    }
    func cancel(_ member: Int) -> [FetchBatch.Action] { value.cancel(member) }
    func cancelAll() -> [FetchBatch.Action] { value.cancelAll() }
}
