import TestSupport
import Testing

/// Each with its own mounts; nothing is polled and no tick looks, so what is noticed was told by an event.
@Suite(
    "Roots that are unmounted, covered, moved and replaced are gone, not emptied, and come back by themselves",
    .tags(.heavy), .enabled(if: MountBox.refusal == nil, "\(MountBox.refusal ?? "")"), .timeLimit(.minutes(60)))
struct MountTests {
    private static let withoutDisks: Comment = "skipped: needs root, loop devices and mkfs.ext4"
    private static let gone = "inbox  rootGone(replaced)"
    private static let absent = "inbox  rootGone(No such file or directory)"
    private static let back = "inbox  rootBack"
    /// A root whose file system is its own, with one file two levels down.
    private static let mounted =
        "mkdir inbox; mount -t tmpfs photos inbox; mkdir inbox/sub; echo 1 > inbox/sub/a.jpg"
    /// The same on the file system around it, three levels down.
    private static let plain = "mkdir -p up/top/inbox/sub; echo 1 > up/top/inbox/sub/a.jpg"
    private static let plainRoot = ["inbox": "up/top/inbox"]

    @Test("Unmounted: at once, since nothing of it is held open; another file system there is another root")
    func unmounted() async throws {
        let box = try await MountBox(Self.mounted)
        // The directory that was below is the root now, and it is empty.
        try await box.run("unmount inbox", tells: Self.back)
        var (notices, state) = try await box.settle()
        #expect(notices == [Self.back, Self.gone])
        #expect(state == "[inbox] inbox live watches=1 files=0")
        try await box.run(
            "mkdir else; mount -t tmpfs photos else; echo 2 > else/b.jpg; mount --move else inbox",
            tells: "inbox b.jpg finished(found)")
        (notices, state) = try await box.settle()
        #expect(notices == [Self.back, Self.gone, "inbox b.jpg finished(found)"])
    }

    @Test("Unmounted while a program is still in it: at once, though the file system lives on")
    func unmountedLazily() async throws {
        let box = try await MountBox("\(Self.mounted); (cd inbox; exec sleep 1000) &")
        try await box.run("umount -l inbox", tells: Self.back)
        #expect(try await box.settle().notices == [Self.back, Self.gone])
    }

    @Test(
        "A disk that is unmounted and mounted again: what was known is known, and what differs is told",
        .enabled(if: MountBox.hasDisks, withoutDisks))
    func diskComesBack() async throws {
        let box = try await MountBox(
            """
            truncate -s 32M disk; mkfs.ext4 -q -F disk; mkdir inbox; echo 0 > inbox/below.jpg; mount -o loop disk inbox
            mkdir inbox/sub; echo 1 > inbox/sub/a.jpg; echo 2 > inbox/b.jpg; echo 3 > inbox/c.jpg
            """)
        try await box.run("unmount inbox", tells: Self.back)
        var (notices, state) = try await box.settle()
        #expect(notices == [Self.back, Self.gone, "inbox below.jpg finished(found)"])
        try await box.run(
            """
            mkdir else; mount -o loop disk else; rm else/b.jpg; echo 4 > else/sub/d.jpg; unmount else
            mount -o loop disk inbox
            """, tells: "inbox sub/d.jpg finished(found)")
        (notices, state) = try await box.settle()
        #expect(notices == [Self.back, Self.gone, "inbox b.jpg vanished", "inbox sub/d.jpg finished(found)"])
        #expect(state == "[inbox] inbox live watches=3 files=3")
        // And the directory below it, which is known by now, too.
        try await box.run("unmount inbox", tells: Self.back)
        #expect(try await box.settle().notices == [Self.back, Self.gone])
    }

    @Test("Mounted over and uncovered again: all of it is known as it was, and what changed below is told")
    func covered() async throws {
        let box = try await MountBox("\(Self.plain); echo 2 > up/top/inbox/b.jpg", roots: Self.plainRoot)
        try await box.run("mount -t tmpfs cover up/top/inbox", tells: Self.back)
        #expect(try await box.settle().notices == [Self.back, Self.gone])
        try await box.run("unmount up/top/inbox; echo 3 > up/top/inbox/sub/c.jpg", tells: Self.back)
        #expect(try await box.settle().notices.filter { !$0.contains("c.jpg") } == [Self.back, Self.gone])
        #expect(try await box.settle().state == "[inbox] inbox live watches=2 files=3")
    }

