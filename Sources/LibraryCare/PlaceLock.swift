package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// Keeps a second daemon away from a library or an inbox: an flock(2) on the directory itself, held as long as this object
/// lives, and ended by the kernel however the process ends. It keeps the file system from being unmounted.
package final class PlaceLock: Sendable {
    /// Another daemon holds it.
    package struct Taken: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: BytePath
        /// Its process, where /proc/locks has it.
        package let process: Int32?

        package var description: String {
            process.map { "photoinboxd, process \($0), uses it" } ?? "another photoinboxd uses it"
        }
    }

    /// For file systems where a directory takes no lock: NFS wants a file that is open for writing.
    private static let file: BytePath = ".photo-inbox-lock"

    private let descriptor: OwnedDescriptor
    private let device: UInt64
    private let inode: UInt64

    /// Locks the open directory with the descriptor `directory`, without waiting for another daemon; throws ``Taken``, or
    /// what the system says when it is opened. Where no lock is to be had there, it holds none.
    fileprivate init(_ directory: Int32, at path: BytePath) throws {
        let status = try FileStatus(descriptor: directory)
        (device, inode) = (status.device, status.identity.inode)
        let opened = try descriptorCall("openat", path: path) {
            openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
        }
        var error = Self.lock(opened)
        if [EBADF, EOPNOTSUPP].contains(error),
            let file = try? opened.openBeneath(Self.file, [.readWrite, OpenOptions(rawValue: O_CREAT)], mode: 0o600)
        {
            error = Self.lock(file)
            descriptor = file
        } else {
            descriptor = opened
        }
        if error == EWOULDBLOCK {
            throw Taken(path: path, process: lockHolder(of: try FileStatus(of: descriptor).identity.inode))
        }
    }

    /// Whether it is on the directory with this status.
    func isOn(_ status: FileStatus) -> Bool { status.device == device && status.identity.inode == inode }

    /// 0, or why not. Not by ``systemCall(_:path:_:)``: a refusal may be EBADF, see flock(2).
    private static func lock(_ file: borrowing OwnedDescriptor) -> Int32 {
        while true {
            if flock(file.raw, LOCK_EX | LOCK_NB) == 0 { return 0 }
            if errno != EINTR { return errno }
        }
    }
}

/// The locks of one process: of each place one, whoever works there.
///
/// Any thread; nobody who works on one place waits for another one's disk.
package final class PlaceLocks: Sendable {
    private struct Entry: Sendable {
        weak var lock: PlaceLock?
        /// The same, where it is held when nobody works there, too.
        var kept: PlaceLock?
    }

    private let entries = Locked<[BytePath: Locked<Entry>]>([:])

    package init() {}

    /// Locks `root`, which was opened by `path`, unless that is done: as long as somebody has the lock, or for good until
    /// ``release(allBut:)``. Throws ``PlaceLock/Taken``, or what the system says.
    package func hold(_ root: borrowing OwnedDescriptor, at path: BytePath, forGood: Bool) throws -> PlaceLock {
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
            let lock = try PlaceLock(directory, at: path)
            entry.lock = lock
            if forGood { entry.kept = lock }
            return lock
        }
    }

    /// Releases what is held for good, but for `paths`.
    package func release(allBut paths: Set<BytePath>) {
        let others = entries.withLock { entries in entries.filter { !paths.contains($0.key) }.map(\.value) }
        for entry in others { entry.withLock { $0.kept = nil } }
    }
}
