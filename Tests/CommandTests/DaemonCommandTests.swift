import Foundation
import Glibc
import TestSupport
import Testing

/// `status`, `dump` and `explain` beside a daemon: a stand-in that answers SIGUSR1 as the real one does, with states
/// that a real one is hard to bring into.
@Suite(.tags(.alone), .timeLimit(.minutes(60))) struct DaemonCommandTests {
    let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try makeDirectories(directory.appending("state/run"))
        try makeDirectories(directory.appending("inbox"))
    }

    /// Starts the stand-in; it has the daemon's name, which is asked for before any signal is sent.
    private func start(_ state: String, answers: Bool = true) async throws -> RunningProgram {
        let run = directory.appending("state/run")
        try write(state, to: Array(directory.appending("next.json").utf8))
        let answer =
            answers ? "cp '\(directory.path)/next.json' '\(run)/s.part'; mv '\(run)/s.part' '\(run)/state.json'" : ":"
        let script = """
            #!/bin/bash
            trap "\(answer)" USR1
            echo $$ >'\(run)/photoinboxd.pid'
            echo ready
            while :; do read -r _ <>'\(directory.path)/fifo' || true; done
            """
        let path = directory.appending("photoinboxd")
        try writeProgram(script, to: path)
        #expect(mkfifo(directory.appending("fifo"), 0o600) == 0)
        let program = try RunningProgram([path])
        try await program.line("it is ready") { $0 == "ready" }
        return program
    }

    private func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> CommandResult {
        try await photoinbox(arguments + ["--state", "state"], in: directory, environment: environment)
    }

    private func state(problems: String = "", inHand: String = "", verdict: String = #""live""#) -> String {
        """
        {"format":1,"at":"2025-11-21T14:08:00.000Z","program":{"version":"0.1.0","pid":7,"started":"x",
        "uptimeSeconds":1036800,"status":"filing","phase":"running","residentBytes":1,"descriptors":2,"threads":3},
        "inboxes":[{"name":"card","path":"\(directory.path)/inbox","mode":"move","verdict":\(verdict),"watches":1,
        "polledDirectories":0,"knownFiles":0,"events":5,"overflows":0,"counts":{"seen":7,"filed":4,"duplicate":1,
        "quarantined":0,"ignored":1,"withdrawn":0,"deferred":1,"inHand":0}}],
        "library":"\(directory.path)/library","libraryFreeBytes":612000000000,"inHand":[\(inHand)],"outcomes":[],
        "problems":[\(problems)],"subsystems":[],"monitors":[],
        "log":{"destination":"console","queued":0,"sent":1,"dropped":0}}
        """
    }

    private static let warning = """
        {"code":"PI-310","severity":"warning","what":"1 photo deferred","effect":"others continue","action":"look",
        "since":"2025-11-21T14:00:00.000Z"}
        """
    private static let stopped = """
        {"code":"PI-501","severity":"stopped","what":"catalogue disk full","effect":"photos wait","action":"free 200 MB",
        "see":"man photoinbox-problems","since":"2025-11-21T14:02:00.000Z"}
        """
    private static let hidden = """
        {"code":"PI-311","severity":"warning","what":"more","effect":"none","action":"none","hiddenBy":"PI-501",
        "since":"2025-11-21T14:02:00.000Z"}
        """

    @Test func showsAHealthyDaemon() async throws {
        let daemon = try await start(state())
        defer { daemon.signal(SIGKILL) }
        let result = try await run(["status"])
        #expect(result.status == 0)
        #expect(
            result.text == """
                photoinboxd  filing normally, up 12 days
                       card  live, 1 deferred
                    library  612 GB free, \(directory.path)/library
                   verified  never
                since start  4 filed, 1 duplicate, 0 quarantined, 1 ignored
                   problems  none

                """)
        #expect(try await run(["status", "-x"]).text.split(separator: "\n").count == 2)
        let json = try await run(["status", "--json"]).json()
        #expect(json["verdict"] as? String == "filing normally, up 12 days")
        #expect((json["counts"] as? [String: Any])?["seen"] as? Int == 7)
    }

    @Test(arguments: [
        (
            #""gone","reason":"open /srv/card: No such file or directory""#,
            "gone, open /srv/card: No such file or directory, 1 deferred", "open /srv/card: No such file or directory"
        ),
        (
            #""stalled","stalledSeconds":72.5,"reason":"no answer while listing DCIM\n""#,
            #"stalled, no answer while listing DCIM\n for 72 s, 1 deferred"#, "no answer while listing DCIM\n"
        ),
    ]) func showsWhyAnInboxIsNotWatched(verdict: String, words: String, reason: String) async throws {
        let daemon = try await start(state(verdict: verdict))
        defer { daemon.signal(SIGKILL) }
        let text = try await run(["status"]).text
        #expect(text.contains("       card  \(words)\n"), "\(text)")
        let json = try await run(["status", "--json"]).json()
        #expect((json["inboxes"] as? [[String: Any]])?.first?["reason"] as? String == reason)
    }

    @Test func showsProblems() async throws {
        let daemon = try await start(state(problems: Self.warning))
        defer { daemon.signal(SIGKILL) }
        let warned = try await run(["status", "-x"])
        #expect(warned.status == 3)
        #expect(
            warned.text == """
                photoinboxd  filing, 1 warning, up 12 days

                    warning  PI-310  1 photo deferred
                     effect  others continue
                     action  look

                """)
        try write(
            state(problems: [Self.stopped, Self.hidden].joined(separator: ",")),
            to: Array(directory.appending("next.json").utf8))
        let stopped = try await run(["status"])
        #expect(stopped.status == 5)
        #expect(stopped.text.hasPrefix("photoinboxd  FILING STOPPED "))
        #expect(stopped.text.contains("        see  man photoinbox-problems\n"))
        #expect(stopped.text.hasSuffix("     hidden  1 problem caused by PI-501; show with --all\n"))
        #expect(try await run(["status", "--all"]).text.contains("      cause  PI-501\n"))
        let coloured = try await run(["status", "-x", "--color", "always"], ["TERM": "xterm", "COLORTERM": ""])
        #expect(coloured.text.contains("\u{1B}[1;31mstopped\u{1B}[0m"))
        #expect(!stopped.text.contains("\u{1B}"))
    }

    @Test func explainsWhatIsInHand() async throws {
        let deferred = """
            {"inbox":"card","file":"cut.jpg","stage":"deferred","what":"JPEG is cut short","attempts":2,
            "since":"2025-11-21T14:00:00.000Z","firstSeen":"2025-11-21T14:00:00.000Z","until":"2025-11-21T14:32:00.000Z"}
            """
        let daemon = try await start(state(inHand: deferred))
        defer { daemon.signal(SIGKILL) }
        try write("x", to: Array(directory.appending("inbox/cut.jpg").utf8))
        try write("x", to: Array(directory.appending("inbox/new.jpg").utf8))
        let result = try await run(["explain", "inbox/cut.jpg"])
        #expect(result.status == 0)
        #expect(result.text.hasPrefix("card/cut.jpg: deferred, try 3 at 2025-11-21 14:32\n why  JPEG is cut short\n"))
        let new = try await run(["explain", "inbox/new.jpg"])
        #expect(new.status == 4)
        #expect(new.text == "card/new.jpg: not seen yet\n")
    }

    @Test func dumpsTheStateAsItIs() async throws {
        let text = state()
        let daemon = try await start(text)
        defer { daemon.signal(SIGKILL) }
        #expect(try await run(["dump"]).text == text)
        #expect(try await run(["dump", "-o", "dump.json"]).status == 0)
        #expect(try bytes(of: directory.appending("dump.json")) == Array(text.utf8))
        let again = try await run(["dump", "-o", "dump.json"])
        #expect(again.status == 1)
        #expect(again.errors == "photoinbox: dump.json exists. Name a new file.\n")
    }

    @Test func reportsADaemonThatDoesNotAnswer() async throws {
        let daemon = try await start(state(), answers: false)
        defer { daemon.signal(SIGKILL) }
        let result = try await run(["status"])
        #expect(result.status == 1)
        #expect(result.errors.contains("does not answer. See: its output, where it was started"))
    }
}
