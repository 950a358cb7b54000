import Foundation
import Glibc
import PostgreSQL
import TestSupport
import Testing

extension EndToEnd {
    @Suite(
        "Several daemons with one catalogue and one library",
        .enabled(if: DatabaseHouse.isAvailable, "they need PostgreSQL"))
    struct SeveralHosts {
        private static let machine = ProcessInfo.processInfo.hostName

        @Test("A content that comes to two hosts is filed once, a name is given twice, and sets stay together")
        func everyday() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let first = try await place.start()
            let second = try await place.startAnother("desk")
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "filed inbox/a.jpg")
            try house.drop(try Photos.unique(0), as: "again.jpg", into: house.path("desk"))
            try await second.line(holding: "duplicate desk/again.jpg")
            try house.drop(try Photos.unique(1), as: "a.jpg", into: house.path("desk"))
            try await second.line(holding: "filed desk/a.jpg")
            #expect(house.files(in: house.library).count == 2)
            // Both at once.
            for number in 2..<12 {
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try house.drop(try Photos.unique(number), as: "\(number).jpg", into: house.path("desk"))
            }
            // In whatever order.
            try await poll {
                ["inbox", "desk"].reduce(0) { $0 + house.files(in: house.path($1)).count }
            } until: {
                $0 == 0
            }
            #expect(house.files(in: house.library).count == 12)
            let hosts = try await house.ask("hosts")
            #expect(hosts.text.contains(Self.machine) && hosts.text.contains("\(Self.machine)-2"), "\(hosts.text)")
            for daemon in [first, second] { try await daemon.stop() }
            try expectRest(place)
        }

        @Test(
            "One card in two hosts at once, and the server away meanwhile: each photo is filed once, and both are known"
        )
        func cards() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let daemons = [try await place.start(), try await place.startAnother("desk")]
            let cards = [("photoinbox.toml", house.path("card-1")), ("desk.toml", house.path("card-2"))]
            for (_, card) in cards {
                for directory in ["", "/DCIM", "/DCIM/100CANON"] { try makeDirectory(card + directory) }
                for number in 0..<12 {
                    try house.drop(
                        try Photos.unique(number), as: "IMG_\(number).JPG", into: "\(card)/DCIM/100CANON")
                }
            }
            func importAll() async throws -> [String] {
                let programs = try cards.map { configuration, card in
                    try RunningProgram(
                        [
                            BuiltPrograms.path("photoinbox"), "import", "--json", "--config", house.path(configuration),
                            card,
                        ])
                }
                var summaries: [String] = []
                for program in programs {
                    #expect(try await program.ending() == .status(0), "\(program.lines)")
                    summaries.append(program.lines.last ?? "")
                }
                return summaries
            }
            _ = try await importAll()
            try place.cut()
            for daemon in daemons { try await daemon.line(holding: "PI-506") }
            try place.connect()
            try await poll {
                ["inbox", "desk"].reduce(0) { $0 + house.files(in: house.path($1)).count }
            } until: {
                $0 == 0
            }
            #expect(house.files(in: house.library).count == 12)
            for summary in try await importAll() {
                #expect(summary.contains(#""copied":0"#) && summary.contains(#""known":12"#), "\(summary)")
            }
            for daemon in daemons { try await daemon.stop() }
            try expectRest(place)
        }

        @Test("Hosts go on with tables that a newer version has widened, and refuse those that they cannot write")
        func versions() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let first = try await place.start()
            // As far as versions go, what a newer one does when it starts.
            for statement in [
                "ALTER TABLE photo ADD COLUMN newer text",
                "INSERT INTO schema_version (version, name, oldest_writer, oldest_reader) VALUES (99, 'newer', 2, 2)",
            ] { _ = try place.query(statement, in: "photoinbox") }
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "filed inbox/a.jpg")
            let second = try await place.startAnother("desk")
            try house.drop(try Photos.unique(0), as: "again.jpg", into: house.path("desk"))
            try house.drop(try Photos.unique(1), as: "b.jpg", into: house.path("desk"))
            try await second.lines(holding: ["duplicate desk/again.jpg", "filed desk/b.jpg"])
            try await second.stop()
            _ = try place.query("UPDATE schema_version SET oldest_writer = 99 WHERE version = 99", in: "photoinbox")
            let refused = try place.launch("desk.toml")
            #expect(try await refused.ending() != .status(0))
            #expect(refused.lines.contains { $0.contains("newer photoinboxd") }, "\(refused.lines)")
            let list = try await house.ask("list")
            #expect(list.text.contains("a.jpg") && list.text.contains("b.jpg"), "\(list.text)")
            try await first.stop()
            try expectRest(place)
        }

        @Test("tail shows what another host records late, though it has a lower number")
        func tail() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let daemon = try await place.start()
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            let tail = try RunningProgram(
                [BuiltPrograms.path("photoinbox"), "tail", "--config", house.path("photoinbox.toml")])
            try await tail.line(holding: "inbox/a.jpg")
            let late = place.begin(
                "SELECT set_config('photoinbox.host', min(id)::text, true) FROM host",
                """
                INSERT INTO outcome (inbox, path, outcome, reason, at)
                SELECT inbox, 'late.jpg', outcome, reason, at FROM outcome LIMIT 1
                """)
            try house.drop(try Photos.unique(1), as: "b.jpg")
            try await tail.line(holding: "inbox/b.jpg")
            late.end()
            try await tail.line(holding: "inbox/late.jpg")
            tail.signal(SIGINT)
            #expect(try await tail.ending() == .status(0))
            #expect(tail.lines.count == 3, "\(tail.lines)")
            try await daemon.stop()
        }

        @Test("A host joins by setup, and what would go wrong later is refused before anything is changed")
        func join() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let first = try await place.start()
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "filed inbox/a.jpg")
            func setUp(_ inbox: String, _ library: String, _ more: String...) async throws -> CommandResult {
                let program = try RunningProgram(
                    ["/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null", BuiltPrograms.path("photoinbox")] + [
                        "setup", "--user", "--yes", "--for", "me", "--config", house.path("desk.toml"), "--inbox",
                        house.path("desk"), "--inbox-name", inbox, "--library", house.path(library),
                    ] + more)
                let ending = try await program.ending()
                return CommandResult(lines: program.lines, ending: ending)
            }
            let join = ["--join", "host=\(house.path("pg")) user=tester dbname=\(place.database)"]
            for (inbox, library, words) in [
                ("inbox", "library", "has an inbox inbox already"), ("desk", "other", "and not in"),
            ] {
                let refused = try await setUp(inbox, library, join[0], join[1])
                #expect(refused.status == 78 && refused.text.contains(words), "\(refused.text)")
            }
            let path = try await setUp("desk", "library", "--join", "/srv/catalogue")
            #expect(path.status == 64 && path.text.contains("names no database"), "\(path.text)")
            for name in ["desk", "desk.toml", "other"] { #expect(access(house.path(name), F_OK) != 0) }
            // A directory that is mounted instead of the library.
            try runProgram(["/bin/mv", house.library, house.path("unmounted")])
            try makeDirectory(house.library)
            let other = try await setUp("desk", "library", join[0], join[1])
            #expect(other.status == 5 && other.text.contains("is not the library"), "\(other.text)")
            try runProgram(["/bin/rmdir", house.library])
            try runProgram(["/bin/mv", house.path("unmounted"), house.library])

            let made = try await setUp("desk", "library", join[0], join[1])
            #expect(made.status == 3, "\(made.text)")
            let start = try #require(made.lines.first { $0.hasPrefix("left   photoinboxd: start it: photoinboxd ") })
            // What another user's default would be is another test's.
            let second = try house.launch(
                start.split(separator: " ").dropFirst(5).map(String.init) + ["--state", house.path("st-desk")])
            try await second.line(holding: "ready: ")
            try house.drop(try Photos.unique(0), as: "again.jpg", into: house.path("desk"))
            try await second.line(holding: "duplicate desk/again.jpg")
            for daemon in [first, second] { try await daemon.stop() }
        }

        @Test("A library at another path than the other hosts' is refused, and nothing is filed there")
        func libraryPath() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let first = try await place.start()
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "filed inbox/a.jpg")
            for name in ["desk", "elsewhere"] { try makeDirectory(house.path(name)) }
            try place.configure(state: "st-desk", inbox: "desk", library: "elsewhere")
            let second = try await place.start()
            try house.drop(try Photos.unique(0), as: "b.jpg", into: house.path("desk"))
            try await poll(
                { try await house.ask("status") }, until: { $0.text.contains("which each host mounts there") })
            #expect(house.files(in: house.path("desk")).count == 1 && house.files(in: house.path("elsewhere")).isEmpty)
            // Nor is it accepted while others file into theirs.
            try await second.stop()
            func accept() async throws -> (RunningProgram.Ending, String) {
                let accepting = try house.launch(["--config", house.path("photoinbox.toml"), "--accept-library"])
                return (try await accepting.ending(), accepting.lines.joined())
            }
            let (ending, text) = try await accept()
            #expect(ending == .status(EX_TEMPFAIL) && text.contains("is not the library of this catalogue"), "\(text)")
            // A copy is one host's, and there is none until it can be made.
            let copy = house.path("copy.sqlite")
            let copying = try house.launch(
                program: "photoinbox",
                ["catalogue", "copy", "host=\(house.path("pg")) user=tester dbname=\(place.database)", copy])
            #expect(try await copying.ending() == .status(1), "\(copying.lines)")
            #expect(copying.lines.joined().contains("hosts forget NAME"), "\(copying.lines)")
            #expect(!FileManager.default.fileExists(atPath: copy))
            try await first.stop()
            _ = try place.query("UPDATE host SET seen = clock_timestamp() - interval '1 hour'", in: "photoinbox")
            #expect(try await accept().0 == .status(0))
            // What this host has accepted is its own to know.
            let check = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await check.ending() == .status(0), "\(check.lines)")
        }

        @Test("An inbox with the name of another host's is refused, and files nothing")
        func inboxName() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let first = try await place.start()
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "filed inbox/a.jpg")
            try makeDirectory(house.path("other"))
            try house.configure(
                """
                library = "@library"
                state = "@st-other"
                catalogue = "host=@pg user=tester dbname=\(place.database)"
                [inbox.inbox]
                path = "@other"
                [inbox.free]
                path = "@inbox2"
                """)
            try makeDirectory(house.path("inbox2"))
            let second = try await place.start()
            try house.drop(try Photos.unique(1), as: "b.jpg", into: house.path("other"))
            // It may have been reported before the daemon was ready.
            let words = "is another daemon's: the host \(Self.machine) has an inbox of this name"
            try await poll(
                { try await house.ask("status") }, until: { $0.text.contains("PI-213") && $0.text.contains(words) })
            try house.drop(try Photos.unique(2), as: "c.jpg", into: house.path("inbox2"))
            try await second.line(holding: "filed free/c.jpg")
            #expect(house.files(in: house.path("other")).count == 1)
            for daemon in [first, second] { try await daemon.stop() }
        }

        @Test("What a host had copied when it was killed is filed by another; its own copy goes when it is back")
        func takeover() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            var first = try await place.start()
            let second = try await place.startAnother("desk")
            let content = try Photos.unique(0)
            // Its copy has its name, and its commit waits.
            let blocked = place.blockCommits()
            try house.drop(content, as: "a.jpg")
            try await place.waitUntilCommitWaits()
            #expect(house.files(in: house.library).count == 1)
            first.signal(SIGKILL)
            _ = try await first.ending()
            blocked.end()
            try house.drop(content, as: "b.jpg", into: house.path("desk"))
            try await second.line(holding: "the same content is being filed just now")
            try place.age(Self.machine)
            try await second.line(holding: "filed desk/b.jpg")
            #expect(house.files(in: house.library).count == 2)
            first = try await place.start(reporting: ["duplicate inbox/a.jpg"])
            for daemon in [first, second] { try await daemon.stop() }
            #expect(house.files(in: house.library).keys.map { $0.hasSuffix("b.jpg") } == [true])
            try expectRest(place)
        }

        private func expectRest(_ place: DatabaseHouse, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let house = place.house
            #expect(
                try place.query("SELECT 1 FROM intent UNION ALL SELECT 1 FROM move", in: "photoinbox").isEmpty,
                sourceLocation: sourceLocation)
            let rows = try place.query("SELECT count(*) FROM photo WHERE superseded_at IS NULL", in: "photoinbox")
            #expect(
                rows == [[.integer(Int64(house.files(in: house.library).count))]], sourceLocation: sourceLocation)
            house.expectNoTemporaries(sourceLocation: sourceLocation)
        }
    }
}
