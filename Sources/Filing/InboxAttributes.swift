package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// Owner, group and mode of what programs put into an inbox: those of its root, so that every user who may put files into the
/// inbox, as the daemon, may remove them.
package struct InboxAttributes: Hashable, Sendable {
    package let root: FileStatus

    package init(root: FileStatus) { self.root = root }

    /// Further mode bits of the source are dropped, since they mean nothing on a card.
    package func set(on file: borrowing OwnedDescriptor, isDirectory: Bool) throws(SystemCallError) {
        if geteuid() == 0 {
            try? file.setOwner(user: root.user, group: root.group)
        } else {
            try? file.setOwner(user: nil, group: root.group)
        }
        try file.setModeOrLess(isDirectory ? directoryMode : 0o600 | (root.mode & 0o066))
    }

    /// The inbox's own mode, but without the sticky bit, which would keep the daemon from removing other users' files,
    /// and then without write permission for others. Directories are created with it, less the umask, since the daemon
    /// sees them at once and reports one that it cannot read.
    var directoryMode: UInt32 { (root.mode & 0o1000 != 0 ? root.mode & ~0o1002 : root.mode) | 0o700 }

    /// Opens the directory `path` below `root`, the inbox, and creates missing ones. With `isRepairing`, those of this user
    /// that a crash left without their mode get it, and all are made durable.
    package func openDirectory(
        _ path: BytePath, below root: borrowing OwnedDescriptor, isRepairing: Bool = false
    ) throws(SystemCallError) -> OwnedDescriptor {
        var current = try root.openDirectoryBeneath("")
        for name in path.components {
            do throws(SystemCallError) {
                try current.makeDirectory(name, mode: directoryMode & 0o777)
                let made = try current.openDirectoryBeneath(name)
                try set(on: made, isDirectory: true)
                try made.syncDirectory()
                try current.syncDirectory()
                current = made
            } catch {
                guard error.code == .fileExists else { throw error }
                let found = try current.openDirectoryBeneath(name)
                if isRepairing {
                    let status = try FileStatus(of: found)
                    if status.user == geteuid(), (status.mode ^ directoryMode) & 0o777 != 0 {
                        try set(on: found, isDirectory: true)
                        try found.syncDirectory()
                    }
                    try current.syncDirectory()
                }
                current = found
            }
        }
        return current
    }
}
