public import FileValues

/// One line of a mount table, /proc/PID/mountinfo; see proc_pid_mountinfo(5).
public struct Mount: Hashable, Sendable {
    /// The mount's number; the kernel reuses it after an unmount.
    public let identifier: Int
    /// The number of the mount that this one is mounted on.
    public let parent: Int
    /// Major and minor number of the file system's device; changes with each mount of some file systems.
    public let device: Device
    /// The directory of the file system that is the mount's root: not `/` for a bind mount or a subvolume.
    public let root: BytePath
    /// Its mount point, from the process's root.
    public let mountPoint: BytePath
    /// Options of this mount, such as `ro` or `noexec`.
    public let options: [String]
    /// Such as `shared:2`; empty for a private mount.
    public let propagation: [String]
    /// Such as `ext4`, `fuse.sshfs`, `nfs4`.
    public let type: String
    /// The source: a device, a server's export, or any word.
    public let source: BytePath
    /// Options of the file system, such as `ro` or `errors=remount-ro`.
    public let superOptions: [BytePath]

    /// A device number in its two parts.
    public struct Device: Hashable, Sendable {
        /// The driver; 0 for file systems without a block device.
        public let major: UInt32
        /// One of the driver's devices.
        public let minor: UInt32

        /// A number from its parts.
        public init(major: UInt32, minor: UInt32) {
            self.major = major
            self.minor = minor
        }
    }

    /// Whether nothing can be written through it: the mount or the whole file system is read-only.
    public var isReadOnly: Bool { options.contains("ro") || superOptions.contains("ro") }

    /// Parses one line without its newline; nil if a field that the kernel has written since 2.6.26 is missing.
    public init?(line: some Collection<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false).map { Array($0) }
        guard words.count >= 10, let dash = words[6...].firstIndex(of: [UInt8(ascii: "-")]), words.count >= dash + 4,
            let identifier = Self.number(words[0]), let parent = Self.number(words[1]),
            let device = Self.device(words[2])
        else { return nil }
        self.identifier = identifier
        self.parent = parent
        self.device = device
        root = Self.path(words[3])
        mountPoint = Self.path(words[4])
        options = Self.list(words[5]).map(\.escaped)
        propagation = words[6..<dash].map { BytePath($0).escaped }
        type = Self.path(words[dash + 1]).escaped
        source = Self.path(words[dash + 2])
        superOptions = Self.list(words[dash + 3])
    }

    private static func number(_ word: [UInt8]) -> Int? { Int(String(decoding: word, as: UTF8.self)) }

    private static func device(_ word: [UInt8]) -> Device? {
        let parts = String(decoding: word, as: UTF8.self).split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let major = UInt32(parts[0]), let minor = UInt32(parts[1]) else { return nil }
        return Device(major: major, minor: minor)
    }

    private static func list(_ word: [UInt8]) -> [BytePath] { word.split(separator: UInt8(ascii: ",")).map(path) }

    /// Decodes octal escapes, which the kernel writes for space, tab, newline, backslash (and `#` in some fields).
    private static func path(_ word: some Collection<UInt8>) -> BytePath {
        var bytes: [UInt8] = []
        var rest = Array(word)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return BytePath(bytes)
    }
}
