public import FileValues
import Glibc
import SystemPackage

extension OwnedDescriptor {
    /// The names in this directory but `.` and `..`, in the file system's order. See getdents64(2).
    public borrowing func entries() throws(SystemCallError) -> [DirectoryEntry] {
        var found: [DirectoryEntry] = []
        try DirectoryReader().read(self) { found.append($0) }
        return found
    }

    /// Gives the file `name` the name `other`, in place of what has that name now, at once. See renameat(2).
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

    /// Puts `bytes` under `name` in this directory, in place of what was there: a reader sees one or the other, whole. By
    /// default for the directory's owner to change and its group to read, whatever the umask says. Nothing is synced.
    package borrowing func put(_ bytes: [UInt8], as name: BytePath, mode: UInt32 = 0o640) throws(SystemCallError) {
        // The same name for whoever makes the same one; what a crash left goes first.
        let temporary = name.addingSuffix(".\(getpid()).part")
        try? unlink(temporary)
        let file = try openBeneath(temporary, [.write, .createNew], mode: mode)
        do throws(SystemCallError) {
            try file.setMode(mode)
            try file.giveToOwner(of: self)
            try file.write(bytes, at: 0)
            try rename(temporary, replacing: name)
        } catch {
            try? unlink(temporary)
            throw error
        }
    }
}

extension FileStatus {
    /// The status of `path` below a directory, with no link followed on the way.
    public init(of path: BytePath, beneath root: borrowing OwnedDescriptor) throws(SystemCallError) {
        let parent = try root.openDirectoryBeneath(path.parent)
        try self.init(of: path.name, in: parent)
    }
}

/// Makes the directory at `path`, an absolute path, with what is missing on the way; one that is there is left as it is.
/// New ones are for their owner and, where somebody has chosen who is in it, group alone: what is in them is nobody else's
/// business.
package func makeDirectory(_ path: BytePath, mode: UInt32 = chosenGroup() == nil ? 0o700 : 0o750)
    throws(SystemCallError)
{
    do { _ = try openDirectory(path) } catch {
        guard error.code == .noSuchFileOrDirectory, !path.isEmpty, path != "/" else { throw error }
        try makeDirectory(path.parent, mode: 0o755)
        _ = try openDirectory(path.parent).makeDirectoriesBeneath(path.name, mode: mode)
        // The unit's umask would leave the group out.
        try openDirectory(path).setMode(mode)
    }
}
