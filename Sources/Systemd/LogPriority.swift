public import Logging

/// The severity of an entry, with the numbers of syslog(3), the journal's PRIORITY field and `<N>` prefixes.
public enum LogPriority: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    /// The system is unusable; not used here.
    case emergency = 0
    /// A person must act at once.
    case alert = 1
    /// The program cannot continue.
    case critical = 2
    /// Work has stopped, or damage was found.
    case error = 3
    /// A person must act, not at once.
    case warning = 4
    /// A change of state.
    case notice = 5
    /// An outcome.
    case info = 6
    /// For debugging.
    case debug = 7

    /// The priority of a swift-log level; both trace and debug become ``debug``.
    public init(_ level: Logger.Level) {
        switch level {
        case .trace, .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }

    /// The word for display, since colour alone must not carry information.
    public var word: String {
        switch self {
        case .emergency: "emergency"
        case .alert: "alert"
        case .critical: "critical"
        case .error: "error"
        case .warning: "warning"
        case .notice: "notice"
        case .info: "info"
        case .debug: "debug"
        }
    }

    /// Whether it is a warning or more severe.
    public var isSevere: Bool { self <= .warning }

    /// The more severe comes first, as with the numbers.
    public static func < (left: LogPriority, right: LogPriority) -> Bool { left.rawValue < right.rawValue }
}
