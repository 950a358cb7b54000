import Glibc
import TestSupport
import Testing

/// Short forms of the campaigns about disks, races and slow writers.
@Suite("No photo is lost to disks, races and slow writers", .tags(.campaign), .serialized, .timeLimit(.minutes(60)))
struct DiskAndWriterTests {
    private static let isRoot = geteuid() == 0
    private static let canMount =
        isRoot && Campaign.python != nil
        && (try? runProgram(["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/true"])) != nil
    private static let hasDisks =
        canMount && access("/dev/loop-control", W_OK) == 0
        && Campaign.firstProgram("/sbin/mkfs.ext4", "/usr/sbin/mkfs.ext4") != nil

    @Test(
        "Power failures, in each journal mode and with library and state on different disks",
        .enabled(if: hasDisks, "skipped: needs root, Python, loop devices and mkfs.ext4"))
    func power() async throws { try await Campaign.run("power.py", "--cycles", "9") }

    @Test(
        "Power failures at system calls of uploads",
        .enabled(if: hasDisks && Campaign.compiler != nil, "skipped: needs root, Python, a C compiler and loop devices")
    )
    func powerOfUploads() async throws {
        try await Campaign.run("drop.py", "--power", "--sample", "4", "--mode", "writeback")
    }

    @Test(
        "Full disks that become free again",
        .enabled(if: hasDisks, "skipped: needs root, Python, loop devices and mkfs.ext4"))
    func fullDisk() async throws { try await Campaign.run("fulldisk.py", "--rounds", "4") }

    @Test(
        "Names, links and directories that are swapped meanwhile",
        .enabled(if: canMount && Campaign.compiler != nil, "skipped: needs root, to mount, Python and a C compiler"))
    func race() async throws { try await Campaign.run("race.py", "--swaps", "1000", "--houses", "2") }

    @Test(
        "Random disks and mounts with random operations; without root only those that need no mount",
        .enabled(if: Campaign.python != nil && (!isRoot || canMount), "skipped: needs Python, and of root mounts"))
    func places() async throws {
        try await Campaign.run(
            "places.py", "--worlds", "24", "--acts", "240", "--seed", "23", "--only-kind", "plain", "--shrink-for", "5")
    }

    @Test("Writers of every kind", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func writers() async throws {
        let views = Self.canMount ? ["--view", "root", "--view", "foreign"] : ["--view", "root"]
        try await Campaign.run(["writers.py", "--rounds", "1", "--cuts", "0"] + views)
    }

    @Test(
        "Truncated pictures are not filed as whole ones",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func cuts() async throws {
        try await Campaign.run("writers.py", "--rounds", "0", "--cuts", "2000", "--pictures", "80")
    }
}
