import Glibc
import PostgresSupport
import TestSupport
import Testing

/// Short forms of the campaigns that test that no photo is lost: the same programs with small counts, random
/// each time. Their first line is the seed that reproduces them.
@Suite("No photo is ever lost", .tags(.campaign), .atMost(2), .timeLimit(.minutes(60)))
struct CampaignTests {
    /// Whether processes may be traced: containers often forbid it.
    private static let canTrace: Bool = {
        guard let python = Campaign.python, Campaign.compiler != nil, let tools = try? ScratchDirectory() else {
            return false
        }
        let question = "import house; raise SystemExit(house.why_not_traceable())"
        return
            (try? runProgram([
                "/usr/bin/env", "-C", Campaign.directory, "PHOTOINBOX_CAMPAIGN_TOOLS=\(tools.path)", python, "-B", "-c",
                question,
            ])) != nil
    }()
    private static let untraceable: Comment = "skipped: needs Python, a C compiler, ptrace and seccomp"

    @Test("The checker finds each kind of damage", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func checker() async throws { try await Campaign.run("checker_test.py") }

    @Test("The soak test finds each kind of growth", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func growth() async throws { try await Campaign.run("soak_test.py") }

    @Test("SIGKILL at system calls, in normal operation and recovery", .enabled(if: canTrace, untraceable))
    func killAtSyscalls() async throws {
        try await Campaign.run(
            "kill_at_every_syscall.py", "--sample", "2", "--scenario", "lone", "--scenario", "duplicate", "--scenario",
            "names", "--scenario", "sets")
    }

    @Test(
        "Cuts, stalls and SIGKILL at messages to and from PostgreSQL, in normal operation and recovery",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython),
        .enabled(if: PostgresPrograms.debian != nil, Comment(rawValue: PostgresPrograms.skipped)))
    func eachMessage() async throws {
        try await Campaign.run("each_message.py", "--sample", "1", "--scenario", "lone")
    }

    @Test(
        "The judge of fleets finds each kind of damage",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython),
        .enabled(if: PostgresPrograms.debian != nil, Comment(rawValue: PostgresPrograms.skipped)))
    func fleetJudge() async throws { try await Campaign.run("fleet_test.py") }

    @Test(
        "A photo that comes alone is filed with few round trips to PostgreSQL",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython),
        .enabled(if: PostgresPrograms.debian != nil, Comment(rawValue: PostgresPrograms.skipped)))
    func roundTrips() async throws { try await Campaign.run("trips_test.py") }

    @Test(
        "Several daemons on one catalogue, one of which stands still, dies or is cut off",
        .enabled(if: canTrace, untraceable),
        .enabled(if: PostgresPrograms.debian != nil, Comment(rawValue: PostgresPrograms.skipped)))
    func fleet() async throws {
        try await Campaign.run(
            "fleet.py", "--sample", "2", "--scenario", "sets", "--struck", "call", "--then", "taken", "--rounds", "1",
            "--hosts", "2")
    }

    @Test(
        "A standby that lacks the last commits is promoted under load, and the old primary begun again beside it",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython),
        .enabled(if: PostgresPrograms.debian != nil, Comment(rawValue: PostgresPrograms.skipped)))
    func failover() async throws {
        try await Campaign.run("failover.py", "--rounds", "1", "--hosts", "2", "--held", "0.3")
    }

    @Test("SIGKILL at system calls of uploads, and of what continues them", .enabled(if: canTrace, untraceable))
    func killUploads() async throws { try await Campaign.run("drop.py", "--sample", "12") }

    @Test("System calls of uploads that fail once", .enabled(if: canTrace, untraceable))
    func failingUploads() async throws {
        try await Campaign.run("drop.py", "--sample", "6", "--errno", "ENOSPC", "--errno", "EIO")
    }

    @Test(
        "Uploads in every dialect, cut, wrong and twice, while both programs are killed",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func uploads() async throws { try await Campaign.run(["uploads.py", "--uploads", "150"], mayBeSkipped: true) }

    @Test(
        "The judges of uploads find each kind of damage", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func uploadJudges() async throws { try await Campaign.run("uploads_test.py") }

    @Test("SIGKILL at random moments, under load", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func randomKill() async throws { try await Campaign.run("random_kill.py", "--trials", "12", "--rest", "6") }

    @Test("System calls that fail, once or until repaired", .enabled(if: canTrace, untraceable))
    func failingCalls() async throws { try await Campaign.run("each_errno.py", "--faults", "12", "--jobs", "4") }

    @Test("A source whose removal fails once gets a single outcome", .enabled(if: canTrace, untraceable))
    func failingRemovals() async throws {
        try await Campaign.run(
            "each_errno.py", "--faults", "100", "--jobs", "4", "--scenario", "across", "--errno", "EROFS", "--once")
    }

    @Test("Each seeded bug can still be applied", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func seededBugs() async throws { try await Campaign.run("seeded_bugs.py", "--list") }

    @Test(
        "Every version in random trees is reported once, also with an overflow",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func versions() async throws {
        try await Campaign.run("versions.py", "--seeds", "3", "--overflows", "1", "--operations", "900")
    }

    @Test(
        "Cancelled and restarted imports of photos and tables",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func cancelledImports() async throws {
        try await Campaign.run("cancelled_imports.py", "--cancellations", "4")
    }
}
