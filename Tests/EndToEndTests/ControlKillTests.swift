import ControlProtocol
import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    /// With kills of the command or the daemon meanwhile.
    @Suite("Release, discard and undo with kills", .tags(.campaign))
    struct ControlKills {
        static let canTrace = access("/usr/bin/strace", X_OK) == 0

        enum OperatorCommand: String, CaseIterable, Sendable { case undo, release, discard }

        /// The calls that change something, by their thread: of the file queue, and of SQLite. strace counts each
        /// thread separately, and the loader's calls are not included, so that the kills hit the work.
        static let calls = [
            "renameat2,fsync,unlinkat,linkat,mkdirat,fchmod,copy_file_range,utimensat", "pwrite64,fdatasync",
        ]

        /// Kills the command at one call after the other of both kinds, until it succeeds. `round` gets the words
        /// before the command and returns whether it succeeded. Returns the number of kills.
        private func kill(_ round: ([String]) async throws -> Bool) async throws -> Int {
            var kills = 0
            for (calls, step) in zip(Self.calls, [1, 4]) {
                for number in stride(from: 1, to: 60, by: step) {
                    let survived = try await round([
                        "/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e",
                        "inject=\(calls):signal=SIGKILL:when=\(number)",
                    ])
                    if survived { break }
                    kills += 1
                }
            }
            return kills
        }

        @Test(
            "A command that is killed at any call leaves a whole copy at every instant, and the next try completes it",
            .enabled(if: canTrace, "skipped: needs strace"), .timeLimit(.minutes(60)),
            arguments: OperatorCommand.allCases)
        func killed(command: OperatorCommand) async throws {
            let house = try House()
            let photo = try Photos.unique(1)
            let content = command == .undo ? photo : photo.prefix(photo.count / 2)
            let kills = try await kill { prefix in
                let daemon = try await house.start(configuration: House.oneCard)
                try house.drop(content, as: "a.jpg")
                let told = try await daemon.line("the outcome") {
                    $0.contains("filed card/a.jpg as") || $0.contains("quarantined card/a.jpg")
                }
                #expect(told.contains(command == .undo ? "filed" : "quarantined"))
                try await daemon.stop()
                let operation = try await newest(house)
                let arguments = [command.rawValue, operation] + (command == .discard ? ["--yes"] : [])
                let survived = try await house.ask(arguments, tracing: prefix).status == 0
                #expect(house.places(of: content).count == 1, "one whole copy: \(prefix)")
                let next = try await house.ask(arguments)
                #expect([0, 4].contains(next.status), "\(next.lines)")
                let there = house.places(of: content)
                let expected = [OperatorCommand.undo: "returned/card/", .release: "inbox/", .discard: "trash/card/"]
                #expect(there.count == 1 && there[0].hasPrefix(expected[command] ?? "-"), "\(there)")
                house.expectNoTemporaries()
                for place in there { unlink("\(house.root)/\(place)") }
                return survived
            }
            #expect(kills >= 6, "\(kills) kills")
        }

        @Test(
            "The same across file systems, by copying: at least one whole copy, and one at the end",
            .enabled(if: canTrace && access("/dev/shm", W_OK) == 0, "skipped: needs strace and /dev/shm"),
            .timeLimit(.minutes(60)))
        func killedAcross() async throws {
            let house = try House()
            let elsewhere = "/dev/shm/photo-inbox-test-\(UUID())"
            try makeDirectory(elsewhere)
            defer { try? FileManager.default.removeItem(atPath: elsewhere) }
            let configuration = House.oneCard.replacing(
                "state = \"@st\"", with: "returned = \"\(elsewhere)/returned\"\nstate = \"@st\"")
            let photo = try Photos.unique(1)
            func places() -> [String] {
                house.places(of: photo) + Tree.files(below: elsewhere).filter { $0.value == photo }.map(\.key)
            }
            let kills = try await kill { prefix in
                let daemon = try await house.start(configuration: configuration)
                try house.drop(photo, as: "a.jpg")
                try await daemon.line(holding: "filed card/a.jpg as")
                try await daemon.stop()
                let operation = try await newest(house)
                let survived = try await house.ask(["undo", operation], tracing: prefix).status == 0
                #expect((1...2).contains(places().count), "\(places()): \(prefix)")
                #expect([0, 4].contains(try await house.ask("undo", operation).status))
                #expect(places() == ["returned/card/a.jpg"])
                house.expectNoTemporaries()
                #expect(Tree.files(below: elsewhere).count == 1)
                unlink("\(elsewhere)/returned/card/a.jpg")
                return survived
            }
            #expect(kills >= 8, "\(kills) kills")
        }

        @Test(
            "A daemon that is killed during a request completes it after a restart, with one whole copy",
            .timeLimit(.minutes(60)), arguments: OperatorCommand.allCases)
        func daemonKilled(command: OperatorCommand) async throws {
            let house = try House()
            let photo = try Photos.unique(1)
            let content = command == .undo ? photo : photo.prefix(photo.count / 2)
            var operation: Int64 = 0
            for round in 0..<8 {
                var daemon = try await house.start(configuration: House.oneCard)
                try house.drop(content, as: "a.jpg")
                try await daemon.line("the outcome") {
                    $0.contains("filed card/a.jpg as") || $0.contains("quarantined card/a.jpg")
                }
                operation = Int64(try await newest(house)) ?? 0
                // A file that returns to its inbox would be set aside again before the test can examine it.
                #expect(try await house.ask("pause", "card").status == 0)
                let request: ControlCommand =
                    switch command {
                    case .undo: .undo(operation: operation)
                    case .release: .release(operation: operation, asIs: false)
                    case .discard: .discard(operation: operation)
                    }
                let socket = try house.connection()
                let bytes = framed(ControlRequest(request).json())
                #expect(Glibc.send(socket.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
                // At once, then a little later each time, and finally after the answer.
                if round == 7 { #expect(try await house.answer(from: socket.raw)?.status == 0) }
                // Not sched_yield(2), of which each call lasts milliseconds on a busy machine.
                for _ in 0..<round * 20_000 { _ = getppid() }
                daemon.signal(SIGKILL)
                #expect(try await daemon.ending() == .signal(SIGKILL))
                #expect(house.places(of: content).count == 1, "\(house.places(of: content))")
                daemon = try await house.start(configuration: House.oneCard)
                let next = try await house.exchange(framed(ControlRequest(request).json()))
                #expect([0, 4].contains(next?.status), "\(next?.message ?? "")")
                let there = house.places(of: content)
                let expected = [OperatorCommand.undo: "returned/card/", .release: "inbox/", .discard: "trash/card/"]
                #expect(there.count == 1 && there[0].hasPrefix(expected[command] ?? "-"), "\(there)")
                house.expectNoTemporaries()
                for place in there { unlink("\(house.root)/\(place)") }
                #expect(try await house.ask("resume", "card").status == 0)
                try await daemon.stop()
            }
        }

        @Test(
            "A daemon that is killed while a photo is moved to a bucket has it in the library or recorded in the bucket, and not both",
            .timeLimit(.minutes(60)))
        func daemonKilledWhileStoring() async throws {
            let house = try House()
            let photo = try Photos.unique(1)
            let bucket: BytePath = "https://nas.example.org/photos"
            var gone = 0
            for round in 0..<12 {
                var daemon = try await house.start(configuration: House.oneCard)
                try house.drop(photo, as: "a.jpg")
                try await daemon.lines(holding: ["filed card/a.jpg as"])
                let shown = try await house.ask("explain", "card/a.jpg", "--json").text
                let hash = bytes(
                    ofHexadecimal: try #require(shown.firstMatch(of: #/"sha256":"([0-9a-f]{64})/#)?.1).utf8)
                let request = ControlRequest(
                    .store(
                        photo: Int64(round + 1), path: BytePath("\(Photos.day)/a.jpg"), bucket: bucket,
                        sha256: try #require(hash)
                    ))
                let socket = try house.connection()
                let frame = framed(request.json())
                #expect(Glibc.send(socket.raw, frame, frame.count, Int32(MSG_NOSIGNAL)) == frame.count)
                if round == 11 { #expect(try await house.answer(from: socket.raw)?.status == 0) }
                for _ in 0..<round * 15_000 { _ = getppid() }
                daemon.signal(SIGKILL)
                #expect(try await daemon.ending() == .signal(SIGKILL))
                #expect(house.places(of: photo).count <= 1)
                // As after a move to another disk: the same files with other inodes.
                if round % 2 == 1 {
                    for (path, content) in house.files(in: house.library) where content == photo {
                        try write(content, to: "\(house.library)/\(path).copy")
                        rename("\(house.library)/\(path).copy", "\(house.library)/\(path)")
                    }
                }
                daemon = try await house.start(configuration: House.oneCard)
                gone += try await wasRemoved(photo, in: house, by: request, "round \(round)") ? 1 : 0
                #expect(try await house.ask("verify").status == 0)
                try await daemon.stop()
            }
            #expect((1...11).contains(gone), "\(gone) were gone")
        }

        @Test(
            "The same at each call of the daemon that changes something",
            .enabled(if: canTrace, "skipped: needs strace"), .timeLimit(.minutes(60)))
        func daemonKilledAtEachCallWhileStoring() async throws {
            let house = try House()
            let photo = try Photos.unique(1)
            let bucket: BytePath = "https://nas.example.org/photos"
            var (id, kills, gone): (Int64, Int, Int) = (0, 0, 0)
            for calls in Self.calls {
                for number in 1..<40 {
                    id += 1
                    var daemon = try await house.start(configuration: House.oneCard)
                    try house.drop(photo, as: "a.jpg")
                    try await daemon.lines(holding: ["filed card/a.jpg as"])
                    let shown = try await house.ask("explain", "card/a.jpg", "--json").text
                    let digits = try #require(shown.firstMatch(of: #/"sha256":"([0-9a-f]{64})/#)?.1)
                    let hash = bytes(ofHexadecimal: digits.utf8) ?? []
                    let tracer = try house.launch(
                        path: "/usr/bin/strace",
                        [
                            "-f", "-o", "/dev/null", "-p", "\(daemon.pid)", "-e",
                            "inject=\(calls):signal=SIGKILL:when=\(number)",
                        ])
                    try await tracer.line(holding: "attached")
                    let request = ControlRequest(
                        .store(photo: id, path: BytePath("\(Photos.day)/a.jpg"), bucket: bucket, sha256: hash))
                    let answer = try? await house.exchange(framed(request.json()))
                    let survived = answer?.status == 0
                    tracer.signal(SIGKILL)
                    _ = try await tracer.ending()
                    if survived { daemon.signal(SIGKILL) }
                    #expect(try await daemon.ending() == .signal(SIGKILL))
                    kills += survived ? 0 : 1
                    #expect(house.places(of: photo).count <= 1)
                    daemon = try await house.start(configuration: House.oneCard)
                    gone += try await wasRemoved(photo, in: house, by: request, "\(calls) \(number)") ? 1 : 0
                    try await daemon.stop()
                    if survived { break }
                }
            }
            #expect(kills >= 6 && gone >= 3 && gone < kills + 2, "\(kills) kills, \(gone) gone")
        }

        /// Whether the photo's file was gone after the kill. Waits until the new daemon has finished that move, or taken it back; then
        /// the same request moves it, or is refused since it was moved.
        private func wasRemoved(
            _ photo: Data, in house: House, by request: ControlRequest, _ comment: String
        ) async throws -> Bool {
            _ = try await poll {
                house.places(of: photo).filter { $0.contains(".photo-inbox") }
            } until: {
                $0.isEmpty
            }
            let isGone = house.places(of: photo).isEmpty
            _ = try await poll {
                try await house.ask("explain", "card/a.jpg").text.contains("https://nas.example.org/photos/")
            } until: {
                $0 == isGone
            }
            let next = try await house.exchange(framed(request.json()))
            #expect(next?.status == (isGone ? 1 : 0), "\(comment): \(next?.message ?? "")")
            #expect(house.places(of: photo).isEmpty, "\(comment)")
            house.expectNoTemporaries()
            return isGone
        }

        /// The number of the last outcome.
        private func newest(_ house: House) async throws -> String {
            struct Listed: Decodable {
                struct Row: Decodable { let operation: Int }
                let outcomes: [Row]
            }
            var last = 0
            for outcome in ["filed", "quarantined"] {
                let list = try await house.ask("list", "--json", "--outcome", outcome)
                guard let rows = try? JSONDecoder().decode(Listed.self, from: Data(list.text.utf8)) else { continue }
                last = max(last, rows.outcomes.map(\.operation).max() ?? 0)
            }
            return "\(last)"
        }
    }
}
