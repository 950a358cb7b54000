import Glibc
import SystemPackage

/// A file descriptor with one owner, closed once: when the value ends, or never if ``take()`` handed it on.
///
/// Move-only, so that a descriptor cannot be closed twice or used after its number was given to another file.
public struct OwnedDescriptor: ~Copyable, Sendable {
    /// The number, for system calls while this value lives. Not to be kept.
    public let raw: Int32

    /// Takes over `raw`, which must be open and owned by nobody else.
    public init(taking raw: Int32) {
        precondition(raw >= 0, "not a descriptor: \(raw)")
        self.raw = raw
    }

    deinit { _ = Glibc.close(raw) }

    /// Gives the number to a new owner, who closes it.
    public consuming func take() -> Int32 {
        let number = raw
        discard self
        return number
    }

    /// Closes now and reports what close(2) said; the descriptor is gone either way.
    public consuming func close() throws(SystemCallError) {
        let number = raw
        discard self
        // Linux releases the number even when close fails with EINTR, so it is never retried.
        if Glibc.close(number) != 0, errno != EINTR {
            throw SystemCallError("close", Errno(rawValue: errno))
        }
    }
}
