import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    @Suite("The program of the hooks unit", .timeLimit(.minutes(60)))
    struct HookUnit {
        /// Emulates the service manager and the daemon: passes a connection as in sd_listen_fds(3), then follows
        /// the lines of standard input.
        private static let driver = """
            import os, signal, socket, struct, sys
            ours, theirs = socket.socketpair()
            program, config, user, what, hook = sys.argv[1:]
            child = os.fork()
            if child == 0:
                ours.close()
                os.dup2(theirs.fileno(), 3)
                os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="connection")
                # The user's own configuration, where it would be looked for.
                if what == "home": os.environ["XDG_CONFIG_HOME"] = config
                named = [] if what == "home" else ["--config", config]
                os.execv(program, [program, "--run-hook-for", user, *named])
            theirs.close()
            frame = lambda text: struct.pack(">I", len(text)) + text
            name = frame(b'{"version":1,"hook":"' + hook.encode() + b'"}')
            if what == "garbage": ours.sendall(b"\\xff" * 100)
            elif what == "nothing": ours.close()
            else:
                # Byte by byte, since a stream has no borders.
                for byte in name + frame(b'{"told":1}\\n'): ours.sendall(bytes([byte]))
            if what in ("hang-up", "terminate"):
                open(os.path.dirname(config) + "/begun").read()
                if what == "hang-up": ours.close()
                else: os.kill(child, signal.SIGTERM)
            if ours.fileno() >= 0:
                answer = b""
                while True:
                    more = ours.recv(65536)
                    if not more: break
                    answer += more
                print("answer", answer[4:].decode(), flush=True)
            print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            """

        private static let hooks = """
            library = "@library"
            [inbox.card]
            path = "@inbox"
            [hook.good]
            command = ["/bin/sh", "-c", "cat > @told; exit 3"]
            [hook.slow]
            command = ["/bin/sh", "-c", "trap 'echo t > @asked; exit 1' TERM; echo > @begun; while :; do sleep 0.05; done"]
            deadline = "1h"
            [hook.long]
            command = ["/bin/sh", "-c", "sleep 11; exit 4"]
            deadline = "1h"
            """

        /// Runs it and returns its output.
        private func run(_ house: House, _ what: String, hook: String = "good", user: String? = nil) async throws
            -> CommandResult
        {
            if access(house.path("driver"), F_OK) != 0 { try write(Data(Self.driver.utf8), to: house.path("driver")) }
            let program = try RunningProgram([
                "/usr/bin/python3", house.path("driver"), BuiltPrograms.path("photoinboxd"),
                house.path("photoinbox.toml"), user ?? "\(geteuid())", what, hook,
            ])
            let ending = try await program.ending()
            return CommandResult(lines: program.lines, ending: ending)
        }

        @Test("It runs the program of root's configuration and reports its status")
        func answers() async throws {
            let house = try House()
            try house.configure(Self.hooks)
            let result = try await run(house, "ask")
            #expect(result.text.contains(#""kind":"exited","number":3"#), "\(result.text)")
            #expect(result.text.contains("ended 0"), "\(result.text)")
            #expect(house.files(in: house.root)["told"] == Data("{\"told\":1}\n".utf8))
            let unknown = try await run(house, "ask", hook: "nobody")
            #expect(unknown.text.contains("refused") && unknown.text.contains("has no hook of this name"))
            chmod(house.path("photoinbox.toml"), 0o666)
            let open = try await run(house, "ask")
            #expect(open.text.contains("refused") && open.text.contains("can be written to by others"), "\(open.text)")
        }

        @Test(
            "Without --config, a hooks user's own configuration is not read",
            .enabled(if: access("/etc/photoinbox/photoinbox.toml", F_OK) != 0, "skipped: the service is installed here")
        )
        func ownConfiguration() async throws {
            let house = try House()
            try house.configure(Self.hooks)
            let home = house.path("home")
            for directory in [home, "\(home)/photoinbox"] { try makeDirectory(directory) }
            try move(house.path("photoinbox.toml"), to: "\(home)/photoinbox/photoinbox.toml")
            try write(Data(Self.driver.utf8), to: house.path("driver"))
            let program = try RunningProgram([
                "/usr/bin/python3", house.path("driver"), BuiltPrograms.path("photoinboxd"), home, "\(geteuid())",
                "home",
                "good",
            ])
            _ = try await program.ending()
            #expect(program.lines.contains { $0.contains("refused") }, "\(program.lines)")
            #expect(house.files(in: house.root)["told"] == nil)
        }

        @Test("A malformed request is refused and does no harm", arguments: ["garbage", "nothing"])
        func nonsense(what: String) async throws {
            let house = try House()
            try house.configure(Self.hooks)
            let result = try await run(house, what)
            #expect(result.text.contains("ended 0"), "\(result.text)")
            #expect(!result.text.contains("\"kind\"") && house.files(in: house.root)["told"] == nil)
        }

        @Test("A hook may run longer than its request may take to arrive")
        func runsLong() async throws {
            let house = try House()
            try house.configure(Self.hooks)
            let result = try await run(house, "ask", hook: "long")
            #expect(result.text.contains(#""kind":"exited","number":4"#), "\(result.text)")
            #expect(result.text.contains("ended 0"), "\(result.text)")
        }

        @Test(
            "It ends its hook when the daemon disconnects or on SIGTERM",
            arguments: ["hang-up", "terminate"])
        func ends(what: String) async throws {
            let house = try House()
            try house.configure(Self.hooks)
            // Opening the FIFO blocks until the hook runs.
            try systemCall("mkfifo") { mkfifo(house.path("begun"), 0o600) }
            let result = try await run(house, what, hook: "slow")
            #expect(result.text.contains("ended 0"), "\(result.text)")
            #expect(house.files(in: house.root)["asked"] == Data("t\n".utf8), "by TERM first")
        }

        @Test(
            "Only the daemon's user is served",
            .enabled(if: EndToEnd.isRoot && EndToEnd.canBeOrdinary, "skipped: needs root, to be somebody else"))
        func strangers() async throws {
            let house = try House()
            try house.configure(Self.hooks)
            chmod(house.root, 0o755)
            try write(Data(Self.driver.utf8), to: house.path("driver"))
            let program = try RunningProgram(
                EndToEnd.asNobody + [
                    "/usr/bin/python3", house.path("driver"), BuiltPrograms.path("photoinboxd"),
                    house.path("photoinbox.toml"), "1", "nothing", "good",
                ])
            _ = try await program.ending()
            #expect(program.lines.contains { $0.contains("who is not the daemon's user") }, "\(program.lines)")
            #expect(program.lines.contains("ended 77") && !program.lines.contains { $0.contains("\"kind\"") })
        }
    }
}
