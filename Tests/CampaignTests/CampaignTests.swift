import Glibc
import TestSupport
import Testing

/// The short forms of the campaigns that show that no photo is ever lost: the same programs with small counts, drawn anew
/// each time. Their first line tells the seed that draws the same again.
@Suite("No photo is ever lost", .serialized, .timeLimit(.minutes(5)))
struct CampaignTests {
    private static let directory =
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Campaigns"
    private static let python: String? = ["/usr/bin/python3", "/usr/local/bin/python3"].first { access($0, X_OK) == 0 }
    private static let compiler: String? = ["/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"].first {
        access($0, X_OK) == 0
    }
    /// Whether a process of ours may be stopped at its system calls: containers often forbid it.
    private static let canTrace: Bool = {
        guard let python, compiler != nil, let tools = try? ScratchDirectory() else { return false }
        let question = "import house; raise SystemExit(house.why_not_traceable())"
        return
            (try? runProgram([
                "/usr/bin/env", "-C", directory, "PHOTOINBOX_CAMPAIGN_TOOLS=\(tools.path)", python, "-B", "-c",
                question,
            ])) != nil
    }()
    private static let untraceable: Comment = "skipped: needs Python, a C compiler, ptrace and seccomp"

    /// Runs a campaign to its end, which must find no violation.
    private func run(_ arguments: String...) async throws {
        let tools = try ScratchDirectory()
        let campaign = try RunningProgram(
            [try #require(Self.python), "-B", "\(Self.directory)/\(arguments[0])"] + arguments.dropFirst(),
            environment: [
                "PHOTOINBOX_PROGRAMS": BuiltPrograms.directory, "PHOTOINBOX_CAMPAIGN_TOOLS": tools.path,
            ])
        defer { campaign.killIfRunning() }
        let ending = try await campaign.ending(within: 240)
        print(campaign.lines.first ?? "", campaign.lines.last ?? "", separator: "\n")
        #expect(ending == .status(0), "\(campaign.lines.joined(separator: "\n"))")
    }

    @Test("The checker sees each kind of damage", .enabled(if: python != nil, "skipped: needs Python"))
    func checker() async throws { try await run("checker_test.py") }

    @Test("SIGKILL at system calls, in life and in recovery", .enabled(if: canTrace, untraceable))
    func killAtSyscalls() async throws {
        try await run(
            "kill_at_every_syscall.py", "--sample", "2", "--scenario", "lone", "--scenario", "duplicate", "--scenario",
            "names", "--scenario", "sets")
    }

    @Test("SIGKILL at random moments, under load", .enabled(if: python != nil, "skipped: needs Python"))
    func randomKill() async throws { try await run("random_kill.py", "--trials", "12", "--rest", "6") }

    @Test("System calls that fail, once or until they are healed", .enabled(if: canTrace, untraceable))
    func failingCalls() async throws { try await run("each_errno.py", "--faults", "12", "--jobs", "4") }

    @Test("Each seeded bug can still be put in", .enabled(if: python != nil, "skipped: needs Python"))
    func seededBugs() async throws { try await run("seeded_bugs.py", "--list") }
}