    @Test(
        "An ancestor that is renamed takes the root with it, one or two levels up; back, only differences are told",
        arguments: [("up/top", "up/away"), ("up", "away")])
    func ancestorRenamed(from: String, to: String) async throws {
        let box = try await MountBox(Self.plain, roots: Self.plainRoot)
        try await box.run("mv \(from) \(to)", tells: Self.absent)
        #expect(try await box.settle() == ([Self.absent], "[] inbox gone watches=0 files=1"))
        let inbox = to + "up/top/inbox".dropFirst(from.count)
        try await box.run("echo 2 > \(inbox)/sub/b.jpg; mv \(to) \(from)", tells: "inbox sub/b.jpg finished(found)")
        let (notices, state) = try await box.settle()
        #expect(notices == [Self.back, "inbox sub/b.jpg finished(found)"])
        #expect(state == "[inbox] inbox live watches=2 files=2")
    }

    @Test("Two ancestors that change places: another root, and back again")
    func ancestorsExchanged() async throws {
        let box = try await MountBox(
            "\(Self.plain); mkdir -p other/top/inbox; echo 2 > other/top/inbox/b.jpg", roots: Self.plainRoot)
        let (up, other) = ("\(box.path)/up", "\(box.path)/other")
        var before = monotonic()
        try swapPlaces(up, other)
        try await box.wait(for: "inbox b.jpg finished(found)", since: before)
        #expect(try await box.settle().notices == [Self.back, Self.gone, "inbox b.jpg finished(found)"])
        before = monotonic()
        try swapPlaces(up, other)
        try await box.wait(for: Self.back, since: before)
        #expect(try await box.settle().notices == [Self.back, Self.gone])
    }

    @Test("Deleted and made again, with what leads to it, in steps")
    func deletedAndMade() async throws {
        let box = try await MountBox(Self.plain, roots: Self.plainRoot)
        try await box.run("mv up/top/inbox aside; rm -r up", tells: Self.absent)
        #expect(try await box.settle().notices == [Self.absent])
        for step in ["mkdir up", "mkdir up/top"] { try box.run(step) }
        try await box.run("mv aside up/top/inbox", tells: Self.back)
        #expect(try await box.settle() == ([Self.back], "[inbox] inbox live watches=2 files=1"))
        // Really deleted: what was in it is deleted, file by file, before it is.
        try await box.run("rm -r up/top/inbox", tells: Self.absent)
        _ = try await box.settle()
        try await box.run("mkdir -p new/top/inbox; echo 1 > new/top/inbox/x.jpg; rm -r up; mv new up", tells: Self.back)
        #expect(try await box.settle().notices == [Self.back, "inbox x.jpg finished(found)"])
    }

    @Test("A root that is replaced by a rename is another one, and the old one is known when it is back")
    func replaced() async throws {
        let box = try await MountBox("\(Self.plain); mkdir new; echo 2 > new/b.jpg", roots: Self.plainRoot)
        try await box.run("mv up/top/inbox old; mv new up/top/inbox", tells: "inbox b.jpg finished(found)")
        let notices = try await box.settle().notices
        #expect(notices.allSatisfy { !$0.contains("vanished") && !$0.contains("a.jpg") })
        try await box.run("mv up/top/inbox new; mv old up/top/inbox", tells: Self.back)
        #expect(try await box.settle().notices.allSatisfy { $0.hasPrefix("inbox  root") })
        #expect(try await box.settle().state == "[inbox] inbox live watches=2 files=1")
    }

