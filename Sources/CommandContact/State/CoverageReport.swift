package import CommandSupport
package import ControlProtocol
package import FileValues
package import Reporting

/// How an inbox is watched, for `status`.
extension DaemonState.Inbox {
    /// The texts after the verdict.
    package func coverageWords(now: Int64) -> [String] {
        var parts: [String] = []
        let every = coverage?.intervalSeconds.map { " every \(HumanText.age(Int64(max(1, $0.rounded()))))" } ?? ""
        if verdict == "stalled" {
            let age = stalledSeconds.map { " for \(HumanText.age(Int64(max(0, $0))))" } ?? ""
            parts.append(shown(reason ?? "no answer") + age)
        } else if verdict == "gone", let reason = coverage?.gone ?? reason {
            let since = coverage?.since.flatMap { parseRFC3339($0)?.seconds }
            parts.append(since.map { "\(shown(reason)) for \(HumanText.age(max(0, now - $0)))" } ?? shown(reason))
        } else if verdict == "polled" {
            let place = coverage?.fileSystem.map { "on \(shown($0))" }
            parts += [place, every.isEmpty ? nil : String(every.dropFirst())].compactMap(\.self)
        } else if polledDirectories > 0 {
            let all = coverage.map { " of \(HumanText.count($0.directories))" } ?? ""
            parts.append("\(HumanText.count(polledDirectories))\(all) folders polled\(every)")
        }
        if let count = coverage?.unreadableDirectories, count > 0 {
            parts.append("\(HumanText.count(count, "folder", "folders")) unreadable")
        }
        if let count = coverage?.missed, count > 0 {
            parts.append("\(HumanText.count(count, "change", "changes")) missed by events")
        }
        return parts
    }
}

extension DaemonState.Coverage {
    package func json() -> JSONValue {
        let text = { (value: String?) -> JSONValue in value.map { .string($0) } ?? .null }
        let number = { (value: Double?) -> JSONValue in value.map { .number($0) } ?? .null }
        return .object([
            JSONField("folders", .count(directories)), JSONField("filesystem", text(fileSystem)),
            JSONField("interval_seconds", number(intervalSeconds)), JSONField("last_seconds", number(lastSeconds)),
            JSONField("last", text(last)), JSONField("next", text(next)),
            JSONField("unreadable_folders", .count(unreadableDirectories)),
            JSONField("first_unreadable", text(firstUnreadable)), JSONField("gone", text(gone)),
            JSONField("since", text(since)), JSONField("audits", .count(audits)), JSONField("missed", .count(missed)),
            JSONField("last_missed", .count(lastMissed)), JSONField("next_audit", text(nextAudit)),
        ])
    }
}

extension DaemonState.WatchNeed {
    package func json() -> JSONValue {
        .object([
            JSONField("setting", .string(setting)), JSONField("limit", limit.map { .count($0) } ?? .null),
            JSONField("watched", .count(watched)), JSONField("polled", .count(polled)),
            JSONField("needed", .count(needed)), JSONField("advice", .string(advice)),
        ])
    }
}

extension DaemonState.Liveness {
    package func json() -> JSONValue {
        .object([
            JSONField("proofs", .count(proofs)),
            JSONField("last_proof", lastProof.map { .string($0) } ?? .null),
            JSONField("latency_microseconds", latencyMicroseconds.map { .number($0) } ?? .null),
            JSONField("silent_seconds", silentSeconds.map { .number($0) } ?? .null),
            JSONField("failure", failure.map { .string($0) } ?? .null),
        ])
    }
}

extension DaemonState.Pictures {
    /// `12 made, 1 failed, 3 waiting`.
    package var words: String {
        var parts = ["\(HumanText.count(made)) made"]
        if failed > 0 { parts.append("\(HumanText.count(failed)) failed") }
        if waiting > 0 { parts.append("\(HumanText.count(waiting)) waiting") }
        if unconfined != nil { parts.append("the decoder is not fully confined") }
        if trouble != nil { parts.append("no decoder") }
        return parts.joined(separator: ", ")
    }

    package func json() -> JSONValue {
        .object([
            JSONField("decoder_pid", decoder.map { .count($0) } ?? .null), JSONField("decoders", .count(decoders)),
            JSONField("step", .string(step)),
            JSONField("waiting", .count(waiting)), JSONField("made", .count(made)), JSONField("failed", .count(failed)),
            JSONField("decoders_started", .count(decodersStarted)), JSONField("decoders_lost", .count(decodersLost)),
            JSONField("unconfined", unconfined.map { .string($0) } ?? .null),
            JSONField("trouble", trouble.map { .string($0) } ?? .null),
            JSONField(
                "renditions",
                .array(
                    (renditions ?? []).map {
                        .object([
                            JSONField("kind", .string($0.kind)), JSONField("made", .count($0.made)),
                            JSONField("failed", .count($0.failed)),
                        ])
                    })),
        ])
    }
}
