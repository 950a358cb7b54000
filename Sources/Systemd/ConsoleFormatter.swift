import FileValues
import LinuxKernel

/// Formats each entry as one line of text, whatever its content. Pure, except for the machine's time zone.
public struct ConsoleFormatter: Hashable, Sendable {
    /// The beginning of a line.
    public enum Style: String, Hashable, Sendable, CaseIterable {
        /// Time of day and level word.
        case terminal
        /// The same, in colour.
        case coloured
        /// Full date and time with the zone, for files and pipes.
        case dated
        /// `<6>` without a time, for a service manager that reads standard error; see sd-daemon(3).
        case prioritized
    }

    /// The beginning of lines.
    public let style: Style
    /// Whether an entry's fields follow its message, as `key=value`.
    public let showsFields: Bool

    /// A formatter for `style`.
    public init(style: Style, showsFields: Bool = true) {
        self.style = style
        self.showsFields = showsFields
    }

    /// `14:07:31.123 info     filed IMG_1.CR3  inbox=card bytes=31457280` and a newline.
    public func line(_ entry: LogEntry) -> String {
        var text =
            switch style {
            case .terminal, .coloured:
                (here(entry).clock(entry.time) ?? "--:--:--.---") + " " + level(entry.priority) + " "
            case .dated: dated(entry) + " " + level(entry.priority) + " "
            case .prioritized: "<\(entry.priority.rawValue)>"
            }
        text += entry.message
        if showsFields, !entry.fields.isEmpty {
            let fields = entry.fields.map { "\(oneLine($0.key))=\(Self.quoted($0.value))" }.joined(separator: " ")
            text += "  " + painted(fields, as: "2")
        }
        return text + "\n"
    }

    /// This machine's time zone at the entry's time.
    private func here(_ entry: LogEntry) -> LocalClock { LocalClock(at: entry.time.seconds) }

    private func dated(_ entry: LogEntry) -> String {
        here(entry).rfc3339(entry.time.seconds, milliseconds: Int(entry.time.nanoseconds / 1_000_000))
            ?? entry.time.rfc3339
    }

    /// The level's word, padded to the widest one in use.
    private func level(_ priority: LogPriority) -> String {
        let word = priority.word + String(repeating: " ", count: max(0, 8 - priority.word.utf8.count))
        return switch priority {
        case .emergency, .alert, .critical, .error: painted(word, as: "1;31")
        // Not yellow, which is unreadable on white.
        case .warning: painted(word, as: "35")
        case .notice: painted(word, as: "1")
        case .info: word
        case .debug: painted(word, as: "2")
        }
    }

    private func painted(_ text: String, as code: String) -> String {
        style == .coloured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    /// The value, in quotation marks if it is empty or contains a space, a quotation mark or `=`.
    private static func quoted(_ value: String) -> String {
        let safe = oneLine(value)
        let needsQuotes = safe.isEmpty || safe.utf8.contains { $0 == 0x20 || $0 == 0x22 || $0 == 0x3D }
        guard needsQuotes else { return safe }
        return "\"" + safe.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"") + "\""
    }
}
