import DirectoryWatch
import FileValues
import Foundation
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

/// What was reported twice, never, or under paths that never were, before observations waited for the events before them.
@Suite("Each version of a file is reported once, at its path")
struct OnceTests {
    /// Starts a watch over an empty directory, runs `body`, waits until all is reported, and returns the notices.
    private func reported(below parent: String? = nil, _ body: (Watched) async throws -> Void) async throws -> [String]
    {
        let watched = try Watched(below: parent, asksForLeases: true)
        await watched.start()
        _ = watched.removeNotices()
        try await body(watched)
        try await watched.awaitQuiet()
        await watched.end()
        return watched.removeLines()
    }

    /// Makes a file, and waits until it is reported.
    private func make(_ name: String, in watched: Watched) async throws {
        let isFinished: @Sendable (WatchNotice) -> Bool = { notice in
            guard case .finished = notice.kind else { return false }
            return notice.path == BytePath(name)
        }
        try await watched.wait(isFinished) { try watched.write("inbox/\(name)", "a") }
    }

    @Test(
        "A file whose mode was changed before its directory was renamed is reported as renamed, not as finished again")
    func modeThenRename() async throws {
        let lines = try await reported { watched in
            mkdir(watched.path("d"), 0o755)
            try await make("d/f", in: watched)
            chmod(watched.path("d/f"), 0o600)
            try await watched.awaitQuiet()
            rename(watched.path("d"), watched.path("e"))
        }
        #expect(lines.count { $0.hasPrefix("d/f finished") } == 1 && lines.count { $0.contains("finished") } == 1)
        #expect(lines.contains("e/f renamed(d/f)"))
    }

    @Test("A file with a second name is not reported again when its directory is renamed")
    func linkThenRename() async throws {
        let lines = try await reported { watched in
            mkdir(watched.path("d"), 0o755)
            try await make("d/f", in: watched)
            link(watched.path("d/f"), watched.scratch.appending("outside"))
            rename(watched.path("d"), watched.path("e"))
        }
        #expect(lines.count { $0.hasPrefix("d/f finished") } == 1 && lines.count { $0.contains("finished") } == 1)
        #expect(lines.contains("e/f renamed(d/f)"))
    }

    @Test("A file that was closed again before its directory was renamed is reported once at the new path")
    func closedThenRename() async throws {
        for _ in 0..<20 {
            let lines = try await reported { watched in
                mkdir(watched.path("d"), 0o755)
                try await make("d/f", in: watched)
                close(open(watched.path("d/f"), O_WRONLY | O_CLOEXEC))
                rename(watched.path("d"), watched.path("e"))
            }
            #expect(lines.count { $0.hasPrefix("e/f ") } == 1, "\(lines)")
        }
    }

    @Test(
        "A file in a directory that was moved away and back is reported, on the watch's own queue as well",
        arguments: [false, true])
    func leftAndCameBack(sharesQueue: Bool) async throws {
        let watched = try Watched(asksForLeases: true, sharesQueue: sharesQueue)
        await watched.start()
        mkdir(watched.path("d"), 0o755)
        try await make("d/f", in: watched)
        let outside = watched.scratch.appending("outside")
        for number in 0..<50 {
            let name = "d/g\(number)"
            try await watched.wait({ notice in
                guard case .finished = notice.kind else { return false }
                return notice.path == BytePath(name)
            }) {
                rename(watched.path("d"), outside)
                rename(outside, watched.path("d"))
                try watched.write("inbox/\(name)", "a")
            }
        }
        await watched.end()
    }

    @Test("A file that was deleted before its directory was renamed is reported as vanished, and never at the new path")
    func leftThenRename() async throws {
        let lines = try await reported { watched in
            mkdir(watched.path("d"), 0o755)
            try await make("d/f", in: watched)
            rename(watched.path("d/f"), watched.scratch.appending("x"))
            rename(watched.path("d"), watched.path("e"))
        }
        #expect(!lines.contains { $0.hasPrefix("e/f") })
        #expect(lines.contains("d/f vanished"))
    }

