import ControlProtocol
import FileValues
import Foundation
import LinuxKernel
import Reporting
import Testing

@testable import CommandContact

/// 2026-11-24 14:08:00 UTC, a Tuesday.
private let now: Int64 = 1_795_529_280

/// What `status` makes of a state, word for word.
struct StateReportTests {
    /// A state as a daemon writes it, with the rows that its problem board has.
    private static func report(
        inboxes: [DaemonState.Inbox] = [], problems: ProblemBoard = ProblemBoard(), phase: String = "running",
        uptime: Double = 12 * 86_400
    ) throws -> StateReport {
        let text = """
            {"format":1,"at":"2026-11-24T14:08:00.000Z","program":{"version":"1","pid":7,"started":"x",
            "uptimeSeconds":\(uptime),"status":"","phase":"\(phase)","residentBytes":1,"descriptors":2,"threads":3},
            "inboxes":[],"library":"/srv/photos","libraryFreeBytes":612400000000,"inHand":[],"outcomes":[],"problems":[],
            "subsystems":[],"monitors":[],"log":{"destination":"console","queued":0,"sent":1,"dropped":0}}
            """
        var state = try JSONDecoder().decode(DaemonState.self, from: Data(text.utf8))
        state.inboxes = inboxes
        state.problems =
            problems.visible(at: now).map { DaemonState.Problem($0, hiddenBy: nil, clock: .universal, of: .system) }
            + problems.hidden(at: now).map {
                DaemonState.Problem($0.problem, hiddenBy: $0.cause, clock: .universal, of: .system)
            }
        return StateReport(state)
    }

    private static func inbox(
        _ name: String, _ verdict: String = "live", polled: Int = 0, inHand: Int = 0, deferred: Int = 0,
        coverage: String? = nil
    ) throws -> DaemonState.Inbox {
        let coverage = try coverage.map { try JSONDecoder().decode(DaemonState.Coverage.self, from: Data($0.utf8)) }
        var inbox = DaemonState.Inbox()
        (inbox.name, inbox.path, inbox.mode) = (name, "/srv/\(name)", "move")
        (inbox.verdict, inbox.watches, inbox.polledDirectories, inbox.coverage) = (verdict, 1, polled, coverage)
        (inbox.counts.seen, inbox.counts.filed) = (418 + inHand + deferred, 418)
        (inbox.counts.deferred, inbox.counts.inHand) = (deferred, inHand)
        return inbox
    }

    private static func coverage(_ fields: String) -> String {
        #"{"directories":41,"unreadableDirectories":0,"audits":0,"missed":0,"lastMissed":0,\#(fields)}"#
    }

    private static func render(
        _ report: StateReport, _ style: TextStyle = .plain, detail: StateReport.Detail = .normal
    ) -> String { report.text(style, detail: detail, now: now) }

