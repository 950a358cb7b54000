package import CommandSupport
package import ControlProtocol
package import FileValues
package import Reporting

extension DaemonState.Card {
    /// One line for people.
    package func words(now: Int64) -> String {
        var parts: [String]
        if phase == "importing" {
            let ofAll = totalFiles.map { " of \(HumanText.count($0))" } ?? ""
            parts = ["importing into \(shown(inbox))", "\(HumanText.count(files))\(ofAll) files"]
            let part = UInt64(max(0, bytes))
            if let whole = totalBytes { parts.append(HumanText.bytes(part, of: UInt64(max(0, whole)))) }
        } else {
            let time = parseRFC3339(since).map { " \(shortTime($0, now: now))" } ?? ""
            // The result of a stopped import begins with the reason.
            parts = [phase == "stopped" ? shown(result ?? phase) + time : "\(shown(phase))\(time)"]
            if phase != "stopped", let result { parts.append(shown(result)) }
        }
        if mounted != true { parts.append("not mounted now") }
        return "\(shown(place)): \(parts.joined(separator: ", "))"
    }

    package func json() -> JSONValue {
        let text = { (value: String?) -> JSONValue in value.map { .string($0) } ?? .null }
        let number = { (value: Int?) -> JSONValue in value.map { .count($0) } ?? .null }
        let paths = BytePath(escaped: place).map { JSONField.path("path", $0) } ?? [JSONField("path", .string(place))]
        return .object(
            paths + [
                JSONField("source", .string(source)), JSONField("filesystem", .string(fileSystem)),
                JSONField("inbox", .string(inbox)), JSONField("mounted", .boolean(mounted == true)),
                JSONField("phase", .string(phase)), JSONField("since", .string(since)),
                JSONField("files", .count(files)), JSONField("total_files", number(totalFiles)),
                JSONField("bytes", .count(bytes)), JSONField("total_bytes", number(totalBytes)),
                JSONField("copied", .count(copied)), JSONField("known", .count(known)),
                JSONField("waiting", .count(waiting)), JSONField("decided", .count(decided)),
                JSONField("left_out", .count(leftOut)), JSONField("failed", .count(failed)),
                JSONField("result", text(result)), JSONField("seconds", seconds.map { .number($0) } ?? .null),
            ])
    }
}
