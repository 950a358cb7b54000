/// Directories that are polled because inotify(7) had no watch for them.
package struct WatchShortage: Hashable, Sendable {
    /// ENOSPC: the user's watches are used up.
    static let noSpace: Int32 = 28
    /// EMFILE: there was no instance.
    static let tooManyOpenFiles: Int32 = 24

    /// Whether there is no instance at all; otherwise the watches are used up.
    package let isOfInstances: Bool
    /// How many directories are polled for it.
    package let polled: Int
}
