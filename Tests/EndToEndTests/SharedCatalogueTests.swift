import ControlProtocol
import Foundation
import Glibc
import PostgreSQL
import PostgresSupport
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Hosts that share a catalogue", .enabled(if: DatabaseHouse.isAvailable, "\(PostgresPrograms.skipped)"))
    struct SharedCatalogue {
        /// A house with two daemons, of which the second is `press-2`.
        private func twoDaemons() async throws -> (DatabaseHouse, RunningProgram, RunningProgram) {
            let place = try DatabaseHouse()
            let first = try await place.start()
            let second = try await place.startAnother("press-2")
            try rename(place)
            return (place, first, second)
        }

        /// By default the catalogue knows it by its machine's name.
        private func rename(_ place: DatabaseHouse) throws {
            _ = try place.query(
                "UPDATE host SET name = 'press-2' WHERE id = (SELECT max(id) FROM host)", in: "photoinbox")
        }

        /// What `status --all` prints as soon as it ends with this line.
        private func hosts(_ place: DatabaseHouse, until line: String) async throws -> CommandResult {
            try await poll({ try await place.house.ask("status", "--all") }, until: { $0.lines.last == line })
        }

        @Test("status --all shows all hosts, and one that ends, dies, comes back, and is forgotten")
        func silent() async throws {
            let (place, first, second) = try await twoDaemons()
            let house = place.house
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "filed inbox/a.jpg")
            let well = try await hosts(place, until: "2 of 2 hosts file")
            #expect(well.ending == .status(0), "\(well.text)")
            #expect(well.text.contains("catalogue  PostgreSQL 1") && well.text.contains(" ms away"), "\(well.text)")
            #expect(
                well.text.contains("library  1 photo, ") && well.text.contains("filing normally")
                    && well.text.contains("  press-2  none"), "\(well.text)")

            let own = well.lines.filter { $0.contains(" (this host) ") }
            #expect(own.count == 1 && own.first?.contains(" inbox ") == true, "\(well.text)")
            let json = try await house.ask("hosts", "--json").lines
            #expect(json.count { $0.contains(#""own":true"#) && $0.contains(#""inboxes":["inbox"]"#) } == 1, "\(json)")
            #expect(json.count { $0.contains(#""own":false"#) } == 1, "\(json)")

            // A file that is still written is in its inbox when its machine dies.
            try house.drop(try Photos.unique(1), as: ".part", into: house.path("press-2"))
            let written = open(house.path("press-2/.part"), O_WRONLY)
            #expect(Glibc.rename(house.path("press-2/.part"), house.path("press-2/b.jpg")) == 0 && written >= 0)
            try await poll {
                try await house.ask("hosts", "show", "press-2")
            } until: {
                $0.text.contains("1 file was waiting in its inboxes when it was last seen:\n  press-2/b.jpg")
            }
            second.signal(SIGKILL)
            _ = try await second.ending()
            close(written)
            unlink(house.path("press-2/b.jpg"))
            // Nothing waits for as long as a host may be busy with something else.
            _ = try place.query(
                "UPDATE host SET seen = seen - interval '1 day' WHERE name = 'press-2'", in: "photoinbox")
            let silent = try await house.ask("status", "--all")
            #expect(silent.ending == .status(3), "\(silent.text)")
            for part in [
                "silent since 20", "PI-601  host press-2 silent since 20", "photoinbox hosts --config",
                " forget press-2",
                "1 of 2 hosts file; 1 needs you: press-2",
            ] { #expect(silent.text.contains(part), "\(part) in: \(silent.text)") }
            try await first.line(holding: "PI-601", "host press-2 silent since")
            #expect(try await house.ask("status").ending == .status(3))
            // What the daemon has shown is not shown twice, and its warning about another host is none of its own.
            let both = try await house.ask("status", "--all")
            #expect(both.text.split(separator: "host press-2 silent").count == 2, "\(both.text)")
            #expect(both.text.contains("1 needs you: press-2"), "\(both.text)")

            let again = try place.launch("press-2.toml")
            try await again.line(holding: "ready: ")
            try await first.line(holding: "PI-601", "is over")
            #expect(try await hosts(place, until: "2 of 2 hosts file").ending == .status(0))
            #expect(try await house.ask("hosts", "show", "press-2").lines.count == 2)
            #expect(try await house.ask("hosts", "forget", "--yes", "press-2").ending == .status(0))
            // Nothing is filed there, so it is the heartbeat that finds it out.
            try await again.line(holding: "PI-507")
            let left = try await hosts(place, until: "1 of 1 host files")
            #expect(left.ending == .status(0) && !left.text.contains("press-2"), "\(left.text)")
            #expect(try await house.ask("hosts").text.contains("forgotten"))
            try await again.stop()
            try await first.stop()
            let ended = try await house.ask("hosts")
            #expect(ended.ending == .status(0) && ended.text.contains("stopping"), "\(ended.text)")
        }

        @Test("explain knows what tail shows of another host, and where to give the commands about it")
        func explain() async throws {
            let (place, first, second) = try await twoDaemons()
            let house = place.house
            try house.drop(try Photos.unique(0), as: "a.jpg", into: house.path("press-2"))
            try await second.line(holding: "filed press-2/a.jpg")
            let filed = try await house.ask("explain", "press-2/a.jpg")
            #expect(filed.ending == .status(0), "\(filed.text)")
            #expect(filed.lines.first?.hasPrefix("press-2/a.jpg: filed as ") == true, "\(filed.text)")
            #expect(filed.lines.contains { $0.hasSuffix(" host  press-2") }, "\(filed.text)")
            try house.drop(try Photos.unique(0), as: "again.jpg", into: house.path("press-2"))
            try await second.line(holding: "duplicate press-2/again.jpg")
            let duplicate = try await house.ask("explain", "press-2/again.jpg")
            #expect(duplicate.text.contains("press-2, where discard is to be given"), "\(duplicate.text)")
            let last = try place.query("SELECT max(id) FROM outcome", in: "photoinbox").first?.first
            guard case .integer(let number)? = last else {
                Issue.record("\(String(describing: last))")
                return
            }
            for command in [
                ["discard", "--yes", "press-2/again.jpg"], ["release", "\(number)"], ["retry", "press-2"],
                ["pause", "press-2"],
            ] {
                let refused = try await house.ask(command)
                let words = "the inbox press-2 is that of the host press-2. Run this on press-2."
                #expect(refused.ending == .status(4) && refused.text.contains(words), "\(command): \(refused.text)")
            }
            // What is in the library is taken back by any host.
            let undo = try await house.ask("undo", "--yes", "press-2/a.jpg")
            #expect(undo.ending == .status(0) && house.files(in: house.library).isEmpty, "\(undo.text)")
            let unknown = try await house.ask("explain", "press-2/b.jpg")
            #expect(unknown.ending == .status(4), "\(unknown.text)")
            #expect(unknown.text.contains("not recorded; only press-2 knows whether it is in hand"), "\(unknown.text)")
            let json = try await house.ask("explain", "--json", "press-2/a.jpg")
            #expect(json.text.contains("\"host\":\"press-2\""), "\(json.text)")
            #expect(try await house.ask("explain", "press-3/a.jpg").text.contains("is outside every inbox"))
            try await second.stop()
            #expect(try await house.ask("hosts", "forget", "--yes", "press-2").ending == .status(0))
            let forgotten = try await house.ask("explain", "press-2/a.jpg")
            #expect(forgotten.text.contains("press-2, which was forgotten"), "\(forgotten.text)")
            let lost = try await house.ask("explain", "press-2/b.jpg")
            #expect(lost.text.contains("not recorded; its host press-2 was forgotten"), "\(lost.text)")
            try await first.stop()
        }

        @Test("status --all says that only a standby answers, and calls no host silent that it has not heard of since")
        func standby() async throws {
            let place = try DatabaseHouse(isAlone: true)
            let house = place.house
            let daemon = try await place.start()
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try await daemon.stop()
            // As long as a standby is used for a primary that is down.
            _ = try place.query("UPDATE host SET seen = seen - interval '1 hour'", in: "photoinbox")
            try place.server.becomeStandby()
            let shown = try await house.ask("status", "--all")
            #expect(shown.text.contains("a standby: the hosts are shown as of "), "\(shown.text)")
            #expect(shown.text.contains("library  1 photo, "), "\(shown.text)")
            #expect(!shown.text.contains("silent"), "\(shown.text)")
            guard case .status(let status) = shown.ending else {
                Issue.record("\(shown.ending)")
                return
            }
            #expect(status >= 3)
            let json = try await house.ask("status", "--all", "--json")
            #expect(json.text.contains("\"standby\":true"), "\(json.text)")
        }

        @Test("A server that is out of reach is found out by a daemon that has nothing to do")
        func idle() async throws {
            let place = try DatabaseHouse()
            let daemon = try await place.start()
            _ = try await hosts(place, until: "1 of 1 host files")
            try place.cut()
            try await daemon.line(holding: "PI-506")
            let status = try await place.house.ask("status", "--all")
            #expect(status.text.contains("FILING STOPPED") && status.text.contains("PI-506"), "\(status.text)")
            #expect(status.text.contains("the other hosts are unknown: "), "\(status.text)")
            #expect(status.ending == .status(5), "\(status.text)")
            try place.connect()
            try await daemon.line(holding: "PI-506 is over")
            #expect(try await hosts(place, until: "1 of 1 host files").ending == .status(0))
            try await daemon.stop()
            // The machine is a host, whose daemon does not run.
            #expect(try await place.house.ask("status", "--all").ending == .status(69))
        }

        @Test("Whatever a host says of itself is shown as text, and what cannot be read is not shown as well")
        func hostile() async throws {
            let place = try DatabaseHouse()
            let daemon = try await place.start()
            _ = try await hosts(place, until: "1 of 1 host files")
            func say(_ said: String?, _ name: String = "other", forgotten: Bool = false) throws {
                let text = said.map { "$said$\($0)$said$" } ?? "NULL"
                _ = try place.query(
                    """
                    INSERT INTO host (key, name, life, epoch, seen, said, forgotten_at)
                    VALUES ('other', $name$\(name)$name$, 'x', 1, clock_timestamp(), \(text),
                        \(forgotten ? "now()" : "NULL"))
                    ON CONFLICT (key) DO UPDATE SET name = excluded.name, seen = excluded.seen, said = excluded.said,
                        forgotten_at = excluded.forgotten_at
                    """, in: "photoinbox")
            }
            func report(_ problems: String, phase: String = "running", waiting: String = "311") -> String {
                """
                {"version":"9","phase":"\(phase)","status":"x","waiting":\(waiting),"waitingBytes":1200000000,\
                "waitingFiles":["desk/\\u001b[2J.jpg"],"filedLastHour":4120,"problems":[\(problems)],"new":{}}
                """
            }
            func problem(_ severity: String, _ code: String = "PI-405") -> String {
                #"{"code":"\#(code)","severity":"\#(severity)","what":"library \u001b[2J fails"}"#
            }
            for (said, status, part) in [
                (report(""), Int32(0), "2 of 2 hosts file"), (report(problem("notice")), 0, "2 of 2 hosts file"),
                (report(problem("warning")), 3, "2 of 2 hosts file; 1 needs you: other"),
                (
                    report("\(problem("stopped")),\(problem("warning", "PI-604"))"), 5,
                    "1 of 2 hosts file; 1 needs you: other"
                ),
                (report(problem("unheard-of")), 1, "2 of 2 hosts file; 1 needs you: other"),
                (report("", phase: "stopping"), 0, "1 of 2 hosts file"),
                (nil, 3, "1 of 2 hosts file; 1 needs you: other"),
                ("", 3, "needs you: other"), ("[[[", 3, "needs you: other"),
                (report("", waiting: "1e99"), 3, "needs you: other"),
                (report("", waiting: "-5"), 0, "2 of 2 hosts file"),
                (String(repeating: "[", count: 4_000), 3, "needs you: other"),
                (String(repeating: "x", count: 4_000_000), 3, "needs you: other"),
            ] {
                try say(said)
                let all = try await place.house.ask("status", "--all")
                #expect(
                    all.ending == .status(status) && all.lines.last?.hasSuffix(part) == true,
                    "\(said?.prefix(99) ?? "-"): \(all.text)")
                #expect(!all.text.contains("\u{1B}[2J"))
                let json = try await place.house.ask("status", "--all", "--json")
                let object = try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any]
                #expect((object?["hosts"] as? [[String: Any]])?.count == 2 && json.ending == all.ending, "\(json.text)")
                #expect(try await place.house.ask("hosts").ending == .status(0))
            }
            try say(report("\(problem("stopped")),\(problem("warning", "PI-604"))"), "a\u{1B}[2J\nb")
            let named = try await place.house.ask("hosts")
            #expect(named.text.contains("  VERSION  ") && named.text.contains("  9        PI-405 "), "\(named.text)")
            #expect(!named.text.contains("\u{1B}[2J") && named.text.split(separator: "\n").count == 3, "\(named.text)")
            #expect(named.text.contains("311 (1.2 GB)") && named.text.contains("4,120"), "\(named.text)")
            #expect(named.text.contains("stopped") && named.text.contains(", PI-604"), "\(named.text)")
            try say(report(""))
            let shown = try await place.house.ask("hosts", "show", "other")
            #expect(!shown.text.contains("\u{1B}[2J") && shown.ending == .status(0), "\(shown.text)")
            #expect(
                shown.lines.dropFirst(2).map(\.self) == [
                    "311 files were waiting in its inboxes when it was last seen:", "  desk/\\x1b[2J.jpg",
                    "  … and 310 more",
                ], "\(shown.text)")
            #expect(try await place.house.ask("hosts", "show", "none").ending == .status(4))
            try say(report(problem("stopped")), forgotten: true)
            let forgotten = try await place.house.ask("status", "--all")
            #expect(
                forgotten.ending == .status(0) && forgotten.lines.last == "1 of 1 host files", "\(forgotten.text)")
            let lines = try await place.house.ask("hosts", "--json").text.split(separator: "\n")
            #expect(lines.count == 2 && lines.contains { $0.contains(#""state":"forgotten""#) }, "\(lines)")
            try await daemon.stop()
        }
    }
}
