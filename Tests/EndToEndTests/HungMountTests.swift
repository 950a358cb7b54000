import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Whether a FUSE file system whose server never answers can be mounted.
    static let canHang = canMount && access("/dev/fuse", R_OK | W_OK) == 0
    static let withoutFUSE: Comment = "skipped: needs root and /dev/fuse"

    @Suite("A disk that does not respond delays only its own inbox")
    struct HungMount {
        /// Mounts a file system without a server on `$place`: opening it blocks. A process, whose number is written to
        /// `$noted`, holds the server's end for at most two minutes; when it ends, the kernel fails all waiting calls.
        private static let hang = """
            exec 9<>/dev/fuse && mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung "$place" &&
                { sleep 120 >&- 2>&- & echo $! >"$noted"; }
            """

        private static let twoInboxes = """
            library = "@library"
            state = "@st"
            [inbox.card]
            path = "@card"
            [inbox.other]
            path = "@inbox"
            """

        @Test("A library that does not respond is reported even without a photo, and delays nothing else")
        func hungLibrary() async throws {
            let house = try House(running: ["/usr/bin/unshare", "-m", "--propagation", "private"])
            let daemon = try await house.start()
            let server = try mount(on: house.library, noting: house.path("server"), beside: daemon)
            var isServed = true
            // Only once: its number may be reused.
            defer { if isServed { kill(server, SIGKILL) } }
            try await daemon.line(holding: "PI-405", "library has not answered")
            let state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code) == ["PI-405"])
            #expect(state.subsystems.filter { $0.stuckSeconds != nil }.map(\.name) == ["library"], "the others turn")
            kill(server, SIGKILL)
            isServed = false
            try await daemon.line(holding: "PI-405 is over")
            try await beside(daemon, ["/bin/umount", house.library])
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try await daemon.stop()
        }

        @Test("A hung inbox is reported as stalled, with its step, until its place is available again; others continue")
        func hung() async throws {
            let house = try House(running: ["/usr/bin/unshare", "-m", "--propagation", "private"])
            try makeDirectory(house.path("card"))
            let daemon = try await house.start(configuration: Self.twoInboxes)
            try house.drop(try Photos.unique(1), as: "before.jpg", into: house.path("card"))
            try await daemon.line(holding: "filed card/before.jpg")
            let server = try mount(on: house.path("card"), noting: house.path("server"), beside: daemon)
            defer { kill(server, SIGKILL) }

            try await daemon.line(holding: "PI-206", "card has not answered")
            try house.drop(try Photos.unique(2), as: "a.jpg")
            try await daemon.line(holding: "filed other/a.jpg")
            var state = try await house.state(of: daemon)
            let card = try #require(state.inboxes.first { $0.name == "card" })
            #expect(card.verdict == "stalled" && (card.stalledSeconds ?? 0) >= 5)
            #expect(state.problems.map(\.code) == ["PI-206"])
            #expect(card.reason?.hasPrefix("no answer while ") ?? false, "\(card)")
            #expect(state.inboxes.first { $0.name == "other" }?.verdict == "live")
            let stuck = state.subsystems.filter { $0.stuckSeconds != nil }.map(\.name)
            #expect(stuck == ["scan of card"], "the others turn")
            // A rescan of everything, too.
            daemon.signal(SIGUSR2)
            try house.drop(try Photos.unique(3), as: "b.jpg")
            try await daemon.line(holding: "filed other/b.jpg")

            kill(server, SIGKILL)
            try await daemon.line(holding: "inbox card went away")
            try await beside(daemon, ["/bin/umount", house.path("card")])
            try house.drop(try Photos.unique(4), as: "after.jpg", into: house.path("card"))
            try await daemon.lines(holding: ["filed card/after.jpg", "PI-206 is over for card"])
            // Its other problems end with the watchdog's next ticks.
            state = try await house.state(of: daemon, until: \.problems.isEmpty)
            #expect(state.inboxes.allSatisfy { $0.verdict == "live" })
            #expect(state.inboxes.first { $0.name == "card" }?.counts.withdrawn == 0)
            try await daemon.stop()
        }

        @Test("An inbox that hangs at start-up delays nothing else, and is watched once its place is available")
        func hungAtTheStart() async throws {
            let house = try House(running: [
                "/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c",
                """
                PATH=/usr/sbin:/usr/bin:/sbin:/bin; house=${2%/*}; place=$house/card; noted=$house/server; \(Self.hang)
                exec 9>&- "$0" "$@"
                """,
            ])
            try makeDirectory(house.path("card"))
            let daemon = try await house.start(configuration: Self.twoInboxes)
            let server = try process(in: house.path("server"))
            defer { kill(server, SIGKILL) }
            #expect(daemon.count(of: "does not answer (no answer for 15 s)") == 1)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed other/a.jpg", "card has not answered"])

            kill(server, SIGKILL)
            try await daemon.line(holding: "inbox card went away")
            try await beside(daemon, ["/bin/umount", house.path("card")])
            try house.drop(try Photos.unique(2), as: "b.jpg", into: house.path("card"))
            try await daemon.line(holding: "filed card/b.jpg")
            try await daemon.stop()
        }

        @Test("The daemon can be stopped while a disk hangs")
        func stopped() async throws {
            let house = try House(running: ["/usr/bin/unshare", "-m", "--propagation", "private"])
            let daemon = try await house.start()
            let server = try mount(on: house.inbox, noting: house.path("server"), beside: daemon)
            defer { kill(server, SIGKILL) }
            try await daemon.line(holding: "PI-206", "inbox has not answered")
            try await daemon.stop()
        }

        /// Returns the process that holds the server's end.
        private func mount(on place: String, noting file: String, beside daemon: RunningProgram) throws -> pid_t {
            try runProgram([
                "/usr/bin/nsenter", "-m", "-t", "\(daemon.pid)", "/bin/sh", "-c",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin; place=$0; noted=$1; \(Self.hang)", place, file,
            ])
            return try process(in: file)
        }

        private func process(in file: String) throws -> pid_t {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            return try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        private func beside(_ daemon: RunningProgram, _ arguments: [String]) async throws {
            try await aside { try runProgram(["/usr/bin/nsenter", "-m", "-t", "\(daemon.pid)"] + arguments) }
        }
    }
}
