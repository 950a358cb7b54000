import Glibc

/// The inotify(7) limits of a user, for all of the user's processes together.
public struct InotifyLimits: Hashable, Sendable {
    /// One limit and the setting that raises it.
    public struct Limit: Hashable, Sendable {
        /// Its name in sysctl(8).
        public let setting: String
        /// Its current value.
        public let value: Int

        /// A limit from its parts.
        public init(setting: String, value: Int) {
            self.setting = setting
            self.value = value
        }
    }

    /// Of watches; nil if /proc/sys is hidden (ProcSubset=pid).
    public let watches: Limit?
    /// Of instances.
    public let instances: Limit?

    /// Limits from their parts.
    public init(watches: Limit? = nil, instances: Limit? = nil) {
        self.watches = watches
        self.instances = instances
    }

    /// The current limits. In a user namespace the smaller of its own and the machine's applies.
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
