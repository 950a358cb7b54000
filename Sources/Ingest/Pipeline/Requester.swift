import LinuxKernel

/// Who asked for something: for the record, the journal and the proof of what was released as it is.
package struct Requester: Hashable, Sendable, Codable {
    /// By number, as the kernel knows it.
    package let user: UInt32
    /// By name, where it has one.
    package let name: String?

    package init(user: UInt32, name: String?) {
        self.user = user
        self.name = name
    }

    /// Looks the name up, which may wait for files or for a name service.
    package init(lookingUp user: UInt32) { self.init(user: user, name: userName(user)) }

    /// `ana`, else `user 1000`.
    package var words: String { name ?? "user \(user)" }
}
