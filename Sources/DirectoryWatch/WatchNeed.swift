public import LinuxKernel

/// The resource of inotify(7) that is missing for watching every directory, and the setting that provides it.
public struct WatchNeed: Hashable, Sendable {
    /// A resource with a limit.
    public enum Resource: Hashable, Sendable {
        /// One for each directory.
        case watches
        /// One for each program that watches; without it, nothing is watched.
        case instances
    }

    /// The resource that is missing.
    public let resource: Resource
    /// The limit that was reached, where it can be read. All processes of the user share it.
    public let limit: InotifyLimits.Limit?
    /// How many are used here, and how many are missing.
    public let used: Int
    /// See ``used``.
    public let missing: Int
    /// Directories that are polled for it, of all roots.
    public let polled: Int

    /// So many are missing where `used` are used.
    public init(_ resource: Resource, limit: InotifyLimits.Limit?, used: Int, missing: Int, polled: Int) {
        self.resource = resource
        self.limit = limit
        self.used = used
        self.missing = missing
        self.polled = polled
    }

    /// The lowest limit that suffices: the present one is used up.
    public var needed: Int { max(limit?.value ?? 0, used) + missing }

    /// The limit to set: the next power of two, so that a growing tree does not soon need another.
    public var advised: Int {
        var power = resource == .watches ? 8_192 : 128
        while power < needed, power < 1 << 30 { power *= 2 }
        return power
    }

    /// The setting's name, for sysctl(8).
    public var setting: String {
        limit?.setting ?? (resource == .watches ? "fs.inotify.max_user_watches" : "fs.inotify.max_user_instances")
    }

    /// The line for sysctl(8), and for a file in /etc/sysctl.d.
    public var assignment: String { "\(setting)=\(advised)" }
}
