import ControlProtocol
import Foundation
import Glibc
import PostgreSQL
import PostgresSupport
import TestSupport
import Testing

extension EndToEnd {
    @Suite(
        "A catalogue in PostgreSQL", .enabled(if: DatabaseHouse.isAvailable, "\(PostgresPrograms.skipped)"))
    struct Database {
        @Test("Photos are filed, found, known again, and taken back; a restart goes on")
        func everyday() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            var daemon = try await place.start()
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try house.drop(try Photos.unique(0), as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            #expect(access(house.path("st/catalogue.sqlite"), F_OK) != 0)
            try await daemon.stop()
            daemon = try await place.start()
            try house.drop(try Photos.unique(0), as: "third.jpg")
            try await daemon.line(holding: "duplicate inbox/third.jpg")
            let list = try await house.ask("list")
            #expect(list.ending == .status(0) && list.text.contains("a.jpg"), "\(list.text)")
            let found = try await house.ask("search", "--from", "2024-01", "--until", "2024-02", "--name", "a")
            #expect(found.ending == .status(0) && found.text.contains("a.jpg"), "\(found.text)")
            #expect(try await house.ask("verify").ending == .status(0))
            let status = try await house.ask("status")
            #expect(status.ending == .status(0), "\(status.text)")
            let undo = try await house.ask("undo", "1")
            #expect(undo.ending == .status(0), "\(undo.text)")
            #expect(house.files(in: house.library).isEmpty)
            // It says how it is each ten seconds.
            let hosts = try await poll({ try await house.ask("hosts") }, until: { $0.text.contains("filing") })
            #expect(hosts.ending == .status(0), "\(hosts.text)")
            try await daemon.stop()
            #expect(try place.query("SELECT 1 FROM intent UNION ALL SELECT 1 FROM move", in: "photoinbox").isEmpty)
        }

        @Test("Photos wait while the server is out of reach, and are filed once it is back")
        func away() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let daemon = try await place.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            try place.cut()
            for number in 1...3 { try house.drop(try Photos.unique(number), as: "\(number).jpg") }
            try await daemon.line(holding: "PI-506")
            let state = try await house.state(of: daemon) { $0.problems.map(\.code).contains("PI-506") }
            #expect(state.program.status.hasPrefix("FILING STOPPED: PI-506"), "\(state.program.status)")
            #expect(house.files(in: house.inbox).count == 3)
            let list = try await house.ask("list")
            #expect(list.ending == .status(69) && list.text.contains("PostgreSQL"), "\(list.text)")
            // What needs no catalogue is done, and said to be.
            for (command, done) in [
                ("pause", "paused inbox"), ("resume", "resumed inbox"), ("rescan", "rescanned inbox"),
            ] {
                let answer = try await house.ask(command, "inbox")
                #expect(answer.ending == .status(0) && answer.text.contains(done), "\(answer.text)")
                #expect(answer.text.contains("the catalogue cannot be written now"), "\(answer.text)")
            }
            try place.connect()
            try await daemon.lines(holding: (1...3).map { "filed inbox/\($0).jpg" } + ["PI-506 is over"])
            #expect(house.files(in: house.library).count == 4 && house.files(in: house.inbox).isEmpty)
            try await daemon.stop()
            house.expectNoTemporaries()
        }

        @Test("A daemon starts while the server is out of reach, and files once it is there", arguments: [false, true])
        func startsBefore(wasUsed: Bool) async throws {
            let place = try DatabaseHouse()
            let house = place.house
            if wasUsed {
                let daemon = try await place.start()
                try house.drop(try Photos.unique(0), as: "first.jpg")
                try await daemon.line(holding: "filed inbox/first.jpg")
                try await daemon.stop()
            }
            try place.cut()
            try house.drop(try Photos.unique(1), as: "a.jpg")
            let daemon = try await place.start(reporting: ["PI-506"])
            #expect(house.files(in: house.inbox).count == 1)
            try place.connect()
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-506 is over"])
            #expect(house.files(in: house.library).count == (wasUsed ? 2 : 1))
            try await daemon.stop()
        }