    @Test("A symbolic link in the root's path that is set elsewhere")
    func linkSetElsewhere() async throws {
        let box = try await MountBox(
            "\(Self.plain); mkdir -p other/inbox; echo 2 > other/inbox/b.jpg; ln -s up/top way",
            roots: ["inbox": "way/inbox"])
        try await box.run("ln -s other new; mv -T new way", tells: "inbox b.jpg finished(found)")
        #expect(try await box.settle().notices == [Self.back, Self.gone, "inbox b.jpg finished(found)"])
        try await box.run("rm way", tells: Self.absent)
        try await box.run("ln -s up/top way", tells: Self.back)
        #expect(try await box.settle().notices.allSatisfy { !$0.contains("vanished") && !$0.contains("a.jpg") })
    }

    @Test("Remounted read-only and back: it stays live, and nothing is told of it")
    func readOnly() async throws {
        let box = try await MountBox(Self.mounted)
        for option in ["ro", "rw"] {
            try box.run("mount -o remount,\(option) inbox")
            #expect(try await box.settle() == ([], "[inbox] inbox live watches=2 files=1"))
        }
        try await box.run("echo 2 > inbox/b.jpg", tells: "inbox b.jpg finished(closeWrite)")
    }

    @Test("A mount that is moved away takes the root with it, and brings it back as it was")
    func moved() async throws {
        let box = try await MountBox("\(Self.mounted); mkdir else")
        try await box.run("mount --move inbox else", tells: Self.back)
        #expect(try await box.settle().notices == [Self.back, Self.gone])
        try await box.run("echo 2 > else/sub/b.jpg; mount --move else inbox", tells: "inbox sub/b.jpg finished(found)")
        #expect(try await box.settle().notices == [Self.back, Self.gone, "inbox sub/b.jpg finished(found)"])
    }

    @Test("The same directory bound over itself is the same root; another one is another")
    func bound() async throws {
        let box = try await MountBox("\(Self.plain); mkdir other", roots: Self.plainRoot)
        try box.run("mount --bind up/top/inbox up/top/inbox")
        #expect(try await box.settle() == ([], "[inbox] inbox live watches=2 files=1"))
        try await box.run("mount --bind other up/top/inbox", tells: Self.back)
        try await box.run("echo 2 > other/b.jpg", tells: "inbox b.jpg finished(closeWrite)")
        try await box.run("unmount up/top/inbox", tells: Self.back)
        #expect(try await box.settle().notices.allSatisfy { !$0.contains("vanished") && !$0.contains("a.jpg") })
    }

    @Test("Roots that share the way, one inside the other's tree: each hears of its own")
    func nested() async throws {
        let box = try await MountBox(
            "mkdir -p outer/middle/inner; echo 1 > outer/middle/inner/a.jpg",
            roots: ["outer": "outer", "inner": "outer/middle/inner"])
        try await box.run("mv outer/middle outer/away", tells: "inner  rootGone(No such file or directory)")
        #expect(try await box.settle().notices.contains("outer away directoryAppeared"))
        try await box.run("mv outer/away outer/middle", tells: "inner  rootBack")
        // The outer tree's watches are whole: what is done in the middle is told.
        try await box.run("echo 2 > outer/middle/b.jpg", tells: "outer middle/b.jpg finished(closeWrite)")
    }
}

/// Mounts inside a root.
@Suite(
    "What is mounted inside a root comes and goes without being deleted",
    .tags(.heavy), .enabled(if: MountBox.refusal == nil, "\(MountBox.refusal ?? "")"), .timeLimit(.minutes(60)))
