public import LinuxKernel

/// What inotify(7) lacks so that every directory is watched, and what is to be set so that it suffices.
public struct WatchNeed: Hashable, Sendable {
    /// What there is too little of.
    public enum Resource: Hashable, Sendable {
        /// One for each directory.
        case watches
        /// One for each program that watches; without it nothing is.
        case instances
    }

    /// What there is too little of.
    public let resource: Resource
    /// The limit that was reached, where it can be read. All processes of the user share it.
    public let limit: InotifyLimits.Limit?
    /// How much of it there is here, and is missing.
    public let used: Int
    /// See ``used``.
    public let missing: Int
    /// Directories that are polled for it, of all roots.
    public let polled: Int

    /// What is missing, where `used` are there.
    public init(_ resource: Resource, limit: InotifyLimits.Limit?, used: Int, missing: Int, polled: Int) {
        self.resource = resource
        self.limit = limit
        self.used = used
        self.missing = missing
        self.polled = polled
    }

    /// What the limit has to be at least. It is used up, whoever has it.
    public var needed: Int { max(limit?.value ?? 0, used) + missing }

    /// What to set: the next power of two, so that a tree that grows does not need the next one tomorrow.
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
