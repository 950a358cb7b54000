import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("The command line finds the daemon and reports its work")
    struct CommandLine {
        @Test("status, list, explain, show and dump with a running daemon")
        func asksARunningDaemon() async throws {
            let house = try House()
            let photo = try Photos.unique(1)
            let daemon = try await house.start("--patience", "1s")
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try house.drop(photo.prefix(photo.count / 2), as: "cut.jpg")
            // Any change of the mount table has the quarantine counted: the problem can come before the outcome's line.
            try await daemon.lines(holding: ["quarantined inbox/cut.jpg", "PI-311"])

            let status = try await ask(house, "status")
            #expect(status.ending == .status(3), "a warning stands: \(status.lines)")
            #expect(status.text.contains("live") && status.text.contains("PI-311"))
            let list = try await ask(house, "list", "--json")
            #expect(list.ending == .status(0) && list.text.contains("a.jpg"))
            let filed = try await ask(house, "explain", "\(house.inbox)/a.jpg")
            #expect(filed.ending == .status(0) && filed.text.contains("no writer left (lease)"), "\(filed.lines)")
            let cut = try await ask(house, "explain", "inbox/cut.jpg")
            #expect(cut.text.contains("cut short"), "\(cut.lines)")
            let one = try await ask(house, "show", "1")
            #expect(one.ending == .status(0) && one.text.contains("sha256"))
            let dump = try await ask(house, "dump")
            #expect(dump.ending == .status(0))
            let state = try JSONDecoder().decode(DaemonState.self, from: Data(dump.text.utf8))
            #expect(state.program.pid == Int(daemon.pid))

            try await daemon.stop()
            #expect(access(house.path("st/run/photoinboxd.pid"), F_OK) != 0)
            let down = try await ask(house, "status")
            #expect(down.ending == .status(69) && down.text.contains("not running"), "\(down.lines)")
        }

        @Test(
            "A daemon that was started with flags logs the commands for it, and is found before its first dump")
        func startedWithFlags() async throws {
            let house = try House()
            let daemon = try await house.start("--patience", "1m")
            let hint = try await daemon.line(holding: "ask it from another terminal: ")
            let command = try #require(hint.firstMatch(of: #/terminal: (.*)  logger=/#)?.1)
            let asked = try RunningProgram(["/bin/sh", "-c", String(command)])
            #expect(try await asked.ending() == .status(0), "\(hint): \(asked.lines)")
            let photo = try Photos.unique(1)
            try house.drop(photo.prefix(photo.count / 2), as: "cut.jpg")
            try await daemon.line(holding: "deferred inbox/cut.jpg")
            let released = try await ask(house, "release", "inbox/cut.jpg")
            #expect(released.ending == .status(4), "\(released.lines)")
            #expect(released.text.contains("inbox/cut.jpg was not quarantined: it is deferred, and stays in its inbox"))
            #expect(released.text.contains("Retry it now: photoinbox retry --state \(house.path("st")) inbox/cut.jpg"))
            let listed = try await ask(house, "list", "--outcome", "deferred")
            #expect(listed.ending == .status(0) && listed.text.contains("inbox/cut.jpg"), "\(listed.lines)")
            let retried = try await ask(house, "retry", "inbox/cut.jpg")
            #expect(retried.ending == .status(0), "\(retried.lines)")
            let looked = try await ask(house, "rescan", "inbox/cut.jpg")
            #expect(looked.ending == .status(0), "\(looked.lines)")
            // Its status is that of journalctl, if that is installed.
            let log = try await ask(house, "log", "inbox/cut.jpg")
            #expect(log.ending != .status(4) && !log.text.contains("no inbox contains"), "\(log.lines)")
            try await daemon.stop()
            // No service manager has started it, and its state directory alone is named.
            let down = try RunningProgram([
                "/usr/bin/env", "PHOTOINBOX_STATE=\(house.path("st"))", BuiltPrograms.path("photoinbox"), "status",
            ])
            #expect(try await down.ending() == .status(69))
            let start = "Start it: photoinboxd --state \(house.path("st")) with --inbox and --library as before"
            #expect(down.lines.last?.hasSuffix(start) == true, "\(down.lines)")
        }

        @Test("A running daemon is found by its state directory, even if its configuration has become invalid")
        func foundAllTheSame() async throws {
            let house = try House()
            let configuration = House.oneCard.replacing("@st/run", with: "@elsewhere")
            for runtime in ["@elsewhere", "@st/run", "@elsewhere"] {
                let daemon = try await house.start(configuration: House.oneCard.replacing("@st/run", with: runtime))
                let status = try await ask(house, "status")
                #expect(status.ending == .status(0) && status.text.contains("filing normally"), "\(status.lines)")
                try await daemon.stop()
            }
            let daemon = try await house.start(configuration: configuration)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            try house.configure(configuration + "\ncolour = \"blue\"\n")
            for command in [["status"], ["list"], ["explain", "card/a.jpg"], ["show", "1"]] {
                let answer = try await house.ask(command)
                #expect(answer.status == 0 && answer.text.contains("colour"), "\(command): \(answer.lines)")
            }
            #expect(try await house.ask("import", "--dry-run", house.inbox).status == 78)
            try await daemon.stop()
        }

        @Test(
            "A user without write permission gets a message from commands that write",
            .enabled(if: getuid() == 0, "skipped: needs root"))
        func mayOnlyRead() async throws {
            let house = try House()
            let daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try write(Data("path,title\ninbox/a.jpg,Harbour\n".utf8), to: house.path("a.csv"))
            try runProgram(["/bin/chmod", "-R", "o+rX", house.root])
            let nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            try runProgram(["/bin/chmod", "o+w", house.outside])
            for (command, words) in [
                (["import-csv", "--rejects", house.path("outside/r"), house.path("a.csv")], "cannot change the catal"),
                (["thumbs"], "cannot write thumbnails"),
            ] {
                let program = try RunningProgram(
                    nobody + [BuiltPrograms.path("photoinbox")] + command + ["--state", house.path("st")])
                #expect(try await program.ending() == .status(77), "\(command): \(program.lines)")
                #expect(
                    program.lines.contains { $0.contains(words) && $0.contains("permission denied") },
                    "\(command): \(program.lines)")
            }
            // Missing thumbnails are made for the sheet alone.
            let sheet = try RunningProgram(
                nobody + [
                    BuiltPrograms.path("photoinbox"), "sheet", "-o", house.path("outside/sheet.jpg"), "--state",
                    house.path("st"),
                ])
            #expect(try await sheet.ending() == .status(0), "\(sheet.lines)")
            #expect(sheet.lines.contains { $0.contains("1 photo, ") && !$0.contains("without") }, "\(sheet.lines)")
            #expect(!FileManager.default.fileExists(atPath: house.path("st/thumbnails")))
            // Without read permission the message names the group, unless the user is in it or it is root's.
            let group = try #require(getgrnam("users")).pointee.gr_gid
            for ending in ["", "-wal", "-shm"] {
                let path = house.path("st/catalogue.sqlite\(ending)")
                try #require(chown(path, 0, group) == 0 && chmod(path, 0o640) == 0)
            }
            for (groups, command, words, isAdvised) in [
                ("--clear-groups", ["list"], "cannot read the catalogue", true),
                ("--groups=\(group)", ["import-csv", house.path("a.csv")], "cannot change the catalogue", false),
                ("--clear-groups", ["pause", "inbox"], "cannot ask photoinboxd", false),
            ] {
                let program = try RunningProgram(
                    ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", groups, BuiltPrograms.path("photoinbox")]
                        + command + ["--state", house.path("st")])
                #expect(try await program.ending() == .status(77), "\(command): \(program.lines)")
                let text = program.lines.joined(separator: "\n")
                #expect(
                    text.contains(words) && text.contains("permission denied") && !text.contains("_photoinbox"),
                    "\(text)")
                #expect(text.contains("adduser nobody users") == isAdvised, "\(text)")
                #expect(isAdvised || !text.contains("adduser"), "\(text)")
            }
            try await daemon.stop()
        }

        @Test("list uses a pager on a terminal, but not with --no-pager, and --version prints the program's name")
        func paged() async throws {
            let house = try House()
            let daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            for (options, isPaged) in [([], true), (["--no-pager"], false)] {
                let terminal = try PseudoTerminal(
                    [BuiltPrograms.path("photoinbox"), "list", "--state", house.path("st")] + options,
                    environment: ["TERM": "xterm", "PHOTOINBOX_PAGER": "sed 's/^/paged /'"], columns: 200)
                try await terminal.wait(for: "\(Photos.day)/a.jpg")
                #expect(try await terminal.ending() == .status(0))
                #expect(terminal.text.contains("paged") == isPaged, "\(terminal.text)")
            }
            try await daemon.stop()
            for name in ["photoinboxd", "photoinbox"] {
                let program = try RunningProgram([BuiltPrograms.path(name), "--version"])
                #expect(try await program.ending() == .status(0))
                #expect(program.lines == ["\(name) \(productVersion)"])
            }
        }

        @Test("A second daemon on the same state directory is refused and does no harm")
        func secondDaemon() async throws {
            let house = try House()
            let first = try await house.start()
            let second = try house.launch([
                "--inbox", house.inbox, "--library", house.library, "--state", house.path("st"),
            ])
            #expect(try await second.ending() == .status(EX_TEMPFAIL))
            #expect(second.lines.contains { $0.contains("another photoinboxd") })
            try house.drop(try Photos.unique(2), as: "b.jpg")
            try await first.line(holding: "filed inbox/b.jpg")
            try await first.stop()
        }

        @Test("tail shows each outcome, also of a new catalogue, and ends at once on a signal")
        func tail() async throws {
            let house = try House()
            var daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "before.jpg")
            try await daemon.line(holding: "filed inbox/before.jpg")
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox"), "tail", "--state", house.path("st")])
            defer { program.killIfRunning() }
            try await program.line(holding: "filed", "inbox/before.jpg", "→ \(Photos.day)/before.jpg")
            try house.drop(try Photos.unique(2), as: "a.jpg")
            try await program.line(holding: "filed", "inbox/a.jpg")
            try house.drop(try Photos.unique(2), as: "again.jpg")
            try await program.line(holding: "duplicate", "inbox/again.jpg")
            try await daemon.stop()
            for name in try FileManager.default.contentsOfDirectory(atPath: house.path("st"))
            where name.hasPrefix("catalogue") { unlink(house.path("st/\(name)")) }
            daemon = try await house.start()
            try house.drop(try Photos.unique(3), as: "anew.jpg")
            try await daemon.line(holding: "filed inbox/anew.jpg")
            try house.drop(try Photos.unique(4), as: "last.jpg")
            try await program.line(holding: "inbox/last.jpg")
            program.signal(SIGINT)
            #expect(try await program.ending() == .status(0))
            try await daemon.stop()
        }

        @Test(
            "A long-running command ends on a signal although its output is not read",
            arguments: [("tail", 0), ("verify", 3), ("thumbs", 3)])
        func unreadOutput(command: String, status: Int32) async throws {
            let house = try House()
            let daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            let pipe = house.path("pipe")
            try #require(mkfifo(pipe, 0o600) == 0)
            let full = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            defer { close(full) }
            while write(full, [0], 1) == 1 {}
            let program = try RunningProgram([
                "/bin/sh", "-c", "exec \"$0\" \"$3\" --json --state \"$1\" > \"$2\"",
                BuiltPrograms.path("photoinbox"), house.path("st"), pipe, command,
            ])
            defer { program.killIfRunning() }
            // Until it has blocked the signal, the signal would kill it.
            _ = try await poll({ try blockedSignals(of: program.pid) }, until: { $0.contains(SIGTERM) })
            program.signal(SIGTERM)
            #expect(try await program.ending() == .status(status))
            try await daemon.stop()
        }

        /// See SigBlk in proc_pid_status(5).
        private func blockedSignals(of process: pid_t) throws -> Set<Int32> {
            let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            let mask = status.firstMatch(of: #/SigBlk:\s*([0-9a-f]+)/#).flatMap { UInt64($0.1, radix: 16) } ?? 0
            return Set((1...64).filter { mask & (1 << ($0 - 1)) != 0 })
        }

        private struct Answer {
            let lines: [String]
            let ending: RunningProgram.Ending
            var text: String { lines.joined(separator: "\n") }
        }

        private func ask(_ house: House, _ arguments: String...) async throws -> Answer {
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox")] + arguments + ["--state", house.path("st")])
            let ending = try await program.ending()
            return Answer(lines: program.lines, ending: ending)
        }
    }
}
