import FileValues

/// When two observations, even before and after a restart or a remount, are of the same file in the same state.
///
/// Inode numbers are compared where the file system keeps them. Where it invents them (for each mount, or each time that an
/// inode is loaded), size and times decide alone.
struct IdentityRule: Hashable, Sendable {
    let countsInodes: Bool

    init(countsInodes: Bool) { self.countsInodes = countsInodes }

    init(_ fileSystem: FileSystem) { self.init(countsInodes: fileSystem.kind.inodes == .lasting) }

    func isSame(_ one: FileIdentity, _ other: FileIdentity) -> Bool {
        hasSameContent(one, other) && one.changed == other.changed
    }

    /// Whether at most attributes and links differ.
    func hasSameContent(_ one: FileIdentity, _ other: FileIdentity) -> Bool {
        one.size == other.size && one.modified == other.modified && (!countsInodes || one.inode == other.inode)
    }

    func isSameInode(_ one: FileIdentity, _ other: FileIdentity) -> Bool { !countsInodes || one.inode == other.inode }

    func isSame(_ one: RootIdentity, _ other: RootIdentity) -> Bool {
        one.fileSystem == other.fileSystem && (!countsInodes || one.inode == other.inode)
    }
}
