import TestSupport
import Testing

/// Each with its own mounts; nothing is polled and there are no ticks, so all notices follow from events.
@Suite(
    "Roots that are unmounted, covered, moved or replaced are gone, not emptied, and come back",
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

    @Test("A root can be unmounted at once, and another file system there is another root")
    func unmounted() async throws {
        let box = try await MountBox(Self.mounted)
        // The directory that was below is the root now, and it is empty.
        try await box.run("unmount inbox", reports: Self.back)
        var (notices, state) = try await box.awaitQuiet()
        #expect(notices == [Self.back, Self.gone])
        #expect(state == "[inbox] inbox live watches=1 files=0")
        try await box.run(
            "mkdir else; mount -t tmpfs photos else; echo 2 > else/b.jpg; mount --move else inbox",
            reports: "inbox b.jpg finished(found)")
        (notices, state) = try await box.awaitQuiet()
        #expect(notices == [Self.back, Self.gone, "inbox b.jpg finished(found)"])
    }

    @Test("A root that is unmounted lazily while a program uses it is gone at once")
    func unmountedLazily() async throws {
        let box = try await MountBox("\(Self.mounted); (cd inbox; exec sleep 1000 >&- 2>&-) &")
        try await box.run("umount -l inbox", reports: Self.back)
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone])
    }

    @Test(
        "A disk that is mounted again is recognised, and only differences are reported",
        .enabled(if: MountBox.hasDisks, withoutDisks))
    func diskComesBack() async throws {
        let box = try await MountBox(
            """
            truncate -s 32M disk; mkfs.ext4 -q -F disk; mkdir inbox; echo 0 > inbox/below.jpg; mount -o loop disk inbox
            mkdir inbox/sub; echo 1 > inbox/sub/a.jpg; echo 2 > inbox/b.jpg; echo 3 > inbox/c.jpg
            """)
        try await box.run("unmount inbox", reports: Self.back)
        var (notices, state) = try await box.awaitQuiet()
        #expect(notices == [Self.back, Self.gone, "inbox below.jpg finished(found)"])
        try await box.run(
            """
            mkdir else; mount -o loop disk else; rm else/b.jpg; echo 4 > else/sub/d.jpg; unmount else
            mount -o loop disk inbox
            """, reports: "inbox sub/d.jpg finished(found)")
        (notices, state) = try await box.awaitQuiet()
        #expect(notices == [Self.back, Self.gone, "inbox b.jpg vanished", "inbox sub/d.jpg finished(found)"])
        #expect(state == "[inbox] inbox live watches=3 files=3")
        // And the directory below it, which is known by now, too.
        try await box.run("unmount inbox", reports: Self.back)
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone])
    }

    @Test("A root that was mounted over and uncovered is recognised, and only differences are reported")
    func covered() async throws {
        let box = try await MountBox("\(Self.plain); echo 2 > up/top/inbox/b.jpg", roots: Self.plainRoot)
        try await box.run("mount -t tmpfs cover up/top/inbox", reports: Self.back)
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone])
        try await box.run("unmount up/top/inbox; echo 3 > up/top/inbox/sub/c.jpg", reports: Self.back)
        #expect(try await box.awaitQuiet().notices.filter { !$0.contains("c.jpg") } == [Self.back, Self.gone])
        #expect(try await box.awaitQuiet().state == "[inbox] inbox live watches=2 files=3")
    }

    @Test(
        "A root whose ancestor is renamed, one or two levels up, is gone; renamed back, only differences are reported",
        arguments: [("up/top", "up/away"), ("up", "away")])
    func ancestorRenamed(from: String, to: String) async throws {
        let box = try await MountBox(Self.plain, roots: Self.plainRoot)
        try await box.run("mv \(from) \(to)", reports: Self.absent)
        #expect(try await box.awaitQuiet() == ([Self.absent], "[] inbox gone watches=0 files=1"))
        let inbox = to + "up/top/inbox".dropFirst(from.count)
        try await box.run("echo 2 > \(inbox)/sub/b.jpg; mv \(to) \(from)", reports: "inbox sub/b.jpg finished(found)")
        let (notices, state) = try await box.awaitQuiet()
        #expect(notices == [Self.back, "inbox sub/b.jpg finished(found)"])
        #expect(state == "[inbox] inbox live watches=2 files=2")
    }

    @Test("Exchanging two ancestors makes another root, exchanging them again the first")
    func ancestorsExchanged() async throws {
        let box = try await MountBox(
            "\(Self.plain); mkdir -p other/top/inbox; echo 2 > other/top/inbox/b.jpg", roots: Self.plainRoot)
        let (up, other) = ("\(box.path)/up", "\(box.path)/other")
        var before = monotonic()
        try swapPlaces(up, other)
        try await box.wait(for: "inbox b.jpg finished(found)", since: before)
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone, "inbox b.jpg finished(found)"])
        before = monotonic()
        try swapPlaces(up, other)
        try await box.wait(for: Self.back, since: before)
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone])
    }

    @Test("A root that is deleted with its ancestors is watched again once all are made again, one by one")
    func deletedAndMade() async throws {
        let box = try await MountBox(Self.plain, roots: Self.plainRoot)
        try await box.run("mv up/top/inbox aside; rm -r up", reports: Self.absent)
        #expect(try await box.awaitQuiet().notices == [Self.absent])
        for step in ["mkdir up", "mkdir up/top"] { try box.run(step) }
        try await box.run("mv aside up/top/inbox", reports: Self.back)
        #expect(try await box.awaitQuiet() == ([Self.back], "[inbox] inbox live watches=2 files=1"))
        // Really deleted: its files are deleted, one by one, before it is.
        try await box.run("rm -r up/top/inbox", reports: Self.absent)
        _ = try await box.awaitQuiet()
        try await box.run(
            "mkdir -p new/top/inbox; echo 1 > new/top/inbox/x.jpg; rm -r up; mv new up", reports: Self.back)
        #expect(try await box.awaitQuiet().notices == [Self.back, "inbox x.jpg finished(found)"])
    }

    @Test("A directory that is renamed over the root's path is another root; the old one is recognised when it is back")
    func replaced() async throws {
        let box = try await MountBox("\(Self.plain); mkdir new; echo 2 > new/b.jpg", roots: Self.plainRoot)
        try await box.run("mv up/top/inbox old; mv new up/top/inbox", reports: "inbox b.jpg finished(found)")
        let notices = try await box.awaitQuiet().notices
        #expect(notices.allSatisfy { !$0.contains("vanished") && !$0.contains("a.jpg") })
        try await box.run("mv up/top/inbox new; mv old up/top/inbox", reports: Self.back)
        #expect(try await box.awaitQuiet().notices.allSatisfy { $0.hasPrefix("inbox  root") })
        #expect(try await box.awaitQuiet().state == "[inbox] inbox live watches=2 files=1")
    }

    @Test("A changed symbolic link in the root's path leads to another root")
    func linkSetElsewhere() async throws {
        let box = try await MountBox(
            "\(Self.plain); mkdir -p other/inbox; echo 2 > other/inbox/b.jpg; ln -s up/top way",
            roots: ["inbox": "way/inbox"])
        try await box.run("ln -s other new; mv -T new way", reports: "inbox b.jpg finished(found)")
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone, "inbox b.jpg finished(found)"])
        try await box.run("rm way", reports: Self.absent)
        try await box.run("ln -s up/top way", reports: Self.back)
        #expect(try await box.awaitQuiet().notices.allSatisfy { !$0.contains("vanished") && !$0.contains("a.jpg") })
    }

    @Test("A root that is remounted read-only and back stays live, without a notice")
    func readOnly() async throws {
        let box = try await MountBox(Self.mounted)
        for option in ["ro", "rw"] {
            try box.run("mount -o remount,\(option) inbox")
            #expect(try await box.awaitQuiet() == ([], "[inbox] inbox live watches=2 files=1"))
        }
        try await box.run("echo 2 > inbox/b.jpg", reports: "inbox b.jpg finished(closeWrite)")
    }

    @Test("A root on a mount that is moved away is gone, and recognised when it is moved back")
    func moved() async throws {
        let box = try await MountBox("\(Self.mounted); mkdir else")
        try await box.run("mount --move inbox else", reports: Self.back)
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone])
        try await box.run(
            "echo 2 > else/sub/b.jpg; mount --move else inbox", reports: "inbox sub/b.jpg finished(found)")
        #expect(try await box.awaitQuiet().notices == [Self.back, Self.gone, "inbox sub/b.jpg finished(found)"])
    }

    @Test("A directory bound over itself is the same root; another one bound over it is another root")
    func bound() async throws {
        let box = try await MountBox("\(Self.plain); mkdir other", roots: Self.plainRoot)
        try box.run("mount --bind up/top/inbox up/top/inbox")
        #expect(try await box.awaitQuiet() == ([], "[inbox] inbox live watches=2 files=1"))
        try await box.run("mount --bind other up/top/inbox", reports: Self.back)
        try await box.run("echo 2 > other/b.jpg", reports: "inbox b.jpg finished(closeWrite)")
        try await box.run("unmount up/top/inbox", reports: Self.back)
        #expect(try await box.awaitQuiet().notices.allSatisfy { !$0.contains("vanished") && !$0.contains("a.jpg") })
    }

    @Test("Two roots, of which one is in the other, are lost and found independently")
    func nested() async throws {
        let box = try await MountBox(
            "mkdir -p outer/middle/inner; echo 1 > outer/middle/inner/a.jpg",
            roots: ["outer": "outer", "inner": "outer/middle/inner"])
        try await box.run("mv outer/middle outer/away", reports: "inner  rootGone(No such file or directory)")
        #expect(try await box.awaitQuiet().notices.contains("outer away directoryAppeared"))
        try await box.run("mv outer/away outer/middle", reports: "inner  rootBack")
        // The outer tree's watches are intact: changes in the middle are reported.
        try await box.run("echo 2 > outer/middle/b.jpg", reports: "outer middle/b.jpg finished(closeWrite)")
    }
}