struct InnerMountTests {
    @Test("A file system that appears in a root is found, and kept in mind while it is away")
    func comesAndGoes() async throws {
        let box = try await MountBox("mkdir -p inbox/card; echo 1 > inbox/card/below.jpg; echo 2 > inbox/b.jpg")
        try await box.run(
            "mkdir else; mount -t tmpfs card else; mkdir else/DCIM; echo 3 > else/DCIM/a.jpg; mount --move else inbox/card",
            tells: "inbox card/DCIM/a.jpg finished(found)")
        var (notices, state) = try await box.settle()
        #expect(
            notices == [
                "inbox card directoryAppeared", "inbox card treeGone", "inbox card/DCIM directoryAppeared",
                "inbox card/DCIM/a.jpg finished(found)",
            ])
        #expect(state == "[inbox] inbox live watches=3 files=2")
        try await box.run("echo 4 > inbox/card/DCIM/c.jpg", tells: "inbox card/DCIM/c.jpg finished(closeWrite)")
        _ = try await box.settle()
        // Moved away: what was below is there again, as it was known.
        try await box.run("mount --move inbox/card else", tells: "inbox card treeBack")
        (notices, state) = try await box.settle()
        #expect(notices == ["inbox card treeBack", "inbox card treeGone"])
        #expect(state == "[inbox] inbox live watches=2 files=2")
        try await box.run(
            "rm else/DCIM/c.jpg; echo 5 > else/d.jpg; mount --move else inbox/card",
            tells: "inbox card/d.jpg finished(found)")
        (notices, state) = try await box.settle()
        #expect(
            notices == [
                "inbox card treeBack", "inbox card treeGone", "inbox card/DCIM/c.jpg vanished",
                "inbox card/d.jpg finished(found)",
            ])
        #expect(state == "[inbox] inbox live watches=3 files=3")
    }

    @Test("Unmounted, and its directory removed at once, as desktops do: gone, not deleted", arguments: ["", "-l"])
    func unmountedAndRemoved(option: String) async throws {
        let box = try await MountBox(
            "mkdir -p inbox/media/card; mount -t tmpfs card inbox/media/card; echo 1 > inbox/media/card/a.jpg")
        try await box.run(
            "unmount \(option) inbox/media/card; rmdir inbox/media/card", tells: "inbox media/card treeGone")
        let (notices, state) = try await box.settle()
        #expect(notices.allSatisfy { !$0.contains("vanished") })
        #expect(state == "[inbox] inbox live watches=2 files=0")
    }

    @Test("Unmounted, and the directories above it removed at once")
    func removedWithItsParents() async throws {
        let box = try await MountBox(
            "mkdir -p inbox/media/card; mount -t tmpfs card inbox/media/card; echo 1 > inbox/media/card/a.jpg")
        try await box.run("unmount inbox/media/card; rm -r inbox/media", tells: "inbox media/card treeGone")
        #expect(try await box.settle().notices.allSatisfy { !$0.contains("a.jpg") })
    }

    @Test("A directory bound over another in a root covers it, though both are on one file system")
    func bound() async throws {
        let box = try await MountBox("mkdir -p inbox/day other; echo 1 > inbox/day/a.jpg; echo 2 > other/b.jpg")
        try await box.run("mount --bind other inbox/day", tells: "inbox day/b.jpg finished(found)")
        #expect(
            try await box.settle().notices == [
                "inbox day directoryAppeared", "inbox day treeGone", "inbox day/b.jpg finished(found)",
            ])
        try await box.run("unmount inbox/day", tells: "inbox day treeBack")
        let (notices, state) = try await box.settle()
        #expect(notices == ["inbox day treeBack", "inbox day treeGone"])
        #expect(state == "[inbox] inbox live watches=2 files=1")
    }

    @Test(
        "Another disk in the same place, whose root has the same number, is another one",
        .enabled(if: MountBox.hasDisks, "skipped: needs root, loop devices and mkfs.ext4"))
    func otherDisk() async throws {
        let box = try await MountBox(
            """
            for disk in 1 2; do
                truncate -s 32M disk$disk; mkfs.ext4 -q -F disk$disk; mkdir -p way; mount -o loop disk$disk way
                echo $disk > way/$disk.jpg; umount way
            done
            mkdir -p inbox/card; mount -o loop disk1 inbox/card
            """)
        try await box.run(
            "umount -l inbox/card; mount -o loop disk2 inbox/card", tells: "inbox card/2.jpg finished(found)")
        #expect(try await box.settle().notices.allSatisfy { !$0.contains("vanished") && !$0.contains("1.jpg") })
        try await box.run("unmount inbox/card; mount -o loop disk1 inbox/card", tells: "inbox card treeBack")
        let (notices, state) = try await box.settle()
        #expect(notices.allSatisfy { !$0.contains("vanished") && !$0.contains(".jpg") })
        #expect(state == "[inbox] inbox live watches=3 files=1")
    }
}
