import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

struct KernelPlaceTests {
    private func meeting(
        of first: (Int, BytePath), _ second: (Int, BytePath), in lines: String...
    ) -> PlaceMeeting? {
        MountTable(parsing: Array(lines.joined(separator: "\n").utf8))
            .meeting(of: KernelPlace(mount: first.0, path: first.1), KernelPlace(mount: second.0, path: second.1))
    }

    @Test("Two volumes of one disk overlap, as in containers: -v /data:/inbox -v /data/library:/library")
    func volumes() throws {
        let found = try #require(
            meeting(
                of: (2, "/inbox"), (3, "/library"), in: "1 0 0:30 / / rw - overlay overlay rw",
                "2 1 8:1 /data /inbox rw - ext4 /dev/a rw", "3 1 8:1 /data/library /library rw - ext4 /dev/a rw"))
        #expect(found.relation == .secondInFirst && found.fileSystem == "ext4 8:1")
        #expect(found.first == "/data" && found.second == "/data/library")
    }

    @Test("A bind mount of a part of the library overlaps; the same directory mounted twice is the same")
    func bound() {
        let lines = ["1 0 8:1 / / rw - ext4 /dev/a rw", "2 1 8:1 /srv/lib/2024 /in rw - ext4 /dev/a rw"]
        #expect(meeting(of: (1, "/srv/lib"), (2, "/in"), in: lines[0], lines[1])?.relation == .secondInFirst)
        #expect(meeting(of: (2, "/in"), (1, "/srv/lib"), in: lines[0], lines[1])?.relation == .firstInSecond)
        #expect(meeting(of: (2, "/in"), (1, "/srv/lib/2024"), in: lines[0], lines[1])?.relation == .same)
        #expect(meeting(of: (2, "/in/a"), (1, "/srv/lib/2024/b"), in: lines[0], lines[1]) == nil)
        #expect(meeting(of: (2, "/in"), (1, "/srv/lib/2023"), in: lines[0], lines[1]) == nil)
    }

    @Test("Subvolumes of one btrfs overlap only by path; they have a device number each and one superblock")
    func subvolumes() {
        let lines = [
            "1 0 0:40 /@root / rw - btrfs /dev/a rw", "2 1 0:40 /@photos /photos rw - btrfs /dev/a rw",
            "3 1 0:40 /@photos/library /srv/l rw - btrfs /dev/a rw", "4 1 0:40 /@photos2 /o rw - btrfs /dev/a rw",
        ]
        let table = MountTable(parsing: Array(lines.joined(separator: "\n").utf8))
        func relation(_ first: (Int, BytePath), _ second: (Int, BytePath)) -> PlaceMeeting.Relation? {
            table.meeting(
                of: KernelPlace(mount: first.0, path: first.1), KernelPlace(mount: second.0, path: second.1))?.relation
        }
        #expect(relation((3, "/srv/l"), (2, "/photos")) == .firstInSecond)
        #expect(relation((4, "/o"), (2, "/photos")) == nil)
    }

    @Test("A directory covered by another mount does not overlap")
    func covered() {
        let disk = ["1 0 0:30 / / rw - overlay o rw", "2 1 8:1 /data /inbox rw - ext4 /dev/a rw"]
        let library = "3 1 8:1 /data/library /library rw - ext4 /dev/a rw"
        let cover = "4 2 0:50 / /inbox/library rw - tmpfs t rw"
        #expect(meeting(of: (2, "/inbox"), (3, "/library"), in: disk[0], disk[1], library, cover) == nil)
        // The cover is covered by the library again.
        let again = "5 4 8:1 /data/library /inbox/library rw - ext4 /dev/a rw"
        #expect(
            meeting(of: (2, "/inbox"), (3, "/library"), in: disk[0], disk[1], library, cover, again)?.relation
                == .secondInFirst)
        // Mounted first, and hidden by what was mounted above it.
        let hidden = "6 2 8:2 / /inbox/a/b rw - ext4 /dev/b rw"
        let hiding = "7 2 0:51 / /inbox/a rw - tmpfs t rw"
        let other = "8 1 8:2 / /library rw - ext4 /dev/b rw"
        #expect(meeting(of: (2, "/inbox"), (8, "/library"), in: disk[0], disk[1], hidden, other) != nil)
        #expect(meeting(of: (2, "/inbox"), (8, "/library"), in: disk[0], disk[1], hidden, hiding, other) == nil)
    }

    @Test("Mounts in a directory count: contained in one, or shared by both")
    func within() {
        let root = "1 0 0:30 / / rw - overlay o rw"
        let inbox = "2 1 8:1 /data /inbox rw - ext4 /dev/a rw"
        let library = "4 1 8:2 / /library rw - ext4 /dev/b rw"
        #expect(
            meeting(
                of: (2, "/inbox"), (4, "/library"), in: root, inbox, "3 2 8:2 / /inbox/lib rw - ext4 /dev/b rw", library
            )?.relation == .secondInFirst)
        let both = ["3 2 8:3 / /inbox/x rw - ext4 /dev/c rw", "5 4 8:3 /y /library/z rw - ext4 /dev/c rw"]
        let found = meeting(of: (2, "/inbox"), (4, "/library"), in: root, inbox, library, both[0], both[1])
        #expect(found?.relation == .shared && found?.first == "/" && found?.second == "/y")
        // Not in this part of the mount.
        #expect(meeting(of: (2, "/inbox/in"), (4, "/library"), in: root, inbox, library, both[0], both[1]) == nil)
    }

    @Test("Another spelling of a name is recognised by its inode, unless that is 0")
    func spelled() {
        let table = MountTable(parsing: Array("1 0 7:0 / / rw - vfat /dev/a rw".utf8))
        func relation(_ inode: UInt64) -> PlaceMeeting.Relation? {
            let (root, library) = (
                KernelPlace.Mark(device: 1, inode: 2), KernelPlace.Mark(device: 1, inode: inode)
            )
            return table.meeting(
                of: KernelPlace(mount: 1, path: "/Photos", marks: [library, root]),
                KernelPlace(
                    mount: 1, path: "/PHOTOS/in", marks: [KernelPlace.Mark(device: 1, inode: 9), library, root])
            )?.relation
        }
        #expect(relation(5) == .secondInFirst && relation(0) == nil)
    }

    @Test("A missing mount and a deleted directory do not overlap anything")
    func gone() {
        #expect(meeting(of: (1, "/a"), (7, "/a/b"), in: "1 0 8:1 / / rw - ext4 /dev/a rw") == nil)
        #expect(
            meeting(
                of: (1, "/a"), (2, "/b"), in: "1 0 8:1 / / rw - ext4 /dev/a rw",
                "2 1 8:1 /a/x//deleted /b rw - ext4 /dev/a rw") == nil)
    }

    @Test(
        "Types with a superblock for each mount may contain the same files",
        arguments: [
            ("nfs4", "0:51", true), ("nfs4", "0:50", false), ("ext4", "8:1", true), ("fuse.bindfs", "0:52", true),
        ])
    func twins(_ type: String, _ device: String, _ expected: Bool) {
        let table = MountTable(
            parsing: Array("1 0 0:50 / /a rw - nfs4 s:/a rw\n2 0 \(device) / /b rw - \(type) x rw".utf8))
        let (first, second) = (KernelPlace(mount: 1, path: "/a"), KernelPlace(mount: 2, path: "/b"))
        #expect(table.mayBeTwins(first, second) == expected)
        #expect(table.mayBeTwins(second, second) == type.hasPrefix("fuse"))
    }

    @Test("Real directories, links and directories that do not exist yet are compared")
    func real() throws {
        let scratch = try ScratchDirectory()
        for name in ["a", "a/in", "ab"] { #expect(mkdir(scratch.appending(name), 0o755) == 0) }
        #expect(symlink(scratch.appending("a/in"), scratch.appending("link")) == 0)
        let table = try MountTable.ofProcess()
        let place = try KernelPlace(at: BytePath(scratch.appending("a")))
        func relation(_ name: String) throws -> PlaceMeeting.Relation? {
            table.meeting(of: place, try KernelPlace(at: BytePath(scratch.appending(name))))?.relation
        }
        #expect(try relation("a") == .same && relation("link") == .secondInFirst && relation("ab") == nil)
        #expect(table.meeting(of: try KernelPlace(at: scratch.bytePath), place)?.relation == .secondInFirst)
        #expect(table.meeting(of: place.foreseen("new/one"), place)?.relation == .firstInSecond)
        #expect(table.meeting(of: place.foreseen("new"), place.foreseen("other")) == nil)
    }
}
