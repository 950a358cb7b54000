public import FileValues
import Glibc

/// A directory as the kernel has it, whatever name led there: by which mount it was opened, and where it stands. With a
/// ``MountTable`` of the same moment it says whether two directories meet; see ``MountTable/meeting(of:_:)``.
public struct KernelPlace: Hashable, Sendable {
    /// A directory's device and inode, which tell it from all others at one moment, however its name is spelled.
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
    /// From the process's root, without links, as mount tables have it.
    public let path: BytePath
    /// Itself, then the directories above it, as far as they could be asked.
    public let marks: [Mark]

    /// A place from its parts.
    public init(mount: Int, path: BytePath, marks: [Mark] = []) {
        self.mount = mount
        self.path = path
        self.marks = marks
    }

    /// The place of an open directory, which may be open as a place alone. Waits for the file systems on the way up.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        mount = try Mount.identifier(of: descriptor)
        path = try descriptor.currentPath()
        marks = Self.marks(from: descriptor)
    }

    /// The place of the directory at `path`, links followed.
    public init(at path: BytePath) throws(SystemCallError) {
        try self.init(of: openDirectory(path, .placeAlone))
    }

    /// Where a directory will be that is still to be made at `way` below this one.
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

/// How two directories meet, though their names may say nothing of it.
public struct PlaceMeeting: Hashable, Sendable {
    /// Which of the two holds the other.
    public enum Relation: Hashable, Sendable {
        case same, firstInSecond, secondInFirst
        /// Neither holds the other, and something is mounted in both: there they have the same files.
        case shared
    }

    /// Which holds which.
    public let relation: Relation
    /// The file system that holds both, for people: `ext4 8:1`.
    public let fileSystem: String
    /// Where in it the first one stands, from its root.
    public let first: BytePath
    /// The same of the second one.
    public let second: BytePath
}

extension MountTable {
    /// How two directories meet, by the mounts that are in them; nil if they have no file in common, as far as that can
    /// be told: what is mounted twice and has a superblock for each mount (network, FUSE, overlay) is not seen here.
    ///
    /// What another mount covers is not reached, so it does not count.
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

    /// Whether the two may hold the same files with nothing in the table that shows it: two file systems, and not both
    /// of disks of this machine; or one whose inode numbers do not show that two spellings lead to one directory.
    public func mayBeTwins(_ first: KernelPlace, _ second: KernelPlace) -> Bool {
        guard let one = mounts[first.mount], let other = mounts[second.mount] else { return false }
        if one.device == other.device { return Self.numbersAtWill(one.type) }
        return !(Self.ofDisks.contains(one.type) && Self.ofDisks.contains(other.type))
    }

    private static func numbersAtWill(_ type: String) -> Bool {
        type == "fuse" || type.hasPrefix("fuse.") || ["cifs", "smb3", "smbfs", "vboxsf"].contains(type)
    }

    private static let ofDisks: Set<String> = [
        "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "hfs", "hfsplus", "iso9660", "jfs",
        "msdos", "nilfs2", "ntfs", "ntfs3", "ramfs", "reiserfs", "squashfs", "tmpfs", "udf", "vfat", "xfs", "zfs",
    ]

    /// A spelling that differs (case, Unicode form) leads to the same inode.
    private static func relation(of first: [KernelPlace.Mark], _ second: [KernelPlace.Mark]) -> PlaceMeeting.Relation? {
        guard let one = first.first, let other = second.first else { return nil }
        // Some file systems number nothing, and what is not made yet has no number.
        let (isOneIn, isOtherIn) = (one.inode != 0 && second.contains(one), other.inode != 0 && first.contains(other))
        return isOneIn ? (isOtherIn ? .same : .secondInFirst) : (isOtherIn ? .firstInSecond : nil)
    }

    /// A directory of one mount with all that is below it, as far as nothing is mounted over it.
    fileprivate struct Piece {
        let mount: Mount
        /// From the process's root.
        let start: BytePath
        /// From the file system's root.
        let inner: BytePath
    }

    /// The place itself first, then what is mounted in it and can be reached; none for a mount that is gone.
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

    /// Whether the directory that `target` begins with is found below `piece`.
    private func reaches(_ piece: Piece, _ target: Piece) -> Bool {
        guard piece.mount.device == target.mount.device, target.inner.isInside(piece.inner),
            let way = target.inner.relative(to: piece.inner)
        else { return false }
        // The very directory is reached there, though its own mount lies on its mount point.
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
    /// Whether it shows a directory that has no name any more; the kernel marks it so.
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
