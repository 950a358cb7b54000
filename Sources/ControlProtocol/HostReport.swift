package import FileValues
package import Reporting

/// What a daemon says of itself in a catalogue that several hosts share.
package struct HostReport: JSONMessage, Hashable, Sendable {
    package struct Problem: Codable, Hashable, Sendable {
        package let code: String
        package let severity: String
        package let what: String
    }

    package let version: String
    package let phase: String
    /// The line that the service manager shows.
    package let status: String
    /// Files in its inboxes without an outcome, and their bytes as far as they are known.
    package let waiting: Int
    package let waitingBytes: UInt64
    /// Those files, as `INBOX/PATH`: as many as fit. Nil in what an older version wrote.
    package private(set) var waitingFiles: [String]?
    package let filedLastHour: Int
    /// What is shown of its problems, the worst first. Others see by themselves which hosts are silent.
    package private(set) var problems: [Problem]

    /// Of one text: paths are in them.
    private static let longestText = 200

    package init(_ state: DaemonState, waitingBytes: UInt64, waitingFiles: [String], filedLastHour: Int) {
        self.waitingFiles = waitingFiles
        func cut(_ text: String) -> String {
            String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.longestText)))
        }
        version = state.program.version
        phase = state.program.phase
        status = cut(state.program.status)
        waiting = state.inboxes.reduce(0) { $0 + $1.counts.inHand + $1.counts.deferred }
        self.waitingBytes = waitingBytes
        self.filedLastHour = filedLastHour
        problems = state.problems.filter { $0.hiddenBy == nil && $0.code != ProblemCode.hostSilent.rawValue }.map {
            Problem(code: $0.code, severity: $0.severity, what: cut($0.what))
        }
    }

    /// What ``ProblemCode/hostSilent`` says of a host that was last `seen` then, and `said` this of itself.
    package static func silence(
        of name: String, seen: Int64, said: String?, now: Int64, clock: LocalClock
    ) -> [ProblemParameter: ProblemValue] {
        let day = clock.date(seen)
        let time = clock.timeOfDay(seen)
        let report = said.flatMap { HostReport(json: Array($0.utf8)) }
        return [
            .name: .text(name), .next: .text(day == clock.date(now) ? time : "\(day) \(time)"),
            .count: report.map { .count($0.waiting) } ?? .text("?"),
        ]
    }

    /// As JSON of at most so many bytes, which leaves out files and then problems, from the end.
    package func text(limit: Int) -> String {
        var report = self
        var bytes = report.json
        while bytes.count > limit, let files = report.waitingFiles, !files.isEmpty {
            report.waitingFiles = files.dropLast((files.count + 7) / 8)
            bytes = report.json
        }
        while bytes.count > limit, !report.problems.isEmpty {
            report.problems.removeLast((report.problems.count + 1) / 2)
            bytes = report.json
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
