import Glibc
import TestSupport
import Testing

/// The number of watches is set and lifted again in the middle of sequences, in user namespaces of their own, in
/// processes of their own: this program again, with a variable that reports it so.
@Suite(
    "When watches run out and are available again, the notices agree with the directory", .tags(.heavy),
    .timeLimit(.minutes(60)))
struct RealModelLimitTests {
    private static let variable = "PHOTOINBOX_TEST_MODEL_LIMITS"
    private static let limit = "/proc/sys/user/max_inotify_watches"
    private static let part = RealModelTests.number(variable)
    private static let parts = 2
    private static let canEnter: Bool = {
        let enter = ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c"]
        return (try? runProgram(enter + ["echo 8 > \(limit)"])) != nil
    }()

    @Test(
        "The test below passes in user namespaces with few watches",
        .enabled(if: part == nil && canEnter, "skipped: needs user namespaces and unshare(1)"), arguments: 0..<parts)
    func outside(part: Int) async throws {
        let program = try RunningProgram(
            [
                "/usr/bin/unshare", "--user", "--map-root-user", try #require(CommandLine.arguments.first),
                "--testing-library", "swift-testing", "--filter", "RealModelLimitTests",
            ],
            environment: [
                Self.variable: "\(part)", "PHOTOINBOX_SEEDS": "\(RealModelTests.seeds)",
                "PHOTOINBOX_FIRST_SEED": "\(RealModelTests.first)",
            ])
        let ending = try await program.ending(within: 10 * waitLimit)
        #expect(ending == .status(0), Comment(rawValue: program.lines.suffix(40).joined(separator: "\n")))
    }

    @Test(
        "Random sequences with a changing limit",
        .enabled(if: part != nil, "skipped: runs in the processes that the other test starts"))
    func inside() async throws {
        let part = try #require(Self.part)
        // One sequence at a time: they would share the watches.
        let counts = await RealModelTests.run(
            RealModelTests.first..<(RealModelTests.first + RealModelTests.seeds / 10), lanes: 1, limitsWatches: true
        ) { seed in
            seed % Self.parts == part ? RealModel.Setting(parent: "/dev/shm", watchLimit: Self.limit) : nil
        }
        #expect(counts.polled > 0)
    }
}
