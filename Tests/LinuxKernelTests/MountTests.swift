import FileValues
import LinuxKernel
import Testing

struct MountTests {
    private func table(_ lines: String...) -> MountTable {
        MountTable(parsing: Array(lines.joined(separator: "\n").utf8))
    }

    @Test("A line of a mount table is parsed")
    func line() throws {
        let line =
            #"36 35 98:0 /mnt1 /mnt\0402/a\011\012\134b rw,noatime shared:7 master:1 - ext3 /dev/ro\040ot rw,errors=continue"#
        let mount = try #require(Mount(line: Array(line.utf8)))
        #expect(mount.identifier == 36 && mount.parent == 35)
        #expect(mount.device == Mount.Device(major: 98, minor: 0))
        #expect(mount.root == "/mnt1" && mount.mountPoint == "/mnt 2/a\t\n\\b" && mount.source == "/dev/ro ot")
        #expect(mount.options == ["rw", "noatime"] && mount.propagation == ["shared:7", "master:1"])
        #expect(mount.type == "ext3" && mount.superOptions == ["rw", "errors=continue"] && !mount.isReadOnly)
    }

    @Test("Names keep bytes that are not UTF-8, and malformed escapes")
    func rawBytes() throws {
        let line = Array("1 0 0:1 / /a".utf8) + [0xFF, 0xC3] + Array(#"\999\04 ro - tmpfs none rw"#.utf8)
        let mount = try #require(Mount(line: line))
        #expect(mount.mountPoint.bytes == Array("/a".utf8) + [0xFF, 0xC3] + Array(#"\999\04"#.utf8))
        #expect(mount.isReadOnly && mount.propagation.isEmpty)
    }

    /// Some file systems are mounted without a source.
    @Test("An empty source is parsed") func emptySource() throws {
        let mount = try #require(Mount(line: Array("1 0 0:1 / /a rw - fuse  rw".utf8)))
        #expect(mount.source.isEmpty && mount.superOptions == ["rw"])
    }

    @Test(
        "A malformed line is skipped",
        arguments: [
            "", "1 0 0:1 / /a rw", "x 0 0:1 / /a rw - t s rw", "1 0 0-1 / /a rw - t s rw", "1 0 0:1 / /a rw - t s",
            "1 0 0:1 / /a rw shared:1 t s rw", "1 0 0:99999999999 / /a rw - t s rw",
        ])
    func malformed(_ line: String) {
        #expect(Mount(line: Array(line.utf8)) == nil)
        #expect(table(line, "1 0 0:1 / /a rw - t s rw").mounts.count == 1)
    }

    @Test("Differences of two tables are found")
    func differences() {
        let before = table(
            "1 0 0:1 / / rw - ext4 /dev/a rw", "2 1 0:2 / /stays rw - tmpfs t rw", "3 1 0:3 / /goes rw - tmpfs t rw",
            "4 1 0:4 / /remounted rw - tmpfs t rw", "5 1 0:5 / /moved rw - tmpfs t rw",
            "6 1 0:6 / /old rw - tmpfs t rw")
        let after = table(
            "1 0 0:1 / / rw - ext4 /dev/a rw", "2 1 0:2 / /stays rw - tmpfs t rw",
            "4 1 0:4 / /remounted ro - tmpfs t rw", "5 1 0:5 / /elsewhere rw - tmpfs t rw",
            "6 1 0:7 / /new rw - tmpfs t rw", "7 1 0:8 / /comes rw - tmpfs t rw")
        let changes = before.changes(to: after)
        #expect(changes.added.map(\.mountPoint) == ["/new", "/comes"])
        #expect(changes.removed.map(\.mountPoint) == ["/goes", "/old"])
        #expect(changes.changed.map(\.before.mountPoint) == ["/remounted", "/moved"])
        #expect(changes.changed.map(\.after.mountPoint) == ["/remounted", "/elsewhere"])
        #expect(before.changes(to: before).isEmpty && !changes.isEmpty)
    }
}
