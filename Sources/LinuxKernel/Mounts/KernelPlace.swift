public import FileValues
import Glibc

/// A directory's place in the mount tree, whatever name it was opened by.
///
/// With a ``MountTable`` of the same moment it shows whether two directories overlap; see
/// ``MountTable/meeting(of:_:)``.
public struct KernelPlace: Hashable, Sendable {
    /// A directory's device and inode, unique at one moment, however its name is spelled.
    public struct Mark: Hashable, Sendable {
        /// `st_dev`; see stat(2).
        public let device: UInt64
        /// `st_ino`.
        public let inode: UInt64

        /// A mark from its parts.
        public init(device: UInt64, inode: UInt64) {
            self.device = device
            self.inode = inode
        }
    }

    /// The number of the mount, as in ``Mount/identifier``.
    public let mount: Int
    /// From the process's root, without links, as in mount tables.
    public let path: BytePath
    /// The directory's, then those of its parents, as far as they could be read.
    public let marks: [Mark]

    /// A place from its parts.
    public init(mount: Int, path: BytePath, marks: [Mark] = []) {
        self.mount = mount
        self.path = path
        self.marks = marks
    }

    /// The place of an open directory (O_PATH suffices). Blocks if a file system on the way up hangs.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        mount = try Mount.identifier(of: descriptor)
        path = try descriptor.currentPath()
        marks = Self.marks(from: descriptor)
    }

    /// The place of the directory at `path`; links are followed.
    public init(at path: BytePath) throws(SystemCallError) {
        try self.init(of: openDirectory(path, .placeAlone))
    }

    /// The place of a directory that does not exist yet, at `way` below this one.
    public func foreseen(_ way: BytePath) -> KernelPlace {
        let none = way.components.map { _ in Mark(device: 0, inode: 0) }
        return KernelPlace(mount: mount, path: path.appending(way), marks: none + marks)
    }

    private static func marks(from descriptor: borrowing OwnedDescriptor) -> [Mark] {
        var marks: [Mark] = []
        guard var current = try? descriptor.openPlace(".") else { return [] }
        while let status = try? FileStatus(of: current) {
            let mark = Mark(device: status.device, inode: status.identity.inode)
            // The root is its own parent.
            if marks.last == mark || marks.count == Int(PATH_MAX) / 2 { break }
            marks.append(mark)
            guard let above = try? current.openPlace("..") else { break }
            current = above
        }
        return marks
    }
}

/// How two directories overlap, whatever their names.
public struct PlaceMeeting: Hashable, Sendable {
    /// Which of the two contains the other.
    public enum Relation: Hashable, Sendable {
        case same, firstInSecond, secondInFirst
        /// Neither contains the other, but one file system is mounted in both.
        case shared
    }

    /// Which contains which.
    public let relation: Relation
    /// The common file system, for display: `ext4 8:1`.
    public let fileSystem: String
    /// The path of the first in it, from its root.
    public let first: BytePath
    /// The path of the second in it.
    public let second: BytePath
}

extension MountTable {
    /// How two directories overlap, with the mounts in them; nil if they have no file in common.
    ///
    /// A file system that is mounted twice with a superblock for each mount (network, FUSE, overlay) is not detected.
    /// What another mount covers is unreachable and does not count.
    public func meeting(of first: KernelPlace, _ second: KernelPlace) -> PlaceMeeting? {
        let (mine, theirs) = (pieces(of: first), pieces(of: second))
        let secondInFirst = theirs.first.flatMap { own in mine.first { reaches($0, own) }.map { ($0, own) } }
        let firstInSecond = mine.first.flatMap { own in theirs.first { reaches($0, own) }.map { (own, $0) } }
        if let (first, second) = secondInFirst {
            return PlaceMeeting(firstInSecond == nil ? .secondInFirst : .same, first, second)
        }
        if let (first, second) = firstInSecond { return PlaceMeeting(.firstInSecond, first, second) }
        if let relation = Self.relation(of: first.marks, second.marks), let one = mine.first, let other = theirs.first {
            return PlaceMeeting(relation, one, other)
        }
        for one in mine {
            for other in theirs where reaches(one, other) || reaches(other, one) {
                return PlaceMeeting(.shared, one, other)
            }
        }
        return nil
    }

