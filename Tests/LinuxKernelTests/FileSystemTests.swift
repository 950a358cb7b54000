import FileValues
import LinuxKernel
import TestSupport
import Testing

@Suite("Properties of file system types")
struct FileSystemTests {
    private static let decided = ["ext4", "XFS", "btrfs", "tmpfs", "F2FS", "ZFS"]

    /// Numbers from linux/magic.h and the file systems' own sources.
    static let known: [(UInt32, String)] = [
        (0xEF53, "ext4"), (0x5846_5342, "XFS"), (0x9123_683E, "btrfs"), (0x0102_1994, "tmpfs"),
        (0xF2F5_2010, "F2FS"), (0x2FC1_2FC1, "ZFS"), (0x794C_7630, "overlay"), (0x6573_5546, "FUSE"),
        (0x6969, "NFS"), (0xFF53_4D42, "SMB"), (0xFE53_4D42, "SMB"), (0x517B, "SMB"), (0x00C3_6400, "Ceph"),
        (0x0102_1997, "9p"), (0x4D44, "FAT"), (0x2011_BAB0, "exFAT"), (0x7366_746E, "NTFS"), (0x5346_544E, "NTFS"),
    ]

    @Test("Each number has a name", arguments: known)
    func name(magic: UInt32, name: String) {
        #expect(FileSystemKind(magic: magic).name == name)
        #expect(FileSystemKind(magic: magic).magic == magic)
    }

    @Test("Leases are decisive on certain types only", arguments: known)
    func leases(magic: UInt32, name: String) {
        #expect((FileSystemKind(magic: magic).leases == .decides) == Self.decided.contains(name))
    }

    @Test("Remote types report neither changes nor writers", arguments: ["NFS", "SMB", "Ceph", "9p", "FUSE"])
    func remote(name: String) throws {
        for (magic, _) in Self.known.filter({ $0.1 == name }) {
            let fileSystem = FileSystem(type: Int64(magic), identifier: 0)
            #expect(fileSystem.changesElsewhere)
            #expect(fileSystem.kind.leases == (name == "FUSE" ? .refusalOnly : .nothing))
        }
    }

    @Test("Local types report their events")
    func events() {
        for name in Self.decided + ["FAT", "exFAT", "NTFS"] {
            for (magic, _) in Self.known.filter({ $0.1 == name }) {
                #expect(FileSystemKind(magic: magic).events == .all)
            }
        }
        #expect(FileSystemKind(magic: 0x794C_7630).events == .notBelow)
        #expect(!FileSystem(type: 0x794C_7630, identifier: 0).changesElsewhere)
    }

    @Test("Inode numbers are stable on types that store them")
    func inodes() {
        for magic: UInt32 in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x6969] {
            #expect(FileSystemKind(magic: magic).inodes == .lasting)
        }
        for magic: UInt32 in [0x4D44, 0x2011_BAB0, 0x6573_5546, 0xFF53_4D42, 0x794C_7630, 7] {
            #expect(FileSystemKind(magic: magic).inodes == .passing)
        }
    }

    @Test("An unknown type is named by its number, and its leases are not trusted")
    func unknown() {
        let kind = FileSystemKind(magic: 0x1234_ABCD)
        #expect(kind.name == "file system 0x1234abcd")
        #expect(kind.events == .all)
        #expect(kind.leases == .refusalOnly)
    }

    @Test("The type and the free space are read from the kernel")
    func fromKernel() throws {
        let proc = try FileSystem(of: try openDirectory("/proc"))
        #expect(proc.type == 0x9FA0)
        #expect(!proc.changesElsewhere)
        let scratch = try ScratchDirectory()
        let status = try FileSystemStatus(of: try openDirectory(scratch.bytePath))
        #expect(try FileSystem(of: try openDirectory(scratch.bytePath)) == status.fileSystem)
        #expect(status.available > 0)
    }
}
