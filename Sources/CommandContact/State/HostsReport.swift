package import Catalogue
import CommandSupport
import ControlProtocol
import FileValues
import LinuxKernel
package import Reporting

/// The hosts that share a catalogue, for `hosts` and `status --all`.
package struct HostsReport {
    private struct Host {
        let row: CatalogueHostRow
        let isOwn: Bool
        let said: HostReport?

        init(_ row: CatalogueHostRow, isOwn: Bool) {
            (self.row, self.isOwn) = (row, isOwn)
            said = row.said.flatMap { HostReport(json: Array($0.utf8)) }
        }

        /// Nil where it has none that this program knows.
        var severities: [ProblemSeverity?] { said?.problems.map { ProblemSeverity(rawValue: $0.severity) } ?? [] }

        var files: Bool {
            guard !row.isForgotten, !row.isSilent, let said else { return false }
            return ["running", "reloading"].contains(said.phase) && !severities.contains(.stopped)
        }

        /// As that of `status` on that host.
        var exitStatus: ExitStatus {
            if row.isForgotten { return .ok }
            if row.isSilent || said == nil { return .someLeft }
            if severities.contains(nil) { return .failed }
            return ExitStatus(worst: severities.compactMap(\.self).max())
        }

        var state: String {
            if row.isForgotten { return "forgotten" }
            if row.isSilent { return "silent" }
            guard let said else { return "unknown" }
            if said.phase != "running" { return said.phase }
            return severities.contains(.stopped) ? "stopped" : "filing"
        }

        func stateText(now: Int64) -> String {
            let since = row.isSilent ? " since \(shortTime(seen, now: now))" : ""
            return printable(state) + since
        }

        var name: String { printable(row.name) + (isOwn ? " (this host)" : "") }

        var seen: FileTime { FileTime(seconds: row.seen, nanoseconds: 0) }

        var waiting: String {
            guard let said, !row.isForgotten else { return "-" }
            if row.isSilent { return "\(HumanText.count(said.waiting)) when last seen" }
            if said.waiting == 0 { return "0" }
            return HumanText.count(said.waiting)
                + (said.waitingBytes > 0 ? " (\(HumanText.bytes(said.waitingBytes)))" : "")
        }

        /// The files that were waiting in its inboxes when it was last seen, a line each below a heading; empty if there
        /// were none.
        var waitingText: String {
            guard let said, said.waiting > 0 else { return "" }
            let names = (said.waitingFiles ?? []).map { "  \(printableOnce($0))\n" }
            let others =
                said.waiting > names.count ? "  … and \(HumanText.count(said.waiting - names.count)) more\n" : ""
            return
                "\(HumanText.count(said.waiting, "file was", "files were")) waiting in its inboxes when it was last seen:\n"
                + names.joined() + others
        }

        var inboxes: String {
            row.inboxes.isEmpty ? "-" : row.inboxes.map { printable($0) }.joined(separator: ", ")
        }

        var problems: String {
            if row.isForgotten { return "-" }
            if row.isSilent { return ProblemCode.hostSilent.rawValue }
            guard let first = said?.problems.first else { return said == nil ? "-" : "none" }
            let others = said?.problems.dropFirst().map { printable($0.code) } ?? []
            return (["\(printable(first.code)) \(printable(first.what))"] + others).joined(separator: ", ")
        }
    }

    private let hosts: [Host]

    /// `own` is the one of the daemon that the command is about, if it is known.
    package init(_ rows: [CatalogueHostRow], own: CatalogueHostRow?) {
        hosts = rows.map { Host($0, isOwn: $0.key == own?.key) }
    }

    /// The worst of all hosts.
    package var exitStatus: ExitStatus { hosts.reduce(.ok) { $0.combined(with: $1.exitStatus) } }

    /// As in `3 of 4 hosts file; 1 needs you: press-2`.
    package var verdict: String {
        let all = hosts.filter { !$0.row.isForgotten }
        let needy = all.filter { $0.exitStatus != .ok }.map { printable($0.row.name) }
        let file = "\(all.count { $0.files }) of \(HumanText.count(all.count, "host files", "hosts file"))"
        if needy.isEmpty { return file }
        return file + "; \(needy.count) \(needy.count == 1 ? "needs" : "need") you: \(needy.joined(separator: ", "))"
    }

    /// What a standby's table is worth.
    package func standbyText(now: Int64) -> String {
        let last = hosts.map(\.row.seen).max().map { FileTime(seconds: $0, nanoseconds: 0) }
        let words = last.map { shortTime($0, now: now) } ?? "its last primary's end"
        return "a standby: the hosts are shown as of \(words)"
    }

    /// What waited in the inboxes of this host when it was last seen; nil if there is no such host.
    package func waiting(at name: String) -> String? { hosts.first { $0.row.name == name }?.waitingText }

    /// One line for each host, under a heading, with versions if they differ; empty if there is none.
    package func table(_ style: TextStyle, now: Int64, withForgotten: Bool = true) -> String {
        let versions = Set(hosts.compactMap { $0.row.isForgotten ? nil : $0.said?.version })
        let areMixed = versions.count > 1
        var table = TextTable(
            [
                ("HOST", .left), ("STATE", .left), ("SEEN", .right), ("FILED/H", .right), ("WAITING", .right),
                ("INBOXES", .left),
            ] + (areMixed ? [("VERSION", .left)] : []) + [("PROBLEMS", .left)])
        for host in hosts where withForgotten || !host.row.isForgotten {
            let filed = host.row.isForgotten || host.row.isSilent ? nil : host.said?.filedLastHour
            table.add(
                [
                    host.name, host.stateText(now: now), HumanText.age(max(0, host.row.silence)),
                    filed.map { HumanText.count($0) } ?? "-", host.waiting, host.inboxes,
                ] + (areMixed ? [host.said.map { printable($0.version) } ?? "-"] : []) + [host.problems])
        }
        return table.rendered(style)
    }

    /// What silence of hosts means, and what to do, but for those that `shown` has already.
    package func addSilent(to text: inout LabelledText, now: Int64, shown: Set<String>) {
        var board = ProblemBoard()
        for host in hosts where host.row.isSilent && !shown.contains(host.row.name) {
            let clock = LocalClock(at: host.row.seen)
            let row = HostReport.silence(
                of: host.row.name, seen: host.row.seen, said: host.row.said, now: now, clock: clock)
            board.raise(.hostSilent, subject: host.row.name, row, at: host.row.seen)
        }
        let clock = LocalClock(at: now)
        for problem in board.all {
            text.addBlank()
            text.add(
                problem.severity.rawValue, "\(problem.code.rawValue)  \(problem.title(clock: clock))",
                labelPaint: .warning)
            text.add("effect", problem.effect(clock: clock))
            text.add("action", DaemonAddress.current.completing(problem.action(clock: clock)))
        }
    }

    /// The fields of each.
    package var json: [[JSONField]] {
        hosts.map { host in
            [
                JSONField("name", host.row.name), JSONField("state", host.state), JSONField("seen", host.seen),
                JSONField("silence", host.row.silence), JSONField("inboxes", host.row.inboxes),
                JSONField("forgotten", host.row.isForgotten), JSONField("own", host.isOwn),
                JSONField("version", host.said?.version),
                JSONField("phase", host.said?.phase), JSONField("status", host.said?.status),
                JSONField("filed_last_hour", host.said?.filedLastHour), JSONField("waiting", host.said?.waiting),
                JSONField("waiting_bytes", host.said?.waitingBytes),
                JSONField("waiting_files", host.said?.waitingFiles),
                JSONField(
                    "problems",
                    (host.said?.problems ?? []).map { problem in
                        JSONValue.object([
                            JSONField("code", problem.code), JSONField("severity", problem.severity),
                            JSONField("title", problem.what),
                        ])
                    }),
            ]
        }
    }
}
