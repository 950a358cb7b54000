import FileValues
import Settings

/// The result of reading the configuration again.
enum ReloadOutcome: Sendable {
    /// It is in force, or would be.
    case applied(Settings, from: BytePath?, warnings: [SettingsIssue])
    /// It has mistakes; the one before is kept.
    case refused([SettingsIssue])
    /// It has no mistake, and could not be set up all the same; the one before is kept.
    case failed(reason: String)
}
