import CLinux
import FileValues
import Glibc

/// A working directory of one thread; see CLONE_FS in unshare(2).
///
/// Names an open directory in calls that accept only a path: after ``enter(_:)`` it is ".". Belongs to its thread and
/// traps on any other. The thread may use other relative paths only after ``leave()``.
public final class ThreadDirectory {
    private let thread = pthread_self()
    private let start: OwnedDescriptor
    private var hasLeft = true

    /// Gives the calling thread its own working directory until it ends: not for threads of a pool. Throws EPERM if
    /// seccomp(2) forbids unshare(2), as in many containers.
    public init() throws(SystemCallError) {
        start = try openStart(of: "")
        try systemCall("unshare") { clinux_unshare_directory() }
    }

    deinit { leave() }

    /// Makes an open directory the thread's; false if that fails, as for one that may be listed but not searched.
    /// A file system cannot be unmounted while a thread is in it.
    public func enter(_ directory: borrowing OwnedDescriptor) -> Bool {
        precondition(pthread_equal(thread, pthread_self()) != 0, "another thread's working directory")
        guard fchdir(directory.raw) == 0 else { return false }
        hasLeft = false
        return true
    }

    /// Returns to the initial directory. Fails only if it may no longer be searched; relative paths then fail on other
    /// threads too.
    public func leave() {
        if hasLeft { return }
        precondition(pthread_equal(thread, pthread_self()) != 0, "another thread's working directory")
        hasLeft = fchdir(start.raw) == 0
    }
}
