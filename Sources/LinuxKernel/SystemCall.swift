public import FileValues
import Glibc
public import SystemPackage

/// A system call that failed: which, why, and on what.
public struct SystemCallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call, as its manual page names it.
    public let call: String
    /// Why it failed; see errno(3).
    public let code: Errno
    /// What it was about, where there is a path.
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
    /// What failed in a call that was made.
    public init(_ error: SystemCallError) { self.init(error.call, number: error.code.rawValue, path: error.path) }

    /// Why it failed; see errno(3).
    public var code: Errno { Errno(rawValue: number) }

    /// One line: `open /srv/inbox: No such file or directory`.
    public var description: String { SystemCallError(self).description }
}

/// Runs a system call that returns −1 on error: retries it when a signal interrupted it, throws what else failed.
///
/// EBADF and EFAULT trap: they mean that we used a descriptor or a pointer that was not ours any more, and going on
/// could touch another file.
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

/// The same for calls that return a descriptor, which the caller then owns.
public func descriptorCall(
    _ name: String, path: @autoclosure () -> BytePath? = nil, _ body: () -> Int32
) throws(SystemCallError) -> OwnedDescriptor {
    OwnedDescriptor(taking: try systemCall(name, path: path(), body))
}
