import FileValues
import Testing

@testable import Reporting

/// 2026-11-24 14:08:00 UTC, a Tuesday.
private let now: Int64 = 1_795_529_280

struct StatusTextTests {
    static func render(_ report: StatusReport, detail: StatusText.Detail = .normal, _ style: TextStyle = .plain)
        -> String
    {
        StatusText(report, clock: .universal).rendered(style, detail: detail)
    }

    static let healthy = StatusReport(
        version: "1", now: now, uptime: 12 * 86_400 + 5,
        inboxes: [
            .init(name: "card", watch: .live), .init(name: "phones", watch: .live, arriving: 2, oldest: 8),
        ], library: .init(freeBytes: 612_400_000_000, bytesPerDay: 800_000_000),
        today: .init(filed: 418, duplicates: 3, quarantined: 0),
        verification: .init(finished: now - 2 * 86_400 - 11 * 3600 - 8 * 60, photos: 61_204, damaged: 0))

    @Test func aHealthyDaemon() {
        #expect(
            Self.render(Self.healthy) == """
                photoinboxd  filing normally, up 12 days
                       card  live, nothing waiting
                     phones  live, 2 arriving, oldest 8 s
                    library  612 GB free, about 2 years at this pace
                      today  418 filed, 3 duplicates, 0 quarantined
                   verified  Sunday 03:00, 61,204 photos, no damage
                   problems  none

                """)
        #expect(Self.healthy.exitStatus == .ok)
    }

    static var warning: StatusReport {
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
        return StatusReport(
            version: "1", now: now, uptime: 12 * 86_400,
            inboxes: [
                .init(name: "phones", watch: .partlyPolled(folders: 3, of: 41, everySeconds: 60), deferred: 1)
            ], problems: problems)
    }

    @Test func aWarningAndANotice() {
        #expect(
            Self.render(Self.warning) == """
                photoinboxd  filing, 1 warning, up 12 days
                     phones  live; 3 of 41 folders polled every 60 s; 1 deferred

                     notice  PI-201  3 folders of phones are on SMB, which reports no changes
                     effect  photos there are found within 60 s
                     action  none needed
                    warning  PI-310  1 photo deferred for 14 min: phones/IMG_2041.HEIC
                     effect  other photos continue; next try 14:32
                     action  photoinbox explain phones/IMG_2041.HEIC

                """)
        #expect(Self.warning.exitStatus == .someLeft)
    }

    static var stopped: StatusReport {
        var report = warning
        report.problems.raise(
            .catalogueFull,
            [
                .path: .path("/var/lib/photoinbox"), .free: .bytes(0), .count: .count(1204),
                .needed: .bytes(200_000_000),
            ], at: now - 360)
        report.problems.raise(
            .photosDeferred, subject: "card",
            [.count: .count(2), .age: .seconds(9), .path: .path("card/a"), .next: .moment(now)], at: now)
        return report
    }

    @Test func filingStopped() {
        #expect(
            Self.render(Self.stopped, detail: .problemsOnly) == """
                photoinboxd  FILING STOPPED 6 min ago (14:02)
                    stopped  PI-501  catalogue disk full: /var/lib/photoinbox, 0 B free
                     effect  1,204 photos wait untouched in their inboxes; none is lost
                     action  free 200 MB there; filing resumes by itself
                        see  man photoinbox-problems
                     notice  PI-201  3 folders of phones are on SMB, which reports no changes
                     effect  photos there are found within 60 s
                     action  none needed
                     hidden  2 problems caused by PI-501; show with --all

                """)
        #expect(Self.stopped.exitStatus == .stopped)
        let all = Self.render(Self.stopped, detail: .all)
        #expect(all.contains("PI-310  2 photos deferred for 9 s: card/a"))
        #expect(all.contains("      cause  PI-501"))
        #expect(!all.contains("--all"))
    }

    @Test func colourOnlyPaintsWords() {
        let painted = Self.render(Self.stopped, TextStyle(usesColour: true, width: nil))
        #expect(painted.contains("\u{1B}[1;31mFILING STOPPED"))
        let plain = painted.replacing(/\u{1B}\[[0-9;]*m/, with: "")
        #expect(plain == Self.render(Self.stopped))
    }

    @Test func narrowTerminalsWrapAtWordsUnderTheText() {
        let narrow = Self.render(Self.warning, TextStyle(usesColour: false, width: 50))
        let lines = narrow.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 50 }, "\(narrow)")
        #expect(lines.contains("             SMB, which reports no changes"))
        #expect(
            narrow.split(whereSeparator: \.isWhitespace)
                == Self.render(Self.warning).split(whereSeparator: \.isWhitespace))
    }

    @Test func inboxStatesHaveTheirWords() {
        let watches: [(StatusReport.Watch, String)] = [
            (.polled(everySeconds: 60), "polled every 60 s, 1 waiting"), (.reading, "reading what is there, 1 waiting"),
            (.missing, "not there, 1 waiting"), (.stalled(seconds: 200), "no answer for 3 min, 1 waiting"),
            (.paused, "paused, 1 waiting"),
        ]
        for (watch, text) in watches {
            let report = StatusReport(
                version: "1", now: now, uptime: 1, inboxes: [.init(name: "a", watch: watch, waiting: 1)])
            #expect(Self.render(report).contains("          a  \(text)\n"))
        }
        #expect(
            Self.render(StatusReport(version: "1", now: now, uptime: 7)).hasPrefix(
                "photoinboxd  idle, no inbox is configured, up 7 s\n"))
        #expect(Self.render(StatusReport(version: "1", phase: .starting, now: now, uptime: 0)).contains("  starting\n"))
    }

    @Test func jsonHasTheSameFacts() {
        let json = Self.stopped.json().compact
        #expect(json.hasPrefix(#"{"format":1,"version":"1","time":"2026-11-24T14:08:00Z","verdict":"FILING STOPPED"#))
        #expect(json.contains(#""code":"PI-501","severity":"stopped","subject":null,"since":"2026-11-24T14:02:00Z""#))
        #expect(json.contains(#""needed_bytes":200000000"#))
        #expect(json.contains(#""hidden_by":"PI-501""#))
        #expect(json.contains(#""state":"partly-polled","polled_folders":3,"poll_interval_seconds":60"#))
        #expect(Self.healthy.json().compact.contains(#""verified":{"finished":"2026-11-22T03:00:00Z","photos":61204"#))
    }
}
