public import FileValues

/// Encodes entries as journal fields, for the library's call and for the emergency datagram; pure.
///
/// The names follow systemd.journal-fields(7); the program's own begin with ``prefix``.
public struct JournalEncoding: Hashable, Sendable {
    /// The SYSLOG_IDENTIFIER of every entry: the program's name.
    public let identifier: String
    /// The beginning of the program's own field names, such as `EXAMPLE_`.
    public let prefix: String
    /// Fields of every entry, such as the state directory.
    public let constants: [LogEntry.Field]

    /// journalctl's JSON shows `null` for a field of 4,096 bytes or more, its name included, unless `--all` is given.
    static let maximumField = 4_095

    /// An encoding. `prefix` must be a valid beginning of a field name: `A` to `Z` first, then those, digits and `_`,
    /// at most 32 bytes; otherwise this traps.
    public init(identifier: String, prefix: String, constants: [LogEntry.Field] = []) {
        precondition(
            Self.isValidName(prefix) && prefix.utf8.count <= 32, "not the beginning of a journal field name: \(prefix)")
        self.identifier = cut(oneLine(identifier), to: 255)
        self.prefix = prefix
        self.constants = constants
    }

    /// Whether the journal accepts `name` from a program: 1 to 64 of `A`–`Z`, `0`–`9`, `_`, and neither `_` nor a digit
    /// first. For other names sd_journal_sendv(3) reports success, and journald drops the field silently.
    public static func isValidName(_ name: String) -> Bool {
        guard let first = name.utf8.first, (0x41...0x5A).contains(first), name.utf8.count <= 64 else { return false }
        return name.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    /// The field for a metadata key: `queueDepth` and `queue-depth` both become `PREFIX_QUEUE_DEPTH`. Always valid.
    public func name(forKey key: String) -> String {
        if let common = Self.commonFields[key] { return common }
        var name = Array(prefix.utf8)
        var afterSmall = false
        for byte in key.utf8 {
            switch byte {
            case 0x41...0x5A:
                if afterSmall { name.append(UInt8(ascii: "_")) }
                name.append(byte)
            case 0x61...0x7A: name.append(byte & ~0x20)
            case 0x30...0x39: name.append(byte)
            default: name.append(UInt8(ascii: "_"))
            }
            afterSmall = (0x61...0x7A).contains(byte)
        }
        return String(decoding: name.prefix(64), as: UTF8.self)
    }

    /// Keys with journal fields that are common to all programs, without the prefix.
    private static let commonFields = ["errno": "ERRNO", "documentation": "DOCUMENTATION"]

    /// The fields of `entry`, each as `NAME=value`. An entry that is `sent` more than a second after its event includes
    /// the event's time, because the journal records only the arrival.
    public func fields(of entry: LogEntry, sent: FileTime) -> [[UInt8]] {
        var fields = [
            field("MESSAGE", entry.message),
            field("PRIORITY", String(entry.priority.rawValue)),
            field("SYSLOG_IDENTIFIER", identifier),
        ]
        if let location = entry.location {
            fields.append(field("CODE_FILE", location.file))
            fields.append(field("CODE_LINE", String(location.line)))
            if !location.function.isEmpty { fields.append(field("CODE_FUNC", location.function)) }
        }
        if let id = entry.messageID { fields.append(field("MESSAGE_ID", id.description)) }
        for item in entry.fields + constants { fields.append(field(name(forKey: item.key), item.value)) }
        if sent.seconds - entry.time.seconds > 1 {
            fields.append(field(prefix + "HAPPENED_AT", entry.time.rfc3339))
        }
        return fields
    }

    /// One datagram of the journal's native protocol. A value with a newline is sent with its length, so that no value
    /// can begin a field. See systemd.io/JOURNAL_NATIVE_PROTOCOL.
    static func datagram(_ fields: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in fields {
            guard let equals = field.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let value = field[(equals + 1)...]
            if value.contains(UInt8(ascii: "\n")) {
                bytes += field[..<equals]
                bytes.append(UInt8(ascii: "\n"))
                withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes += $0 }
                bytes += value
            } else {
                bytes += field
            }
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    private func field(_ name: String, _ value: String) -> [UInt8] {
        Array("\(name)=\(cut(value, to: Self.maximumField - name.utf8.count - 1))".utf8)
    }
}
