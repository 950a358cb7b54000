import FileValues
import LinuxKernel
import PhotoModel
import Settings

/// What imports of cards need of a configuration.
struct CardPlan: Hashable, Sendable {
    let settings: CardSettings
    let inbox: InboxSettings
    let library: BytePath?
    let minFree: UInt64
    let state: BytePath
    let catalogue: CataloguePlace
    /// Directories of ours: a file system that is, holds or lies in one is no card.
    let ours: [BytePath]

    /// Nil where no card is imported.
    init?(_ all: Settings) {
        guard all.cards.isEnabled, let inbox = all.inboxes.first(where: { $0.name == all.cards.inbox })
        else { return nil }
        settings = all.cards
        self.inbox = inbox
        library = all.library?.path
        minFree = all.library?.minFree ?? 0
        state = all.state
        catalogue = all.catalogue
        let kept = all.library.map { [$0.path, $0.quarantine, $0.duplicates, $0.returned, $0.trash] } ?? []
        ours = all.inboxes.map(\.path) + kept + [all.state, all.runtime]
    }

    /// Whether what is mounted there may be a card. Only its line of the mount table is read: reading a server's
    /// export may wait for ever, and opening an automounter mounts.
    func mayBeCard(_ mount: Mount) -> Bool {
        mount.root == "/" && Self.types.contains(mount.type)
            && settings.below.contains { mount.mountPoint.isInside($0) }
    }

    /// File systems of disks, and tmpfs. What FUSE has on a disk is called fuseblk.
    private static let types: Set<String> = [
        "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "hfs", "hfsplus", "iso9660",
        "jfs", "msdos", "nilfs2", "ntfs", "ntfs3", "squashfs", "tmpfs", "udf", "vfat", "xfs", "zfs",
    ]
}

/// One mount, as long as it is the same.
struct CardMount: Hashable, Sendable {
    let identifier: Int
    let device: Mount.Device
    let place: BytePath
    let type: String
    let source: BytePath

    init(_ mount: Mount) {
        identifier = mount.identifier
        device = mount.device
        place = mount.mountPoint
        type = mount.type
        source = mount.source
    }
}
