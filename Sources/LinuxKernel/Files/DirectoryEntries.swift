import CLinux
public import FileValues
import Glibc
import SystemPackage

// Single entries of an open directory. A slash in `name` is refused, so nothing here can reach outside the directory.

extension OwnedDescriptor {
    /// Creates a file without a name in this directory's file system, open for reading and writing. It is deleted when
    /// the descriptor closes unless ``link(_:as:)`` named it. Throws EOPNOTSUPP or EISDIR if unsupported. See open(2),
    /// O_TMPFILE.
    public borrowing func makeAnonymousFile(mode: UInt32) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat O_TMPFILE") {
            clinux_openat(directory, ".", clinux_o_tmpfile() | O_RDWR | O_CLOEXEC, mode)
        }
    }

    /// Names the anonymous file `file` in this directory; EEXIST if the name is in use. See linkat(2).
    ///
    /// Through /proc, since AT_EMPTY_PATH requires CAP_DAC_READ_SEARCH; ENOENT therefore also means "no /proc".
    public borrowing func link(_ file: borrowing OwnedDescriptor, as name: BytePath) throws(SystemCallError) {
        try requireSingleName(name, "linkat")
        let (directory, source) = (raw, "/proc/self/fd/\(file.raw)")
        try systemCall("linkat", path: name) {
            name.withCString { linkat(AT_FDCWD, source, directory, $0, AT_SYMLINK_FOLLOW) }
        }
    }

    /// Links the file `name` of this directory as `newName` in it; EEXIST if that is in use. See linkat(2).
    public borrowing func link(_ name: BytePath, as newName: BytePath) throws(SystemCallError) {
        try link(name, in: self, as: newName)
    }

    /// The same with the new name in `directory`.
    public borrowing func link(
        _ name: BytePath, in directory: borrowing OwnedDescriptor, as newName: BytePath
    ) throws(SystemCallError) {
        try requireSingleName(name, "linkat")
        try requireSingleName(newName, "linkat")
        let (from, to) = (raw, directory.raw)
        try systemCall("linkat", path: newName) {
            name.withCString { old in newName.withCString { linkat(from, old, to, $0, 0) } }
        }
    }

    /// Moves the entry `name` to `directory` as `newName`; EEXIST if that is in use, EXDEV on another mount, EINVAL or
    /// ENOSYS if the file system does not support RENAME_NOREPLACE. See renameat2(2).
    public borrowing func rename(
        _ name: BytePath, to directory: borrowing OwnedDescriptor, as newName: BytePath
    ) throws(SystemCallError) {
        try requireSingleName(name, "renameat2")
        try requireSingleName(newName, "renameat2")
        let (from, to) = (raw, directory.raw)
        try systemCall("renameat2", path: name) {
            name.withCString { old in newName.withCString { clinux_rename_noreplace(from, old, to, $0) } }
        }
    }

    /// Exchanges the names of two entries, atomically; EINVAL or ENOSYS if the file system does not support
    /// RENAME_EXCHANGE. See renameat2(2).
    package borrowing func exchange(_ name: BytePath, _ other: BytePath) throws(SystemCallError) {
        try requireSingleName(name, "renameat2")
        try requireSingleName(other, "renameat2")
        let directory = raw
        try systemCall("renameat2", path: name) {
            name.withCString { one in other.withCString { clinux_rename_exchange(directory, one, $0) } }
        }
    }

    /// Removes the file `name`; ENOENT if there is none. See unlinkat(2).
    public borrowing func unlink(_ name: BytePath) throws(SystemCallError) {
        try requireSingleName(name, "unlinkat")
        let directory = raw
        try systemCall("unlinkat", path: name) { name.withCString { unlinkat(directory, $0, 0) } }
    }

    /// Creates the directory `name` with the permission bits `mode` less the umask; EEXIST if the name is in use. See
    /// mkdirat(2).
    public borrowing func makeDirectory(_ name: BytePath, mode: UInt32) throws(SystemCallError) {
        try requireSingleName(name, "mkdirat")
        let directory = raw
        try systemCall("mkdirat", path: name) { name.withCString { mkdirat(directory, $0, mode_t(mode)) } }
    }

    private borrowing func requireSingleName(_ name: BytePath, _ call: String) throws(SystemCallError) {
        guard name.isSafeBeneath, !name.bytes.contains(UInt8(ascii: "/")) else {
            throw SystemCallError(call, .invalidArgument, path: name)
        }
    }
}
