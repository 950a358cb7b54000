import CLinux
import Glibc
public import SystemPackage

/// The kernel's answer to a request for a read lease.
public enum LeaseAnswer: Hashable, Sendable {
    /// Acquired and released: no process had the file open or mapped for writing.
    case granted
    /// EAGAIN: a process has.
    case refusedForWriter
    /// Other errors prove nothing about writers: EACCES (another user's file, without CAP_LEASE), EINVAL, ENOLCK …
    case unavailable(Errno)
}

extension OwnedDescriptor {
    /// Acquires and releases a read lease on the regular file, which must be open for reading only.
    ///
    /// If a writer opens the file in between, the kernel sends SIGIO, which ends a process that neither blocks nor
    /// ignores it: see ``isSignalHarmless(_:)``. See fcntl(2), F_SETLEASE.
    public borrowing func askForReadLease() -> LeaseAnswer {
        guard clinux_set_read_lease(raw) == 0 else {
            return errno == EAGAIN ? .refusedForWriter : .unavailable(Errno(rawValue: errno))
        }
        // Cannot fail for a lease that is held; closing the descriptor would release it too.
        _ = clinux_release_lease(raw)
        return .granted
    }
}
