import CommandSupport
package import ControlProtocol
import FileValues
package import Reporting

/// How an inbox is watched, for `status`.
extension DaemonState.Inbox {
    /// The texts after the verdict.
    package func coverageTexts(now: Int64) -> [String] {
        var parts: [String] = []
        let every = coverage?.intervalSeconds.map { " every \(HumanText.age(Int64(max(1, $0.rounded()))))" } ?? ""
        if verdict == "stalled" {
            let age = stalledSeconds.map { " for \(HumanText.age(Int64(max(0, $0))))" } ?? ""
            parts.append(printable(reason ?? "no answer") + age)
        } else if verdict == "gone", let reason = coverage?.gone ?? reason {
            let since = coverage?.since.flatMap { FileTime(rfc3339: $0)?.seconds }
            parts.append(
                since.map { "\(printable(reason)) for \(HumanText.age(max(0, now - $0)))" } ?? printable(reason))
        } else if verdict == "polled" {
            let place = coverage?.fileSystem.map { "on \(printable($0))" }
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

extension DaemonState.Coverage: JSONRepresentable {
    package var json: JSONValue {
        return .object([
            JSONField("folders", directories), JSONField("filesystem", fileSystem),
            JSONField("interval_seconds", intervalSeconds), JSONField("last_seconds", lastSeconds),
            JSONField("last", last), JSONField("next", next), JSONField("unreadable_folders", unreadableDirectories),
            JSONField("first_unreadable", firstUnreadable), JSONField("gone", gone), JSONField("since", since),
            JSONField("audits", audits), JSONField("missed", missed), JSONField("last_missed", lastMissed),
            JSONField("next_audit", nextAudit),
        ])
    }
}

extension DaemonState.WatchNeed: JSONRepresentable {
    package var json: JSONValue {
        .object([
            JSONField("setting", setting), JSONField("limit", limit), JSONField("watched", watched),
            JSONField("polled", polled), JSONField("needed", needed), JSONField("advice", advice),
        ])
    }
}

extension DaemonState.Liveness: JSONRepresentable {
    package var json: JSONValue {
        .object([
            JSONField("proofs", proofs), JSONField("last_proof", lastProof),
            JSONField("latency_microseconds", latencyMicroseconds), JSONField("silent_seconds", silentSeconds),
            JSONField("failure", failure),
        ])
    }
}

extension DaemonState.Pictures: JSONRepresentable {
    /// `12 made, 1 failed, 3 waiting`.
    package var text: String {
        var parts = ["\(HumanText.count(made)) made"]
        if failed > 0 { parts.append("\(HumanText.count(failed)) failed") }
        if waiting > 0 { parts.append("\(HumanText.count(waiting)) waiting") }
        if unconfined != nil { parts.append("the decoder is not fully confined") }
        if trouble != nil { parts.append("no decoder") }
        return parts.joined(separator: ", ")
    }

    package var json: JSONValue {
        .object([
            JSONField("decoder_pid", decoder), JSONField("decoders", decoders), JSONField("step", step),
            JSONField("waiting", waiting), JSONField("made", made), JSONField("failed", failed),
            JSONField("decoders_started", decodersStarted), JSONField("decoders_lost", decodersLost),
            JSONField("unconfined", unconfined), JSONField("trouble", trouble),
            JSONField(
                "renditions",
                (renditions ?? []).map {
                    JSONValue.object([
                        JSONField("kind", $0.kind), JSONField("made", $0.made), JSONField("failed", $0.failed),
                    ])
                }),
        ])
    }
}

extension DaemonState.Card: JSONRepresentable {
    package func text(now: Int64) -> String {
        var parts: [String]
        if phase == "importing" {
            let ofAll = totalFiles.map { " of \(HumanText.count($0))" } ?? ""
            parts = ["importing into \(printable(inbox))", "\(HumanText.count(files))\(ofAll) files"]
            let part = UInt64(max(0, bytes))
            if let whole = totalBytes { parts.append(HumanText.bytes(part, of: UInt64(max(0, whole)))) }
        } else {
            let time = FileTime(rfc3339: since).map { " \(shortTime($0, now: now))" } ?? ""
            // The result of a stopped import begins with the reason.
            parts = [phase == "stopped" ? printable(result ?? phase) + time : "\(printable(phase))\(time)"]
            if phase != "stopped", let result { parts.append(printable(result)) }
        }
        if mounted != true { parts.append("not mounted now") }
        return "\(printable(place)): \(parts.joined(separator: ", "))"
    }

    package var json: JSONValue {
        let paths = BytePath(escaped: place).map { JSONField.path("path", $0) } ?? [JSONField("path", place)]
        return .object(
            paths + [
                JSONField("source", source), JSONField("filesystem", fileSystem), JSONField("inbox", inbox),
                JSONField("mounted", mounted == true), JSONField("phase", phase), JSONField("since", since),
                JSONField("files", files), JSONField("total_files", totalFiles), JSONField("bytes", bytes),
                JSONField("total_bytes", totalBytes), JSONField("copied", copied), JSONField("known", known),
                JSONField("waiting", waiting), JSONField("decided", decided), JSONField("left_out", leftOut),
                JSONField("failed", failed), JSONField("result", result), JSONField("seconds", seconds),
            ])
    }
}

extension DaemonState.LinkFile: JSONRepresentable {
    /// `2 of 3 arrived, 1 failed`.
    package var counts: String {
        let of = addresses.map { " of \(HumanText.count($0))" } ?? ""
        return "\(HumanText.count(arrived))\(of) arrived" + (failed > 0 ? ", \(HumanText.count(failed)) failed" : "")
    }

    package var json: JSONValue {
        .object([
            JSONField("operation", operation), JSONField("inbox", inbox), JSONField("file", file),
            JSONField("phase", phase), JSONField("since", since), JSONField("addresses", addresses),
            JSONField("arrived", arrived), JSONField("failed", failed), JSONField("what", what),
        ])
    }
}

extension DaemonState {
    /// One line about all files of links; nil if they are off or there was none.
    package func linkSummary(now: Int64) -> String? {
        guard let links, let last = links.last else { return nil }
        let fetching = links.filter { $0.phase == "fetching" }
        let waiting = links.filter { $0.phase == "waiting" }
        var parts: [String] = []
        if let first = fetching.first {
            let more = fetching.count > 1 ? " and \(HumanText.count(fetching.count - 1)) more" : ""
            parts.append("fetching \(printable(first.inbox))/\(printable(first.file))\(more): \(first.counts)")
        }
        if let first = waiting.first {
            parts.append("\(HumanText.count(waiting.count, "file waits", "files wait")): \(printable(first.what))")
        }
        guard parts.isEmpty else { return parts.joined(separator: "; ") }
        let when = FileTime(rfc3339: last.since).map { ", \(shortTime($0, now: now))" } ?? ""
        let outcome = last.phase == "done" ? last.counts : printable(last.phase)
        return "nothing waiting, last \(printable(last.inbox))/\(printable(last.file)): \(outcome)\(when)"
    }
}

extension DaemonState.InHand: JSONRepresentable {
    package var json: JSONValue {
        .object([
            JSONField("stage", stage), JSONField("what", what), JSONField("since", since),
            JSONField("first_seen", firstSeen), JSONField("until", until), JSONField("attempts", attempts),
        ])
    }
}
