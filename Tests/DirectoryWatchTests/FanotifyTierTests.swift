import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import SystemPackage
import TestSupport
import Testing

@testable import DirectoryWatch

/// Both queues and a tier over them, read by hand.
private final class Tier {
    struct Seen: Equatable, CustomStringConvertible {
        let watch: Int32
        let mask: InotifyMask
        let name: BytePath
        let cookie: UInt32
        let writer: Int32

        var description: String { "\(watch) \(mask.names) \(name)" }
    }

    static let mask: InotifyMask = [
        .created, .closedAfterWriting, .movedFrom, .movedTo, .deleted, .deletedSelf, .movedSelf, .onlyDirectory,
        .excludeUnlinked,
    ]

    let inotify = try? InotifyInstance()
    let group: FanotifyGroup
    let tier: FanotifyTier

    init() throws {
        group = try FanotifyGroup()
        tier = FanotifyTier(group: group, inotify: try #require(inotify), mask: Self.mask)
    }

    var counts: [Int] { [tier.snapshot.directories, tier.snapshot.marks] }

    func add(_ path: String) throws -> Int32 {
        try tier.addWatch(directory: try openDirectory(BytePath(path)), by: nil)
    }

    /// All that is queued now: first of the marks, then of the watches.
    func read() throws -> [Seen] {
        var seen: [Seen] = []
        let take = { (record: TierRecord) in
            seen.append(
                Seen(
                    watch: record.watch, mask: record.mask, name: BytePath(record.name), cookie: record.cookie,
                    writer: record.writer))
        }
        while let bytes = try bytes(of: try group.duplicate()) { _ = tier.forEach(FanotifyEvents(bytes: bytes), take) }
        while let bytes = try bytes(of: try #require(inotify).duplicate()) {
            tier.forEach(DirectoryEvents(bytes: bytes), take)
        }
        // The sentinels' own records go on to the core, which knows nothing of them.
        return seen.filter {
            FanotifyTier.isMarked($0.watch) || $0.mask.isDisjoint(with: [.deletedSelf, .ignored, .unmounted])
        }
    }

    private func bytes(of descriptor: consuming OwnedDescriptor) throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(descriptor.raw, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : nil
    }
}

@Suite("The fanotify tier tells what inotify's watches would", .serialized)
struct FanotifyTierTests {
    @Test(
        "Of directories that were added, whatever goes on beside them",
        .enabled(if: Watched.fanotifyRefusal == nil, "skipped: \(Watched.fanotifyRefusal ?? "")"),
        arguments: ["/tmp", "/dev/shm"])
    func records(place: String) throws {
        let scratch = try ScratchDirectory(below: place)
        for name in ["a", "b", "other"] { mkdir(scratch.appending(name), 0o755) }
        let tier = try Tier()
        let a = try tier.add(scratch.appending("a"))
        let b = try tier.add(scratch.appending("b"))
        #expect(a != b && FanotifyTier.isMarked(a) && FanotifyTier.isMarked(b))
        #expect(try tier.add(scratch.appending("a")) == a)
        #expect(tier.counts == [2, 1])
        #expect(tier.tier.snapshot.refusal == nil)

        mkdir(scratch.appending("a/sub"), 0o755)
        rename(scratch.appending("a/sub"), scratch.appending("b/moved"))
        rename(scratch.appending("b/moved"), scratch.appending("other/out"))
        rename(scratch.appending("other/out"), scratch.appending("a/in"))
        mkdir(scratch.appending("other/unseen"), 0o755)
        rmdir(scratch.appending("a/in"))
        let told = try tier.read()
        #expect(
            told.map(\.description) == [
                "\(a) CREATE,ISDIR sub", "\(a) MOVED_FROM,ISDIR sub", "\(b) MOVED_TO,ISDIR moved",
                "\(b) MOVED_FROM,ISDIR moved", "\(a) MOVED_TO,ISDIR in", "\(a) DELETE,ISDIR in",
            ])
        #expect(told.allSatisfy { $0.writer == getpid() })
        #expect(told[1].cookie == told[2].cookie && told[1].cookie != 0)
        #expect(Set(told.map(\.cookie)).count == 4)
        #expect(tier.tier.snapshot.strangers > 0)

