/// Directories that are polled because inotify(7) had no watch for them.
package struct WatchShortage: Hashable, Sendable {
    /// ENOSPC: the user's watches are used up.
    private static let noSpace: Int32 = 28
    /// EMFILE: there was no instance.
    private static let tooManyOpenFiles: Int32 = 24

    /// Whether there is no instance at all; otherwise the watches are used up.
    package let isOfInstances: Bool
    /// How many directories are polled for it.
    package let polled: Int

    /// The shortage in roots whose directories could not be watched, by the last errno(3) of each; nil if watches did not
    /// fail for want of any.
    init?(failures: [Int32?], polled: Int) {
        guard failures.contains(Self.tooManyOpenFiles) || failures.contains(Self.noSpace) else { return nil }
        isOfInstances = failures.contains(Self.tooManyOpenFiles)
        self.polled = polled
    }
}
