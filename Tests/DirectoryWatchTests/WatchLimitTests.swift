import DirectoryWatch
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

/// The number of watches is limited for a user in a namespace of its own, in a process of its own: this program again,
/// with a variable that reports it so.
@Suite("When watches run out, the other directories are polled", .timeLimit(.minutes(60)))
struct WatchLimitTests {
    private static let variable = "PHOTOINBOX_TEST_WATCH_LIMIT"
    private static let isInside = getenv(variable) != nil
    private static let canEnter: Bool = {
        let enter = ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c"]
        return (try? runProgram(enter + ["echo 8 > /proc/sys/user/max_inotify_watches"])) != nil
    }()

    @Test(
        "The test below passes in a user namespace with 8 watches",
        .enabled(if: !isInside && canEnter, "skipped: needs user namespaces and unshare(1)"))
    func outside() async throws {
        let program = try #require(CommandLine.arguments.first)
        try await aside {
            try runProgram([
                "/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c",
                "echo 8 > /proc/sys/user/max_inotify_watches && exec /usr/bin/env \(Self.variable)=1 \"$@\"", "sh",
                program, "--testing-library", "swift-testing", "--filter", "WatchLimitTests",
            ])
        }
    }

    @Test(
        "Directories without a watch are polled, and the need is reported",
        .enabled(if: isInside, "skipped: runs in the process that the other test starts"))
    func inside() async throws {
        // TMPDIR may be deeper, and each directory of the root's path costs a watch.
        let watched = try Watched(below: "/tmp")
        for directory in 0..<20 { mkdir(watched.path("d\(directory)"), 0o755) }
        await watched.start()
        _ = watched.removeNotices()
        guard case .partlyPolled(let watches, let polled, _) = watched.watch.snapshot().roots[0].verdict else {
            Issue.record("\(watched.watch.snapshot().roots[0].verdict)")
            return
        }
        // Two are on the root's path: on the scratch directory and the one above it.
        #expect(watches == 6)
        #expect(polled == 15)
        let need = try #require(watched.watch.snapshot().need)
        #expect(need.limit == InotifyLimits.Limit(setting: "user.max_inotify_watches", value: 8))
        #expect(need.needed == 23)
        #expect(need.polled == 15)
        #expect(need.assignment == "user.max_inotify_watches=8192")
        #expect(watched.watch.snapshot().roots[0].polling != nil)
        for directory in 0..<20 { try watched.write("inbox/d\(directory)/a.jpg", "\(directory)") }
        watched.queue.sync { watched.watch.checkNow() }
        try await watched.awaitQuiet()
        #expect(Set(watched.removeFinishedPaths()) == Set((0..<20).map { "d\($0)/a.jpg" }))
        // With a higher limit the polled directories are watched.
        for directory in 0..<16 { try runProgram(["/bin/rm", "-r", watched.path("d\(directory)")]) }
        try await watched.awaitQuiet()
        watched.queue.sync { watched.watch.checkNow() }
        try await watched.awaitQuiet()
        #expect(watched.watch.snapshot().roots[0].verdict == .live)
        #expect(watched.watch.snapshot().need == nil)
        // The limit is reached again, and raised: that suffices, too.
        for directory in 20..<40 { mkdir(watched.path("d\(directory)"), 0o755) }
        try await watched.awaitQuiet()
        #expect(watched.watch.snapshot().need?.polled == 19)
        let setting = open("/proc/sys/user/max_inotify_watches", O_WRONLY)
        #expect(Glibc.write(setting, "100", 3) == 3)
        close(setting)
        watched.queue.sync { watched.watch.checkNow() }
        try await watched.awaitQuiet()
        #expect(watched.watch.snapshot().roots[0].verdict == .live)
        #expect(watched.watch.snapshot().need == nil)
        await watched.end()
    }
}
