import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@Suite("Each change in a real directory is reported once", .timeLimit(.minutes(60)))
struct LiveTests {
    @Test("Files that exist at the start are found; later ones are reported with their cause")
    func basics() async throws {
        let watched = try Watched()
        try watched.write("inbox/old.jpg", "old")
        mkdir(watched.path("sub"), 0o755)
        try watched.write("inbox/sub/deep.jpg", "deep")
        await watched.start()
        #expect(
            watched.removeLines() == [
                "old.jpg finished(found)", "sub directoryAppeared", "sub/deep.jpg finished(found)",
            ])
        try await watched.waitForClose("new.jpg") { try watched.write("inbox/new.jpg", "new") }
        try watched.write("aside.jpg", "moved")
        rename(watched.scratch.appending("aside.jpg"), watched.path("sub/in.jpg"))
        try await watched.awaitQuiet()
        #expect(watched.removeFinished() == ["new.jpg finished(closeWrite)", "sub/in.jpg finished(movedIn)"])
        await watched.end()
    }

    private static func firstLine(of path: String) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let file = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    @Test("A large tree is surveyed on a thread of its own, and the rule is called in the program's working directory")
    func largeTree() async throws {
        let asked = Locked<(threads: Set<String>, places: Set<String>)>(([], []))
        let watched = try Watched(exclude: { _, _ in
            let name = Self.firstLine(of: "/proc/thread-self/comm")
            let place = realpath("/proc/thread-self/cwd", nil)
            defer { free(place) }
            asked.withLock { asked in
                asked.threads.insert(name)
                asked.places.insert(place.map { String(cString: $0) } ?? "?")
            }
            return false
        })
        for year in 0..<4 {
            mkdir(watched.path("\(year)"), 0o755)
            for day in 0..<400 { mkdir(watched.path("\(year)/\(day)"), 0o755) }
        }
        await watched.start()
        #expect(watched.removeLines().count == 1604)
        #expect(watched.watch.snapshot().roots[0].watches == 1605)
        let (threads, places) = asked.withLock { $0 }
        #expect(threads.contains("inbox"))
        #expect(places.count == 1)
        // It has ended, and the next large survey gets another.
        mkdir(watched.scratch.appending("more"), 0o755)
        for day in 0..<400 { mkdir(watched.scratch.appending("more/\(day)"), 0o755) }
        rename(watched.scratch.appending("more"), watched.path("more"))
        try await watched.awaitQuiet()
        #expect(watched.removeLines().filter { $0.hasSuffix(" directoryAppeared") }.count == 401)
        await watched.end()
    }

    @Test("Two threads that share a large tree report each directory once, and each directory has a watch")
    func sharedTree() async throws {
        let watched = try Watched()
        var names: [String] = []
        for year in 0..<6 {
            mkdir(watched.path("\(year)"), 0o755)
            for day in 0..<300 {
                mkdir(watched.path("\(year)/\(day)"), 0o755)
                if day % 3 == 0 { mkdir(watched.path("\(year)/\(day)/raw"), 0o755) }
                names.append("\(year)/\(day)" + (day % 3 == 0 ? "/raw" : ""))
            }
        }
        for name in names { try watched.write("inbox/\(name)/old.jpg", name) }
        await watched.start()
        let reported = watched.removeLines()
        #expect(reported.count == Set(reported).count)
        #expect(reported.filter { $0.hasSuffix(" directoryAppeared") }.count == 6 + 1800 + 600)
        #expect(
            Set(reported.filter { $0.hasSuffix(" finished(found)") })
                == Set(names.map { "\($0)/old.jpg finished(found)" }))
        #expect(watched.watch.snapshot().watches == 1 + 6 + 1800 + 600)
        for name in names { try watched.write("inbox/\(name)/new.jpg", name) }
        try await watched.awaitQuiet()
        let finished = watched.removeFinished()
        #expect(finished.count == names.count)
        #expect(Set(finished) == Set(names.map { "\($0)/new.jpg finished(closeWrite)" }))
        await watched.end()
    }

    @Test("A file that is written slowly is reported when it is made and when it is closed, and not in between")
    func slowWrite() async throws {
        let watched = try Watched()
        await watched.start()
        let file = try await watched.openNew("slow.jpg")
        for part in 0..<5 {
            _ = "part \(part)\n".withCString { Glibc.write(file, $0, strlen($0)) }
            try await watched.passEvents()
        }
        #expect(watched.removeLines() == ["slow.jpg created"])
        try await watched.waitForClose("slow.jpg") { close(file) }
        try await watched.awaitQuiet()
        #expect(watched.removeLines() == ["slow.jpg finished(closeWrite)"])
        await watched.end()
    }

    @Test("Changes of an open file are reported on request")
    func changes() async throws {
        let watched = try Watched(reportsChanges: true)
        await watched.start()
        let file = try await watched.openNew("growing")
        _ = Glibc.write(file, "x", 1)
        try await watched.passEvents()
        try await watched.waitForClose("growing") { close(file) }
        try await watched.awaitQuiet()
        #expect(watched.removeLines() == ["growing created", "growing changed", "growing finished(closeWrite)"])
        await watched.end()
    }

    @Test("All files of a directory that is moved in are reported once")
    func treeMovedIn() async throws {
        let watched = try Watched()
        await watched.start()
        for sub in ["card", "card/100", "card/101", "card/101/raw"] { mkdir(watched.scratch.appending(sub), 0o755) }
        let names = ["card/a.jpg", "card/100/b.jpg", "card/101/c.jpg", "card/101/raw/d.cr3"]
        for name in names { try watched.write(name, name) }
        rename(watched.scratch.appending("card"), watched.path("card"))
        try await watched.awaitQuiet()
        #expect(Set(watched.removeFinished()) == Set(names.map { "\($0) finished(found)" }))
        #expect(watched.watch.snapshot().roots[0].watches == 5)
        // And out again: gone, and watched no more.
        rename(watched.path("card"), watched.scratch.appending("card"))
        try await watched.awaitQuiet()
        let lines = watched.removeLines()
        #expect(Set(lines.filter { $0.hasSuffix(" vanished") }) == Set(names.map { "\($0) vanished" }))
        #expect(watched.watch.snapshot().watches == 1)
        try watched.write("card/a.jpg", "again")
        try await watched.awaitQuiet()
        #expect(watched.removeLines().isEmpty)
        await watched.end()
    }

    @Test("Every file in many deep directories that are made at once is reported exactly once")
    func deepRace() async throws {
        let watched = try Watched()
        await watched.start()
        var expected: Set<String> = []
        for tree in 0..<40 {
            var path = "t\(tree)"
            for depth in 0..<12 {
                mkdir(watched.path(path), 0o755)
                // Empty: of one with content a listing may see two states, before and after the write.
                try watched.write("inbox/\(path)/f", "")
                expected.insert("\(path)/f")
                path += "/d\(depth)"
            }
        }
        try await watched.awaitQuiet()
        let reported = watched.removeFinishedPaths()
        #expect(reported.count == expected.count)
        #expect(Set(reported) == expected)
        await watched.end()
    }

    @Test("Renames of files and directories within a root are reported as renames")
    func renames() async throws {
        let watched = try Watched()
        mkdir(watched.path("day"), 0o755)
        try watched.write("inbox/day/1.jpg", "1")
        try watched.write("inbox/download.part", "2")
        await watched.start()
        _ = watched.removeNotices()
        rename(watched.path("download.part"), watched.path("day/2.jpg"))
        try await watched.awaitQuiet()
        #expect(watched.removeLines() == ["day/2.jpg renamed(download.part)"])
        rename(watched.path("day"), watched.path("night"))
        try await watched.awaitQuiet()
        let lines = watched.removeLines()
        #expect(lines.first == "night directoryAppeared")
        #expect(
            Set(lines) == [
                "night directoryAppeared", "night/1.jpg renamed(day/1.jpg)", "night/2.jpg renamed(day/2.jpg)",
                "day directoryVanished",
            ])
        try await watched.waitForClose("night/3.jpg") { try watched.write("inbox/night/3.jpg", "3") }
        try await watched.awaitQuiet()
        #expect(watched.removeFinished() == ["night/3.jpg finished(closeWrite)"])
        await watched.end()
    }

    @Test("A deleted file is reported as vanished; one that was forgotten before is not")
    func deletions() async throws {
        let watched = try Watched()
        for name in ["a.jpg", "b.jpg"] { try watched.write("inbox/\(name)", name) }
        mkdir(watched.path("sub"), 0o755)
        try watched.write("inbox/sub/c.jpg", "c")
        await watched.start()
        _ = watched.removeNotices()
        watched.queue.sync { watched.watch.forget(root: "inbox", path: "a.jpg") }
        unlink(watched.path("a.jpg"))
        unlink(watched.path("b.jpg"))
        try runProgram(["/bin/rm", "-r", watched.path("sub")])
        try await watched.awaitQuiet()
        #expect(Set(watched.removeLines()) == ["b.jpg vanished", "sub/c.jpg vanished", "sub directoryVanished"])
        #expect(watched.watch.snapshot().roots[0].knownFiles == 0)
        await watched.end()
    }

    @Test(
        "Files made by link(2), and files without a name that are given one, are reported though no close reports them")
    func linkedIn() async throws {
        let watched = try Watched()
        await watched.start()
        try watched.write("aside.jpg", "whole")
        #expect(link(watched.scratch.appending("aside.jpg"), watched.path("linked.jpg")) == 0)
        try await watched.awaitQuiet()
        #expect(watched.removeLines() == ["linked.jpg finished(found)"])
        await watched.end()
    }

    @Test("A file that was made and never closed is reported as found once it is unchanged from one tick to the next")
    func comesToRest() async throws {
        let watched = try Watched()
        await watched.start()
        let file = try await watched.openNew("open.jpg")
        defer { close(file) }
        #expect(watched.removeLines() == ["open.jpg created"])
        for expected in [[], ["open.jpg finished(found)"], []] {
            watched.queue.sync { watched.watch.checkNow() }
            try await watched.passEvents()
            #expect(watched.removeLines() == expected)
        }
        await watched.end()
    }

    @Test("Names of 255 bytes, with newlines and with invalid UTF-8 are reported unchanged")
    func names() async throws {
        let watched = try Watched()
        await watched.start()
        let names = [
            BytePath(Array(repeating: UInt8(ascii: "x"), count: 250) + Array(".jpg\n".utf8)),
            BytePath([0xFF, 0xFE, 0x0A, 0x80, 0x1B, 0x5B, 0x32, 0x4A]),
            BytePath(Array(repeating: 0xE9, count: 255)), " ", "\\x41",
        ]
        let directory = BytePath([0xC3, 0x28, 0x0A])
        let path = watched.scratch.bytePath.appending("inbox").appending(directory)
        #expect(path.withCString { mkdir($0, 0o755) } == 0)
        for name in names {
            let file = path.appending(name).withCString { creat($0, 0o644) }
            #expect(file >= 0)
            close(file)
        }
        try await watched.awaitQuiet()
        let reported = watched.removeNotices().filter { if case .finished = $0.kind { true } else { false } }.map(
            \.path)
        #expect(reported.count == names.count)
        #expect(Set(reported) == Set(names.map { directory.appending($0) }))
        await watched.end()
    }

    @Test("Entries that are no regular files are reported once, and neither followed nor opened")
    func specials() async throws {
        let watched = try Watched()
        #expect(symlink("/etc", watched.path("way")) == 0)
        await watched.start()
        #expect(watched.removeLines() == ["way notRegular(symbolicLink)"])
        #expect(mkfifo(watched.path("pipe"), 0o644) == 0)
        #expect(symlink("nowhere", watched.path("dangling")) == 0)
        try await watched.awaitQuiet()
        #expect(Set(watched.removeLines()) == ["pipe notRegular(fifo)", "dangling notRegular(symbolicLink)"])
        _ = await watched.reconcile()
        #expect(watched.removeLines().isEmpty)
        #expect(watched.watch.snapshot().watches == 1)
        await watched.end()
    }

    @Test("Excluded entries cost no watch and no notice")
    func exclusion() async throws {
        let watched = try Watched { path, kind in
            path.name == "@eaDir" && kind == .directory || path.lowercasedExtension == Array("tmp".utf8)
        }
        mkdir(watched.path("@eaDir"), 0o755)
        mkdir(watched.path("@eaDir/below"), 0o755)
        await watched.start()
        mkdir(watched.path("day"), 0o755)
        mkdir(watched.path("day/@eaDir"), 0o755)
        try watched.write("inbox/day/@eaDir/x.jpg", "x")
        try watched.write("inbox/day/y.tmp", "y")
        try watched.write("inbox/day/z.jpg", "")
        try await watched.awaitQuiet()
        #expect(watched.removeFinishedPaths() == ["day/z.jpg"])
        #expect(watched.watch.snapshot().watches == 2)
        await watched.end()
    }

    @Test("A reconciliation reports exactly the changes that events missed")
    func reconciliation() async throws {
        let watched = try Watched()
        for name in ["a.jpg", "b.jpg", "c.jpg"] { try watched.write("inbox/\(name)", name) }
        await watched.start()
        _ = watched.removeNotices()
        #expect(await watched.reconcile().map(\.found) == [0])
        #expect(watched.removeNotices().isEmpty)
        // A change of times alone raises no event that is watched.
        var times = [timespec(tv_sec: 5, tv_nsec: 0), timespec(tv_sec: 5, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, watched.path("b.jpg"), &times, 0) == 0)
        let reports = await watched.reconcile("inbox")
        #expect(reports.map(\.found) == [1])
        #expect(reports.map(\.files) == [3])
        #expect(watched.removeLines() == ["b.jpg finished(found)"])
        await watched.end()
    }

    @Test("A handler may reconcile, forget and end the watch; it is never called recursively")
    func handlerComesBack() async throws {
        let scratch = try ScratchDirectory()
        let queue = MonitorQueue(label: "test.watch")
        let watch = try DirectoryWatch(
            label: "test", queue: queue,
            roots: [WatchRoot(id: "a", path: scratch.bytePath, queue: MonitorQueue(label: "test.root"))])
        _ = creat(scratch.appending("a.jpg"), 0o644)
        let calls = Locked((depth: 0, deepest: 0, found: 0))
        await withCheckedContinuation { continuation in
            queue.async {
                watch.setHandler { notices in
                    calls.withLock {
                        $0.depth += 1
                        $0.deepest = max($0.deepest, $0.depth)
                        $0.found += notices.count
                    }
                    let found = calls.withLock { $0.found }
                    if found < 5 {
                        watch.forget(root: "a", path: "a.jpg")
                        watch.reconcile()
                    } else {
                        watch.invalidate { continuation.resume() }
                    }
                    calls.withLock { $0.depth -= 1 }
                }
                watch.activate()
            }
        }
        let (_, deepest, found) = calls.withLock { $0 }
        #expect(deepest == 1)
        #expect(found == 5)
    }
}
