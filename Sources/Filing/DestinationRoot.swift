package import FileValues
import Glibc
package import LinuxKernel
import PhotoModel
import SystemPackage

/// Attributes of filed files and new directories. Nil keeps the system's default.
package struct FiledAttributes: Hashable, Sendable {
    /// The owner. Setting another than the process's own requires CAP_CHOWN and CAP_FOWNER.
    package var user: UInt32?
    /// The group, one that this process is in.
    package var group: UInt32?
    /// Permission bits of files, regardless of the umask; nil keeps those of the source.
    package var mode: UInt32?
    /// Permission bits of new directories, regardless of the umask.
    package var directoryMode: UInt32

    package init(user: UInt32? = nil, group: UInt32? = nil, mode: UInt32? = nil, directoryMode: UInt32 = 0o755) {
        self.user = user
        self.group = group
        self.mode = mode
        self.directoryMode = directoryMode
    }
}

/// The system calls that a placement may use. Those that a root's file system turns out to lack are removed from its
/// set; tests remove some to force the others.
package struct PlacementMeans: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// O_TMPFILE, named by linkat through /proc: leaves nothing after a crash.
    package static let anonymousTemporary = PlacementMeans(rawValue: 1)
    /// FICLONE.
    package static let clone = PlacementMeans(rawValue: 2)
    /// copy_file_range.
    package static let copyRange = PlacementMeans(rawValue: 4)
    /// renameat2 with RENAME_NOREPLACE, for named temporaries.
    package static let renameNoReplace = PlacementMeans(rawValue: 8)
    /// linkat and unlinkat, for named temporaries.
    package static let link = PlacementMeans(rawValue: 16)

    /// The calls that set a file's final name.
    static let naming: PlacementMeans = [.renameNoReplace, .link]
    package static let all: PlacementMeans = [.anonymousTemporary, .clone, .copyRange, .renameNoReplace, .link]
}

/// The root of a tree that files are put into: the library, quarantine or duplicates.
///
/// Confined to one file queue: two inboxes with one library have a root each.
package final class DestinationRoot {
    /// Its path, for messages.
    package let path: BytePath
    package let descriptor: OwnedDescriptor
    package let attributes: FiledAttributes
    /// The calls that its file system supports, as far as known.
    package internal(set) var means: PlacementMeans
    /// Whether other daemons file into it. Then a copy that has its name stays until it is recorded, or the same bytes are
    /// recorded elsewhere: another daemon may have recorded it. And an equal file may be the unrecorded copy of another.
    package var isShared = false
    /// The tested properties of its file system; nil if it was not tested.
    package private(set) var trial: FileSystemTrial?
    /// Directories whose entries were synced since this root was opened. One that another program removes and creates
    /// again with the same inode number is not recognized as new.
    private var durable: Set<DirectoryEntry> = []

    private struct DirectoryEntry: Hashable {
        let device: UInt64
        let parent: UInt64
        let child: UInt64
    }

    /// Opens the directory at `path`, which must exist.
    package init(
        _ path: BytePath, attributes: FiledAttributes = FiledAttributes(), means: PlacementMeans = .all
    ) throws(SystemCallError) {
        self.path = path
        self.attributes = attributes
        self.means = means
        descriptor = try LinuxKernel.openDirectory(path)
    }

    /// Whether the file system treats the two as the same name.
    package func isOneName(_ first: BytePath, _ second: BytePath) -> Bool {
        if first == second { return true }
        return trial?.foldsCase == true && SetKey.folded(first.bytes) == SetKey.folded(second.bytes)
    }

    /// Limits ``means`` to those that the trial found to work.
    package func adopt(_ trial: FileSystemTrial) {
        self.trial = trial
        means.subtract(PlacementMeans.naming.subtracting(trial.means))
        // A file without a name can only be named by a link.
        if !trial.means.contains(.link) { means.remove(.anonymousTemporary) }
    }

    /// Returns `name` as this file system can store it.
    package func fitting(_ name: BytePath) -> BytePath { trial?.fitting(name) ?? name }

    /// Opens the directory `path` below the root and creates missing ones. Syncs the entry of every directory on the
    /// way, since an existing one may have been created just before a crash.
    package func openDirectory(_ path: BytePath) throws(FilingError) -> OwnedDescriptor {
        do throws(SystemCallError) {
            guard path.isEmpty || path.isSafeBeneath else {
                throw SystemCallError("openat", .invalidArgument, path: path)
            }
            var current = try descriptor.openDirectoryBeneath("")
            for name in path.components {
                current = try enter(name, from: current)
            }
            return current
        } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: path)
        }
    }

    private func enter(_ name: BytePath, from parent: borrowing OwnedDescriptor) throws(SystemCallError)
        -> OwnedDescriptor
    {
        let isNew = try makeIfMissing(name, in: parent)
        let child = try parent.openDirectoryBeneath(name)
        let status = try FileStatus(of: child)
        var isOwn = status.user == geteuid()
        // Who may write to the parent can have put another directory in its place meanwhile: that keeps owner and mode. In
        // one of ours there may be what another root has filed, and some file systems give new ones to others.
        if isNew, !isOwn { isOwn = try child.entries().isEmpty }
        if isNew, isOwn {
            if attributes.user != nil || attributes.group != nil {
                try child.setOwner(user: attributes.user, group: attributes.group)
            }
            // What is filed into a library that is for a group is for that group, too. Of one that this process is not in,
            // fchmod(2) would clear the bit.
            let mode = attributes.directoryMode | status.mode & 0o2000
            if status.mode & 0o7777 != mode { try child.setModeOrLess(mode) }
            try child.syncDirectory()
        }
        let entry = DirectoryEntry(
            device: status.device, parent: try FileStatus(of: parent).identity.inode, child: status.identity.inode)
        if isNew || !durable.contains(entry) {
            try parent.syncDirectory()
            durable.insert(entry)
        }
        return child
    }

    /// Returns whether this call created the directory. An existing entry is checked when it is opened.
    private func makeIfMissing(
        _ name: BytePath, in parent: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> Bool {
        do {
            try parent.makeDirectory(name, mode: attributes.directoryMode)
            return true
        } catch  where error.code == .fileExists {
            return false
        }
    }
}
