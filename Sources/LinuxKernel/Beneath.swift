import CLinux
public import FileValues
import Glibc
import SystemPackage

/// Flags for opening a file beneath a directory; links are never followed, and the file is closed on exec.
public struct OpenOptions: OptionSet, Sendable {
    /// The flags of open(2).
    public let rawValue: Int32

    /// Flags of open(2).
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// For reading.
    public static let read = OpenOptions(rawValue: O_RDONLY)
    /// For writing.
    public static let write = OpenOptions(rawValue: O_WRONLY)
    /// For reading and writing.
    public static let readWrite = OpenOptions(rawValue: O_RDWR)
    /// Creates the file; fails with EEXIST if it exists.
    public static let createNew = OpenOptions(rawValue: O_CREAT | O_EXCL)
    /// Never blocks: a FIFO without a writer opens at once.
    public static let nonBlocking = OpenOptions(rawValue: O_NONBLOCK)
    /// Fails unless it is a directory.
    public static let directory = OpenOptions(rawValue: O_DIRECTORY)
    /// O_PATH: nothing can be read, and inotify(7) reports no event. The value of x86, ARM, RISC-V, POWER and s390;
    /// Swift's import of Glibc omits it.
    public static let placeAlone = OpenOptions(rawValue: 0o10_000_000)
}

/// Opens the directory at `path` and follows links: for configured roots, never for names from an inbox.
public func openDirectory(
    _ path: BytePath, _ options: OpenOptions = .read
) throws(SystemCallError) -> OwnedDescriptor {
    let flags = options.rawValue | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK
    return try descriptorCall("open", path: path) { path.withCString { clinux_openat(AT_FDCWD, $0, flags, 0) } }
}

extension OwnedDescriptor {
    /// Opens the directory `path` below this one, one name at a time, so that no link or `..` can lead out of it; an
    /// empty path opens this directory again.
    ///
    /// Uses openat(2) with O_NOFOLLOW, since openat2(2) is ENOSYS under RestrictSUIDSGID=. A symbolic link, or a file
    /// in place of a directory, fails with ELOOP or ENOTDIR.
    public borrowing func openDirectoryBeneath(_ path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        guard path.isEmpty || path.isSafeBeneath else { throw SystemCallError("openat", .invalidArgument, path: path) }
        var current = try openEntry(".", O_RDONLY | O_DIRECTORY)
        for name in path.components {
            current = try current.openEntry(name, O_RDONLY | O_DIRECTORY)
        }
        return current
    }

    /// Opens the file `path` below this directory in the same way; `mode` applies to a new file.
    public borrowing func openBeneath(
        _ path: BytePath, _ options: OpenOptions, mode: UInt32 = 0o600
    ) throws(SystemCallError) -> OwnedDescriptor {
        guard path.isSafeBeneath else { throw SystemCallError("openat", .invalidArgument, path: path) }
        let name = path.name
        if path.components.count == 1 { return try openEntry(name, options.rawValue, mode: mode) }
        return try openDirectoryBeneath(path.parent).openEntry(name, options.rawValue, mode: mode)
    }

    /// Creates the directory `path` below this one, with missing parents, and opens it. The parent of each new
    /// directory is synced, so that the path to a file in it is as durable as the file; see mkdirat(2), fsync(2).
    ///
    /// New ones have `mode`, whatever the umask is, and those for their parent's group stay so; existing ones are left
    /// unchanged.
    public borrowing func makeDirectoriesBeneath(
        _ path: BytePath, mode: UInt32
    ) throws(SystemCallError) -> OwnedDescriptor {
        guard path.isEmpty || path.isSafeBeneath else { throw SystemCallError("mkdirat", .invalidArgument, path: path) }
        var current = try openEntry(".", O_RDONLY | O_DIRECTORY)
        for name in path.components {
            let parent = current.raw
            let made = name.withCString { mkdirat(parent, $0, mode_t(mode)) }
            if made == 0 {
                try systemCall("fsync", path: name) { fsync(parent) }
            } else if errno != EEXIST {
                throw SystemCallError("mkdirat", Errno(rawValue: errno), path: path)
            }
            current = try current.openEntry(name, O_RDONLY | O_DIRECTORY)
            if made == 0 {
                let inherited = try FileStatus(of: current).mode & 0o2000
                try current.setModeOrLess(mode | inherited)
            }
        }
        return current
    }

    /// Opens the directory `name` in this one for reading; `name` is a single name from a listing, ended by NUL.
    package borrowing func openDirectory(named name: UnsafePointer<CChar>) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat") {
            clinux_openat(directory, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0)
        }
    }

    /// Opens the file `name` in this directory for reading, in the same way; never blocks on a FIFO.
    package borrowing func openFile(named name: UnsafePointer<CChar>) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat") {
            clinux_openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0)
        }
    }

    private borrowing func openEntry(
        _ name: BytePath, _ flags: Int32, mode: UInt32 = 0
    ) throws(SystemCallError) -> OwnedDescriptor {
        let directory = raw
        return try descriptorCall("openat", path: name) {
            name.withCString { clinux_openat(directory, $0, flags | O_NOFOLLOW | O_CLOEXEC, mode_t(mode)) }
        }
    }
}
