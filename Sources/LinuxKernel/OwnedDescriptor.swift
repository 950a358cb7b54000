import Glibc
import SystemPackage

/// A file descriptor with one owner, closed when the value ends unless ``take()`` transferred it.
///
/// Move-only, so that a descriptor cannot be closed twice or used after its number was reused.
public struct OwnedDescriptor: ~Copyable, Sendable {
    /// The number, for system calls while this value exists; must not be stored.
    public let raw: Int32

    /// Becomes the owner of `raw`, which must be open and without another owner.
    public init(taking raw: Int32) {
        precondition(raw >= 0, "not a descriptor: \(raw)")
        self.raw = raw
    }

    deinit { _ = Glibc.close(raw) }

    /// Transfers the number to a new owner, which must close it.
    public consuming func take() -> Int32 {
        let number = raw
        discard self
        return number
    }

    /// Closes now and throws the error of close(2); the descriptor is released in either case.
    public consuming func close() throws(SystemCallError) {
        let number = raw
        discard self
        // Linux releases the number even when close fails with EINTR, so it is never retried.
        if Glibc.close(number) != 0, errno != EINTR {
            throw SystemCallError("close", Errno(rawValue: errno))
        }
    }
}
