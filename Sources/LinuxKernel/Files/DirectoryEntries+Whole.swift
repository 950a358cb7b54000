public import FileValues
import Glibc
import SystemPackage

extension OwnedDescriptor {
    /// The entries of this directory except `.` and `..`, in the file system's order. See getdents64(2).
    public borrowing func entries() throws(SystemCallError) -> [DirectoryEntry] {
        var found: [DirectoryEntry] = []
        try DirectoryReader().read(self) { found.append($0) }
        return found
    }

    /// Renames `name` to `other` and replaces what has that name, atomically. See renameat(2).
    public borrowing func rename(_ name: BytePath, replacing other: BytePath) throws(SystemCallError) {
        try rename(name, to: self, replacing: other)
    }

    /// The same with `other` in `directory`.
    public borrowing func rename(
        _ name: BytePath, to directory: borrowing OwnedDescriptor, replacing other: BytePath
    ) throws(SystemCallError) {
        guard name.isSafeBeneath, other.isSafeBeneath else {
            throw SystemCallError("renameat", .invalidArgument, path: name)
        }
        let (from, to) = (raw, directory.raw)
        try systemCall("renameat", path: name) {
            name.withCString { old in other.withCString { renameat(from, old, to, $0) } }
        }
    }

    /// Replaces the file `name` in this directory by one with `bytes`, atomically: a reader sees the old or the new
    /// one.
    ///
    /// By default writable by the directory's owner and readable by its group, whatever the umask. Nothing is synced
    /// unless it must be durable, so that after a power cut it is the old file or the new one.
    package borrowing func put(
        _ bytes: [UInt8], as name: BytePath, mode: UInt32 = 0o640, durably isDurable: Bool = false
    ) throws(SystemCallError) {
        // Removes what a crash of a process with this number left.
        let temporary = name.addingSuffix(".\(getpid()).part")
        try? unlink(temporary)
        let file = try openBeneath(temporary, [.write, .createNew], mode: mode)
        do throws(SystemCallError) {
            try file.setMode(mode)
            try file.giveToOwner(of: self)
            try file.write(bytes, at: 0)
            if isDurable { try file.sync() }
            try rename(temporary, replacing: name)
            if isDurable { try syncDirectory() }
        } catch {
            try? unlink(temporary)
            throw error
        }
    }
}

extension FileStatus {
    /// The status of `path` below a directory; links are not followed.
    public init(of path: BytePath, beneath root: borrowing OwnedDescriptor) throws(SystemCallError) {
        let parent = try root.openDirectoryBeneath(path.parent)
        try self.init(of: path.name, in: parent)
    }
}

/// Creates the directory at `path`, an absolute path, with missing parents; an existing one is left unchanged.
///
/// It is accessible to its owner only and, if ``chosenGroup()`` finds a dedicated group, to that group.
package func makeDirectory(_ path: BytePath, mode: UInt32 = chosenGroup() == nil ? 0o700 : 0o750)
    throws(SystemCallError)
{
    do { _ = try openDirectory(path) } catch {
        guard error.code == .noSuchFileOrDirectory, !path.isEmpty, path != "/" else { throw error }
        try makeDirectory(path.parent, mode: 0o755)
        _ = try openDirectory(path.parent).makeDirectoriesBeneath(path.name, mode: mode)
    }
}
