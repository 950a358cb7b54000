/// What a server says beside its answers; the last of them are kept.
final class PostgresNotices {
    private(set) var lines: [String] = []
    /// Whether one was a warning since this was last set to false.
    var hasWarning = false

    func add(severity: String, _ text: String) {
        if severity != "NOTICE", severity != "INFO", severity != "LOG", severity != "DEBUG" { hasWarning = true }
        if lines.count == 32 { lines.removeFirst() }
        lines.append("\(severity): \(text.prefix(1_000))")
    }
}
