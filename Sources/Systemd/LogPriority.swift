public import Logging

/// How grave an entry is, with the numbers that syslog(3), the journal's PRIORITY field and `<N>` prefixes use.
public enum LogPriority: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    /// The system is unusable; nothing here uses it.
    case emergency = 0
    /// A person has to act at once.
    case alert = 1
    /// The program cannot go on.
    case critical = 2
    /// Work has stopped, or damage was found.
    case error = 3
    /// Needs a person, not at once.
    case warning = 4
    /// A change of state.
    case notice = 5
    /// An outcome.
    case info = 6
    /// For whoever looks for a fault.
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

    /// The word that people read: the state is never carried by colour alone.
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

    /// Whether it is a warning or graver.
    public var isGrave: Bool { self <= .warning }

    /// Graver comes first, as the numbers do.
    public static func < (left: LogPriority, right: LogPriority) -> Bool { left.rawValue < right.rawValue }
}
