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
}

extension FileStatus {
    /// The status of `path` below a directory, with no link followed on the way.
    public init(of path: BytePath, beneath root: borrowing OwnedDescriptor) throws(SystemCallError) {
        let parent = try root.openDirectoryBeneath(path.parent)
        try self.init(of: path.name, in: parent)
    }
}
