import Glibc

/// How much inotify(7) a user may have. Both limits hold for all processes of a user together.
public struct InotifyLimits: Hashable, Sendable {
    /// One limit, and what is to be set to raise it.
    public struct Limit: Hashable, Sendable {
        /// As sysctl(8) calls it.
        public let setting: String
        /// What it is now.
        public let value: Int

        /// A limit from its parts.
        public init(setting: String, value: Int) {
            self.setting = setting
            self.value = value
        }
    }

    /// Of watches; nil where /proc/sys is hidden (ProcSubset=pid).
    public let watches: Limit?
    /// Of instances.
    public let instances: Limit?

    /// Limits as somebody read them.
    public init(watches: Limit? = nil, instances: Limit? = nil) {
        self.watches = watches
        self.instances = instances
    }

    /// The limits as they are now. In a user namespace two hold, its own and the machine's: the smaller is the limit.
    public static func current() -> InotifyLimits {
        InotifyLimits(
            watches: smaller("fs.inotify.max_user_watches", "user.max_inotify_watches"),
            instances: smaller("fs.inotify.max_user_instances", "user.max_inotify_instances"))
    }

    private static func smaller(_ machine: String, _ namespace: String) -> Limit? {
        guard let machine = limit(machine) else { return nil }
        guard let namespace = limit(namespace), namespace.value < machine.value else { return machine }
        return namespace
    }

    private static func limit(_ setting: String) -> Limit? {
        let path = "/proc/sys/" + setting.split(separator: ".").joined(separator: "/")
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let digits = line.prefix { $0 >= 0x30 && $0 < 0x3A }.map { UInt8($0) }
        return Int(String(decoding: digits, as: UTF8.self)).map { Limit(setting: setting, value: $0) }
    }
}
