import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    /// Photos from a real HTTP server on loopback, downloaded by the real programs.
    @Suite(
        "photoinbox fetch", .enabled(if: AwkwardServer.isThere, "skipped: Python is not installed"),
        .timeLimit(.minutes(60)))
    struct Fetching {
        struct Answer {
            let status: Int32
            let output: String

            private var objects: [[String: Any]] {
                output.split(separator: "\n").compactMap {
                    try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                }
            }

            /// The result for the address with this path: its outcome, its file or the reason, and the number of tries.
            func item(_ path: String) -> (what: String, words: String, tries: Int) {
                let item = objects.first { object in
                    object["type"] as? String == "item"
                        && (object["address"] as? String)?.split(separator: "/").dropFirst(2).joined(separator: "/")
                            == path
                }
                return (
                    item?["what"] as? String ?? "-", (item?["path"] ?? item?["reason"]) as? String ?? "-",
                    item?["tries"] as? Int ?? -1
                )
            }

            func count(_ name: String) -> Int {
                objects.last { $0["type"] as? String == "summary" }?[name] as? Int ?? -1
            }
        }

        private func configuration(_ fetch: String) -> String {
            """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            [fetch]
            \(fetch)
            """
        }

        private static let usual = """
            allow-private = ["127.0.0.1"]
            pause = "10ms"
            stall = "1s"
            tries = "3"
            """

        /// A house with a configuration, and a server.
        private func house(_ fetch: String = usual) async throws -> (House, AwkwardServer) {
            let house = try House()
            try makeDirectory(house.path("st"))
            try house.configure(configuration(fetch))
            return (house, try await AwkwardServer(photo: try Photos.named("exif.jpg"), in: house))
        }

        private func words(_ house: House, _ arguments: [String]) -> [String] {
            [BuiltPrograms.path("photoinbox"), "fetch", "--config", house.path("photoinbox.toml")] + arguments
        }

        private func run(_ house: House, _ arguments: [String]) async throws -> Answer {
            let program = try RunningProgram(words(house, ["--json"] + arguments))
            guard case .status(let status) = try await program.ending() else {
                return Answer(status: -1, output: program.lines.joined(separator: "\n"))
            }
            return Answer(status: status, output: program.lines.joined(separator: "\n"))
        }

        private func list(_ house: House, _ addresses: [String]) throws -> String {
            let path = house.path("\(UUID()).links")
            try write(Data(addresses.map { $0 + "\n" }.joined().utf8), to: path)
            return path
        }

        /// Requires that the inbox contains only whole photos: no temporary file and no hidden directory.
        private func expectNoPartialFiles(_ house: House, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: house.inbox)
            #expect(names.allSatisfy { !$0.hasPrefix(".") }, "\(names)", sourceLocation: sourceLocation)
        }

        /// Whether the file system stores users' extended attributes.
        private func keepsAttributes(_ directory: String) -> Bool {
            guard let opened = try? openDirectory(BytePath(directory)) else { return false }
            return opened.setAttribute("user.photo-inbox.test", [1])
        }

        @Test("Photos are fetched into the inbox with their origin, and filed")
        func arrives() async throws {
            let (house, server) = try await house()
            let dry = try await run(house, ["--dry-run", server.address("photo/1.jpg"), "ftp://example.org/x"])
            #expect(dry.status == 3 && dry.count("refused") == 1 && dry.count("addresses") == 1, "\(dry.output)")
            #expect(house.files(in: house.inbox).isEmpty && server.requests("photo/1.jpg").isEmpty)
            let lost = try await run(house, ["--inbox", "nowhere", server.address("photo/1.jpg")])
            #expect(lost.status == 4 && lost.output.contains("Inboxes: inbox."), "\(lost.output)")
            let list = try list(
                house, ["# two", server.address("photo/2.jpg"), server.address("photo/2.jpg"), "nonsense"])
            let answer = try await run(house, [server.address("photo/1.jpg"), list, server.address("moved")])
            #expect(
                answer.status == 3 && answer.count("arrived") == 3 && answer.count("refused") == 1, "\(answer.output)")
            let files = house.files(in: house.inbox)
            #expect(Set(files.keys.map { $0.split(separator: "/").last ?? "" }) == ["1.jpg", "2.jpg", "moved.jpg"])
            for path in files.keys {
                let file = OwnedDescriptor(taking: open("\(house.inbox)/\(path)", O_RDONLY | O_CLOEXEC))
                let origin = String(decoding: file.attribute(originAttribute, most: 256) ?? [], as: UTF8.self)
                #expect(origin.hasPrefix("http://127.0.0.1:\(server.port)/") == keepsAttributes(house.inbox))
            }
            try expectNoPartialFiles(house)
            let daemon = try await house.start(
                configuration: configuration(Self.usual), reporting: Array(repeating: "filed inbox/", count: 3))
            #expect(house.files(in: house.library).count == 3)
            // Its origin is stored with it and reported.
            let show = try RunningProgram(
                [BuiltPrograms.path("photoinbox"), "show", "--config", house.path("photoinbox.toml"), "1"])
            #expect(try await show.ending() == .status(0), "\(show.lines)")
            let says = show.lines.contains { $0.contains("http://127.0.0.1:\(server.port)/") }
            #expect(says == keepsAttributes(house.inbox), "\(show.lines)")
            try await daemon.stop()
        }

        @Test("Servers that stall, lie, reset, refuse and redirect affect only their own download, with a reason")
        func awkward() async throws {
            let (house, server) = try await house()
            let bad: [(path: String, reason: String, tries: Int)] = [
                ("stall", "sent nothing for 1 s", 3), ("short", "connection ended after", 3),
                ("empty", "sent nothing", 3), ("reset", "receiving data", 3), ("broken", "status 500", 3),
                ("gone", "status 404", 1),
                ("page", "sent a page (text/html)", 1), ("elsewhere", "127.0.0.2 is this machine", 1),
                ("inward", "0:0:0:0:0:0:0:1 is this machine", 1), ("file", "redirected to an unsupported address", 1),
                ("loop", "more than 5 redirects", 1), ("garbage", "response is not HTTP", 3),
                ("heads", "response head is too large", 1),
                ("flaky/9", "status 503", 3),
            ]
            // A redirect to a target that is not HTTP may be the rest of another answer, which is temporary, unlike its
            // refusal.
            let good = ["flaky/1", "moved", "slurred", "half", "other", "wrong-part", "photo/1.jpg"]
            let answer = try await run(house, (bad.map(\.path) + good).map { server.address($0) })
            #expect(answer.status == 3, "\(answer.output)")
            for one in bad {
                let item = answer.item(one.path)
                #expect(
                    item.what == "failed" && item.words.contains(one.reason) && item.tries == one.tries,
                    "\(one) \(item)")
            }
            for path in good { #expect(answer.item(path).what == "arrived", "\(path) \(answer.item(path))") }
            #expect(answer.count("arrived") == good.count && answer.count("failed") == bad.count)
            // What the server says is read by another thread.
            _ = try await poll({ server.requests("flaky/1").count }) { $0 == 2 }
            _ = try await poll({ [server.requests("slurred").count, server.requests("slurred/then").count] }) {
                counts in
                counts.allSatisfy { $0 > 1 }
            }
            // A resumed download equals one without interruption, and never mixes two versions.
            let photo = try Photos.named("exif.jpg")
            let files = house.files(in: house.inbox)
            func file(_ path: String) -> Data? { files[answer.item(path).words] }
            #expect(file("wrong-part") == photo)
            #expect(file("half")?.count == file("other").map { $0.count + 1 })
            _ = try await poll({
                server.requests("half").map { $0.contains("range bytes=") && $0.contains("if \"half\"") }
            }) { $0 == [false, true] }
            _ = try await poll({ server.requests("other").last ?? "" }) { $0.contains("range bytes=") }
            #expect(file("other")?.range(of: Data("number new".utf8)) != nil)
            // Alone, since libcurl keeps the connection: excess bytes would be read as the answer to a retry.
            let long = try await run(house, [server.address("long")])
            #expect(long.item("long").what == "arrived", "\(long.output)")
            #expect(house.files(in: house.inbox)[long.item("long").words] == photo)
            try expectNoPartialFiles(house)
        }

        @Test("Addresses of private networks are refused unless they are allowed, whatever name leads to them")
        func privateAddresses() async throws {
            let (house, server) = try await house("pause = \"10ms\"\n")
            let hosts = ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"]
            let answer = try await run(house, hosts.map { server.address("photo/1.jpg", host: $0) })
            #expect(answer.status == 3 && answer.count("failed") == hosts.count, "\(answer.output)")
            #expect(answer.count("arrived") == 0)
            #expect(server.program.lines.allSatisfy { !$0.hasPrefix("get ") })
            #expect(answer.output.contains("127.0.0.1 is this machine, which fetch.allow-private does not name"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: house.inbox).isEmpty)
        }

        @Test("A proxy of the environment is not used")
        func proxy() async throws {
            let (house, server) = try await house()
            let program = try RunningProgram(
                words(house, ["--json", server.address("photo/1.jpg")]),
                environment: ["http_proxy": "http://127.0.0.1:1/", "ALL_PROXY": "http://127.0.0.1:1/"])
            #expect(try await program.ending() == .status(0), "\(program.lines)")
        }

        @Test("No more bytes are accepted than were declared or are allowed")
        func tooLarge() async throws {
            let (house, server) = try await house(Self.usual + "\nlargest = \"3M\"")
            let answer = try await run(house, ["huge", "endless", "promised"].map { server.address($0) })
            #expect(answer.item("huge").words.contains("promises more than the 3145728 bytes"), "\(answer.output)")
            #expect(answer.item("endless").words.contains("has sent more than the 3145728 bytes"))
            #expect(answer.item("huge").tries == 1 && answer.item("endless").tries == 1)
            // The declared number of bytes is a whole file in HTTP; the daemon checks its content.
            #expect(answer.item("promised").what == "arrived")
            #expect(house.files(in: house.inbox).values.map(\.count) == [2 << 20])
            try await server.program.lines(3, holding: "poured")
            for line in server.program.lines where line.hasPrefix("poured") {
                let sent = line.split(separator: " ").last.flatMap { Int($0) } ?? .max
                // No more than the buffers of both sockets was sent.
                #expect(sent < 64 << 20, "\(line)")
            }
            try expectNoPartialFiles(house)
        }

        @Test("An endless download ends at its deadline")
        func deadline() async throws {
            let (house, server) = try await house(Self.usual + "\ndeadline = \"2s\"")
            let answer = try await run(house, [server.address("drip")])
            #expect(answer.status == 3 && answer.count("failed") == 1, "\(answer.output)")
            try expectNoPartialFiles(house)
        }

        @Test("1,000 links are fetched, at most 16 at once")
        func thousand() async throws {
            let (house, server) = try await house(Self.usual + "\nat-once = \"64\"")
            let links = (0..<1_000).map { server.address("photo/\($0).jpg") }
            let answer = try await run(house, ["--jobs", "16", try list(house, links)])
            #expect(answer.status == 0 && answer.count("arrived") == 1_000, "\(answer.output.suffix(500))")
            #expect(server.mostAtOnce <= 16)
            let files = house.files(in: house.inbox)
            #expect(files.count == 1_000)
            #expect(Set(files.values).count == 1_000)
            try expectNoPartialFiles(house)
        }

        /// Addresses of which the first succeed and the rest hang.
        private func mixed(_ server: AwkwardServer) -> [String] {
            (0..<4).map { server.address("photo/\($0).jpg") } + (0..<40).map { server.address("slow/\($0)") }
        }

        /// Waits until hanging downloads use all slots.
        private func allHang(_ server: AwkwardServer) async throws {
            try await server.program.lines(8, holding: "holding /slow")
        }

        @Test("A cancelled run leaves only complete photos")
        func cancelled() async throws {
            let (house, server) = try await house("allow-private = [\"127.0.0.1\"]\nstall = \"10m\"\n")
            let program = try RunningProgram(words(house, ["--json", try list(house, mixed(server))]))
            try await allHang(server)
            program.signal(SIGINT)
            #expect(try await program.ending() == .status(3), "\(program.lines)")
            let answer = Answer(status: 3, output: program.lines.joined(separator: "\n"))
            #expect(answer.count("arrived") == 4 && answer.count("cancelled") == 40, "\(answer.output)")
            #expect(answer.output.contains("cancelling; files that have arrived stay"))
            #expect(house.files(in: house.inbox).count == 4)
            try expectNoPartialFiles(house)
        }

        @Test("When the program is killed, its child cancels and leaves no partial file")
        func killed() async throws {
            let (house, server) = try await house("allow-private = [\"127.0.0.1\"]\nstall = \"10m\"\n")
            let program = try RunningProgram(words(house, ["--json", try list(house, mixed(server))]))
            try await allHang(server)
            let children = try String(
                contentsOfFile: "/proc/\(program.pid)/task/\(program.pid)/children", encoding: .utf8)
            let child = try #require(children.split(separator: " ").compactMap { Int32($0) }.first)
            program.signal(SIGKILL)
            try await processIsGone(child)
            #expect(house.files(in: house.inbox).count == 4)
            try expectNoPartialFiles(house)
        }

        @Test("Without a terminal it writes plain lines, with totals at the end")
        func plain() async throws {
            let (house, server) = try await house()
            let links = (0..<20).map { server.address("photo/\($0).jpg") }
            let program = try RunningProgram(words(house, links + [server.address("gone")]))
            #expect(try await program.ending() == .status(3))
            let output = program.lines
            #expect(output.contains { $0.hasPrefix("failed  http://") && $0.contains("status 404") }, "\(output)")
            #expect(output.last?.hasPrefix("20 files arrived in inbox as fetch-") == true, "\(output)")
            #expect(output.last?.hasSuffix(", 1 failed") == true)
            #expect(output.allSatisfy { !$0.contains("\u{1B}") })
        }

        @Test("A wide terminal shows a bar, a narrow one does not, and no line wraps", arguments: [100, 24])
        func terminal(columns: Int) async throws {
            let (house, server) = try await house("allow-private = [\"127.0.0.1\"]\nstall = \"10m\"\n")
            let links = try list(house, mixed(server))
            let terminal = try PseudoTerminal(words(house, [links]), columns: columns, rows: 10)
            try await terminal.wait(for: "the progress") { lines in
                lines.contains { $0.hasPrefix("9%  ") && $0.contains("4/44") && $0.contains("[##") == (columns == 100) }
            }
            kill(terminal.pid, SIGINT)
            try await terminal.wait(for: "4 files arrived")
            #expect(try await terminal.ending() == .status(3))
        }
    }
}
