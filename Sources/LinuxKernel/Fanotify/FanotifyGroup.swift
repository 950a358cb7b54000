import CLinux
import Glibc

/// A fanotify(7) group that tells of everything on the file systems that it marks, by directory handle and name.
///
/// Needs CAP_SYS_ADMIN in the initial user namespace to mark a file system. Usable from any thread; the kernel
/// serialises. Its end is like an ``InotifyInstance``'s.
///
/// The queue is the kernel's ordinary one, 16,384 records by default (`fs.fanotify.max_queued_events`), not an unlimited
/// one: any user who writes to the file system fills it, and its memory is charged to this process.
public final class FanotifyGroup: Sendable {
    private let descriptor: SharedDescriptor

    /// A new group, non-blocking and closed on exec. Throws ENOSYS or EINVAL from a kernel without it, EMFILE where the
    /// user's groups (128) or the process's descriptors ran out, EPERM where a sandbox refuses it.
    public init() throws(SystemCallError) {
        descriptor = SharedDescriptor(try descriptorCall("fanotify_init") { clinux_fanotify_init() })
    }

    /// Closes the group, and with its last descriptor all its marks. Calls after it throw EBADF.
    public func end() { descriptor.end() }

    /// Marks the whole file system on which an open directory lies, or adds to its mark; doing it again changes nothing.
    ///
    /// The mark ends with the file system's last mount, without a record: another mount of it has to be marked anew.
    /// Throws EPERM without CAP_SYS_ADMIN; EXDEV in a btrfs subvolume; ENODEV where there is no file-system identifier;
    /// EOPNOTSUPP where there are no handles; EINVAL where the kernel is older than ``FanotifyMask/renamed``.
    public func mark(
        fileSystemOf directory: borrowing OwnedDescriptor, _ mask: FanotifyMask
    ) throws(SystemCallError) { try mark(directory, mask, adds: true) }

    /// Takes bits from such a mark; the mark itself goes with its last bit. Throws ENOENT if there is none.
    public func unmark(
        fileSystemOf directory: borrowing OwnedDescriptor, _ mask: FanotifyMask
    ) throws(SystemCallError) { try mark(directory, mask, adds: false) }

    private func mark(
        _ directory: borrowing OwnedDescriptor, _ mask: FanotifyMask, adds: Bool
    ) throws(SystemCallError) {
        let number = directory.raw
        try descriptor.inUse("fanotify_mark") { group throws(SystemCallError) in
            _ = try systemCall("fanotify_mark") {
                clinux_fanotify_mark_file_system(group, adds ? 1 : 0, mask.rawValue, number)
            }
        }
    }

    /// A second descriptor of the same queue, for whoever waits for it.
    public func duplicate() throws(SystemCallError) -> OwnedDescriptor { try descriptor.duplicate() }

    /// How many bytes of records wait to be read.
    public func queuedBytes() throws(SystemCallError) -> Int { try descriptor.queuedBytes() }

    /// Room for one record with the longest names and handles: two places of a rename.
    public static let smallestBuffer = 1_024
}
