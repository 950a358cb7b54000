package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// The inbox as those see it who bring photos into it, by import or fetch: its root, a hidden directory for files that are
/// not whole yet, and the directory that this run's photos come into.
///
/// The daemon goes into no hidden directory, so it hears nothing of a copy until that is moved to its place, whole. The
/// hidden directory is locked while its run lives; what a run that was killed left in one is removed by the next.
package final class ImportInbox: Sendable {
    package static let prefix = FileNames.prefix + "import-"

    package let root: OwnedDescriptor
    let status: FileStatus
    private let workDirectory: SharedFile
    private let workName: BytePath
    private let minFree: UInt64
    private let lastNumber = Locked(0)

    package init(_ path: BytePath, minFree: UInt64) throws(SystemCallError) {
        self.minFree = minFree
        let opened = try LinuxKernel.openDirectory(path)
        status = try FileStatus(of: opened)
        Self.removeLeftovers(in: opened)
        let (name, made) = try Self.makeWork(in: opened)
        workName = name
        workDirectory = made
        root = opened
        removeEmptyRuns()
    }

    /// A hidden directory, locked. Between its making and its lock another run may take it for a leftover.
    private static func makeWork(
        in root: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> (name: BytePath, directory: SharedFile) {
        for _ in 0..<8 {
            let name = BytePath(prefix + FileNames.makeToken())
            try root.makeDirectory(name, mode: 0o700)
            guard let made = try? root.openDirectoryBeneath(name), flock(made.raw, LOCK_EX | LOCK_NB) == 0,
                let status = try? FileStatus(of: made), status.links > 0,
                (try? FileStatus(of: name, in: root))?.identity.inode == status.identity.inode
            else { continue }
            return (name, SharedFile(made))
        }
        throw SystemCallError("flock", .wouldBlock)
    }

    /// Takes the hidden directory away, with the copies in it that got no name, and the directories of runs of which
    /// nothing is left.
    package func close() {
        if let entries = try? workDirectory.descriptor.entries() {
            Self.removeCopies(entries, in: workDirectory.descriptor)
        }
        Self.removeDirectory(workName, in: root)
        removeEmptyRuns()
    }

    private static func removeLeftovers(in root: borrowing OwnedDescriptor) {
        guard let entries = try? root.entries() else { return }
        let mark = Array(prefix.utf8)
        for entry in entries where entry.name.bytes.starts(with: mark) {
            // Locked: its run lives. Not to be opened: another user's, who removes it himself.
            guard let directory = try? root.openDirectoryBeneath(entry.name) else { continue }
            guard flock(directory.raw, LOCK_EX | LOCK_NB) == 0 else { continue }
            if let files = try? directory.entries() { removeCopies(files, in: directory) }
            removeDirectory(entry.name, in: root)
        }
    }

    /// Anything else that somebody put into the hidden directory stays there.
    private static func removeCopies(_ entries: [DirectoryEntry], in directory: borrowing OwnedDescriptor) {
        for entry in entries where FileNames.isCopyNumber(entry.name) {
            try? removeUnfinished(entry.name, in: directory)
        }
    }

    /// How many bytes may still be written, beyond those that are to be left free.
    package func room() throws(SystemCallError) -> UInt64 {
        let available = try FileSystemStatus(of: root).available
        return available > minFree ? available - minFree : 0
    }

    /// A new empty file that nobody else sees, open for reading and writing, and its name.
    package func makeCopy() throws(SystemCallError) -> (name: BytePath, content: SharedFile) {
        let number = lastNumber.withLock { number in
            number += 1
            return number
        }
        let name = FileNames.copy(number)
        return (
            name, SharedFile(try workDirectory.descriptor.openBeneath(name, [.readWrite, .createNew], mode: 0o600))
        )
    }

    /// Lets a copy go.
    package func discard(_ name: BytePath) { try? removeUnfinished(name, in: workDirectory.descriptor) }

    /// What a file that comes here is given: whoever may put files into the inbox may take them out of it again, which
    /// the daemon has to. Bits of the mode beyond those are the source's, and mean nothing on a card.
    package func dress(_ file: borrowing OwnedDescriptor, isDirectory: Bool) throws(SystemCallError) {
        if geteuid() == 0 {
            try? file.setOwner(user: status.user, group: status.group)
        } else {
            try? file.setOwner(user: nil, group: status.group)
        }
        try file.setModeOrLess(isDirectory ? directoryMode : 0o600 | (status.mode & 0o066))
    }

    /// The inbox's own, without the sticky bit, in whose directories the daemon could remove nothing of another user's, and
    /// then without write permission for others. A directory is created with it, less the umask: the daemon sees it at once,
    /// and reports one that it cannot read.
    var directoryMode: UInt32 { (status.mode & 0o1000 != 0 ? status.mode & ~0o1002 : status.mode) | 0o700 }

    /// The directory `path` below the inbox, made with what is missing on the way.
    package func openDirectory(_ path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        var current = try root.openDirectoryBeneath("")
        for name in path.components {
            do throws(SystemCallError) {
                try current.makeDirectory(name, mode: directoryMode & 0o777)
                let made = try current.openDirectoryBeneath(name)
                try dress(made, isDirectory: true)
                try made.syncDirectory()
                try current.syncDirectory()
                current = made
            } catch {
                guard error.code == .fileExists else { throw error }
                current = try current.openDirectoryBeneath(name)
            }
        }
        return current
    }

    /// Moves a copy to its place, under another name if that one is taken; the name.
    package func place(
        _ copy: BytePath, in directory: borrowing OwnedDescriptor, as name: BytePath
    ) throws(SystemCallError) -> BytePath {
        guard let given = try workDirectory.descriptor.giveNumberedName(like: name, in: directory, to: copy) else {
            throw SystemCallError("renameat2", .fileExists, path: name)
        }
        return given
    }
}

/// A descriptor that two threads hand on to each other.
package final class SharedFile: Sendable {
    package let descriptor: OwnedDescriptor
    package init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
}
