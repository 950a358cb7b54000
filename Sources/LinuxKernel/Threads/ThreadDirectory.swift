import CLinux
import FileValues
import Glibc

/// A working directory of one thread alone; see CLONE_FS in unshare(2).
///
/// With it a directory that is open can be named in calls that take nothing but a path: it is entered, and is "." then.
/// Belongs to its thread, and traps on any other. What else the thread does by relative paths has to wait for
/// ``leave()``.
public final class ThreadDirectory {
    private let thread = pthread_self()
    private let start: OwnedDescriptor
    private var hasLeft = true

    /// Gives the calling thread its own, for as long as the thread lives: not for threads that run what others ask for.
    /// Throws EPERM where seccomp(2) does not allow unshare(2), as in many containers.
    public init() throws(SystemCallError) {
        start = try openStart(of: "")
        try systemCall("unshare") { clinux_unshare_directory() }
    }

    deinit { leave() }

    /// Makes an open directory the thread's; false where it can't, as in one that may be listed and not searched.
    /// A file system can't be unmounted as long as a thread is in it.
    public func enter(_ directory: borrowing OwnedDescriptor) -> Bool {
        precondition(pthread_equal(thread, pthread_self()) != 0, "another thread's working directory")
        guard fchdir(directory.raw) == 0 else { return false }
        hasLeft = false
        return true
    }

    /// Goes back to where the thread was in the beginning. That fails only where it may not be searched any more, and
    /// then relative paths lead nowhere on other threads, too.
    public func leave() {
        if hasLeft { return }
        precondition(pthread_equal(thread, pthread_self()) != 0, "another thread's working directory")
        hasLeft = fchdir(start.raw) == 0
    }
}
