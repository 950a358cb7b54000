import FileValues

/// One mistake in the configuration, as one line for people.
package struct SettingsIssue: Hashable, Sendable, CustomStringConvertible {
    /// The consequence of a mistake.
    package enum Severity: Hashable, Sendable {
        /// The configuration is refused.
        case error
        /// The configuration is accepted; something in it will not work as expected.
        case warning
    }

    package let severity: Severity
    package let origin: Origin
    /// The wrong statement, `quiet = "5 secs"`, escaped and shortened; empty if there is none.
    package let statement: String
    /// The mistake, the expected value and the remedy.
    package let message: String

    init(_ message: String, statement: String = "", origin: Origin, severity: Severity = .error) {
        self.message = message
        self.statement = statement
        self.origin = origin
        self.severity = severity
    }

    /// `photoinbox.toml:18:10: quiet = "5 secs": write "5s", "2m" or "1h"`.
    package var description: String {
        var line =
            switch origin {
            case .file(let path, let position): "\(path):\(position.line):\(position.column): "
            case .wholeFile(let path): "\(path): "
            case .flag, .environment: statement.isEmpty ? "\(origin): " : ""
            case .standard: ""
            }
        if severity == .warning { line += "warning: " }
        if !statement.isEmpty { line += statement + ": " }
        return line + message
    }
}

/// The refusal of a configuration: all its mistakes, at least one, in file order.
package struct SettingsError: Error, CustomStringConvertible {
    package let issues: [SettingsIssue]

    package init(issues: [SettingsIssue]) { self.issues = issues }

    /// One line for each mistake.
    package var description: String { issues.map(\.description).joined(separator: "\n") }
}

/// Returns `text` as one escaped line of at most `limit` characters.
func excerpt(_ text: String, limit: Int = 72) -> String {
    let line = escapeForDisplay(Array(text.utf8))
    // The escaping doubles backslashes; TOML's own escapes are easier to recognise as they were written.
    let plain = text.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 && $0.value != 0x7F } ? text : line
    return plain.count <= limit ? plain : plain.prefix(limit - 1) + "…"
}

/// Returns `text` escaped and in double quotes, for the middle of a message.
func quoted(_ text: String) -> String { "\"" + excerpt(text) + "\"" }
