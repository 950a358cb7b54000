package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// An inbox into which a run of import or fetch puts photos: its root, a hidden directory for incomplete files, and the
/// directory of this run.
///
/// The daemon ignores hidden directories, so it sees a copy only when it is complete and moved to its place. The hidden
/// directory is locked during its run; the next run removes those of runs that were killed.
package final class ImportInbox: Sendable {
    package static let prefix = FileNames.prefix + "import-"

    package let root: OwnedDescriptor
    let attributes: InboxAttributes
    private let workDirectory: HeldDescriptor
    private let workName: BytePath
    private let minFree: UInt64
    private let lastNumber = Locked(0)

    package init(_ path: BytePath, minFree: UInt64) throws(SystemCallError) {
        self.minFree = minFree
        let opened = try LinuxKernel.openDirectory(path)
        attributes = InboxAttributes(root: try FileStatus(of: opened))
        Self.removeLeftovers(in: opened)
        let (name, made) = try Self.makeWork(in: opened)
        workName = name
        workDirectory = made
        root = opened
        removeEmptyRuns()
    }

    /// Creates a locked hidden directory. Retries, since another run may treat it as a leftover before it is locked.
    private static func makeWork(
        in root: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> (name: BytePath, directory: HeldDescriptor) {
        for _ in 0..<8 {
            let name = BytePath(prefix + FileNames.makeToken())
            try root.makeDirectory(name, mode: 0o700)
            guard let made = try? root.openDirectoryBeneath(name), flock(made.raw, LOCK_EX | LOCK_NB) == 0,
                let status = try? FileStatus(of: made), status.links > 0,
                (try? FileStatus(of: name, in: root))?.identity.inode == status.identity.inode
            else { continue }
            return (name, HeldDescriptor(made))
        }
        throw SystemCallError("flock", .wouldBlock)
    }

    /// Removes the hidden directory with its unplaced copies, and the directories of runs that are empty.
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
            // A directory that cannot be opened is another user's, who removes it. A locked one has a run.
            guard let directory = try? root.openDirectoryBeneath(entry.name) else { continue }
            guard flock(directory.raw, LOCK_EX | LOCK_NB) == 0 else { continue }
            if let files = try? directory.entries() { removeCopies(files, in: directory) }
            removeDirectory(entry.name, in: root)
        }
    }

    /// Removes copies; any other file in the hidden directory stays.
    private static func removeCopies(_ entries: [DirectoryEntry], in directory: borrowing OwnedDescriptor) {
        for entry in entries where FileNames.isCopyNumber(entry.name) {
            try? removeUnfinished(entry.name, in: directory)
        }
    }

    /// Returns the bytes that may still be written without falling below the configured minimum.
    package func room() throws(SystemCallError) -> UInt64 {
        let available = try FileSystemStatus(of: root).available
        return available > minFree ? available - minFree : 0
    }

    /// Creates an empty file in the hidden directory, open for reading and writing.
    package func makeCopy() throws(SystemCallError) -> (name: BytePath, content: HeldDescriptor) {
        let number = lastNumber.withLock { number in
            number += 1
            return number
        }
        let name = FileNames.copy(number)
        return (
            name, HeldDescriptor(try workDirectory.descriptor.openBeneath(name, [.readWrite, .createNew], mode: 0o600))
        )
    }

    /// Removes a copy.
    package func discard(_ name: BytePath) { try? removeUnfinished(name, in: workDirectory.descriptor) }

    package func setAttributes(of file: borrowing OwnedDescriptor, isDirectory: Bool) throws(SystemCallError) {
        try attributes.set(on: file, isDirectory: isDirectory)
    }

    /// Opens the directory `path` below the inbox and creates missing ones.
    package func openDirectory(_ path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        try attributes.openDirectory(path, below: root)
    }

    /// Moves a complete copy to its place, under another name if `name` is taken. Returns the name.
    package func place(
        _ copy: BytePath, in directory: borrowing OwnedDescriptor, as name: BytePath
    ) throws(SystemCallError) -> BytePath {
        guard let actual = try workDirectory.descriptor.moveToFreeName(copy, in: directory, like: name) else {
            throw SystemCallError("renameat2", .fileExists, path: name)
        }
        return actual
    }
}
