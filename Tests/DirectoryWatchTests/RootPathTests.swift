import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("The path of a root: a change that leads it elsewhere is reported at once")
struct RootPathTests {
    /// A directory with an inotify instance, one root and the table, driven by hand.
    private struct Traced {
        let scratch: ScratchDirectory
        let instance: InotifyInstance
        let root: BytePath
        var table = RootPathTable()
        /// The watches that the table released last.
        var released: [Int32] = []
        /// The watches that the kernel removed.
        var ended: Set<Int32> = []

        init(_ root: String, _ prepare: (ScratchDirectory) throws -> Void) throws {
            scratch = try ScratchDirectory()
            instance = try InotifyInstance()
            self.root = scratch.bytePath.appending(BytePath(root))
            try prepare(scratch)
            #expect(!trace())
        }

        /// Traces the path; returns whether it has to be traced again.
        @discardableResult
        mutating func trace() -> Bool {
            table.beginTrace(of: 0)
            let path = PathTracer(path: root, instance: instance).trace()
            let (isStale, released) = table.endTrace(of: 0, path)
            self.released = released
            return isStale
        }

        var path: RootPath { table.path(of: 0) ?? RootPath() }

        /// Reads the records of the kernel: how many there were, and whether the path may lead elsewhere now.
        mutating func readRecords() throws -> (records: Int, concerned: Bool) {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 8)
            defer { buffer.deallocate() }
            let count = try instance.read(into: buffer)
            var result = (records: 0, concerned: false)
            for record in InotifyRecords(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
                result.records += 1
                if record.mask.contains(.ignored) { ended.insert(record.watch) }
                if !table.apply(watch: record.watch, mask: record.mask, name: record.copiedName).isEmpty {
                    result.concerned = true
                }
            }
            return result
        }
    }

    private static func tree(_ scratch: ScratchDirectory) {
        for name in ["a", "a/b", "a/b/root", "other", "other/b", "other/b/root", "links"] {
            mkdir(scratch.appending(name), 0o755)
        }
    }

    /// `relative` is in `links`, `absolute` beside it; both lead to `a/b`.
    private static func links(_ scratch: ScratchDirectory) {
        tree(scratch)
        symlink("../a/b", scratch.appending("links/relative"))
        symlink(scratch.appending("links/relative"), scratch.appending("absolute"))
    }

    @Test(
        "A rename of any directory or link that the path leads through is reported, one or more levels up",
        arguments: [
            ("a/b/root", ["a", "away"]), ("a/b/root", ["a/b", "away"]),
            ("absolute/root", ["absolute", "away"]), ("absolute/root", ["links", "away"]),
            ("absolute/root", ["links/relative", "away"]), ("absolute/root", ["a", "away"]),
            ("absolute/root", ["a/b", "away"]), ("absolute/root", ["other", "absolute"]),
            ("a/../links/relative/root", ["a", "away"]), ("./a//b/./root/", ["a/b", "other/c"]),
        ])
    func renames(root: String, names: [String]) throws {
        var traced = try Traced(root, Self.links)
        #expect(traced.path.isComplete && traced.path.isStable && traced.path.unwatched == 0)
        let (from, to) = (traced.scratch.appending(names[0]), traced.scratch.appending(names[1]))
        if rename(from, to) != 0 {
            // A directory does not take a link's place.
            unlink(to)
            #expect(rename(from, to) == 0)
        }
        #expect(try traced.readRecords().concerned)
        traced.trace()
        #expect(!traced.path.isComplete)
    }

    @Test("Exchanging two ancestors is reported")
    func exchange() throws {
        var traced = try Traced("a/b/root", Self.tree)
        let scratch = traced.scratch
        try swapPlaces(scratch.appending("a"), scratch.appending("other"))
        #expect(try traced.readRecords().concerned)
        #expect(!traced.trace() && traced.path.isComplete && traced.released.count == 2)
    }

    @Test(
        "A changed link is reported, however it was changed",
        arguments: ["rename", "unlink", "unlink of an open one", "hard link"])
    func linkSetElsewhere(by means: String) throws {
        var traced = try Traced("absolute/root", Self.links)
        let (link, new) = (traced.scratch.appending("absolute"), traced.scratch.appending("new"))
        #expect(symlink("other/b", new) == 0)
        // As a child process may have it open for a moment that is started while the link is followed.
        let held =
            means == "unlink of an open one" ? try openDirectory(traced.scratch.bytePath).openPlace("absolute") : nil
        switch means {
        case "rename": #expect(rename(new, link) == 0)
        case "unlink", "unlink of an open one":
            unlink(link)
            #expect(rename(new, link) == 0)
        default:
            // The link lives on under another name, so nothing ends and nothing moves.
            #expect(linkat(AT_FDCWD, link, AT_FDCWD, "\(link).second", 0) == 0)
            _ = try traced.readRecords()
            traced.trace()
            #expect(rename(new, link) == 0)
        }
        #expect(try traced.readRecords().concerned)
        #expect(!traced.trace() && traced.path.isComplete)
        // The directories `links`, `a` and `b`, the link `relative`, and the old link, which the kernel ends once it is gone.
        #expect(traced.ended.union(traced.released).count == 5)
        #expect(traced.released.count == 5 || held == nil && means != "hard link")
        _ = consume held
    }

    @Test("Changes of entries in a directory of the path raise no record")
    func quietAncestors() throws {
        var traced = try Traced("a/b/root", Self.tree)
        for name in ["a/file", "a/b/file", "file"] {
            close(creat(traced.scratch.appending(name), 0o644))
            unlink(traced.scratch.appending(name))
        }
        #expect(try traced.readRecords().records == 0)
    }

    @Test("If a path ends too early, only the missing name is reported when it appears")
    func awaiting() throws {
        var traced = try Traced("a/b/new/deep") { Self.tree($0) }
        #expect(!traced.path.isComplete && traced.path.missing?.name == "new")
        mkdir(traced.scratch.appending("a/b/else"), 0o755)
        #expect(try !traced.readRecords().concerned)
        mkdir(traced.scratch.appending("a/b/new"), 0o755)
        #expect(try traced.readRecords().concerned)
        #expect(!traced.trace() && traced.path.missing?.name == "deep")
        // The directory above is passed through now: its busy watch is given up for one that is quiet.
        #expect(traced.released.count == 1)
        for watch in traced.released { traced.instance.removeWatch(watch) }
        #expect(try traced.readRecords().concerned)
        traced.trace()
        mkdir(traced.scratch.appending("a/b/more"), 0o755)
        #expect(try traced.readRecords().records == 0)
        mkdir(traced.scratch.appending("aside"), 0o755)
        rename(traced.scratch.appending("aside"), traced.scratch.appending("a/b/new/deep"))
        #expect(try traced.readRecords().concerned)
        #expect(!traced.trace() && traced.path.isComplete)
    }

    @Test("Dangling links, files instead of directories and link loops end the path")
    func deadEnds() throws {
        var traced = try Traced("dangling/root") { scratch in
            Self.tree(scratch)
            symlink("a/missing", scratch.appending("dangling"))
        }
        #expect(traced.path.missing?.name == "missing")
        for name in ["a/missing", "a/missing/root"] { mkdir(traced.scratch.appending(name), 0o755) }
        #expect(try traced.readRecords().concerned)
        traced.trace()
        #expect(traced.path.isComplete)

        traced = try Traced("file/root") { close(creat($0.appending("file"), 0o644)) }
        #expect(traced.path.missing?.name == "file")
        unlink(traced.scratch.appending("file"))
        mkdir(traced.scratch.appending("file"), 0o755)
        #expect(try traced.readRecords().concerned)

        traced = try Traced("loop/root") { symlink("loop", $0.appending("loop")) }
        #expect(!traced.path.isComplete && traced.path.isStable)
        unlink(traced.scratch.appending("loop"))
        #expect(try traced.readRecords().concerned)
    }

    @Test("A tree's watch on a directory of the path keeps its mask")
    func sharedWithTree() throws {
        var traced = try Traced("a/b/root", Self.tree)
        let directory = try openDirectory(traced.scratch.bytePath.appending("a"))
        // Whichever comes first, both have one watch.
        let watch = try traced.instance.addWatch(directory: directory, [.created, .deletedSelf, .movedSelf])
        #expect(traced.table.uses(watch))
        traced.trace()
        close(creat(traced.scratch.appending("a/file"), 0o644))
        var (records, concerned) = try traced.readRecords()
        #expect(records == 1 && !concerned)
        // The tree releases it: its end is reported, and the path is traced again.
        traced.instance.removeWatch(watch)
        (records, concerned) = try traced.readRecords()
        #expect(records == 1 && concerned && !traced.table.uses(watch))
        traced.trace()
        rename(traced.scratch.appending("a"), traced.scratch.appending("away"))
        #expect(try traced.readRecords().concerned)
    }

    @Test("A path through /proc is traced as the kernel follows it")
    func throughProc() throws {
        let scratch = try ScratchDirectory()
        Self.tree(scratch)
        let directory = try openDirectory(scratch.bytePath.appending("a"))
        let path = BytePath("/proc/self/fd/\(directory.raw)/b/root")
        let traced = PathTracer(path: path, instance: try InotifyInstance()).trace()
        #expect(traced.isComplete && traced.isStable)
    }
}

