import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("The way to a root: what leads its path elsewhere is told at once")
struct RootPathTests {
    /// A directory with an inotify instance, one root and the table, driven by hand.
    private struct Traced {
        let scratch: ScratchDirectory
        let instance: InotifyInstance
        let root: BytePath
        var table = RootPathTable()
        /// Those that the table gave up last.
        var released: [Int32] = []
        /// Those that the kernel ended.
        var ended: Set<Int32> = []

        init(_ root: String, _ prepare: (ScratchDirectory) throws -> Void) throws {
            scratch = try ScratchDirectory()
            instance = try InotifyInstance()
            self.root = scratch.bytePath.appending(BytePath(root))
            try prepare(scratch)
            #expect(!trace())
        }

        /// Follows the path; whether it has to be followed again.
        @discardableResult
        mutating func trace() -> Bool {
            table.beginTrace(of: 0)
            let path = PathTracer(path: root, instance: instance).trace()
            let (isStale, released) = table.endTrace(of: 0, path)
            self.released = released
            return isStale
        }

        var path: RootPath { table.path(of: 0) ?? RootPath() }

        /// Takes what the kernel told: how many records there were, and whether the path may lead elsewhere now.
        mutating func take() throws -> (records: Int, concerned: Bool) {
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

    /// `relative` lies in `links`, `absolute` beside it; both lead to `a/b`.
    private static func links(_ scratch: ScratchDirectory) {
        tree(scratch)
        symlink("../a/b", scratch.appending("links/relative"))
        symlink(scratch.appending("links/relative"), scratch.appending("absolute"))
    }

    @Test(
        "Any rename of what a path leads through is told, one or more levels up, links and their targets included",
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
        #expect(try traced.take().concerned)
        traced.trace()
        #expect(!traced.path.isComplete)
    }

    @Test("Two ancestors that change places are told: the path leads to another root")
    func exchange() throws {
        var traced = try Traced("a/b/root", Self.tree)
        let scratch = traced.scratch
        try swapPlaces(scratch.appending("a"), scratch.appending("other"))
        #expect(try traced.take().concerned)
        #expect(!traced.trace() && traced.path.isComplete && traced.released.count == 2)
    }

    @Test(
        "A link that is set elsewhere is told, however that is done",
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
            _ = try traced.take()
            traced.trace()
            #expect(rename(new, link) == 0)
        }
        #expect(try traced.take().concerned)
        #expect(!traced.trace() && traced.path.isComplete)
        // The directories `links`, `a` and `b`, the link `relative`, and the old link, which the kernel ends once it is gone.
        #expect(traced.ended.union(traced.released).count == 5)
        #expect(traced.released.count == 5 || held == nil && means != "hard link")
        _ = consume held
    }

    @Test("What is done in a directory on the way costs no record")
    func quietAncestors() throws {
        var traced = try Traced("a/b/root", Self.tree)
        for name in ["a/file", "a/b/file", "file"] {
            close(creat(traced.scratch.appending(name), 0o644))
            unlink(traced.scratch.appending(name))
        }
        #expect(try traced.take().records == 0)
    }

    @Test("Of a path that ends too early, the next name is told when it comes, and only that one")
    func awaiting() throws {
        var traced = try Traced("a/b/new/deep") { Self.tree($0) }
        #expect(!traced.path.isComplete && traced.path.missing?.name == "new")
        mkdir(traced.scratch.appending("a/b/else"), 0o755)
        #expect(try !traced.take().concerned)
        mkdir(traced.scratch.appending("a/b/new"), 0o755)
        #expect(try traced.take().concerned)
        #expect(!traced.trace() && traced.path.missing?.name == "deep")
        // The directory above is passed through now: its busy watch is given up for one that is quiet.
        #expect(traced.released.count == 1)
        for watch in traced.released { traced.instance.removeWatch(watch) }
        #expect(try traced.take().concerned)
        traced.trace()
        mkdir(traced.scratch.appending("a/b/more"), 0o755)
        #expect(try traced.take().records == 0)
        mkdir(traced.scratch.appending("aside"), 0o755)
        rename(traced.scratch.appending("aside"), traced.scratch.appending("a/b/new/deep"))
        #expect(try traced.take().concerned)
        #expect(!traced.trace() && traced.path.isComplete)
    }

