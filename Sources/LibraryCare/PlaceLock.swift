package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// A lock that excludes a second daemon from a library or an inbox: an flock(2) on the directory, released by deinit or
/// the end of the process. It prevents the file system from being unmounted.
///
/// Daemons that share a catalogue share the lock of their library. Each also locks one byte of the directory, at an offset
/// that is the catalogue's, by an open file description lock of fcntl(2): a locked byte at another offset is that of a
/// daemon with another catalogue.
package final class PlaceLock: Sendable {
    /// Another daemon holds the lock.
    package struct Taken: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: BytePath
        /// Its process, if /proc/locks shows it.
        package let process: Int32?
        /// It shares a catalogue with others, but not this one.
        package var hasOtherCatalogue = false

        package var description: String {
            if hasOtherCatalogue { return "photoinboxd uses it with another catalogue" }
            return process.map { "photoinboxd, process \($0), uses it" } ?? "another photoinboxd uses it"
        }
    }

    /// For file systems where directories cannot be locked: NFS requires a file that is open for writing.
    private static let file: BytePath = ".photo-inbox-lock"

    private let descriptor: OwnedDescriptor
    private let device: UInt64
    private let inode: UInt64

    /// Locks the open directory `directory` without waiting. Throws ``Taken``, or the error of opening it. On a file
    /// system without locks it holds none.
    fileprivate init(_ directory: Int32, at path: BytePath, sharing catalogue: UInt64?) throws {
        let status = try FileStatus(descriptor: directory)
        (device, inode) = (status.device, status.identity.inode)
        let opened = try descriptorCall("openat", path: path) {
            openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
        }
        let isShared = catalogue != nil
        var error = Self.lock(opened, isShared)
        if [EBADF, EOPNOTSUPP].contains(error),
            let file = try? opened.openBeneath(Self.file, [.readWrite, OpenOptions(rawValue: O_CREAT)], mode: 0o600)
        {
            error = Self.lock(file, isShared)
            descriptor = file
        } else {
            descriptor = opened
        }
        if error == EWOULDBLOCK {
            throw Taken(path: path, process: lockHolder(of: try FileStatus(of: descriptor).identity.inode))
        }
        // Locked before it is asked for others: of two that do this at once, one sees the other. Offsets are positive, and
        // there is one behind each.
        if error == 0, let catalogue, descriptor.lockByte(at: catalogue >> 2),
            descriptor.isLockedElsewhere(thanAt: catalogue >> 2)
        {
            throw Taken(path: path, process: nil, hasOtherCatalogue: true)
        }
    }

    /// Returns whether this lock is on the directory with this status.
    func isOn(_ status: FileStatus) -> Bool { status.device == device && status.identity.inode == inode }

    /// Returns 0 or the error number. Does not use ``systemCall(_:path:_:)``, since EBADF is possible here; see
    /// flock(2).
    private static func lock(_ file: borrowing OwnedDescriptor, _ shared: Bool) -> Int32 {
        while true {
            if flock(file.raw, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 { return 0 }
            if errno != EINTR { return errno }
        }
    }
}

/// The locks of one process, one for each place.
///
/// Any thread. A call for one place does not wait for another one's disk.
package final class PlaceLocks: Sendable {
    private struct Entry: Sendable {
        weak var lock: PlaceLock?
        /// The same lock, if it is held permanently.
        var kept: PlaceLock?
    }

    private let entries = Locked<[BytePath: Locked<Entry>]>([:])

    package init() {}

    /// Returns the lock of `root`, opened by `path`, and acquires it if necessary. It is held as long as the returned
    /// object exists, or, with `forGood`, until ``release(allBut:)``; `sharing` it with daemons that use the catalogue of
    /// this number. Throws ``PlaceLock/Taken`` or a system error.
    package func hold(
        _ root: borrowing OwnedDescriptor, at path: BytePath, forGood: Bool, sharing catalogue: UInt64? = nil
    ) throws -> PlaceLock {
        let status = try FileStatus(of: root)
        let directory = root.raw
        let entry = entries.withLock { entries in
            let entry = entries[path] ?? Locked(Entry())
            entries[path] = entry
            return entry
        }
        return try entry.withLock { entry in
            if let lock = entry.lock, lock.isOn(status) {
                if forGood { entry.kept = lock }
                return lock
            }
            entry.kept = nil
            let lock = try PlaceLock(directory, at: path, sharing: catalogue)
            entry.lock = lock
            if forGood { entry.kept = lock }
            return lock
        }
    }

    /// Releases all permanent locks except those of `paths`.
    package func release(allBut paths: Set<BytePath>) {
        let others = entries.withLock { entries in entries.filter { !paths.contains($0.key) }.map(\.value) }
        for entry in others { entry.withLock { $0.kept = nil } }
    }
}