@Suite("The watches on the paths of roots")
struct RootPathTableTests {
    private func way(_ watches: Set<Int32>, awaiting: (Int32, BytePath)? = nil) -> RootPath {
        RootPath(
            watches: watches, missing: awaiting.map { RootPath.MissingName(watch: $0.0, name: $0.1) },
            isComplete: awaiting == nil, unwatched: 0, isStable: true, abandoned: [])
    }

    private func table(_ ways: RootPath...) -> RootPathTable {
        var table = RootPathTable()
        for (root, way) in ways.enumerated() {
            table.beginTrace(of: root)
            #expect(table.endTrace(of: root, way) == (false, []))
        }
        return table
    }

    @Test("A watch that several roots need is released when none needs it")
    func sharing() {
        var table = table(way([1, 2]), way([1, 3]))
        #expect(table.apply(watch: 1, mask: .movedSelf, name: "") == [0, 1])
        #expect(table.apply(watch: 3, mask: .movedSelf, name: "") == [1])
        #expect(table.apply(watch: 4, mask: .movedSelf, name: "").isEmpty)
        table.beginTrace(of: 0)
        #expect(table.endTrace(of: 0, way([5])) == (false, [2]))
        table.beginTrace(of: 1)
        #expect(table.endTrace(of: 1, way([5])) == (false, [1, 3]))
        #expect(table.count == 1)
    }

