import DirectoryWatch
import TestSupport
import Testing

@Suite("A failing sequence is shortened", .tags(.heavy))
struct ShrinkingTests {
    @Test(
        "It is shortened to the steps that the fault needs, at any positions",
        arguments: [[3], [0, 99], [17, 18, 64], [5, 50, 51, 98]])
    func keepsWhatIsNeeded(needed: [Int]) {
        var runs = 0
        let least = shrink(Array(0..<100)) { steps in
            runs += 1
            return Set(needed).isSubset(of: steps)
        }
        #expect(least == needed)
        #expect(runs < 400)
    }

    @Test("No further step can be left out, even where steps depend on each other")
    func leavesNoneThatCanGo() {
        // Fails with an even number of steps, above three, that holds 7: single steps can't go, pairs can.
        let fails: ([Int]) -> Bool = { $0.contains(7) && $0.count >= 4 && $0.count.isMultiple(of: 2) }
        let least = shrink(Array(0..<64), while: fails)
        #expect(fails(least))
        for place in least.indices {
            var shorter = least
            shorter.remove(at: place)
            #expect(!fails(shorter))
        }
    }

    @Test("A sequence that does not fail is unchanged")
    func neverFails() { #expect(shrink([1, 2, 3]) { _ in false } == [1, 2, 3]) }

    @Test("A planted fault in a live watch is found, shortened to the steps that it needs, and printed as a test")
    func planted() async throws {
        // A watch that does not report vanished files.
        let setting = RealModel.Setting(
            parent: "/dev/shm",
            plant: { notice in notice.kind == .vanished && !NoticeJudge.isCookie(notice.path) ? nil : notice },
            patience: 2)
        let (steps, faults, least, leastFaults, report, cured) = try await aside {
            var found: (steps: [RealStep], faults: [String])?
            for seed in 0..<50 where found == nil {
                let steps = Array(RealStep.sequence(seed: seed).filter { $0.kind != .overflow }.prefix(24))
                // On a busy machine such short deadlines cause other faults than the planted one.
                let faults = RealModel.run(steps, setting).faults.drop { !$0.hasPrefix("reported, not there: ") }
                if !faults.isEmpty { found = (steps, Array(faults)) }
            }
            let (steps, faults) = try #require(found)
            let (least, leastFaults) = RealModelTests.shrunk(steps, faults, setting)
            // The same sequence, without the plant, is right.
            let cured = RealModel.run(least, RealModel.Setting(parent: "/dev/shm")).faults
            let report = RealModelTests.report(0, least, leastFaults, setting)
            return (steps, faults, least, leastFaults, report, cured)
        }
        // Which of the seeds it is depends on the machine, and with it how many steps the fault takes.
        #expect(least.count <= 8 && least.count < steps.count, "\(report)")
        #expect(RealModelTests.rule(leastFaults) == RealModelTests.rule(faults))
        #expect(report.contains("RealStep(."))
        #expect(cured == [])
    }
}
