public import Logging

/// A swift-log back end that sends each event as a ``LogEntry`` to a ``LogSink``.
///
/// Metadata keys become fields, in the order of their names; nested values become dotted keys. The key ``idKey`` (see
/// `Logger.Metadata.messageID(_:)`) becomes the entry's MESSAGE_ID. A value type, confined as its `Logger` is.
public struct JournalLogHandler: LogHandler {
    /// The metadata key whose value is a ``MessageID``.
    public static let idKey = "messageID"

    /// The lowest level that reaches the sink.
    public var logLevel: Logger.Level
    /// Fields of every entry of this logger.
    public var metadata: Logger.Metadata = [:]
    /// Adds metadata of the current task, if set.
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let sink: any LogSink

    /// A handler for the logger `label`, which becomes the field `logger`.
    public init(
        label: String, sink: any LogSink, level: Logger.Level = .info,
        metadataProvider: Logger.MetadataProvider? = nil
    ) {
        self.label = label
        self.sink = sink
        logLevel = level
        self.metadataProvider = metadataProvider
    }

    /// One item of ``metadata``.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Called by swift-log. Never blocks.
    public func log(event: LogEvent) {
        var merged = metadata
        if let provided = metadataProvider?.get() { merged.merge(provided) { $1 } }
        if let own = event.metadata { merged.merge(own) { $1 } }
        let id = merged.removeValue(forKey: Self.idKey).flatMap { MessageID($0.description) }
        var fields: [LogEntry.Field] = []
        for (key, value) in merged.sorted(by: { $0.key < $1.key }) {
            Self.append(value, as: key, depth: 0, to: &fields)
        }
        if let error = event.error { fields.append(.init("error", "\(error)")) }
        fields.append(.init("logger", label))
        sink.send(
            LogEntry(
                LogPriority(event.level), event.message.description, id: id, fields: fields,
                location: CodeLocation(file: event.file, line: event.line, function: event.function)))
    }

    /// A limit against mistakes of the caller, and data that does not belong in a log.
    private static let maximumFields = 64

    private static func append(
        _ value: Logger.Metadata.Value, as key: String, depth: Int, to fields: inout [LogEntry.Field]
    ) {
        guard fields.count < maximumFields else { return }
        switch value {
        case .string(let text): fields.append(.init(key, text))
        case .stringConvertible(let item): fields.append(.init(key, item.description))
        case .dictionary(let items) where depth < 4:
            for (inner, item) in items.sorted(by: { $0.key < $1.key }) {
                append(item, as: "\(key).\(inner)", depth: depth + 1, to: &fields)
            }
        case .array, .dictionary: fields.append(.init(key, value.description))
        }
    }
}

extension Logger.Metadata {
    /// Metadata with the identifier of a message; merge it with the entry's own.
    public static func messageID(_ id: MessageID) -> Logger.Metadata {
        [JournalLogHandler.idKey: .stringConvertible(id)]
    }
}

extension Logger {
    /// Logs an event with the identifier `id`, so that `journalctl MESSAGE_ID=…` finds it whatever its text is.
    public func log(
        _ level: Logger.Level, _ id: MessageID, _ message: @autoclosure () -> Logger.Message,
        metadata: @autoclosure () -> Logger.Metadata = [:],
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(
            level: level, message(), metadata: metadata().merging(.messageID(id)) { $1 },
            file: file, function: function, line: line)
    }
}
