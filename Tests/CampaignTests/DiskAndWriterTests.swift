import Glibc
import TestSupport
import Testing

/// The short forms of the campaigns against disks, races and slow writers.
@Suite("No photo is lost to disks, races and slow writers", .serialized, .timeLimit(.minutes(5)))
struct DiskAndWriterTests {
    private static let directory =
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Campaigns"
    private static let python = firstProgram("/usr/bin/python3", "/usr/local/bin/python3")
    private static let compiler = firstProgram("/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang")
    private static let isRoot = geteuid() == 0
    private static let canMount =
        isRoot && python != nil
        && (try? runProgram(["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/true"])) != nil
    private static let hasDisks =
        canMount && access("/dev/loop-control", W_OK) == 0
        && firstProgram("/sbin/mkfs.ext4", "/usr/sbin/mkfs.ext4") != nil

    private static func firstProgram(_ paths: String...) -> String? {
        paths.first { path in access(path, X_OK) == 0 }
    }

    /// Runs a campaign with the programs that were built here to its end, which must find no violation.
    private func run(_ arguments: String...) async throws { try await run(arguments) }

    private func run(_ arguments: [String]) async throws {
        let campaign = try RunningProgram(
            [try #require(Self.python), "-B", "\(Self.directory)/\(arguments[0])"] + arguments.dropFirst(),
            environment: ["PHOTOINBOX_PROGRAMS": BuiltPrograms.directory])
        defer { campaign.killIfRunning() }
        let ending = try await campaign.ending(within: 280)
        print(campaign.lines.last ?? "")
        #expect(ending == .status(0), "\(campaign.lines.joined(separator: "\n"))")
    }

    @Test(
        "The current fails, in each journal mode and with the library and the state on other disks",
        .enabled(if: hasDisks, "skipped: needs root, Python, loop devices and mkfs.ext4"))
    func power() async throws { try await run("power.py", "--cycles", "9") }

    @Test(
        "Disks are full, and free again",
        .enabled(if: hasDisks, "skipped: needs root, Python, loop devices and mkfs.ext4"))
    func fullDisk() async throws { try await run("fulldisk.py", "--rounds", "4") }

    @Test(
        "Names, links and directories are swapped meanwhile",
        .enabled(if: canMount && compiler != nil, "skipped: needs root, to mount, Python and a C compiler"))
    func race() async throws { try await run("race.py", "--swaps", "1000", "--houses", "2") }

    @Test("Writers of every style", .enabled(if: python != nil, "skipped: needs Python"))
    func writers() async throws {
        let views = Self.canMount ? ["--view", "root", "--view", "foreign"] : ["--view", "root"]
        try await run(["writers.py", "--rounds", "1"] + views)
    }
}
