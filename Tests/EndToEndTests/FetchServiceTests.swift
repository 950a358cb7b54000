import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite(
        "The program of the download unit",
        .enabled(if: AwkwardServer.isThere, "skipped: Python is not installed"), .timeLimit(.minutes(60)))
    struct FetchUnit {
        /// Emulates the service manager: listens like the socket unit and starts the program for each
        /// connection, as in sd_listen_fds(3). Or sends requests itself, with the frames of its arguments; `+` waits
        /// for a line of standard input, from a FIFO, before the next one.
        static let driver = """
            import os, signal, socket, struct, sys
            program, config, user, place = sys.argv[1:5]

            def start(connection):
                child = os.fork()
                if child == 0:
                    os.dup2(connection.fileno(), 3)
                    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="connection")
                    os.execv(program, [program, "--for", user, config])
                connection.close()
                return child

            if len(sys.argv) == 5:
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(place)
                listener.listen()
                print("listening", flush=True)
                while True:
                    child = start(listener.accept()[0])
                    print("served by", child, flush=True)
                    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            ours, theirs = socket.socketpair()
            child = start(theirs)
            for word in sys.argv[5:]:
                if word == "+": open(place).read()
                elif word == "terminate": os.kill(child, signal.SIGTERM)
                elif word == "hang up": ours.close()
                else: ours.sendall(struct.pack(">I", len(word)) + word.encode())
            answer = b""
            while ours.fileno() >= 0:
                more = ours.recv(65536)
                if not more: break
                answer += more
            while answer:
                length = struct.unpack(">I", answer[:4])[0]
                print("said", answer[4:4 + length].decode(), flush=True)
                answer = answer[4 + length:]
            print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            """

        private func house() async throws -> (House, AwkwardServer) {
            let house = try House()
            for name in ["st", "st/run"] { try makeDirectory(house.path(name)) }
            try house.configure(
                """
                library = "@library"
                state = "@st"
                [inbox.web]
                path = "@inbox"
                [fetch]
                allow-private = ["127.0.0.1"]
                at-once = "3"
                stall = "10m"
                """)
            try write(Data(Self.driver.utf8), to: house.path("driver"))
            return (house, try await AwkwardServer(photo: try Photos.named("exif.jpg"), in: house))
        }

        private func drive(_ house: House, _ place: String, _ words: [String] = [], user: String? = nil) throws
            -> RunningProgram
        {
            try RunningProgram(
                [
                    AwkwardServer.python, house.path("driver"), BuiltPrograms.path("photoinbox-fetch"),
                    house.path("photoinbox.toml"), user ?? "\(geteuid())", place,
                ] + words)
        }

        private func request(_ addresses: [String], inbox: String = "web", _ more: String = "") -> String {
            let list = addresses.map { "\"\($0)\"" }.joined(separator: ",")
            return "{\"version\":1,\"inbox\":\"\(inbox)\",\"addresses\":[\(list)]\(more)}"
        }

        private func isEmpty(_ house: House) throws -> Bool {
            try FileManager.default.contentsOfDirectory(atPath: house.inbox).isEmpty
        }

        @Test("photoinbox fetch uses the service if its socket listens, otherwise a child of its own")
        func asked() async throws {
            let (house, server) = try await house()
            let service = try drive(house, house.path("st/run/fetch"))
            try await service.line(holding: "listening")
            let words = [
                BuiltPrograms.path("photoinbox"), "fetch", "--config", house.path("photoinbox.toml"),
                server.address("photo/1.jpg"), server.address("gone"),
            ]
            let first = try RunningProgram(words)
            #expect(try await first.ending() == .status(3), "\(first.lines)")
            try await service.line(holding: "served by")
            try await service.line(holding: "ended 0")
            #expect(
                service.lines.contains { $0.contains("fetching 2 addresses into the inbox web") }, "\(service.lines)")
            #expect(house.files(in: house.inbox).count == 1)
            service.killIfRunning()
            _ = try await service.ending()
            let second = try RunningProgram(words)
            #expect(try await second.ending() == .status(3), "\(second.lines)")
            #expect(house.files(in: house.inbox).count == 2)
        }

        @Test("Forbidden and malformed requests are refused, and nothing is fetched")
        func refused() async throws {
            let (house, server) = try await house()
            let address = server.address("photo/1.jpg")
            let place = #","place":{"path":[47],"minFree":0,"limits":{}}"#
            let limits =
                #"{"atOnce":1,"deadline":1,"stall":1,"largest":1,"tries":1,"pause":1,"redirects":1,"allowed":[]}"#
            let whole = #","place":{"path":[47],"minFree":0,"limits":\#(limits)}"#
            let cases: [(String, String)] = [
                (request([address], inbox: "other"), "has no inbox other"),
                (request([address], whole), "only the configuration may set the place"),
                (request([address], place), "not a request of version 1"), (request([]), "1 to 10000 addresses"),
                ("garbage", "not a request"), (#"{"version":2,"inbox":"web","addresses":["x"]}"#, "not a request"),
            ]
            for (word, reason) in cases {
                let program = try drive(house, "", [word])
                #expect(try await program.ending() == .status(0))
                let said = program.lines.filter { $0.hasPrefix("said ") }
                #expect(said.count == 1 && said[0].contains("refused") && said[0].contains(reason), "\(program.lines)")
            }
            #expect(try isEmpty(house) && server.requests("photo/1.jpg").isEmpty)
        }

        @Test(
            "Only the daemon's user and operators are served",
            .enabled(if: geteuid() == 0, "skipped: another user is needed, which root alone can be"))
        func strangers() async throws {
            let (house, server) = try await house()
            let ending = try RunningProgram([
                "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/true",
            ])
            guard try await ending.ending() == .status(0) else { return }
            chmod(house.root, 0o755)
            let listener = try drive(house, house.path("st/run/fetch"), user: "65533")
            try await listener.line(holding: "listening")
            chmod(house.path("st/run/fetch"), 0o777)
            let ask = """
                import socket, struct, sys
                line = socket.socket(socket.AF_UNIX)
                line.connect(sys.argv[1])
                text = sys.argv[2].encode()
                try:
                    line.sendall(struct.pack(">I", len(text)) + text)
                    print("said", line.recv(100))
                except OSError as error: print("said nothing", error)
                """
            let client = try RunningProgram([
                "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", AwkwardServer.python, "-c", ask,
                house.path("st/run/fetch"), request([server.address("photo/1.jpg")]),
            ])
            _ = try await client.ending()
            try await listener.line(holding: "requested by user 65534")
            #expect(try isEmpty(house) && server.requests("photo/1.jpg").isEmpty)
            listener.killIfRunning()
        }

        @Test("Queued and running downloads can be cancelled singly, and one result is reported when all have ended")
        func members() async throws {
            let (house, server) = try await house()
            let addresses = (0..<4).map { server.address("slow/\($0)") } + [server.address("photo/1.jpg")]
            let gate = house.path("gate")
            mkfifo(gate, 0o600)
            // Three run, the fourth and the photo wait: cancels the fourth, then two that run, so that the photo is
            // fetched.
            let program = try drive(
                house, gate,
                [
                    request(addresses), "+", #"{"cancel":3}"#, #"{"cancel":0}"#, #"{"cancel":9}"#, "+",
                    #"{"cancel":1}"#, "{}",
                ])
            try await server.program.lines(3, holding: "holding /slow")
            try await aside { try write(Data("go\n".utf8), to: gate) }
            try await server.program.line(holding: "get /photo/1.jpg")
            try await aside { try write(Data("go\n".utf8), to: gate) }
            #expect(try await program.ending() == .status(0))
            let said = program.lines.filter { $0.hasPrefix("said ") }
            #expect(said.filter { $0.contains("\"outcome\"") }.count == 1 && said.last?.contains("\"outcome\"") == true)
            #expect(said.filter { $0.contains("\"ended\"") }.count == 5, "\(said)")
            #expect(said.last?.contains(#""cancelled":4"#) == true || said.last?.contains(#""cancelled":5"#) == true)
            #expect(server.requests("slow/3").isEmpty)
        }

        @Test(
            "On SIGTERM or a hang-up the batch is cancelled and leaves no file", arguments: ["terminate", "hang up"])
        func ended(_ how: String) async throws {
            let (house, server) = try await house()
            let gate = house.path("gate")
            mkfifo(gate, 0o600)
            let program = try drive(
                house, gate, [request((0..<9).map { server.address("slow/\($0)") }), "+", how])
            try await server.program.lines(3, holding: "holding /slow")
            #expect(!(try isEmpty(house)))
            try await aside { try write(Data("go\n".utf8), to: gate) }
            #expect(try await program.ending() == .status(0), "\(program.lines)")
            #expect(program.lines.contains { $0.contains("0 arrived, 0 failed, 9 cancelled") }, "\(program.lines)")
            #expect(try isEmpty(house))
        }
    }
}
