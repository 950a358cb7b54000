package import CommandSupport
package import ControlProtocol
package import Reporting

extension DaemonState.LinkFile {
    /// `2 of 3 arrived, 1 failed`.
    package var counts: String {
        let of = addresses.map { " of \(HumanText.count($0))" } ?? ""
        return "\(HumanText.count(arrived))\(of) arrived" + (failed > 0 ? ", \(HumanText.count(failed)) failed" : "")
    }

    package func json() -> JSONValue {
        .object([
            JSONField("operation", .integer(operation)), JSONField("inbox", .string(inbox)),
            JSONField("file", .string(file)), JSONField("phase", .string(phase)), JSONField("since", .string(since)),
            JSONField("addresses", addresses.map { .count($0) } ?? .null), JSONField("arrived", .count(arrived)),
            JSONField("failed", .count(failed)), JSONField("what", .string(what)),
        ])
    }
}

extension DaemonState {
    /// One line about all files of links; nil if they are off or there was none.
    package func linkWords(now: Int64) -> String? {
        guard let links, let last = links.last else { return nil }
        let fetching = links.filter { $0.phase == "fetching" }
        let waiting = links.filter { $0.phase == "waiting" }
        var parts: [String] = []
        if let first = fetching.first {
            let more = fetching.count > 1 ? " and \(HumanText.count(fetching.count - 1)) more" : ""
            parts.append("fetching \(shown(first.inbox))/\(shown(first.file))\(more): \(first.counts)")
        }
        if let first = waiting.first {
            parts.append("\(HumanText.count(waiting.count, "file waits", "files wait")): \(shown(first.what))")
        }
        guard parts.isEmpty else { return parts.joined(separator: "; ") }
        let when = parseRFC3339(last.since).map { ", \(shortTime($0, now: now))" } ?? ""
        let outcome = last.phase == "done" ? last.counts : shown(last.phase)
        return "nothing waiting, last \(shown(last.inbox))/\(shown(last.file)): \(outcome)\(when)"
    }
}