        @Test("A photo that was recorded when the connection was lost is logged as filed, and not as withdrawn")
        func unanswered() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let daemon = try await place.start()
            // Its commit waits for a standby that does not exist, and is done when that wait is ended.
            for statement in [
                """
                CREATE FUNCTION await_standby() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    PERFORM set_config('synchronous_commit', 'on', true);
                    RETURN NULL;
                END $$
                """, "CREATE TRIGGER await_standby AFTER INSERT ON photo FOR EACH ROW EXECUTE FUNCTION await_standby()",
            ] { _ = try place.query(statement, in: "photoinbox") }
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await poll {
                try place.query(
                    """
                    SELECT CAST(pg_terminate_backend(pid) AS INTEGER) FROM pg_stat_activity
                    WHERE datname = '\(place.database)' AND wait_event = 'SyncRep'
                    """)
            } until: {
                !$0.isEmpty
            }
            try await daemon.line(holding: "filed inbox/a.jpg", "recorded, though the catalogue had not answered")
            #expect(house.files(in: house.library).count == 1 && house.files(in: house.inbox).isEmpty)
            #expect(!daemon.lines.contains { $0.contains("withdrawn inbox/a.jpg") }, "\(daemon.lines)")
            let state = try await house.state(of: daemon)
            #expect(state.inboxes.allSatisfy { $0.counts.balances && $0.counts.filed == 1 && $0.counts.withdrawn == 0 })
            try await daemon.stop()
        }

        @Test("A daemon that is forgotten files nothing more until it is started again")
        func forgotten() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let first = try await place.start()
            let running = try await house.ask("hosts", "forget", ProcessInfo.processInfo.hostName)
            #expect(running.ending == .status(1) && running.text.contains("it runs"), "\(running.text)")
            let forgotten = try await house.ask("hosts", "forget", "--yes", ProcessInfo.processInfo.hostName)
            #expect(forgotten.ending == .status(0) && forgotten.text.contains("forgotten"), "\(forgotten.text)")
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "PI-507")
            #expect(house.files(in: house.library).isEmpty && house.files(in: house.inbox).count == 1)
            try await first.stop()
            let second = try await place.start(reporting: ["filed inbox/a.jpg"])
            try await second.stop()
            #expect(try await house.ask("hosts", "forget", "nobody").ending == .status(4))
        }

        @Test("Of two daemons with copies of one state directory only the newest one writes")
        func copiedState() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            let first = try await place.start()
            // From then on it holds the locks of inbox and library.
            try house.drop(try Photos.unique(1), as: "first.jpg")
            try await first.line(holding: "filed inbox/first.jpg")
            try runProgram(["/bin/cp", "-a", house.path("st"), house.path("copy")])
            try place.configure(state: "copy")
            let second = try place.launch()
            // The inbox is the first one's; the catalogue is not any more.
            try await second.line(holding: "ready: ")
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await first.line(holding: "PI-507")
            try await first.stop()
            try await second.line(holding: "filed inbox/a.jpg")
            #expect(house.files(in: house.library).count == 2)
            try await second.stop()
        }

        @Test(
            "A database that went back ends the daemon, whose next start records again what it had begun, or the library",
            arguments: [false, true], [false, true])
        func wentBack(whileItRuns: Bool, knowsWhat: Bool) async throws {
            let place = try DatabaseHouse()
            let house = place.house
            var daemon = try await place.start()
            for number in 0...1 {
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try await daemon.line(holding: "filed inbox/\(number).jpg")
            }
            if !whileItRuns { try await daemon.stop() }
            let begun = String(decoding: house.files(in: house.path("st"))["begun.log"] ?? Data(), as: UTF8.self)
            let second = try #require(
                begun.split(separator: "\n").last?.split(separator: " ").first.flatMap { Int($0) })
            // As a dump has it that was made before the second was filed.
            for statement in [
                "DELETE FROM metadata_due", "DELETE FROM outcome WHERE photo_id = 2", "DELETE FROM intent",
                "DELETE FROM photo WHERE id = 2", "UPDATE host SET writes = \(second - 1)",
            ] { _ = try place.query(statement, in: "photoinbox") }
            if whileItRuns {
                try house.drop(try Photos.unique(1), as: "again.jpg")
                try await daemon.line(holding: "the database went back to an earlier state; ending")
                #expect(try await daemon.ending() == .status(74))
                #expect(house.files(in: house.library).count == 2)
            }
            // In whatever order.
            let known = whileItRuns ? ["duplicate inbox/again.jpg"] : []
            if knowsWhat {
                daemon = try await place.start(
                    reporting: ["gone back to an earlier state: 1 filing, move or request is finished again"]
                        + known)
                #expect(!daemon.lines.contains { $0.contains("PI-504") })
            } else {
                try runProgram(["/bin/rm", house.path("st/begun.log")])
                daemon = try await place.start(
                    reporting: ["PI-504", "the catalogue is made anew: 1 photo recorded, 1 before"] + known)
            }
            if !whileItRuns {
                try house.drop(try Photos.unique(1), as: "again.jpg")
                try await daemon.line(holding: "duplicate inbox/again.jpg")
            }
            #expect(house.files(in: house.library).count == 2)
            let source = "SELECT inbox || '/' || encode(source_path, 'escape') FROM photo WHERE id <> 1"
            let words = knowsWhat ? "inbox/1.jpg" : "(adopted)/"
            #expect("\(try place.query(source, in: "photoinbox"))".contains(words))
            try await daemon.stop()
            daemon = try await place.start()
            try await daemon.stop()
            #expect(!daemon.lines.contains { $0.contains("PI-504") }, "it is rebuilt once")
        }

        @Test("A schema that is renamed away is rebuilt from the library")
        func rebuilt() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            var daemon = try await place.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            try await daemon.stop()
            let refused = try await house.ask("rebuild")
            #expect(refused.ending == .status(1) && refused.text.contains("ALTER SCHEMA"), "\(refused.text)")
            _ = try place.query("ALTER SCHEMA photoinbox RENAME TO old")
            daemon = try await place.start(reporting: ["PI-504", "the catalogue is made anew: 1 photo recorded"])
            try house.drop(try Photos.unique(0), as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            try await daemon.stop()
        }

        private func expectCheck(of house: House, _ status: Int32, _ parts: [String]) async throws {
            let check = try house.launch(["--check", "--config", house.path("photoinbox.toml")])
            try await check.lines(holding: parts)
            #expect(try await check.ending() == .status(status), "\(check.lines)")
        }

        @Test("A connection with a password is refused, and --check reports a server that is away, or that refuses")
        func mistakes() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            func check(_ status: Int32, _ parts: String...) async throws {
                try await expectCheck(of: house, status, parts)
            }
            // The server of the tests writes nothing durably.
            try await check(0, "ms away; no schema photoinbox yet", "fsync is off on the server", "configuration OK")
            let daemon = try await place.start()
            try await daemon.stop()
            try await check(0, "; schema photoinbox, version ")
            try place.configure(state: "st-other")
            try await check(78, " has an inbox inbox already: give this one another name", "cannot be used so")
            try makeDirectory(house.path("other"))
            try place.configure(state: "st-other", inbox: "other")
            try await check(0, "configuration OK")
            try place.configure()
            let role = "limited_\(place.database)"
            _ = try place.query("CREATE ROLE \(role) LOGIN")
            _ = try place.query("GRANT USAGE ON SCHEMA photoinbox TO \(role)")
            let tester = try String(contentsOfFile: house.path("photoinbox.toml"), encoding: .utf8)
            try house.configure(tester.replacing("user=tester", with: "user=\(role)"))
            try await check(78, "permission denied for table")
            _ = try place.query("GRANT SELECT ON ALL TABLES IN SCHEMA photoinbox TO \(role)")
            try await check(78, "the role \(role) may not write the table photoinbox.", " more")
            _ = try place.query("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA photoinbox TO \(role)")
            try await check(0, "; schema photoinbox, version ")
            _ = try place.query("REVOKE USAGE ON SCHEMA photoinbox FROM \(role)")
            let use = "opening the schema photoinbox: the role \(role) may not use it"
            try await check(78, "\(use); connect as the role that owns the tables")
            let list = try await house.ask("list")
            #expect(list.ending == .status(77) && list.text.contains("\(use). Connect as the role"), "\(list.text)")
            #expect(list.text.ranges(of: "PostgreSQL").count == 1, "\(list.text)")
            _ = try place.query("GRANT USAGE ON SCHEMA photoinbox TO \(role)")
            _ = try place.query("ALTER SCHEMA photoinbox RENAME TO other")
            try await check(78, "the role \(role) may not create the schema photoinbox")
            try house.configure(tester)
            try place.cut()
            let check = try house.launch(["--check", "--config", house.path("photoinbox.toml")])
            try await check.lines(holding: ["PostgreSQL", "OK but for the catalogue, which cannot be checked now"])
            #expect(try await check.ending() == .status(0) && !check.lines.joined().contains("configuration OK"))
            for words in ["host=db password=secret", "postgresql:///photos?password=secret"] {
                try house.configure(
                    "catalogue = \"\(words)\"\nlibrary = \"@library\"\n[inbox.inbox]\npath = \"@inbox\"\n")
                let refused = try house.launch(["--check", "--config", house.path("photoinbox.toml")])
                try await refused.line(holding: "passfile")
                #expect(try await refused.ending() == .status(78))
            }
        }

        @Test("--check reports what would keep a daemon from filing: library, database, password, identity")
        func checkedAsAtStart() async throws {
            let place = try DatabaseHouse()
            let house = place.house
            func check(_ status: Int32, _ parts: String...) async throws {
                try await expectCheck(of: house, status, parts)
            }
            let daemon = try await place.start()
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try await check(0, "configuration OK")
            // As where the library's file system is not mounted.
            try runProgram(["/bin/mv", house.library, house.path("unmounted")])
            try makeDirectory(house.library)
            try await check(78, "PI-406: the directory at \(house.library) is not the library: ", "cannot be used so")
            try runProgram(["/bin/rmdir", house.library])
            try runProgram(["/bin/mv", house.path("unmounted"), house.library])
            for name in ["elsewhere", "other"] { try makeDirectory(house.path(name)) }
            try place.configure(library: "elsewhere")
            try await check(78, "PI-406: ", "cannot be used so")
            // As where all of a host's disk was copied to another one.
            try runProgram(["/bin/cp", "-a", house.path("st"), house.path("copy")])
            try place.configure(state: "copy", inbox: "other")
            try await check(78, "PI-507: ", "cannot be used so")
            try place.configure()
            try await daemon.stop()
            try await check(0, "configuration OK")

            let latin = try place.server.makeDatabase(encoding: "LATIN1")
            let tester = try String(contentsOfFile: house.path("photoinbox.toml"), encoding: .utf8)
            try house.configure(tester.replacing(place.database, with: latin))
            try await check(78, "the database has the encoding LATIN1", "cannot be used so")
            // One that the server asks for a password.
            let role = "checked"
            _ = try place.query("CREATE ROLE \(role) LOGIN PASSWORD 'right'")
            let file = house.path("pgpass")
            try house.configure(tester.replacing("user=tester", with: "user=\(role) passfile=\(file)"))
            try await check(78, "no password supplied: there is no password file \(file)", "cannot be used so")
            try write(Data("*:*:*:\(role):right\n".utf8), to: file)
            chmod(file, 0o644)
            try await check(78, "so it is ignored: chmod 0600 \(file)", "cannot be used so")
        }
    }
}