        // Removed, one is silent, and the other is not.
        #expect(tier.tier.removeWatch(a))
        #expect(!tier.tier.removeWatch(a))
        mkdir(scratch.appending("a/late"), 0o755)
        mkdir(scratch.appending("b/late"), 0o755)
        #expect(try tier.read().map(\.description) == ["\(b) CREATE,ISDIR late"])
        // The last one takes the mark with it.
        #expect(tier.tier.removeWatch(b))
        #expect(tier.counts == [0, 0])
        #expect(throws: SystemCallError("fanotify_mark", .noSuchFileOrDirectory)) {
            try tier.group.unmark(fileSystemOf: try openDirectory(scratch.bytePath), .created)
        }
    }

    @Test(
        "A directory's own end and moves are told of itself; when it carried the sentinel, another is asked for again",
        .enabled(if: Watched.fanotifyRefusal == nil, "skipped: \(Watched.fanotifyRefusal ?? "")"))
    func ends() throws {
        let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        for name in ["a", "b"] { mkdir(scratch.appending(name), 0o755) }
        let tier = try Tier()
        let a = try tier.add(scratch.appending("a"))
        let b = try tier.add(scratch.appending("b"))
        rename(scratch.appending("a"), scratch.appending("c"))
        #expect(try tier.read().map(\.description) == ["\(a) MOVE_SELF,ISDIR "])
        rmdir(scratch.appending("c"))
        #expect(try tier.read().map(\.description) == ["\(a) DELETE_SELF,ISDIR ", "\(b) IGNORED "])
        let again = try tier.add(scratch.appending("b"))
        #expect(again != b)
        rmdir(scratch.appending("b"))
        #expect(try tier.read().map(\.description).first == "\(again) DELETE_SELF,ISDIR ")
    }

    @Test(
        "What may not be marked is watched by inotify, and that is said",
        .enabled(if: (try? FanotifyGroup()) != nil, "skipped: needs fanotify for directories"),
        arguments: ["/proc/self/net"])
    func fallback(place: String) throws {
        let tier = try Tier()
        let number = try tier.add(place)
        #expect(!FanotifyTier.isMarked(number))
        #expect(tier.tier.snapshot.refusal?.code == .notSupportedOnSocket)
        #expect(tier.tier.removeWatch(number))
        #expect(!tier.tier.removeWatch(number))
    }
}

@Suite("With the fanotify tier notices have a writer", .timeLimit(.minutes(60)))
struct FanotifyWatchTests {
    @Test(
        "The process that wrote, another's as well as this one's",
        .enabled(if: Watched.fanotifyRefusal == nil, "skipped: \(Watched.fanotifyRefusal ?? "")"))
    func writer() async throws {
        let watched = try Watched(tier: .fanotify)
        try watched.write("inbox/old.jpg", "old")
        await watched.start()
        #expect(watched.take().map(\.writer) == [nil])
        try await watched.waitForClose("a.jpg") { try watched.write("inbox/a.jpg", "a") }
        try await watched.waitForClose("b.jpg") {
            try runProgram(["/bin/sh", "-c", "echo $$ > \(watched.path("b.jpg"))"])
        }
        let writers = Dictionary(watched.take().map { ($0.path, $0.writer) }) { $1 }
        #expect(writers["a.jpg"] == getpid())
        #expect(writers["b.jpg"] == readNumber(watched.path("b.jpg")).map { Int32($0) })
        let tier = watched.watch.snapshot().tier
        #expect(tier?.directories == 1 && tier?.marks == 1 && tier?.refusal == nil)
        await watched.end()
    }
}

/// In a mount namespace of its own, in a process of its own: this program again, with a variable that tells it so.
@Suite("Marks come and go with their file systems", .timeLimit(.minutes(60)))
struct FanotifyMountTests {
    private static let variable = "PHOTOINBOX_TEST_FANOTIFY_MOUNTS"
    private static let isInside = getenv(variable) != nil

