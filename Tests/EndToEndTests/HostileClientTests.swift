import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Slow, dead and hostile clients do not affect others", .tags(.campaign), .timeLimit(.minutes(60)))
    struct HostileClients {
        private static let hello = framed(ControlRequest(.hello).json())

        /// In bytes.
        private static func peakMemory(of program: RunningProgram) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(program.pid)/status", encoding: .utf8)
            let kilobytes = status.firstMatch(of: #/VmHWM:\s+([0-9]+) kB/#).flatMap { Int($0.1) }
            return try #require(kilobytes) << 10
        }

        private static func isDisconnected(_ client: Int32) -> Bool {
            // POLLHUP is always reported.
            var event = pollfd(fd: client, events: 0, revents: 0)
            return Glibc.poll(&event, 1, 0) == 1 && event.revents & Int16(POLLHUP) != 0
        }

        @Test("With a thousand slow clients requests are answered, photos are filed, and no resources remain")
        func thousandSlow() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            // The descriptors opened for the first photo stay open.
            try house.drop(try Photos.unique(-1), as: "first.jpg")
            try await daemon.line(holding: "filed card/first.jpg")
            let before = try await house.state(of: daemon)
            try Self.raiseLimit(to: 2_048)
            var slow: [Int32] = []
            defer { for client in slow { close(client) } }
            for number in 0..<1_000 {
                let client = try house.connection().take()
                slow.append(client)
                // Nothing, half a length, a length without its frame, or a frame that never ends.
                let beginnings: [[UInt8]] = [[], [0, 0], [0, 0, 1, 0], [0, 0, 1, 0, 0x7B]]
                let bytes = beginnings[number % 4]
                _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                if number % 100 == 99 {
                    #expect(try await house.exchange(Self.hello)?.status == 0)
                    try house.drop(try Photos.unique(number), as: "\(number).jpg")
                    try await daemon.line(holding: "filed card/\(number).jpg")
                }
            }
            let crowded = try await house.state(of: daemon)
            #expect(crowded.monitors.count { $0.kind == "ConnectionMonitor" } <= 64)
            #expect(try await house.ask("pause", "card").status == 0)
            #expect(try await house.ask("resume", "card").status == 0)
            for client in slow { close(client) }
            slow = []
            _ = try await house.state(of: daemon) { state in
                !state.monitors.contains { $0.kind == "ConnectionMonitor" }
            }
            // Descriptors are counted before monitors are listed, so those of the last clients still count.
            let after = try await house.state(of: daemon)
            #expect(after.monitors.count == before.monitors.count)
            #expect(after.program.descriptors <= before.program.descriptors)
            try await daemon.stop()
        }

        @Test("Garbage, partial frames and huge lengths get an error and are disconnected")
        func garbage() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            var generator = SystemRandomNumberGenerator()
            for round in 0..<200 {
                let socket = try house.connection()
                var bytes: [UInt8] =
                    switch round % 4 {
                    case 0: [0xFF, 0xFF, 0xFF, 0xFF]
                    case 1: [0, 0, 0, 0]
                    case 2: framed((0..<32).map { _ in .random(in: 0...255, using: &generator) })
                    default: framed(Array("{\"version\":1,\"do\":\"format\"}".utf8))
                    }
                bytes += (0..<100).map { _ in .random(in: 0...255, using: &generator) }
                _ = Glibc.send(socket.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                let answer = try #require(try await house.answer(from: socket.raw))
                #expect(answer.status == 64, "\(answer.message)")
                #expect(try await house.answer(from: socket.raw) == nil, "ended")
            }
            #expect(try await house.exchange(Self.hello)?.status == 0)
            try await daemon.stop()
        }

        @Test("A client that sends endlessly and never reads is not received endlessly")
        func endlessSender() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let socket = try house.connection(patience: .seconds(1))
            var sent = 0
            let requests = (0..<200).flatMap { _ in framed(ControlRequest(.state).json()) }
            let zeros = [UInt8](repeating: 0, count: 65_536)
            var bytes = requests
            while sent < 64 << 20 {
                let count = Glibc.send(socket.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                if count <= 0 { break }
                sent += count
                bytes = zeros
            }
            #expect(sent < 4 << 20, "\(sent) bytes were taken")
            try await daemon.stop()
        }

        @Test("Clients that never read, or disconnect after a request, delay no other")
        func neverReading() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let state = framed(ControlRequest(.state).json())
            // With the largest state an answer stays within its limit and reports what it omits.
            #expect(try await house.ask("pause", "card").status == 0)
            let hostile = String(repeating: "\u{1}\"\\", count: 80)
            for number in 0..<1_500 {
                try write(Data(), to: "\(house.inbox)/\(hostile)\(number).jpg")
            }
            _ = try await house.state(of: daemon) { $0.inboxes.first?.counts.inHand == 1_500 }
            let socket = try house.connection()
            _ = Glibc.send(socket.raw, state, state.count, Int32(MSG_NOSIGNAL))
            let told = try #require(try await house.frame(from: socket.raw))
            #expect(ControlAnswer(json: told)?.status == 0 && told.count < ControlAnswer.limit)
            // Not in the expectation itself, which would print the whole answer.
            let saysWhatItOmits = String(decoding: told, as: UTF8.self).contains("\"inHandOmitted\":")
            #expect(saysWhatItOmits)
            let before = try Self.peakMemory(of: daemon)
            var deaf: [Int32] = []
            for _ in 0..<20 {
                let client = try house.connection(patience: .milliseconds(10)).take()
                // Until the buffers of both sides are full.
                while Glibc.send(client, state, state.count, Int32(MSG_NOSIGNAL)) == state.count {}
                deaf.append(client)
                let gone = try house.connection()
                _ = Glibc.send(gone.raw, state, state.count, Int32(MSG_NOSIGNAL))
            }
            // All those requests may be in work now (EX_TEMPFAIL).
            let answer = try await poll({ try await house.exchange(Self.hello) }, until: { $0?.status != 75 })
            #expect(answer?.status == 0)
            let growth = try Self.peakMemory(of: daemon) - before
            #expect(growth < memoryFactor * 20 << 20)
            try runProgram(["/usr/bin/find", house.inbox, "-name", "*.jpg", "-delete"])
            #expect(try await house.ask("resume", "card").status == 0)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            // Each is disconnected at its deadline, with answers that it never read.
            try await poll({ deaf.filter { !Self.isDisconnected($0) } }, until: { $0.isEmpty })
            for client in deaf { close(client) }
            try await daemon.stop()
        }

        @Test("Several requests on one connection are answered in order, also after a half-close")
        func pipelined() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let socket = try house.connection()
            var bytes: [UInt8] = []
            for id in 1...20 { bytes += framed(ControlRequest(id: Int64(id), .hello).json()) }
            _ = Glibc.send(socket.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            shutdown(socket.raw, Int32(SHUT_WR))
            let descriptor = socket.raw
            let ids = try await aside {
                var reader = FrameReader(limit: ControlAnswer.limit)
                var buffer = [UInt8](repeating: 0, count: 65_536)
                var ids: [Int64] = []
                while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
                    reader.add(Array(buffer[..<count]))
                    while let frame = try reader.next() { ids.append(ControlAnswer(json: frame)?.id ?? -1) }
                }
                return ids
            }
            #expect(ids == Array(1...20))
            try await daemon.stop()
        }

        @Test(
            "A user without operator rights is refused, on a socket that any user can connect to",
            .enabled(if: isRoot && canBeOrdinary, "skipped: needs root, to become somebody else"))
        func readOnly() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            chmod(house.root, 0o755)
            for name in ["st", "st/run"] { chmod(house.path(name), 0o755) }
            chmod(house.path("st/run/control"), 0o666)
            chmod(house.path("photoinbox.toml"), 0o644)
            let result = try await house.ask(["pause", "card"], tracing: EndToEnd.asNobody)
            #expect(result.status == 77 && result.text.contains("may only look"), "\(result.lines)")
            let look = try await house.ask(["status"], tracing: EndToEnd.asNobody)
            #expect(look.status == 0, "\(look.lines)")
            try await daemon.stop()
        }

        @Test(
            "A common group gives no user permission to read or to act",
            .enabled(if: isRoot && canBeOrdinary, "skipped: needs root, to become two others"))
        func commonGroup() async throws {
            let house = try House(running: EndToEnd.asNobody)
            for path in [house.root, house.inbox, house.library] { chown(path, 65534, 65534) }
            let daemon = try await house.start()
            chmod(house.root, 0o755)
            func ask(_ words: [String], as user: Int) async throws -> (RunningProgram.Ending, [String]) {
                let program = try RunningProgram(
                    ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=65534", "--clear-groups"]
                        + [BuiltPrograms.path("photoinbox")] + words + ["--state", house.path("st")])
                return (try await program.ending(), program.lines)
            }
            for command in [["pause", "inbox"], ["status"], ["list"]] {
                let (ending, lines) = try await ask(command, as: 12_345)
                #expect(ending == .status(77), "\(command): \(lines)")
            }
            let (ending, lines) = try await ask(["pause", "inbox"], as: 65_534)
            #expect(ending == .status(0), "\(lines)")
            try await daemon.stop()
        }

        private static func raiseLimit(to wanted: rlim_t) throws {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, wanted))
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
    }
}