    @Test("A record of a watch on a path that is being traced makes the result stale")
    func meanwhile() {
        var table = table(way([1]), way([1]))
        table.beginTrace(of: 0)
        #expect(table.apply(watch: 7, mask: .movedSelf, name: "").isEmpty)
        #expect(table.endTrace(of: 0, way([1, 7])) == (true, []))
        // With nothing under way it is forgotten.
        table.beginTrace(of: 1)
        #expect(table.endTrace(of: 1, way([1, 7])) == (false, []))
        table.beginTrace(of: 0)
        _ = table.apply(watch: 9, mask: .created, name: "x")
        #expect(table.endTrace(of: 0, way([1, 9], awaiting: (9, "x"))) == (true, []))
    }

    @Test("Too many records meanwhile make one result stale")
    func tooMuchMeanwhile() {
        var table = table(way([1]))
        table.beginTrace(of: 0)
        for watch in 100...Int32(101 + RootPathTable.meanwhileLimit) {
            _ = table.apply(watch: watch, mask: .movedSelf, name: "")
        }
        #expect(table.endTrace(of: 0, way([1])).isStale)
        table.beginTrace(of: 0)
        #expect(!table.endTrace(of: 0, way([1])).isStale)
    }

    @Test("A watch that ended concerns its roots once, and is not released again")
    func ending() {
        var table = table(way([1, 2]), way([1]))
        #expect(table.apply(watch: 1, mask: .ignored, name: "") == [0, 1])
        #expect(table.apply(watch: 1, mask: .movedSelf, name: "").isEmpty)
        table.beginTrace(of: 0)
        #expect(table.endTrace(of: 0, way([3])) == (false, [2]))
    }

    @Test("A watch for names stays as long as a path lacks a name in its directory")
    func narrowing() {
        var table = table(way([1], awaiting: (1, "a")), way([1], awaiting: (1, "b")))
        #expect(table.needsNames)
        #expect(table.apply(watch: 1, mask: .created, name: "a") == [0])
        #expect(table.apply(watch: 1, mask: .deleted, name: "b").isEmpty)
        table.beginTrace(of: 0)
        #expect(table.endTrace(of: 0, way([1, 2])) == (false, []))
        table.beginTrace(of: 1)
        #expect(table.endTrace(of: 1, way([1, 3])) == (false, [1]))
        #expect(!table.needsNames && table.uses(1), "its end is still awaited by both")
        #expect(table.apply(watch: 1, mask: .ignored, name: "") == [0, 1])
    }

    @Test("A watch that an attempt abandoned is released, unless another path needs it")
    func abandoned() {
        var table = table(way([1]))
        var way = way([2])
        way.abandoned = [1, 4]
        table.beginTrace(of: 1)
        #expect(table.endTrace(of: 1, way) == (false, [4]))
    }
}
