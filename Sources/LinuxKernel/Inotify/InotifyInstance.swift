import CLinux
public import FileValues
import Glibc
import SystemPackage

/// An inotify(7) instance: one queue of records for any number of watches.
///
/// Usable from any thread; the kernel serialises. After ``end()`` the descriptor is closed when the last call on it
/// returns, so a thread blocked in ``addWatch(directory:_:)`` by a hung mount never meets another file under its
/// number, and no other thread waits for it.
public final class InotifyInstance: Sendable {
    private let descriptor: SharedDescriptor

    /// A new instance, non-blocking and closed on exec. Throws EMFILE if the user's instances (128 by default,
    /// `fs.inotify.max_user_instances`) or the process's descriptors are exhausted.
    public init() throws(SystemCallError) {
        descriptor = SharedDescriptor(
            try descriptorCall("inotify_init1") { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) })
    }

    /// Closes the instance, and with its last descriptor all its watches, now or when the last call on it returns.
    /// Later calls throw EBADF.
    public func end() { descriptor.end() }

    /// Watches `path`, or changes the mask of its inode's existing watch, and returns the watch descriptor.
    ///
    /// Blocks if the file system hangs. Throws ENOSPC when `fs.inotify.max_user_watches` are in use.
    public func addWatch(_ path: BytePath, _ mask: InotifyMask) throws(SystemCallError) -> Int32 {
        try descriptor.withNumber("inotify_add_watch") { number throws(SystemCallError) in
            try systemCall("inotify_add_watch", path: path) {
                path.withCString { inotify_add_watch(number, $0, mask.rawValue) }
            }
        }
    }

    /// The same for an open directory, whatever its current path; the descriptor may be closed afterwards.
    ///
    /// inotify accepts no descriptors. So the directory becomes the working directory of a thread that has its own, or
    /// it is named through `/proc/self/fd`, which must be mounted then and costs a quarter more.
    ///
    /// - Parameter place: The calling thread's own.
    public func addWatch(
        directory: borrowing OwnedDescriptor, _ mask: InotifyMask, by place: ThreadDirectory? = nil
    ) throws(SystemCallError) -> Int32 {
        let isThere = place?.enter(directory) ?? false
        return try descriptor.withNumber("inotify_add_watch") { number throws(SystemCallError) in
            if isThere {
                let mask = mask.union(.onlyDirectory)
                return try systemCall("inotify_add_watch") { inotify_add_watch(number, ".", mask.rawValue) }
            }
            // The entry is a link that must be followed, hence no IN_DONT_FOLLOW.
            let mask = mask.subtracting(.dontFollow).union(.onlyDirectory)
            return try systemCall("inotify_add_watch", path: BytePath("/proc/self/fd/\(directory.raw)")) {
                clinux_inotify_watch_directory(number, directory.raw, mask.rawValue)
            }
        }
    }

    /// The same for an open file of any kind, including a symbolic link itself.
    public func addWatch(place: borrowing OwnedDescriptor, _ mask: InotifyMask) throws(SystemCallError) -> Int32 {
        try addWatch(BytePath("/proc/self/fd/\(place.raw)"), mask.subtracting(.dontFollow))
    }

    /// Removes a watch; its last record, `ignored`, follows. False if there is no such watch.
    @discardableResult
    public func removeWatch(_ watch: Int32) -> Bool {
        (try? descriptor.withNumber("inotify_rm_watch") { inotify_rm_watch($0, watch) }) == 0
    }

    /// A second descriptor of the same queue, to wait for it.
    public func duplicate() throws(SystemCallError) -> OwnedDescriptor { try descriptor.duplicate() }

    /// The number of unread bytes; see FIONREAD in inotify(7).
    public func queuedBytes() throws(SystemCallError) -> Int { try descriptor.queuedBytes() }

    /// Reads whole records into `buffer` and returns their size in bytes; 0 if there are none. A buffer of
    /// ``smallestBuffer`` bytes holds at least one.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemCallError) -> Int {
        do {
            return try descriptor.withNumber("read") { number throws(SystemCallError) in
                try systemCall("read") { Glibc.read(number, buffer.baseAddress, buffer.count) }
            }
        } catch  where error.code == .resourceTemporarilyUnavailable {
            return 0
        }
    }

    /// The size of a record with the longest name: 16 + NAME_MAX + 1.
    public static let smallestBuffer = 272
}
