import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Timers, signals and command FIFOs trigger actions and hooks")
    struct Triggers {
        private static let good = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"

            """

        @Test("A repeating timer triggers its action")
        func timers() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: Self.good + """
                    [[timer]]
                    name = "tick"
                    every = "1s"
                    action = "dump"
                    [[timer]]
                    name = "nightly"
                    at = "sun 03:00"
                    action = "audit"
                    """)
            for _ in 0..<2 { try await daemon.line(holding: "asked by timer tick") }
            let labels = try house.readState().monitors.map(\.label)
            #expect(Set(labels).isSuperset(of: ["tick", "nightly"]))
            try await daemon.stop()
        }

        @Test("Signals trigger configured actions, including a hook")
        func signals() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: Self.good + """
                    [signals]
                    SIGUSR2 = "dump"
                    SIGWINCH = "hook note"
                    SIGQUIT = "verify-slice"
                    SIGALRM = "audit"
                    [hook.note]
                    command = ["/bin/sh", "-c", "echo it ran > @noted; echo hooked"]
                    """)
            daemon.signal(SIGUSR2)
            try await daemon.line(holding: "asked by SIGUSR2")
            daemon.signal(SIGWINCH)
            try await daemon.line(holding: "hooked")
            #expect(house.files(in: house.root)["noted"] == Data("it ran\n".utf8))
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            daemon.signal(SIGQUIT)
            try await daemon.line(holding: "verified 1 photo, 0 MiB: 0 damaged")
            daemon.signal(SIGALRM)
            try await daemon.line(holding: "audit: 1 photo of the catalogue, 0 missing")
            unlink("\(house.library)/\(Photos.day)/a.jpg")
            daemon.signal(SIGALRM)
            try await daemon.lines(holding: ["a.jpg: it is missing", "audit: 1 photo of the catalogue, 1 missing"])
            daemon.signal(SIGQUIT)
            try await daemon.line(holding: "1 damaged or missing")
            var state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code) == ["PI-407"] && state.problems.first?.what.first == "1")
            // It is back, which is detected without a request.
            try write(try Photos.unique(1), to: "\(house.library)/\(Photos.day)/a.jpg")
            try await daemon.line(holding: "PI-407 is over")
            state = try await house.state(of: daemon)
            #expect(state.problems.isEmpty)
            try await daemon.stop()
        }

        @Test("Lines of a FIFO are commands, and invalid ones are reported without harm")
        func fifo() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: Self.good + """
                    [[descriptor]]
                    name = "commands"
                    fifo = "@commands"
                    [hook.failing]
                    command = ["/bin/false"]
                    """)
            let commands = try SlowWriter(house.path("commands"))
            try commands.write(Data("dump\n".utf8))
            try await daemon.line(holding: "asked by command FIFO commands")
            // In parts, two at once, and an invalid one.
            try commands.write(Data("du".utf8))
            try commands.write(Data("mp\n\n  dump \nrecon\u{1B}cile\n".utf8))
            let dumped = "asked by command FIFO commands"
            try await daemon.lines(holding: [dumped, dumped, "unknown action"])
            try commands.write(Data("dump".utf8) + Data(repeating: 0x20, count: 5000) + Data("\n".utf8))
            try await daemon.line(holding: "longer than 1024 bytes, dropped")
            try commands.write(Data("hook failing\n".utf8))
            try await daemon.line(holding: "PI-103", "failing")
            try commands.write(Data("hook nobody\n".utf8))
            try await daemon.line(holding: "there is no hook named nobody")
            commands.close()
            // All writers have closed it, and it still works.
            let again = try SlowWriter(house.path("commands"))
            try again.write(Data("reload\n".utf8))
            try await daemon.line(holding: "configuration from")
            try again.write(Data("stop\n".utf8))
            #expect(try await daemon.ending() == .status(0))
            #expect(daemon.lines.contains { $0.contains("stopped, 0 monitors left") })
            again.close()
        }

        @Test("Shutdown does not wait for a hook")
        func hookAtTheEnd() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: Self.good + """
                    [signals]
                    SIGWINCH = "hook endless"
                    [hook.endless]
                    command = ["/bin/sh", "-c", "trap '' TERM; echo begun; while :; do sleep 1; done"]
                    deadline = "1h"
                    """)
            daemon.signal(SIGWINCH)
            try await daemon.line(holding: "begun")
            try await daemon.stop()
        }
    }
}