    @Test func aHealthyDaemon() throws {
        let report = try Self.report(inboxes: [Self.inbox("card"), Self.inbox("phones", inHand: 2)])
        #expect(
            Self.render(report) == """
                photoinboxd  filing normally, up 12 days
                       card  live, nothing waiting
                     phones  live, 2 in hand
                    library  612 GB free, /srv/photos
                   verified  never
                since start  836 filed, 0 duplicates, 0 quarantined, 0 ignored
                   problems  none

                """)
        #expect(report.exitStatus == .ok)
    }

    private static var warnings: ProblemBoard {
        var problems = ProblemBoard()
        problems.raise(
            .photosDeferred, subject: "phones",
            [
                .count: .count(1), .age: .seconds(14 * 60), .path: .path("phones/IMG_2041.HEIC"),
                .next: .moment(now + 24 * 60),
            ], at: now - 840)
        problems.raise(
            .inboxPolled, subject: "phones",
            [.count: .count(3), .inbox: .text("phones"), .filesystem: .text("SMB"), .interval: .seconds(60)],
            at: now - 9000)
        return problems
    }

    private static func warning() throws -> StateReport {
        let phones = try inbox(
            "phones", "partly polled", polled: 3, deferred: 1, coverage: coverage(#""intervalSeconds":60"#))
        return try report(inboxes: [phones], problems: warnings)
    }

    @Test func aWarningAndANotice() throws {
        let report = try Self.warning()
        #expect(
            Self.render(report) == """
                photoinboxd  filing, 1 warning, up 12 days
                     phones  partly polled, 3 of 41 folders polled every 60 s, 1 deferred
                    library  612 GB free, /srv/photos
                   verified  never
                since start  418 filed, 0 duplicates, 0 quarantined, 0 ignored

                    warning  PI-310  1 photo deferred for 14 min: phones/IMG_2041.HEIC
                     effect  other photos continue; next try 14:32
                     action  photoinbox explain phones/IMG_2041.HEIC
                     notice  PI-201  3 folders of phones are on SMB, which reports no changes
                     effect  photos there are found within 60 s
                     action  none needed

                """)
        #expect(report.exitStatus == .someLeft)
    }

    private static func stopped() throws -> StateReport {
        var problems = warnings
        problems.raise(
            .catalogueFull,
            [.path: .path("/var/lib/photoinbox"), .count: .count(1204)], at: now - 360)
        problems.raise(
            .photosDeferred, subject: "card",
            [.count: .count(2), .age: .seconds(9), .path: .path("card/a"), .next: .moment(now)], at: now)
        return try report(inboxes: [try inbox("phones", deferred: 1)], problems: problems)
    }

    @Test func filingStopped() throws {
        let report = try Self.stopped()
        let clock = LocalClock(at: now - 360).timeOfDay(now - 360)
        #expect(
            Self.render(report, detail: .problemsOnly) == """
                photoinboxd  FILING STOPPED 6 min ago (\(clock))

                    stopped  PI-501  catalogue disk full: /var/lib/photoinbox
                     effect  1,204 photos wait in their inboxes, untouched; none is lost
                     action  free at least some megabytes there; filing resumes automatically
                        see  man photoinbox-problems
                     notice  PI-201  3 folders of phones are on SMB, which reports no changes
                     effect  photos there are found within 60 s
                     action  none needed
                     hidden  2 problems caused by PI-501; show with --all

                """)
        #expect(report.exitStatus == .stopped)
        let all = Self.render(report, detail: .all)
        #expect(all.contains("PI-310  2 photos deferred for 9 s: card/a"))
        #expect(all.contains("      cause  PI-501"))
        #expect(!all.contains("--all"))
    }

    @Test func colourOnlyPaintsWords() throws {
        let report = try Self.stopped()
        let painted = Self.render(report, TextStyle(usesColour: true, width: nil))
        #expect(painted.contains("\u{1B}[1;31mFILING STOPPED"))
        #expect(painted.replacing(/\u{1B}\[[0-9;]*m/, with: "") == Self.render(report))
    }

    @Test func narrowTerminalsWrapAtWordsUnderTheText() throws {
        let report = try Self.warning()
        let narrow = Self.render(report, TextStyle(usesColour: false, width: 50))
        let lines = narrow.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 50 }, "\(narrow)")
        #expect(lines.contains("             SMB, which reports no changes"))
        #expect(
            narrow.split(whereSeparator: \.isWhitespace)
                == Self.render(report).split(whereSeparator: \.isWhitespace))
    }

    @Test func inboxStatesHaveTheirWords() throws {
        let since = #""since":"2026-11-24T14:04:40Z""#
        let inboxes = [
            (
                try Self.inbox(
                    "a", "polled", polled: 41, inHand: 1,
                    coverage: Self.coverage(#""fileSystem":"NFS","intervalSeconds":60"#)),
                "polled, on NFS, every 60 s, 1 in hand"
            ), (try Self.inbox("a", "starting", inHand: 1), "starting, 1 in hand"),
            (
                try Self.inbox(
                    "a", "gone", inHand: 1, coverage: Self.coverage(#""gone":"another directory is there",\#(since)"#)),
                "gone, another directory is there for 3 min, 1 in hand"
            ), (try Self.stalled(), "stalled, no answer while opening for 3 min, nothing waiting"),
        ]
        for (inbox, text) in inboxes {
            let rendered = Self.render(try Self.report(inboxes: [inbox]))
            #expect(rendered.contains("          a  \(text)\n"), "\(rendered)")
        }
        #expect(
            Self.render(try Self.report(uptime: 7)).hasPrefix(
                "photoinboxd  idle, no inbox is configured, up 7 s\n"))
        #expect(Self.render(try Self.report(phase: "starting", uptime: 0)).hasPrefix("photoinboxd  starting\n"))
    }

    private static func stalled() throws -> DaemonState.Inbox {
        var inbox = try inbox("a", "stalled")
        (inbox.reason, inbox.stalledSeconds) = ("no answer while opening", 200)
        return inbox
    }

    @Test func filesLeftAloneAreCounted() throws {
        var inbox = try Self.inbox("a", "live")
        inbox.leftAlone = 0
        #expect(Self.render(try Self.report(inboxes: [inbox])).contains("          a  live, nothing waiting\n"))
        inbox.leftAlone = 1_200
        let report = try Self.report(inboxes: [inbox])
        #expect(Self.render(report).contains("          a  live, nothing waiting, 1,200 files left alone\n"))
        #expect(report.json.compact.contains(#""left_alone":1200,"#))
    }

    @Test func jsonHasTheSameFacts() throws {
        let json = try Self.stopped().json.compact
        #expect(
            json.hasPrefix(#"{"format":1,"version":"1","time":"2026-11-24T14:08:00.000Z","verdict":"FILING STOPPED"#))
        #expect(
            json.contains(#""code":"PI-501","severity":"stopped","subject":null,"since":"2026-11-24T14:02:00.000Z""#))
        #expect(json.contains(#""hidden_by":"PI-501""#))
        let warning = try Self.warning().json.compact
        #expect(warning.contains(#""state":"partly polled""#) && warning.contains(#""polled_folders":3"#))
        #expect(warning.contains(#""interval_seconds":60"#))
    }
}

/// What a daemon says of itself to other hosts.
struct HostReportTests {
    @Test("What a host says fits, with its worst problems, and not that others are silent")
    func limit() throws {
        let limit = 4096
        var state = DaemonState()
        var board = ProblemBoard()
        board.raise(.libraryMissing, [.path: .text(String(repeating: "/\u{1F4F7}\"", count: 2_000))], at: 0)
        for number in 0..<250 {
            let name = String(repeating: "\u{301}", count: 500) + "\(number)"
            board.raise(.hostSilent, subject: name, [.name: .text(name)], at: 0)
            board.raise(.inboxMissing, subject: name, [.inbox: .text(name)], at: 0)
        }
        state.problems = board.all.map { DaemonState.Problem($0, hiddenBy: nil, clock: .universal, of: .system) }
        state.program.status = String(repeating: "\u{1}\u{1F4F7}\"", count: 2_000)
        let files = (0..<500).map { _ in "inbox/" + String(repeating: "\u{1F4F7}", count: 60) }
        let text = HostReport(state, waitingBytes: .max, waitingFiles: files, filedLastHour: .max).text(limit: limit)
        #expect(text.utf8.count <= limit)
        let read = try #require(HostReport(json: Array(text.utf8)))
        #expect(read.problems.first?.code == "PI-401" && read.problems.count > 1)
        #expect(read.problems.dropFirst().allSatisfy { $0.code == "PI-203" })
        #expect(read.waitingBytes == .max && read.filedLastHour == .max)
        #expect(read.waitingFiles == [])

        let short = HostReport(DaemonState(), waitingBytes: 0, waitingFiles: files, filedLastHour: 0).text(limit: limit)
        let some = try #require(HostReport(json: Array(short.utf8))?.waitingFiles)
        #expect(short.utf8.count <= limit && some.count > 10 && some == Array(files.prefix(some.count)))
    }
}
