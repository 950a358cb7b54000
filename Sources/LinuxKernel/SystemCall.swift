public import FileValues
import Glibc
public import SystemPackage

/// A failed system call: its name, error and path.
public struct SystemCallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call, as its manual page names it.
    public let call: String
    /// Why it failed; see errno(3).
    public let code: Errno
    /// The path that it failed on, if any.
    public let path: BytePath?

    /// An error from its parts.
    public init(_ call: String, _ code: Errno, path: BytePath? = nil) {
        self.call = call
        self.code = code
        self.path = path
    }

    /// The error of a failure.
    public init(_ failure: CallFailure) { self.init(failure.call, failure.code, path: failure.path) }

    /// One line: `open /srv/inbox: No such file or directory`.
    public var description: String {
        let subject = path.map { " \($0.isEmpty ? "." : $0.escaped)" } ?? ""
        return "\(call)\(subject): \(code)"
    }
}

extension CallFailure: CustomStringConvertible {
    /// The failure of a system call's error.
    public init(_ error: SystemCallError) { self.init(error.call, number: error.code.rawValue, path: error.path) }

    /// Why it failed; see errno(3).
    public var code: Errno { Errno(rawValue: number) }

    /// One line: `open /srv/inbox: No such file or directory`.
    public var description: String { SystemCallError(self).description }
}

/// Runs a system call that returns −1 on error: retries after EINTR, throws other errors.
///
/// EBADF and EFAULT trap: they mean that a descriptor or pointer was used after its end, and continuing could affect
/// another file.
@discardableResult
public func systemCall<Value: FixedWidthInteger & SignedInteger>(
    _ name: String, path: @autoclosure () -> BytePath? = nil, _ body: () -> Value
) throws(SystemCallError) -> Value {
    while true {
        let value = body()
        if value != -1 { return value }
        let code = errno
        switch code {
        case EINTR: continue
        case EBADF, EFAULT: fatalError("\(name) on \(path()?.escaped ?? "a descriptor"): \(Errno(rawValue: code))")
        default: throw SystemCallError(name, Errno(rawValue: code), path: path())
        }
    }
}

/// The same for calls that return a descriptor, which the caller owns.
public func descriptorCall(
    _ name: String, path: @autoclosure () -> BytePath? = nil, _ body: () -> Int32
) throws(SystemCallError) -> OwnedDescriptor {
    OwnedDescriptor(taking: try systemCall(name, path: path(), body))
}
