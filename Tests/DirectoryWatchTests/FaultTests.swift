import DirectoryWatch
import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@Suite("Faults around the directory lose no file", .timeLimit(.minutes(60)))
struct FaultTests {
    /// Files that overflow the kernel's queue: two records each.
    static let tooMany: Int? = {
        guard let limit = readNumber("/proc/sys/fs/inotify/max_queued_events"), limit <= 65_536 else { return nil }
        return limit * 3 / 4
    }()

    @Test(
        "After an overflow every file is reported exactly once",
        .enabled(if: tooMany != nil, "skipped: needs a readable fs.inotify.max_queued_events of at most 65,536"))
    func overflow() async throws {
        let watched = try Watched()
        for directory in 0..<10 { mkdir(watched.path("d\(directory)"), 0o755) }
        await watched.start()
        _ = watched.removeNotices()
        let count = try #require(Self.tooMany)
        try watched.whileEngineIsStuck {
            for number in 0..<count { try watched.write("inbox/d\(number % 10)/\(number).jpg", "\(number)") }
            try runProgram(["/bin/mv", watched.path("d3"), watched.path("moved")])
        }
        try await watched.awaitQuiet()
        let notices = watched.removeNotices()
        #expect(notices.contains { $0.kind == .overflow })
        #expect(notices.contains { $0.kind == .healed })
        #expect(watched.watch.snapshot().overflows >= 1)
        // The moved directory's files may have been reported under its old name first.
        let reported = Self.present(after: notices)
        #expect(reported.count == count)
        #expect(Set(reported) == Set((0..<count).map { "\($0 % 10 == 3 ? "moved" : "d\($0 % 10)")/\($0).jpg" }))
        #expect(await watched.reconcile().map(\.found) == [0])
        #expect(watched.removeNotices().isEmpty)
        // Modes that changed meanwhile finish no file.
        try watched.whileEngineIsStuck {
            for path in reported { chmod(watched.path(path), 0o600) }
            for number in 0..<count {
                try watched.write("inbox/d0/passing-\(number)", "")
                unlink(watched.path("d0/passing-\(number)"))
            }
        }
        try await watched.awaitQuiet()
        let changed = watched.removeNotices()
        #expect(changed.contains { $0.kind == .overflow })
        #expect(Self.present(after: changed).isEmpty)
        await watched.end()
    }

    /// The paths of files that are reported as there, each as often as it was reported.
    private static func present(after notices: [WatchNotice]) -> [String] {
        var counts: [BytePath: Int] = [:]
        for notice in notices {
            switch notice.kind {
            case .finished: counts[notice.path, default: 0] += 1
            case .renamed(let from):
                counts[from, default: 0] -= 1
                counts[notice.path, default: 0] += 1
            case .vanished: counts[notice.path, default: 0] -= 1
            default: break
            }
        }
        return counts.flatMap { Array(repeating: $0.key.escaped, count: $0.value) }
    }

    @Test("A root that is gone is not reported as emptied; when it is back, it is watched again")
    func rootGone() async throws {
        let watched = try Watched()
        mkdir(watched.path("sub"), 0o755)
        try watched.write("inbox/sub/a.jpg", "a")
        await watched.start()
        _ = watched.removeNotices()
        // Renamed away and back: the same directory, so its files stay known.
        try await watched.wait {
            if case .rootGone = $0.kind { true } else { false }
        } while: {
            rename(watched.scratch.appending("inbox"), watched.scratch.appending("aside"))
        }
        #expect(watched.removeNotices().map(\.path) == [""])
        #expect(watched.watch.snapshot().watches == 0)
        guard case .gone(.absent) = watched.watch.snapshot().roots[0].verdict else {
            Issue.record("not gone: \(watched.watch.snapshot().roots[0].verdict)")
            return
        }
        #expect(await watched.reconcile().map(\.isComplete) == [false])
        try watched.write("aside/sub/b.jpg", "b")
        // No tick is needed: its name is waited for.
        try await watched.wait {
            $0.kind == .rootBack
        } while: {
            rename(watched.scratch.appending("aside"), watched.scratch.appending("inbox"))
        }
        try await watched.awaitQuiet()
        #expect(watched.removeLines() == [" rootBack", "sub/b.jpg finished(found)"])
        #expect(watched.watch.snapshot().roots[0].verdict == .live)
        // Deleted and made again: another directory, so all in it is new.
        try await watched.wait {
            if case .rootGone = $0.kind { true } else { false }
        } while: {
            try runProgram(["/bin/rm", "-r", watched.scratch.appending("inbox")])
        }
        _ = watched.removeNotices()
        try await watched.wait {
            $0.kind == .rootBack
        } while: {
            mkdir(watched.scratch.appending("new"), 0o755)
            try watched.write("new/c.jpg", "c")
            rename(watched.scratch.appending("new"), watched.scratch.appending("inbox"))
        }
        try await watched.awaitQuiet()
        let lines = watched.removeLines()
        #expect(lines.contains("c.jpg finished(found)"))
        try await watched.waitForClose("d.jpg") { try watched.write("inbox/d.jpg", "d") }
        try await watched.awaitQuiet()
        #expect(watched.removeFinished() == ["d.jpg finished(closeWrite)"])
        await watched.end()
    }

