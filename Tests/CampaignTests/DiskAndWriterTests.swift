import Glibc
import TestSupport
import Testing

/// The short forms of the campaigns against disks, races and slow writers.
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
        "The current fails, in each journal mode and with the library and the state on other disks",
        .enabled(if: hasDisks, "skipped: needs root, Python, loop devices and mkfs.ext4"))
    func power() async throws { try await Campaign.run("power.py", "--cycles", "9") }

    @Test(
        "Disks are full, and free again",
        .enabled(if: hasDisks, "skipped: needs root, Python, loop devices and mkfs.ext4"))
    func fullDisk() async throws { try await Campaign.run("fulldisk.py", "--rounds", "4") }

    @Test(
        "Names, links and directories are swapped meanwhile",
        .enabled(if: canMount && Campaign.compiler != nil, "skipped: needs root, to mount, Python and a C compiler"))
    func race() async throws { try await Campaign.run("race.py", "--swaps", "1000", "--houses", "2") }

    @Test(
        "Random worlds of disks and mounts, with random acts of people; without root those that need no mount",
        .enabled(if: Campaign.python != nil && (!isRoot || canMount), "skipped: needs Python, and of root mounts"))
    func places() async throws {
        try await Campaign.run(
            "places.py", "--worlds", "24", "--acts", "240", "--seed", "23", "--only-kind", "plain", "--shrink-for", "5")
    }

    @Test("Writers of every style", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func writers() async throws {
        let views = Self.canMount ? ["--view", "root", "--view", "foreign"] : ["--view", "root"]
        try await Campaign.run(["writers.py", "--rounds", "1", "--cuts", "0"] + views)
    }

    @Test(
        "Pictures that were cut are not taken for whole ones",
        .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func cuts() async throws {
        try await Campaign.run("writers.py", "--rounds", "0", "--cuts", "2000", "--pictures", "80")
    }
}
