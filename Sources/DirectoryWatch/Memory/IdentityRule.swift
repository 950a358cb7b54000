import FileValues
import LinuxKernel

/// When two looks, be it in two lives of the program or before and after a remount, saw the same state of the same thing.
///
/// Inode numbers count where the file system keeps them. Where it makes them up (for each mount, or each time that an
/// inode comes into memory), size and times decide alone.
struct IdentityRule: Hashable, Sendable {
    let countsInodes: Bool

    init(countsInodes: Bool) { self.countsInodes = countsInodes }

    init(_ fileSystem: FileSystem) { self.init(countsInodes: fileSystem.keepsInodes) }

    func isSame(_ one: FileIdentity, _ other: FileIdentity) -> Bool {
        one.size == other.size && one.modified == other.modified && one.changed == other.changed
            && (!countsInodes || one.inode == other.inode)
    }

    func isSame(_ one: RootIdentity, _ other: RootIdentity) -> Bool {
        one.fileSystem == other.fileSystem && (!countsInodes || one.inode == other.inode)
    }
}

extension FileSystem {
    /// Whether a file has the same inode number after its file system was mounted anew.
    ///
    /// FAT has no inodes, so the kernel counts; FUSE gives what its program makes up; CIFS falls back to counting where
    /// the server tells no numbers; 9p and VirtualBox pass on what the host maps. NFS, Ceph and AFS keep them.
    var keepsInodes: Bool { !Self.countingInodes.contains(name ?? "") }

    private static let countingInodes: Set<String> = ["vfat", "exfat", "fuse", "cifs", "smb2", "9p", "vboxsf", "ncp"]
}
