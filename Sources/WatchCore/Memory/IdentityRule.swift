package import FileValues

/// When two looks, be it in two lives of the program or before and after a remount, saw the same state of the same thing.
///
/// Inode numbers count where the file system keeps them. Where it makes them up (for each mount, or each time that an
/// inode comes into memory), size and times decide alone.
package struct IdentityRule: Hashable, Sendable {
    package let countsInodes: Bool

    package init(countsInodes: Bool) { self.countsInodes = countsInodes }

    package init(_ fileSystem: FileSystem) { self.init(countsInodes: fileSystem.kind.inodes == .lasting) }

    package func isSame(_ one: FileIdentity, _ other: FileIdentity) -> Bool {
        hasSameContent(one, other) && one.changed == other.changed
    }

    /// Whether no more than attributes and links may differ.
    package func hasSameContent(_ one: FileIdentity, _ other: FileIdentity) -> Bool {
        one.size == other.size && one.modified == other.modified && (!countsInodes || one.inode == other.inode)
    }

    package func isSame(_ one: RootIdentity, _ other: RootIdentity) -> Bool {
        one.fileSystem == other.fileSystem && (!countsInodes || one.inode == other.inode)
    }
}