/// Mounts inside a root.
@Suite(
    "Mounts inside a root are out of reach, not deleted, when they are unmounted",
    .tags(.heavy), .enabled(if: MountBox.refusal == nil, "\(MountBox.refusal ?? "")"), .timeLimit(.minutes(60)))
struct InnerMountTests {
    @Test("A file system that is mounted in a root is found, and recognised when it is mounted again")
    func comesAndGoes() async throws {
        let box = try await MountBox("mkdir -p inbox/card; echo 1 > inbox/card/below.jpg; echo 2 > inbox/b.jpg")
        try await box.run(
            "mkdir else; mount -t tmpfs card else; mkdir else/DCIM; echo 3 > else/DCIM/a.jpg; mount --move else inbox/card",
            reports: "inbox card/DCIM/a.jpg finished(found)")
        var (notices, state) = try await box.awaitQuiet()
        #expect(
            notices == [
                "inbox card directoryAppeared", "inbox card treeGone", "inbox card/DCIM directoryAppeared",
                "inbox card/DCIM/a.jpg finished(found)",
            ])
        #expect(state == "[inbox] inbox live watches=3 files=2")
        try await box.run("echo 4 > inbox/card/DCIM/c.jpg", reports: "inbox card/DCIM/c.jpg finished(closeWrite)")
        _ = try await box.awaitQuiet()
        // Moved away: the directory below is there again, and recognised.
        try await box.run("mount --move inbox/card else", reports: "inbox card treeBack")
        (notices, state) = try await box.awaitQuiet()
        #expect(notices == ["inbox card treeBack", "inbox card treeGone"])
        #expect(state == "[inbox] inbox live watches=2 files=2")
        try await box.run(
            "rm else/DCIM/c.jpg; echo 5 > else/d.jpg; mount --move else inbox/card",
            reports: "inbox card/d.jpg finished(found)")
        (notices, state) = try await box.awaitQuiet()
        #expect(
            notices == [
                "inbox card treeBack", "inbox card treeGone", "inbox card/DCIM/c.jpg vanished",
                "inbox card/d.jpg finished(found)",
            ])
        #expect(state == "[inbox] inbox live watches=3 files=3")
    }

    @Test(
        "A mount whose directory is removed at once after it was unmounted is out of reach, not deleted",
        arguments: ["", "-l"])
    func unmountedAndRemoved(option: String) async throws {
        let box = try await MountBox(
            "mkdir -p inbox/media/card; mount -t tmpfs card inbox/media/card; echo 1 > inbox/media/card/a.jpg")
        try await box.run(
            "unmount \(option) inbox/media/card; rmdir inbox/media/card", reports: "inbox media/card treeGone")
        let (notices, state) = try await box.awaitQuiet()
        #expect(notices.allSatisfy { !$0.contains("vanished") })
        #expect(state == "[inbox] inbox live watches=2 files=0")
    }

    @Test("A mount whose ancestors are removed at once after it was unmounted is out of reach, not deleted")
    func removedWithItsParents() async throws {
        let box = try await MountBox(
            "mkdir -p inbox/media/card; mount -t tmpfs card inbox/media/card; echo 1 > inbox/media/card/a.jpg")
        try await box.run("unmount inbox/media/card; rm -r inbox/media", reports: "inbox media/card treeGone")
        #expect(try await box.awaitQuiet().notices.allSatisfy { !$0.contains("a.jpg") })
    }

    @Test("A directory bound over another one in a root covers it, though both are on one file system")
    func bound() async throws {
        let box = try await MountBox("mkdir -p inbox/day other; echo 1 > inbox/day/a.jpg; echo 2 > other/b.jpg")
        try await box.run("mount --bind other inbox/day", reports: "inbox day/b.jpg finished(found)")
        #expect(
            try await box.awaitQuiet().notices == [
                "inbox day directoryAppeared", "inbox day treeGone", "inbox day/b.jpg finished(found)",
            ])
        try await box.run("unmount inbox/day", reports: "inbox day treeBack")
        let (notices, state) = try await box.awaitQuiet()
        #expect(notices == ["inbox day treeBack", "inbox day treeGone"])
        #expect(state == "[inbox] inbox live watches=2 files=1")
    }

    @Test(
        "Another disk in the same place, whose root has the same inode number, is recognised as another",
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
            "umount -l inbox/card; mount -o loop disk2 inbox/card", reports: "inbox card/2.jpg finished(found)")
        #expect(try await box.awaitQuiet().notices.allSatisfy { !$0.contains("vanished") && !$0.contains("1.jpg") })
        try await box.run("unmount inbox/card; mount -o loop disk1 inbox/card", reports: "inbox card treeBack")
        let (notices, state) = try await box.awaitQuiet()
        #expect(notices.allSatisfy { !$0.contains("vanished") && !$0.contains(".jpg") })
        #expect(state == "[inbox] inbox live watches=3 files=1")
    }
}