    @Test("After two renames of nested directories no path of the one's new and the other's old name is reported")
    func nestedRenames() async throws {
        var paired = 0
        for _ in 0..<20 {
            let lines = try await reported { watched in
                mkdir(watched.path("a"), 0o755)
                mkdir(watched.path("a/b"), 0o755)
                try await make("a/b/f", in: watched)
                rename(watched.path("a/b"), watched.path("a/c"))
                rename(watched.path("a"), watched.path("z"))
            }
            let places = Set(lines.compactMap { $0.split(separator: " ").first.map(String.init) })
            #expect(places.isSubset(of: ["a", "a/b", "a/b/f", "a/c", "a/c/f", "z", "z/c", "z/c/f"]), "\(lines)")
            let isRenamed = lines.contains { $0.hasPrefix("z/c/f renamed(") }
            // On a busy machine the halves of a rename can come further apart than they wait for each other.
            let isApart = lines.contains("a/b/f vanished") && lines.count { $0.hasPrefix("z/c/f ") } == 1
            #expect(isRenamed || isApart, "\(lines)")
            if isRenamed { paired += 1 }
        }
        #expect(paired > 0)
    }

    @Test(
        "The last close of a mapped file is reported, though neither its size nor its time has changed",
        arguments: [0, 1])
    func mapped(ticks: Int) async throws {
        let lines = try await reported { watched in
            let file = open(watched.path("m"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
            ftruncate(file, 4096)
            let memory = try #require(mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
            memory.storeBytes(of: 1, as: UInt8.self)
            // It is looked up meanwhile, on a tick or along with the close of another file.
            for _ in 0..<(3 * ticks) {
                watched.queue.sync { watched.watch.checkNow() }
                try await watched.passEvents()
            }
            if ticks == 0 {
                close(open(watched.path("m"), O_WRONLY | O_CLOEXEC))
                try await watched.passEvents()
            }
            try await watched.waitForClose("m") {
                memory.storeBytes(of: 2, as: UInt8.self)
                munmap(memory, 4096)
                close(file)
            }
        }
        // The close of another is reported, too, unless the file was known as being written by then.
        #expect((1...(2 - ticks)).contains(lines.count { $0.hasPrefix("m finished") }), "\(lines)")
    }

    @Test(
        "A file that was made without a name is reported once it has one and is closed, at the latest on a tick",
        arguments: [nil, "/dev/shm"], [false, true])
    func unnamed(parent: String?, isLate: Bool) async throws {
        let isReported = Locked(false)
        let lines = try await reported(below: parent) { watched in
            let file = open(watched.path(""), O_WRONLY | oTmpfile | O_CLOEXEC, 0o644)
            try #require(file >= 0)
            write(file, "abc", 3)
            try await watched.wait({ $0.kind == .finished(.found) && $0.path == "t" }) {
                _ = linkat(AT_FDCWD, "/proc/self/fd/\(file)", AT_FDCWD, watched.path("t"), AT_SYMLINK_FOLLOW)
                // No event reports of this close, and a program that another test starts may have the file open until it is
                // executed: the ticks report.
                Thread.detachNewThread {
                    for _ in 0..<(isLate ? 3 : 0) { watched.queue.sync { watched.watch.checkNow() } }
                    close(file)
                    while !isReported.withLock({ $0 }) {
                        watched.queue.sync { watched.watch.checkNow() }
                        usleep(10_000)
                    }
                }
            }
            isReported.withLock { $0 = true }
        }
        #expect(lines.filter { $0 != "t created" } == ["t finished(found)"])
    }

    /// O_TMPFILE, which is a macro of two others.
    private let oTmpfile: Int32 = 0o20000000 | O_DIRECTORY

    @Test("Each file of an archive that is unpacked into new directories is reported once")
    func archive() async throws {
        let scratch = try ScratchDirectory()
        for number in 0..<60 {
            let directory = scratch.appending("tree/d\(number % 6)/e\(number % 3)")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try String(repeating: "x", count: number * 97).write(
                toFile: "\(directory)/f\(number)", atomically: false, encoding: .utf8)
        }
        try await run("/usr/bin/tar", "-C", scratch.path, "-cf", scratch.appending("a.tar"), "tree")
        for round in 0..<20 {
            let lines = try await reported { watched in
                try await run("/usr/bin/tar", "-C", watched.path(""), "-xf", scratch.appending("a.tar"))
            }
            let finished = lines.filter { $0.contains(" finished(") }
            #expect(finished.count == 60, "round \(round): \(finished)")
            #expect(Set(finished.map { $0.split(separator: " ")[0] }).count == 60, "round \(round)")
        }
    }

    private func run(_ words: String...) async throws { try await aside { try runProgram(words) } }
}
