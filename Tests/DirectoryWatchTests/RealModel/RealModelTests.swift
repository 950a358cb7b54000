import Dispatch
import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@Suite("After any sequence of operations in real directories the notices alone result in their content", .tags(.heavy))
struct RealModelTests {
    /// `PHOTOINBOX_SEEDS` sequences, from `PHOTOINBOX_FIRST_SEED` on.
    static let seeds = number("PHOTOINBOX_SEEDS") ?? 300
    static let first = number("PHOTOINBOX_FIRST_SEED") ?? 0

    static func number(_ variable: String) -> Int? { getenv(variable).flatMap { Int(String(cString: $0)) } }

    @Test("Random sequences are reported by events alone; a comparison finds no difference")
    func sequences() async {
        let counts = await Self.run(Self.first..<(Self.first + Self.seeds), lanes: 4) { seed in
            // Inode numbers are used again at once on a disk, and not on tmpfs.
            RealModel.Setting(parent: seed % 2 == 0 ? "/dev/shm" : nil, sharesQueue: seed % 4 < 2)
        }
        print(
            "\(counts.sequences) sequences, \(counts.operations) steps, \(counts.rests) rests, \(counts.notices) notices, "
                + "\(counts.overflows) overflows, \(counts.splitRenames) of \(counts.renames) renames reported as two, "
                + "\(counts.overlaps) times two things reported at one place, \(counts.ghosts) times one at a place it never was"
        )
        if Self.seeds >= 100, readNumber("/proc/sys/fs/inotify/max_queued_events") ?? .max <= 65_536 {
            #expect(counts.overflows > 0)
        }
        #expect(counts.ghosts == 0)
        // What is in a directory goes before it, but where several directories move at one moment: rare.
        #expect(counts.late <= counts.sequences / 100 + 1)
        // A rename whose halves are reported apart is no fault: the wait for the other half is bounded. But not the rule.
        #expect(counts.splitRenames <= counts.renames / 4 + 3)
    }

    /// Runs the sequences of the seeds that have a setting, in so many threads; shrinks and records those with faults, three at most.
    static func run(
        _ seeds: Range<Int>, lanes: Int, limitsWatches: Bool = false,
        _ setting: @escaping @Sendable (Int) -> RealModel.Setting?
    ) async -> RealModel.Counts {
        let next = Locked(seeds.lowerBound)
        let total = Locked(RealModel.Counts())
        let failures = Locked<[String]>([])
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        // A queue of its own is a thread of its own: sequences wait.
                        DispatchQueue(label: "test.lane.\(lane)").async {
                            while failures.withLock({ $0.count }) < 3 {
                                let seed = next.withLock { next in
                                    defer { next += 1 }
                                    return next
                                }
                                guard seed < seeds.upperBound else { break }
                                guard let setting = setting(seed) else { continue }
                                let steps = RealStep.sequence(seed: seed, limitsWatches: limitsWatches)
                                let (faults, counts) = RealModel.run(steps, setting)
                                total.withLock { $0 += counts }
                                if faults.isEmpty { continue }
                                let text = report(seed, steps, faults, setting)
                                failures.withLock { $0.append(text) }
                            }
                            continuation.resume()
                        }
                    }
                }
            }
        }
        for failure in failures.withLock({ $0 }) { Issue.record(Comment(rawValue: failure)) }
        return total.withLock { $0 }
    }

    /// The shortest sequence that was found, as a test to be added, and what is wrong with it.
    static func report(
        _ seed: Int, _ steps: [RealStep], _ faults: [String], _ setting: RealModel.Setting
    ) -> String {
        var setting = setting
        setting.patience = 12
        let (least, leastFaults) = shrunk(steps, faults, setting)
        return """
            seed \(seed): \(readable(faults))
            @Test func seed\(seed)() {
                let faults = RealModel.run([
                    \(least.map { "\($0)" }.joined(separator: ", ")),
                ], RealModel.Setting(parent: \(setting.parent.map { "\"\($0)\"" } ?? "nil"), sharesQueue: \(setting.sharesQueue))).faults
                #expect(faults == [])  // \(readable(leastFaults))
            }
            """
    }

    /// The first few, without most of the longest names.
    private static func readable(_ faults: [String]) -> String {
        faults.prefix(4).joined(separator: "; ").split(separator: "\\xe9").joined(separator: "…")
    }

    /// Races are not the same each time: a sequence fails if one of so many runs of it does. Minutes at most.
    static func shrunk(
        _ steps: [RealStep], _ faults: [String], _ setting: RealModel.Setting, tries: Int = 3
    ) -> (steps: [RealStep], faults: [String]) {
        var last = faults
        let deadline = DispatchTime.now() + waitLimit
        let rule = Self.rule(faults)
        let least = shrink(steps) { shorter in
            for _ in 0..<tries where DispatchTime.now() < deadline {
                // On a busy machine, others may come before it.
                let faults = RealModel.run(shorter, setting).faults.drop { Self.rule([$0]) != rule }
                if !faults.isEmpty {
                    last = Array(faults)
                    return true
                }
            }
            return false
        }
        return (least, last)
    }

    /// What the first fault is about, without its particulars.
    static func rule(_ faults: [String]) -> Substring? { faults.first?.prefix { $0 != ":" } }
}