    @Test("A link that leads nowhere, a file in a directory's place, links that lead to themselves")
    func deadEnds() throws {
        var traced = try Traced("dangling/root") { scratch in
            Self.tree(scratch)
            symlink("a/missing", scratch.appending("dangling"))
        }
        #expect(traced.path.missing?.name == "missing")
        for name in ["a/missing", "a/missing/root"] { mkdir(traced.scratch.appending(name), 0o755) }
        #expect(try traced.take().concerned)
        traced.trace()
        #expect(traced.path.isComplete)

        traced = try Traced("file/root") { close(creat($0.appending("file"), 0o644)) }
        #expect(traced.path.missing?.name == "file")
        unlink(traced.scratch.appending("file"))
        mkdir(traced.scratch.appending("file"), 0o755)
        #expect(try traced.take().concerned)

        traced = try Traced("loop/root") { symlink("loop", $0.appending("loop")) }
        #expect(!traced.path.isComplete && traced.path.isStable)
        unlink(traced.scratch.appending("loop"))
        #expect(try traced.take().concerned)
    }

    @Test("A tree's watch on a directory of the way keeps all that it asks for")
    func sharedWithTree() throws {
        var traced = try Traced("a/b/root", Self.tree)
        let directory = try openDirectory(traced.scratch.bytePath.appending("a"))
        // Whichever comes first, both have one watch.
        let watch = try traced.instance.addWatch(directory: directory, [.created, .deletedSelf, .movedSelf])
        #expect(traced.table.uses(watch))
        traced.trace()
        close(creat(traced.scratch.appending("a/file"), 0o644))
        var (records, concerned) = try traced.take()
        #expect(records == 1 && !concerned)
        // The tree gives it up: its end is told, and the way is watched anew.
        traced.instance.removeWatch(watch)
        (records, concerned) = try traced.take()
        #expect(records == 1 && concerned && !traced.table.uses(watch))
        traced.trace()
        rename(traced.scratch.appending("a"), traced.scratch.appending("away"))
        #expect(try traced.take().concerned)
    }

    @Test("A root that is reached through /proc is followed by the kernel")
    func throughProc() throws {
        let scratch = try ScratchDirectory()
        Self.tree(scratch)
        let directory = try openDirectory(scratch.bytePath.appending("a"))
        let path = BytePath("/proc/self/fd/\(directory.raw)/b/root")
        let traced = PathTracer(path: path, instance: try InotifyInstance()).trace()
        #expect(traced.isComplete && traced.isStable)
    }
}

@Suite("Which watches stand on which ways")
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

    @Test("A watch that several roots need is given up when none does")
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

    @Test("What is told while a path is followed makes the result stale, of the watches that it found")
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

    @Test("So much meanwhile that it is not kept: stale, too, and no more than once")
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

    @Test("A watch that ended concerns its users once, and is not given up again")
    func ending() {
        var table = table(way([1, 2]), way([1]))
        #expect(table.apply(watch: 1, mask: .ignored, name: "") == [0, 1])
        #expect(table.apply(watch: 1, mask: .movedSelf, name: "").isEmpty)
        table.beginTrace(of: 0)
        #expect(table.endTrace(of: 0, way([3])) == (false, [2]))
    }

    @Test("A wide watch stays as long as anybody waits for a name in it")
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

    @Test("What a try abandoned is given up, if no other way needs it")
    func abandoned() {
        var table = table(way([1]))
        var way = way([2])
        way.abandoned = [1, 4]
        table.beginTrace(of: 1)
        #expect(table.endTrace(of: 1, way) == (false, [4]))
    }
}
