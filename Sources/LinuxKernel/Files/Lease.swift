import CLinux
import Glibc
public import SystemPackage

/// What the kernel answered when asked for a read lease.
public enum LeaseAnswer: Hashable, Sendable {
    /// Given, and given back: nobody had the file open for writing, or mapped so.
    case granted
    /// EAGAIN: somebody has.
    case refusedForWriter
    /// Anything else says nothing about writers: EACCES (another user's file, without CAP_LEASE), EINVAL, ENOLCK …
    case unavailable(Errno)
}

extension OwnedDescriptor {
    /// Asks for a read lease on the regular file, which must be open for reading only, and gives it back at once.
    ///
    /// A writer that opens the file in between makes the kernel send SIGIO, which ends a process that neither blocks
    /// nor ignores it: see ``isSignalHarmless(_:)``. See fcntl(2), F_SETLEASE.
    public borrowing func askForReadLease() -> LeaseAnswer {
        guard clinux_set_read_lease(raw) == 0 else {
            return errno == EAGAIN ? .refusedForWriter : .unavailable(Errno(rawValue: errno))
        }
        // Releasing a lease that is held cannot fail; were it to, closing the descriptor releases it too.
        _ = clinux_release_lease(raw)
        return .granted
    }
}
