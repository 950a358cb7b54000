import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@Suite("Audits count the changes that events missed", .timeLimit(.minutes(60)))
struct AuditTests {
    /// Compares, and lets it be counted.
    private func audit(_ watched: Watched) async -> AuditReport {
        _ = await watched.reconcile()
        watched.queue.sync { watched.watch.checkNow() }
        return watched.watch.snapshot().roots[0].audit
    }

    @Test("Writes through a name outside the tree are found, and not counted at once, since a close may follow")
    func outside() async throws {
        let watched = try Watched()
        try watched.write("outside.jpg", "1")
        link(watched.scratch.appending("outside.jpg"), watched.path("a.jpg"))
        await watched.start()
        #expect(await audit(watched).missed == 0)
        try watched.write("outside.jpg", "12345")
        _ = watched.removeNotices()
        #expect(await audit(watched).missed == 0)
        #expect(watched.removeFinished() == ["a.jpg finished(found)"])
        let report = await audit(watched)
        #expect(report.missed == 0)
        #expect(report.count == 3)
        await watched.end()
    }

    @Test("Files that arrive during an audit, or are being written, are not counted")
    func underWay() async throws {
        let watched = try Watched()
        for directory in 0..<20 { mkdir(watched.path("d\(directory)"), 0o755) }
        await watched.start()
        let writer = open(watched.path("d0/open.jpg"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        for round in 0..<20 {
            // Its records are read after the comparison has found it all.
            try watched.whileEngineIsStuck {
                watched.queue.async { watched.watch.reconcile() }
                for directory in 0..<20 {
                    try watched.write("inbox/d\(directory)/\(round).jpg", "\(round)")
                    if round > 0 { unlink(watched.path("d\(directory)/\(round - 1).jpg")) }
                    mkdir(watched.path("d\(directory)/e\(round)"), 0o755)
                    rename(watched.path("d\(directory)/e\(round)"), watched.path("d\(directory)/f\(round)"))
                }
                _ = Glibc.write(writer, "more", 4)
            }
            let report = await audit(watched)
            #expect(report.missed == 0)
        }
        close(writer)
        try await watched.awaitQuiet()
        #expect(await audit(watched).missed == 0)
        #expect(watched.watch.snapshot().roots[0].audit.count > 5)
        await watched.end()
    }

    private static let isRoot = geteuid() == 0

    @Test(
        "A file that is put into an overlay's upper layer raises no event, and is counted",
        .enabled(if: isRoot, "skipped: needs root"))
    func overlay() async throws {
        let layers = try ScratchDirectory(below: "/dev/shm")
        let watched = try Watched()
        for name in ["lower", "upper", "work"] { mkdir(layers.appending(name), 0o755) }
        let options = ["lower", "upper", "work"].map { "\($0)dir=\(layers.appending($0))" }.joined(separator: ",")
        guard mount("overlay", watched.path(""), "overlay", 0, options) == 0 else {
            // Not allowed to here, or no such file system.
            return
        }
        defer { umount2(watched.path(""), Int32(MNT_DETACH)) }
        try watched.write("inbox/seen.jpg", "1")
        await watched.start()
        #expect(await audit(watched).missed == 0)
        let file = open(layers.appending("upper/unseen.jpg"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        close(file)
        _ = watched.removeNotices()
        #expect(await audit(watched).missed == 1)
        #expect(watched.removeFinishedPaths() == ["unseen.jpg"])
        // A file that raises one is not.
        try watched.write("inbox/seen too.jpg", "1")
        #expect(await audit(watched).missed == 1)
        await watched.end()
    }
}
