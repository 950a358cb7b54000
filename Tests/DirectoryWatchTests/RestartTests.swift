import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@Suite("Files that an earlier watch reported are not reported again", .timeLimit(.minutes(60)))
struct RestartTests {
    /// A watch that knows what `watched` left, over the same directory.
    private func next(
        after watched: Watched, acknowledging isDone: (WatchNotice) -> Bool = { _ in true }, reported: [WatchNotice],
        exclude: @escaping @Sendable (BytePath, FileKind) -> Bool = { _, _ in false }
    ) async throws -> Watched {
        let memory = try WatchMemory(decoding: end(watched, acknowledging: reported.filter(isDone)).encoded())
        await watched.end()
        return try Watched(in: watched.scratch, memory: memory, exclude: exclude)
    }

    private func end(_ watched: Watched, acknowledging notices: [WatchNotice]) -> WatchMemory {
        watched.queue.sync {
            for notice in notices {
                watched.watch.acknowledge(root: notice.root, path: notice.path, identity: notice.identity)
            }
            return watched.watch.memory()
        }
    }

    @Test("With all files acknowledged, a restart reports nothing, or exactly the changes in between")
    func differences() async throws {
        var watched = try Watched()
        for directory in ["a", "a/deep", "b", "gone"] { mkdir(watched.path(directory), 0o755) }
        let names = ["top", "a/1", "a/2", "a/deep/3", "a/deep/4", "b/5", "gone/6"]
        for name in names { try watched.write("inbox/\(name)", name) }
        symlink("nowhere", watched.path("a/link"))
        await watched.start()
        let reported = watched.removeNotices()
        #expect(reported.count == 7 + 4 + 1)

        watched = try await next(after: watched, reported: reported)
        await watched.start()
        #expect(watched.removeLines().isEmpty)
        #expect(watched.watch.snapshot().roots[0].knownFiles == 8)
        #expect(watched.queue.sync { watched.watch.memoryChanges } == 0)
        _ = await watched.reconcile()
        #expect(watched.removeLines().isEmpty)

        watched = try await next(after: watched, reported: [])
        try watched.write("inbox/a/1", "longer")
        try watched.write("inbox/new", "new")
        unlink(watched.path("a/2"))
        rename(watched.path("b"), watched.path("c"))
        try runProgram(["/bin/rm", "-rf", watched.path("gone")])
        unlink(watched.path("a/link"))
        mkfifo(watched.path("a/link"), 0o600)
        mkdir(watched.path("fresh"), 0o755)
        await watched.start()
        let lines = watched.removeLines()
        #expect(
            Set(lines) == [
                "a/1 finished(found)", "new finished(found)", "a/2 vanished", "c directoryAppeared",
                "c/5 finished(found)", "b/5 vanished", "b directoryVanished", "gone/6 vanished",
                "gone directoryVanished",
                "a/link vanished", "a/link notRegular(fifo)", "fresh directoryAppeared",
            ])
        #expect(lines.count == 12)
        #expect(watched.queue.sync { watched.watch.memoryChanges } > 0)
        // What happens from then on is reported as ever.
        try await watched.waitForClose("c/5") { try watched.write("inbox/c/5", "again") }
        await watched.end()
    }

    @Test("A file that was not acknowledged, or in an earlier version, is reported again")
    func unacknowledged() async throws {
        var watched = try Watched()
        for name in ["done", "open", "written", "renamed"] { try watched.write("inbox/\(name)", name) }
        await watched.start()
        let reported = watched.removeNotices()
        try await watched.waitForClose("written") { try watched.write("inbox/written", "more") }
        let early = end(watched, acknowledging: reported.filter { $0.path == "renamed" })
        #expect(early.count(of: "inbox") == 1)
        rename(watched.path("renamed"), watched.path("renamed anew"))
        try await watched.awaitQuiet()
        watched = try await next(after: watched, acknowledging: { $0.path != "open" }, reported: reported)
        await watched.start()
        #expect(
            Set(watched.removeLines()) == [
                "open finished(found)", "written finished(found)", "renamed anew finished(found)",
            ])
        await watched.end()
    }

    @Test("Files left alone are counted until they are gone, renamed or changed, and after a restart")
    func leftAlone() async throws {
        var watched = try Watched()
        mkdir(watched.path("a"), 0o755)
        let names = ["a/1", "a/2", "3", "4", "5", "photo"]
        for name in names { try watched.write("inbox/\(name)", name) }
        await watched.start()
        func acknowledge(_ notices: [WatchNotice]) {
            watched.queue.sync {
                for notice in notices {
                    watched.watch.acknowledge(
                        root: notice.root, path: notice.path, identity: notice.identity,
                        isLeftAlone: notice.path != "photo")
                }
            }
        }
        var count: Int { watched.watch.snapshot().roots[0].leftAlone }
        #expect(count == 0)
        acknowledge(watched.removeNotices())
        _ = await watched.reconcile()
        #expect(count == 5)
        let memory = try WatchMemory(decoding: watched.queue.sync { watched.watch.memory() }.encoded())
        await watched.end()
        watched = try Watched(in: watched.scratch, memory: memory)
        await watched.start()
        #expect(count == 5 && watched.removeLines().isEmpty)

        unlink(watched.path("3"))
        rename(watched.path("4"), watched.path("four"))
        _ = await watched.reconcile()
        #expect(count == 3)
        acknowledge(watched.removeNotices().filter { $0.path == "four" })
        _ = await watched.reconcile()
        #expect(count == 4)
        try await watched.waitForClose("5") { try watched.write("inbox/5", "more") }
        #expect(count == 3)
        try runProgram(["/bin/rm", "-rf", watched.path("a")])
        _ = await watched.reconcile()
        #expect(count == 1)
        await watched.end()
    }

    @Test("Files that the rule excludes now are neither reported, nor remembered, nor reported as vanished")
    func excluded() async throws {
        var watched = try Watched()
        for directory in ["keep", "cache", "cache/deep"] { mkdir(watched.path(directory), 0o755) }
        for name in ["keep/1", "keep/2.tmp", "cache/3", "cache/deep/4"] { try watched.write("inbox/\(name)", name) }
        await watched.start()
        let reported = watched.removeNotices()
        watched = try await next(after: watched, reported: reported) { path, kind in
            path.name == "cache" && kind == .directory || path.lowercasedExtension == Array("tmp".utf8)
        }
        await watched.start()
        #expect(watched.removeLines().isEmpty)
        #expect(watched.watch.snapshot().roots[0].knownFiles == 1)
        // Without that rule it is found as new.
        watched = try await next(after: watched, reported: [])
        await watched.start()
        #expect(
            Set(watched.removeLines()) == [
                "keep/2.tmp finished(found)", "cache directoryAppeared", "cache/3 finished(found)",
                "cache/deep directoryAppeared", "cache/deep/4 finished(found)",
            ])
        await watched.end()
    }

    @Test(
        "Another directory at the root's path is reported completely; the first is recognised when it is back, also after a restart"
    )
    func otherDirectory() async throws {
        let scratch = try ScratchDirectory()
        for name in ["one", "two"] { mkdir(scratch.appending(name), 0o755) }
        /// Puts one of the two under the root's path, in one step.
        func insert(_ card: String) {
            symlink(card, scratch.appending("next"))
            rename(scratch.appending("next"), scratch.appending("inbox"))
        }
        insert("one")
        var watched = try Watched(in: scratch)
        try watched.write("inbox/card one", "1")
        await watched.start()
        let reported = watched.removeNotices()
        watched = try await next(after: watched, reported: reported)
        insert("two")
        try watched.write("inbox/card two", "2")
        await watched.start()
        let second = watched.removeNotices()
        #expect(second.map(\.path) == ["card two"])
        _ = end(watched, acknowledging: second)
        // Back without a restart.
        try await watched.wait({ $0.kind == .rootBack }) {
            insert("one")
            watched.queue.sync { watched.watch.checkNow() }
        }
        _ = await watched.reconcile()
        #expect(watched.removeNotices().allSatisfy { $0.path.isEmpty })
        for card in ["one", "two", "one"] {
            watched = try await next(after: watched, reported: [])
            insert(card)
            await watched.start()
            #expect(watched.removeLines().isEmpty)
        }
        await watched.end()
    }

    @Test("Roots that are absent, or not watched any more, stay remembered")
    func absent() async throws {
        var watched = try Watched()
        try watched.write("inbox/a", "a")
        await watched.start()
        let reported = watched.removeNotices()
        watched = try await next(after: watched, reported: reported)
        rename(watched.path(""), watched.scratch.appending("away"))
        await watched.start()
        #expect(watched.removeLines().count == 1)
        var memory = end(watched, acknowledging: [])
        #expect(memory.count(of: "inbox") == 1)
        let scratch = watched.scratch
        await watched.end()
        watched = try Watched(roots: ["other"], in: scratch, memory: memory)
        await watched.start()
        memory = end(watched, acknowledging: [])
        #expect(memory.rootIdentifiers == ["inbox", "other"])
        await watched.end()
        rename(scratch.appending("away"), scratch.appending("inbox"))
        watched = try Watched(in: scratch, memory: memory)
        await watched.start()
        #expect(watched.removeLines().isEmpty)
        await watched.end()
    }
}
