/// A failed system call, as a value for code that makes no calls itself.
public struct CallFailure: Error, Hashable, Sendable {
    /// The call, as its manual page names it.
    public let call: String
    /// Why it failed, as errno(3) numbers it.
    public let number: Int32
    /// The path that it failed on, if any.
    public let path: BytePath?

    /// A failure from its parts.
    public init(_ call: String, number: Int32, path: BytePath? = nil) {
        self.call = call
        self.number = number
        self.path = path
    }
}