    /// Whether the two may contain the same files although the table does not show it: two file systems that are not
    /// both on local disks, or one whose inode numbers do not identify a directory under two spellings.
    public func mayBeTwins(_ first: KernelPlace, _ second: KernelPlace) -> Bool {
        guard let one = mounts[first.mount], let other = mounts[second.mount] else { return false }
        if one.device == other.device { return Self.hasUnreliableInodes(one.type) }
        return !(Self.localDiskTypes.contains(one.type) && Self.localDiskTypes.contains(other.type))
    }

    private static func hasUnreliableInodes(_ type: String) -> Bool {
        type == "fuse" || type.hasPrefix("fuse.") || ["cifs", "smb3", "smbfs", "vboxsf"].contains(type)
    }

    private static let localDiskTypes: Set<String> = [
        "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "hfs", "hfsplus", "iso9660", "jfs",
        "msdos", "nilfs2", "ntfs", "ntfs3", "ramfs", "reiserfs", "squashfs", "tmpfs", "udf", "vfat", "xfs", "zfs",
    ]

    /// Compares inodes: a name in another spelling (case, Unicode form) has the same one.
    private static func relation(of first: [KernelPlace.Mark], _ second: [KernelPlace.Mark]) -> PlaceMeeting.Relation? {
        guard let one = first.first, let other = second.first else { return nil }
        // Some file systems have no inode numbers, and a directory that does not exist yet has none.
        let (isOneIn, isOtherIn) = (one.inode != 0 && second.contains(one), other.inode != 0 && first.contains(other))
        return isOneIn ? (isOtherIn ? .same : .secondInFirst) : (isOtherIn ? .firstInSecond : nil)
    }

    /// A directory tree within one mount, without what is mounted over parts of it.
    fileprivate struct Piece {
        let mount: Mount
        /// From the process's root.
        let start: BytePath
        /// From the file system's root.
        let inner: BytePath
    }

    /// The place itself, then what is mounted in it and reachable; empty if its mount no longer exists.
    private func pieces(of place: KernelPlace) -> [Piece] {
        guard let mount = mounts[place.mount], let way = place.path.relative(to: mount.mountPoint), !mount.isOfDeleted
        else { return [] }
        var pieces = [Piece(mount: mount, start: place.path, inner: mount.root.appending(way))]
        var seen: Set<Int> = [mount.identifier]
        var next = 0
        while next < pieces.count {
            let piece = pieces[next]
            let children = children(of: piece.mount).filter { $0.mountPoint.isInside(piece.start) && !$0.isOfDeleted }
            for child in children where !isCovered(child.mountPoint, in: piece, except: child) {
                guard seen.insert(child.identifier).inserted else { continue }
                pieces.append(Piece(mount: child, start: child.mountPoint, inner: child.root))
            }
            next += 1
        }
        return pieces
    }

    /// Whether the start of `target` is reachable below `piece`.
    private func reaches(_ piece: Piece, _ target: Piece) -> Bool {
        guard piece.mount.device == target.mount.device, target.inner.isInside(piece.inner),
            let way = target.inner.relative(to: piece.inner)
        else { return false }
        // The same directory is reachable, although its own mount covers its mount point.
        if piece.mount.identifier == target.mount.identifier, piece.start.appending(way) == target.start { return true }
        return !isCovered(piece.start.appending(way), in: piece)
    }

    private func isCovered(_ path: BytePath, in piece: Piece, except own: Mount? = nil) -> Bool {
        children(of: piece.mount).contains { other in
            other.identifier != own?.identifier && other.mountPoint.isInside(piece.start)
                && path.isInside(other.mountPoint)
        }
    }

    private func children(of mount: Mount) -> [Mount] {
        mounts.values.filter { $0.parent == mount.identifier && $0.identifier != mount.identifier }
            .sorted { $0.identifier < $1.identifier }
    }
}

extension Mount {
    /// Whether its root was deleted; the kernel adds this suffix.
    fileprivate var isOfDeleted: Bool { root.bytes.suffix(9).elementsEqual("//deleted".utf8) }
}

extension PlaceMeeting {
    fileprivate init(_ relation: Relation, _ first: MountTable.Piece, _ second: MountTable.Piece) {
        self.relation = relation
        let device = first.mount.device
        fileSystem = "\(first.mount.type) \(device.major):\(device.minor)"
        self.first = first.inner
        self.second = second.inner
    }
}
