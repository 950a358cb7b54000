public import FileValues
import Glibc
public import LinuxKernel

/// The source location of an entry.
public struct CodeLocation: Hashable, Sendable {
    /// `Module/File.swift`.
    public let file: String
    /// Counted from 1.
    public let line: UInt
    /// The function, as in `#function`; empty if unknown.
    public let function: String

    /// A location from its parts.
    public init(file: String = #fileID, line: UInt = #line, function: String = #function) {
        self.file = file
        self.line = line
        self.function = function
    }
}

/// One event for a ``LogSink``: a value, bounded in size and safe to display.
///
/// The message is one line without control characters, every text is valid UTF-8 (a `String` always is), and none is
/// longer than ``maximumText``.
public struct LogEntry: Hashable, Sendable {
    /// Name and value of a property of the event.
    public struct Field: Hashable, Sendable {
        /// The program's name for it, such as `inbox`; each sink maps it to its own form.
        public let key: String
        /// Unchanged, including newlines, up to ``LogEntry/maximumText``.
        public let value: String

        /// A field; texts that are too long are cut.
        public init(_ key: String, _ value: String) {
            self.key = cut(key, to: 64)
            self.value = cut(value, to: LogEntry.maximumText)
        }
    }

    /// The most bytes of UTF-8 of a message or a value; longer ones are cut and end with `…`.
    public static let maximumText = 4_096

    /// Its severity.
    public let priority: LogPriority
    /// One line, escaped.
    public let message: String
    /// The identifier of the kind of event, if it has one.
    public let messageID: MessageID?
    /// In display order.
    public let fields: [Field]
    /// Its source location.
    public let location: CodeLocation?
    /// The time of the event, before any wait in a ring.
    public let time: FileTime

    /// An entry; `message` may contain any text, and is escaped and cut.
    public init(
        _ priority: LogPriority, _ message: String, id: MessageID? = nil, fields: [Field] = [],
        location: CodeLocation? = nil, time: FileTime = .now
    ) {
        self.priority = priority
        self.message = cut(oneLine(message), to: Self.maximumText)
        messageID = id
        self.fields = fields
        self.location = location
        self.time = time
    }

    /// The approximate size in bytes of the entry while it waits.
    var cost: Int {
        fields.reduce(message.utf8.count + 256) { $0 + $1.key.utf8.count + $1.value.utf8.count + 32 }
    }
}

/// `text` with characters escaped that could begin a line, move a cursor or be invisible: as ``escapeForDisplay(_:)``,
/// but backslashes are kept, because a message usually contains paths that are already escaped.
func oneLine(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
    return text.utf8.split(separator: UInt8(ascii: "\\"), omittingEmptySubsequences: false)
        .map { escapeForDisplay($0) }.joined(separator: "\\")
}

/// `text` in at most `limit` bytes of UTF-8; if it is cut, the last character is `…`.
func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    let ellipsis = "…"
    var kept = text.utf8.prefix(max(0, limit - ellipsis.utf8.count))
    // Back to the start of the scalar at the limit.
    while let index = kept.indices.last, text.utf8.index(after: index) < text.utf8.endIndex,
        text.utf8[text.utf8.index(after: index)] & 0xC0 == 0x80
    {
        kept = kept.dropLast()
    }
    return (String(kept) ?? "") + ellipsis
}
