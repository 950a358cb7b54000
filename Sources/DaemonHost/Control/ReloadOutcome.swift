import FileValues
import Settings

/// What came of reading the configuration again.
enum ReloadOutcome: Sendable {
    /// It is in force, or would be.
    case taken(Settings, from: BytePath?, warnings: [SettingsIssue])
    /// It has mistakes; the one before is kept.
    case refused([SettingsIssue])
    /// It has none that can be read off it, and could not be set up all the same; the one before is kept.
    case failed(reason: String)
}
