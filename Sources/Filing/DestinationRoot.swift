package import FileValues
package import LinuxKernel
import PhotoModel
import SystemPackage

/// What filed files and new directories are given. nil leaves what the system gives.
package struct FiledAttributes: Hashable, Sendable {
    /// Owner; setting another than our own needs CAP_CHOWN.
    package var user: UInt32?
    /// Group; one that this process is in.
    package var group: UInt32?
    /// Permission bits of files, whatever the umask; nil keeps those of the source.
    package var mode: UInt32?
    /// Permission bits of directories that are made on the way, whatever the umask.
    package var directoryMode: UInt32

    package init(user: UInt32? = nil, group: UInt32? = nil, mode: UInt32? = nil, directoryMode: UInt32 = 0o755) {
        self.user = user
        self.group = group
        self.mode = mode
        self.directoryMode = directoryMode
    }
}

/// The facilities that a placement may use. What one root's file system turns out to lack is dropped from its set;
/// tests drop some to force the others.
package struct PlacementMeans: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// O_TMPFILE, named by linkat through /proc: nothing to clean up after a crash.
    package static let anonymousTemporary = PlacementMeans(rawValue: 1)
    /// FICLONE.
    package static let clone = PlacementMeans(rawValue: 2)
    /// copy_file_range.
    package static let copyRange = PlacementMeans(rawValue: 4)
    /// renameat2 with RENAME_NOREPLACE, for named temporaries.
    package static let renameNoReplace = PlacementMeans(rawValue: 8)
    /// linkat and unlinkat, for named temporaries.
    package static let link = PlacementMeans(rawValue: 16)

    /// Those that give a file its final name.
    static let naming: PlacementMeans = [.renameNoReplace, .link]
    package static let all: PlacementMeans = [.anonymousTemporary, .clone, .copyRange, .renameNoReplace, .link]
}

/// A tree that files are put into: the library, quarantine or duplicates.
///
/// Confined to one file queue, like all work with it: two inboxes with one library hold a root each.
package final class DestinationRoot {
    /// Its path, for messages.
    package let path: BytePath
    /// Its directory.
    package let descriptor: OwnedDescriptor
    /// What files and directories in it are given.
    package let attributes: FiledAttributes
    /// What its file system can, as far as known.
    package internal(set) var means: PlacementMeans
    /// How its file system was found to treat names; nil if it was not tried.
    package private(set) var trial: FileSystemTrial?

    /// Directories that were synced into their parents since this root was opened. One that another program removes
    /// and makes again under the same inode number meanwhile is not told apart.
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

    /// Whether the file system takes the two for one name.
    package func isOneName(_ first: BytePath, _ second: BytePath) -> Bool {
        if first == second { return true }
        return trial?.foldsCase == true && SetKey.folded(first.bytes) == SetKey.folded(second.bytes)
    }

    /// Uses only what was found when the file system was tried.
    package func adopt(_ trial: FileSystemTrial) {
        self.trial = trial
        means.subtract(PlacementMeans.naming.subtracting(trial.means))
        // A file without a name gets one by a link.
        if !trial.means.contains(.link) { means.remove(.anonymousTemporary) }
    }

    /// `name` as this file system can store it.
    package func fitting(_ name: BytePath) -> BytePath { trial?.fitting(name) ?? name }

    /// Opens the directory `path` below the root, makes what is missing on the way, and sees to it that each
    /// directory on the way is durable in its parent: one that was found may have been made just before a crash.
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
        if isNew {
            if attributes.user != nil || attributes.group != nil {
                try child.setOwner(user: attributes.user, group: attributes.group)
            }
            try child.setMode(attributes.directoryMode)
            try child.syncDirectory()
        }
        let status = try FileStatus(of: child)
        let entry = DirectoryEntry(
            device: status.device, parent: try FileStatus(of: parent).identity.inode, child: status.identity.inode)
        if isNew || !durable.contains(entry) {
            try parent.syncDirectory()
            durable.insert(entry)
        }
        return child
    }

    /// Whether the directory was made here; an entry that is there already is looked at when it is opened.
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