    @Test(
        "In a mount namespace of its own",
        .enabled(
            if: !isInside && Watched.fanotifyRefusal == nil, "skipped: \(Watched.fanotifyRefusal ?? "runs inside")"))
    func outside() async throws {
        let program = try #require(CommandLine.arguments.first)
        try await aside {
            try runProgram([
                "/usr/bin/unshare", "--mount", "--propagation", "private", "/usr/bin/env", "\(Self.variable)=1",
                program, "--testing-library", "swift-testing", "--filter", "FanotifyMountTests",
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
        "An unmount ends all watches there, and a new mount is marked anew",
        .enabled(if: isInside, "skipped: runs in the process that the other test starts"))
    func unmount() throws {
        let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        let place = scratch.appending("mount")
        mkdir(place, 0o755)
        try runProgram(["/bin/mount", "-t", "tmpfs", "photos", place])
        defer { umount2(place, Int32(MNT_DETACH)) }
        mkdir("\(place)/sub", 0o755)
        let tier = try Tier()
        let outside = try tier.add(scratch.path)
        let top = try tier.add(place)
        let sub = try tier.add("\(place)/sub")
        #expect([outside, top, sub].allSatisfy(FanotifyTier.isMarked))
        mkdir("\(place)/sub/a", 0o755)
        #expect(try tier.read().map(\.description) == ["\(sub) CREATE,ISDIR a"])

        try runProgram(["/bin/umount", place])
        let end = try tier.read()
        #expect(
            Set(end.map(\.description)) == [
                "\(top) UNMOUNT ", "\(top) IGNORED ", "\(sub) UNMOUNT ", "\(sub) IGNORED ",
            ])
        #expect(tier.counts == [1, 1])

        try runProgram(["/bin/mount", "-t", "tmpfs", "photos", place])
        let again = try tier.add(place)
        mkdir("\(place)/b", 0o755)
        mkdir(scratch.appending("c"), 0o755)
        #expect(Set(try tier.read().map(\.description)) == ["\(again) CREATE,ISDIR b", "\(outside) CREATE,ISDIR c"])
    }

    @Test(
        "A root that is unmounted and mounted again before anybody looked is watched on, by either tier",
        .enabled(
            if: isInside && access("/sbin/mkfs.ext4", X_OK) == 0,
            "skipped: needs mkfs.ext4, in the process that the other test starts"),
        arguments: WatchTier.allCases)
    func remount(tier: WatchTier) async throws {
        let watched = try Watched(tier: tier)
        let image = watched.scratch.appending("disk.img")
        try runProgram(["/sbin/mkfs.ext4", "-q", image, "4m"])
        let root = watched.scratch.appending("inbox")
        try runProgram(["/bin/mount", "-o", "loop", image, root])
        defer { umount2(root, Int32(MNT_DETACH)) }
        mkdir(watched.path("sub"), 0o755)
        await watched.start()
        #expect(watched.watch.snapshot().roots[0].tier == tier)
        try await watched.settle()
        _ = watched.take()
        try watched.whileEngineIsStuck {
            try Self.unmount(root)
            try runProgram(["/bin/mount", "-o", "loop", image, root])
        }
        try await watched.settle()
        try await watched.waitForClose("a.jpg") { try watched.write("inbox/a.jpg", "a") }
        try await watched.waitForClose("sub/b.jpg") { try watched.write("inbox/sub/b.jpg", "b") }
        #expect(watched.watch.snapshot().roots[0].tier == tier)
        #expect(watched.watch.snapshot().roots[0].verdict == .live)
        await watched.end()
    }

    @Test(
        "A root that is unmounted is gone, and back when it is mounted",
        .enabled(if: isInside, "skipped: runs in the process that the other test starts"),
        arguments: WatchTier.allCases)
    func rootUnmounted(tier: WatchTier) async throws {
        let watched = try Watched(tier: tier)
        let root = watched.scratch.appending("inbox")
        try runProgram(["/bin/mount", "-t", "tmpfs", "photos", root])
        defer { umount2(root, Int32(MNT_DETACH)) }
        mkdir(watched.path("sub"), 0o755)
        try watched.write("inbox/sub/a.jpg", "a")
        await watched.start()
        _ = watched.take()
        try await watched.wait {
            if case .rootGone = $0.kind { true } else { false }
        } while: {
            try Self.unmount(root)
        }
        #expect(!watched.take().contains { $0.kind == .vanished })
        try runProgram(["/bin/mount", "-t", "tmpfs", "photos", root])
        watched.queue.sync { watched.watch.checkNow() }
        try await watched.settle()
        try await watched.waitForClose("b.jpg") { try watched.write("inbox/b.jpg", "b") }
        #expect(watched.watch.snapshot().roots[0].tier == tier)
        await watched.end()
    }

    @Test(
        "Of two copies of one disk, both mounted, the second is watched by inotify",
        .enabled(
            if: isInside && access("/sbin/mkfs.ext4", X_OK) == 0,
            "skipped: needs mkfs.ext4, in the process that the other test starts"))
    func copies() throws {
        let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        try runProgram(["/sbin/mkfs.ext4", "-q", scratch.appending("one.img"), "4m"])
        try runProgram(["/bin/cp", scratch.appending("one.img"), scratch.appending("two.img")])
        for name in ["one", "two"] {
            mkdir(scratch.appending(name), 0o755)
            try runProgram(["/bin/mount", "-o", "loop", scratch.appending("\(name).img"), scratch.appending(name)])
        }
        defer { for name in ["one", "two"] { umount2(scratch.appending(name), Int32(MNT_DETACH)) } }
        let directories = try ["one", "two"].map {
            try DirectoryHandle(of: try openDirectory(BytePath(scratch.appending($0))))
        }
        #expect(directories[0] == directories[1], "two directories that records can't tell apart")
        let tier = try Tier()
        let one = try tier.add(scratch.appending("one"))
        let two = try tier.add(scratch.appending("two"))
        #expect(FanotifyTier.isMarked(one) && !FanotifyTier.isMarked(two))
        #expect(tier.tier.snapshot.refusal == SystemCallError("fanotify_mark", .improperLink))
        mkdir(scratch.appending("one/a"), 0o755)
        mkdir(scratch.appending("two/b"), 0o755)
        #expect(try tier.read().map(\.description) == ["\(one) CREATE,ISDIR a", "\(two) CREATE,ISDIR b"])
    }
}