    @Test("A root that is absent at the start is reported, and watched once it appears")
    func rootComesLater() async throws {
        let watched = try Watched()
        rmdir(watched.scratch.appending("inbox"))
        await watched.start()
        #expect(watched.removeNotices().map(\.path) == [""])
        mkdir(watched.scratch.appending("new"), 0o755)
        try watched.write("new/a.jpg", "a")
        try await watched.wait {
            $0.path == "a.jpg"
        } while: {
            rename(watched.scratch.appending("new"), watched.scratch.appending("inbox"))
        }
        #expect(watched.removeLines() == [" rootBack", "a.jpg finished(found)"])
        await watched.end()
    }

    @Test("A root that does not answer delays no other, and its step is published")
    func hungRoot() async throws {
        let isFirst = Locked(true)
        let isBlocked = DispatchSemaphore(value: 0)
        let blocker = DispatchSemaphore(value: 0)
        let watched = try Watched(roots: ["inbox", "hung"]) { path, _ in
            if path == "block",
                isFirst.withLock({ first in
                    defer { first = false }
                    return first
                })
            {
                isBlocked.signal()
                blocker.wait()
            }
            return false
        }
        await watched.start()
        try watched.write("hung/block", "")
        isBlocked.waitForIt()
        try await watched.waitForClose("a.jpg") { try watched.write("inbox/a.jpg", "a") }
        try await watched.awaitQuiet()
        #expect(watched.removeFinished() == ["a.jpg finished(closeWrite)"])
        #expect(watched.watch.snapshot().roots[1].step.name == "looking at .")
        blocker.signal()
        try await watched.awaitQuiet(in: "hung")
        #expect(watched.removeFinishedPaths() == ["block"])
        await watched.end()
    }

    @Test("A directory that is moved from one root to another vanishes in the one and appears in the other")
    func betweenRoots() async throws {
        let watched = try Watched(roots: ["inbox", "other"])
        mkdir(watched.path("day"), 0o755)
        try watched.write("inbox/day/a.jpg", "a")
        await watched.start()
        _ = watched.removeNotices()
        rename(watched.path("day"), watched.scratch.appending("other/day"))
        try await watched.awaitQuiet()
        try await watched.awaitQuiet(in: "other")
        let reported = watched.removeNotices().map { "\($0.root)/\($0.path) \(describe($0.kind))" }
        #expect(
            Set(reported) == [
                "inbox/day/a.jpg vanished", "inbox/day directoryVanished", "other/day directoryAppeared",
                "other/day/a.jpg finished(found)",
            ])
        try await watched.waitForClose("day/b.jpg") { try watched.write("other/day/b.jpg", "b") }
        try await watched.awaitQuiet(in: "other")
        #expect(watched.removeFinished() == ["day/b.jpg finished(closeWrite)"])
        #expect(watched.watch.snapshot().watches == 3)
        await watched.end()
    }

    @Test(
        "A directory that can't be listed is reported once, and listed once it can be",
        .enabled(if: geteuid() != 0, "skipped: root may list everything; needs an ordinary user"))
    func unreadable() async throws {
        let watched = try Watched()
        mkdir(watched.path("closed"), 0o755)
        try watched.write("inbox/closed/a.jpg", "a")
        chmod(watched.path("closed"), 0)
        defer { chmod(watched.path("closed"), 0o755) }
        await watched.start()
        _ = await watched.reconcile()
        let kinds = watched.removeNotices().filter { if case .unreadable = $0.kind { true } else { false } }
        #expect(kinds.map(\.path) == ["closed"])
        chmod(watched.path("closed"), 0o755)
        _ = await watched.reconcile()
        #expect(watched.removeFinished() == ["closed/a.jpg finished(found)"])
        await watched.end()
    }

    @Test("An invalidated watch leaves no watch and no descriptor")
    func leavesNothing() async throws {
        await #expect(processExitsWith: .success) {
            func descriptors() throws -> Int {
                var count = 0
                try DirectoryReader().read(try openDirectory("/proc/self/fd")) { _ in count += 1 }
                return count
            }
            // The first one makes the descriptors that libdispatch and the runtime keep.
            for round in 0..<20 {
                let before = try descriptors()
                let watched = try Watched()
                mkdir(watched.path("sub"), 0o755)
                await watched.start()
                await watched.end()
                let after = try descriptors()
                if round > 0 { precondition(after <= before, "descriptors left behind") }
            }
        }
    }
}

func readNumber(_ path: String) -> Int? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = read(file, &bytes, bytes.count)
    return Int(String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 0x0A }, as: UTF8.self))
}

extension DispatchSemaphore {
    /// `wait()` is not for asynchronous functions; here the other side is a queue that is sure to come.
    func waitForIt() { wait() }
}
