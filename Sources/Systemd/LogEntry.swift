public import FileValues
import Glibc
public import LinuxKernel

/// The place in the source that an entry speaks from.
public struct CodeLocation: Hashable, Sendable {
    /// `Module/File.swift`.
    public let file: String
    /// Counted from 1.
    public let line: UInt
    /// The function, as `#function` has it; empty if unknown.
    public let function: String

    /// A place from its parts.
    public init(file: String = #fileID, line: UInt = #line, function: String = #function) {
        self.file = file
        self.line = line
        self.function = function
    }
}

/// One event on its way to a ``LogSink``: a value, bounded in size, safe to show.
///
/// What is built here is what may be logged: the message is one line without control characters, every text is valid
/// UTF-8 (a `String` always is), and nothing is longer than ``maximumText``.
public struct LogEntry: Hashable, Sendable {
    /// Name and value of one thing that is known about the event.
    public struct Field: Hashable, Sendable {
        /// As the program calls it, such as `inbox`; each sink maps it to its own kind of name.
        public let key: String
        /// Kept exactly, newlines included, up to ``LogEntry/maximumText``.
        public let value: String

        /// A field whose texts are cut where they are too long.
        public init(_ key: String, _ value: String) {
            self.key = cut(key, to: 64)
            self.value = cut(value, to: LogEntry.maximumText)
        }
    }

    /// Bytes of UTF-8 that a message or a value may have; what is longer is cut there and ends with `…`.
    public static let maximumText = 4_096

    /// How grave.
    public let priority: LogPriority
    /// One line, escaped.
    public let message: String
    /// Which kind of event, where it is one worth finding.
    public let messageID: MessageID?
    /// In the order in which they are shown.
    public let fields: [Field]
    /// Where in the source.
    public let location: CodeLocation?
    /// When the event happened: before it waited in any ring.
    public let time: FileTime

    /// An entry; `message` may hold anything, and is escaped and cut.
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

    /// About how many bytes the entry occupies while it waits.
    var cost: Int {
        fields.reduce(message.utf8.count + 256) { $0 + $1.key.utf8.count + $1.value.utf8.count + 32 }
    }
}

/// `text` with everything escaped that could begin a line, move a cursor or hide: as ``escapeForDisplay(_:)``, but
/// backslashes stay as they are, because a message usually holds paths that are escaped already.
func oneLine(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
    return text.utf8.split(separator: UInt8(ascii: "\\"), omittingEmptySubsequences: false)
        .map { escapeForDisplay($0) }.joined(separator: "\\")
}

/// `text` in at most `limit` bytes of UTF-8; where something is left out, the last character is `…`.
func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    let ellipsis = "…"
    var kept = text.utf8.prefix(max(0, limit - ellipsis.utf8.count))
    // Back to the beginning of the scalar that the limit fell into.
    while let index = kept.indices.last, text.utf8.index(after: index) < text.utf8.endIndex,
        text.utf8[text.utf8.index(after: index)] & 0xC0 == 0x80
    {
        kept = kept.dropLast()
    }
    return (String(kept) ?? "") + ellipsis
}
