import DirectoryWatch
import FileValues
import Glibc
import SystemMonitor
import TestSupport
import Testing

/// In a mount namespace of its own, in a process of its own: this program again, with a variable that reports it so.
@Suite(
    "Roots that are file systems of their own stay watched when they are mounted again", .tags(.heavy),
    .timeLimit(.minutes(60)))
struct MountedAgainTests {
    private static let variable = "PHOTOINBOX_TEST_MOUNTED_AGAIN"
    private static let isInside = getenv(variable) != nil
    private static let refusal: String? =
        geteuid() == 0 ? MountBox.refusal : "skipped: needs root, to mount file systems of its own"

    @Test(
        "The tests below pass in a mount namespace",
        .enabled(if: !isInside && refusal == nil, "\(refusal ?? "runs inside")"))
    func outside() async throws {
        let program = try #require(CommandLine.arguments.first)
        try await aside {
            try runProgram([
                "/usr/bin/unshare", "--mount", "--propagation", "private", "/usr/bin/env", "\(Self.variable)=1",
                program, "--testing-library", "swift-testing", "--filter", "MountedAgainTests",
            ])
        }
    }

    /// umount(8), again for a second while the file system is busy: after a burst the watch keeps directories open for
    /// a moment.
    private static func unmount(_ place: String) throws {
        try runProgram([
            "/bin/sh", "-c",
            "for try in $(seq 50); do umount \"$1\" 2>&- && exit; sleep 0.02; done; exec umount \"$1\"", "sh", place,
        ])
    }

    @Test(
        "A root that is unmounted and mounted again before it is checked stays watched",
        .enabled(
            if: isInside && MountBox.hasDisks,
            "skipped: needs loop devices and mkfs.ext4, in the process that the other test starts"))
    func remount() async throws {
        let watched = try Watched()
        let image = watched.scratch.appending("disk.img")
        try runProgram(["/sbin/mkfs.ext4", "-q", image, "4m"])
        let root = watched.scratch.appending("inbox")
        try runProgram(["/bin/mount", "-o", "loop", image, root])
        defer { umount2(root, Int32(MNT_DETACH)) }
        rmdir(watched.path("lost+found"))
        mkdir(watched.path("sub"), 0o755)
        await watched.start()
        #expect(watched.watch.snapshot().roots[0].watches == 2)
        try await watched.awaitQuiet()
        _ = watched.removeNotices()
        try watched.whileEngineIsStuck {
            try Self.unmount(root)
            try runProgram(["/bin/mount", "-o", "loop", image, root])
        }
        try await watched.awaitQuiet()
        try await watched.waitForClose("a.jpg") { try watched.write("inbox/a.jpg", "a") }
        try await watched.waitForClose("sub/b.jpg") { try watched.write("inbox/sub/b.jpg", "b") }
        #expect(watched.watch.snapshot().roots[0].watches == 2)
        #expect(watched.watch.snapshot().roots[0].verdict == .live)
        await watched.end()
    }

    @Test(
        "A root is gone when it is unmounted, and back when it is mounted",
        .enabled(if: isInside, "skipped: runs in the process that the other test starts"))
    func rootUnmounted() async throws {
        let watched = try Watched()
        let root = watched.scratch.appending("inbox")
        try runProgram(["/bin/mount", "-t", "tmpfs", "photos", root])
        defer { umount2(root, Int32(MNT_DETACH)) }
        mkdir(watched.path("sub"), 0o755)
        try watched.write("inbox/sub/a.jpg", "a")
        await watched.start()
        _ = watched.removeNotices()
        try await watched.wait {
            if case .rootGone = $0.kind { true } else { false }
        } while: {
            try Self.unmount(root)
        }
        #expect(!watched.removeNotices().contains { $0.kind == .vanished })
        try runProgram(["/bin/mount", "-t", "tmpfs", "photos", root])
        watched.queue.sync { watched.watch.checkNow() }
        try await watched.awaitQuiet()
        try await watched.waitForClose("b.jpg") { try watched.write("inbox/b.jpg", "b") }
        #expect(watched.watch.snapshot().roots[0].watches == 1)
        await watched.end()
    }
}
