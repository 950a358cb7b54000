import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    @Suite("photoinbox top on a real terminal", .timeLimit(.minutes(60)))
    struct Top {
        private func top(
            _ house: House, _ arguments: String..., columns: Int = 80, rows: Int = 24,
            environment: [String: String] = [:]
        ) throws -> PseudoTerminal {
            try PseudoTerminal(
                [
                    BuiltPrograms.path("photoinbox"), "top", "--interval", "0.2", "--config",
                    house.path("photoinbox.toml"),
                ] + arguments, environment: environment, columns: columns, rows: rows)
        }

        /// Requires that the terminal's modes, screen and cursor are restored, and that no unknown sequence was
        /// written.
        private func expectClean(
            _ terminal: PseudoTerminal, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await terminal.wait(for: "the screen that was there before") { _ in
                !terminal.isAlternate && !terminal.isCursorHidden
            }
            #expect(
                !terminal.firstModes.isEmpty && terminal.modes == terminal.firstModes, sourceLocation: sourceLocation)
            #expect(terminal.strange == [], sourceLocation: sourceLocation)
        }

        @Test("Every view shows its data, keys select, sort, open and close, and q restores the terminal")
        func views() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard.replacing("1s", with: "10m"))
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try house.drop(try Photos.unique(2).prefix(900), as: "\u{1B}[2J写真.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "deferred card/"])
            let terminal = try top(house)
            try await terminal.wait(for: "[1 inboxes]")
            try await terminal.wait(for: "filing normally")
            #expect(terminal.isAlternate && terminal.isCursorHidden && terminal.modes != terminal.firstModes)
            try await terminal.wait(for: "the inbox's row") {
                $0.contains { $0.hasPrefix("> card") && $0.contains("live") }
            }
            terminal.type("2")
            try await terminal.wait(for: "card/\\x1b[2J写真.jpg")
            terminal.type("3")
            try await terminal.wait(for: "a rate") {
                $0.contains { $0.contains("Listener") && $0.contains("control") && $0.contains("active") }
            }
            // Sorted by the label, and one of them in full.
            terminal.type("4")
            try await terminal.wait(for: "pipeline")
            terminal.type("/files of card\r\r")
            try await terminal.wait(for: "stuck  no, it answers")
            terminal.type("\u{1B}")
            try await terminal.wait(for: "matching files of card")
            terminal.type("\u{1B}5")
            try await terminal.wait(for: "thumbnails are off")
            terminal.type("8")
            try await terminal.wait(for: "card/a.jpg")
            terminal.type("?")
            try await terminal.wait(for: "back to the shell, until fg")
            terminal.type("x")
            try await terminal.wait(for: "[8 outcomes]")
            terminal.type("q")
            #expect(try await terminal.ending() == .status(0))
            try await expectClean(terminal)
            #expect(!terminal.paints.isEmpty)
            try await daemon.stop()
        }

        @Test("Any size works, and a change is applied at once")
        func sizes() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let terminal = try top(house, "--view", "monitors")
            try await terminal.wait(for: "EVENTS/S")
            #expect(!terminal.text.contains("COALESCED") && !terminal.text.contains("photo-inbox.clients"))
            terminal.resize(columns: 200, rows: 50)
            try await terminal.wait(for: "photo-inbox.clients")
            for (columns, rows) in [(40, 6), (1, 1), (300, 3), (80, 24)] {
                terminal.resize(columns: columns, rows: rows)
            }
            try await terminal.wait(for: "the footer in the last line") { $0.last?.hasPrefix("q quit") == true }
            // Output in flight when the window shrank was for the larger size; later output is not.
            let underWay = terminal.strange
            #expect(underWay.allSatisfy { $0.hasPrefix("beyond the edge") })
            terminal.resize(columns: 200, rows: 50)
            try await terminal.wait(for: "photo-inbox.clients")
            terminal.type("q")
            #expect(try await terminal.ending() == .status(0))
            #expect(terminal.strange == underWay)
            try await daemon.stop()
        }

        @Test("Ctrl-C, SIGTERM and SIGHUP restore the terminal", arguments: ["\u{3}", "SIGTERM", "SIGHUP"])
        func endings(_ way: String) async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let terminal = try top(house)
            try await terminal.wait(for: "filing normally")
            let signal = way == "\u{3}" ? SIGINT : way == "SIGTERM" ? SIGTERM : SIGHUP
            if signal == SIGINT { terminal.type(way) } else { kill(terminal.pid, signal) }
            #expect(try await terminal.ending() == .signal(signal))
            try await expectClean(terminal)
            try await daemon.stop()
        }

        @Test("Ctrl-Z restores the terminal, and continuing sets it up again in its current size")
        func stopping() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let terminal = try top(house)
            try await terminal.wait(for: "filing normally")
            terminal.type("\u{1A}")
            try await terminal.stopped()
            try await expectClean(terminal)
            terminal.resize(columns: 120, rows: 30)
            kill(terminal.pid, SIGCONT)
            try await terminal.wait(for: "the whole screen") { $0.count == 30 && $0[29].hasPrefix("q quit") }
            #expect(terminal.isAlternate && terminal.modes != terminal.firstModes)
            terminal.type("q")
            #expect(try await terminal.ending() == .status(0))
            try await expectClean(terminal)
            try await daemon.stop()
        }

        @Test("A missing daemon is reported, and found again when it is back")
        func away() async throws {
            let house = try House()
            try house.configure(House.oneCard)
            let terminal = try top(house, columns: 120)
            try await terminal.wait(for: "photoinboxd is not running")
            let daemon = try await house.start(configuration: House.oneCard)
            try await terminal.wait(for: "filing normally")
            try await daemon.stop()
            try await terminal.wait(for: "NO ANSWER: photoinboxd is not running; retrying. Below: as of ")
            #expect(terminal.text.contains("> card"), "what is known stays")
            let again = try await house.start(configuration: House.oneCard)
            try await terminal.wait(for: "filing normally")
            terminal.type("q")
            #expect(try await terminal.ending() == .status(0))
            try await again.stop()
        }

        @Test("NO_COLOR removes colours, and words and a mark show the same")
        func noColour() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let terminal = try top(house, environment: ["NO_COLOR": "1"])
            try await terminal.wait(for: "> card")
            #expect(terminal.paints.subtracting(["1", "7", "0"]) == [], "bold and reversed are no colours")
            terminal.type("q")
            #expect(try await terminal.ending() == .status(0))
            try await daemon.stop()
        }

        @Test("With more files than an answer lists, it reports the number omitted")
        func many() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            #expect(try await house.ask("pause", "card").status == 0)
            try makeDirectory("\(house.outside)/many")
            for number in 0..<5_040 { try write(Data(), to: "\(house.outside)/many/\(number).jpg") }
            try move("\(house.outside)/many", to: "\(house.inbox)/many")
            var (omitted, listed) = (0, 0)
            while omitted != 3_040 {
                let result = try await house.ask("top", "--json", "--interval", "0.2")
                #expect(result.status == 0)
                let json = try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [String: Any]
                omitted = try #require(json?["files_omitted"] as? Int)
                listed = try #require(json?["files"] as? [Any]).count
                try #require(omitted <= 3_040)
            }
            #expect(listed == 2_000)
            // The dump in the file lists them all.
            let state = try await house.state(of: daemon)
            #expect(state.inHand.count == 5_040 && state.inHandOmitted == nil)
            try await daemon.stop()
        }

        @Test("Into a pipe it writes one frame or one JSON document")
        func once() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let page = try await house.ask("top", "--interval", "0.2", "--view", "queues")
            #expect(page.status == 0 && !page.text.contains("\u{1B}"), "\(page.lines)")
            #expect(page.lines.contains { $0.hasPrefix("pipeline ") } && page.text.contains("photo-inbox.pipeline"))
            let result = try await house.ask("top", "--once", "--json", "--interval", "0.2")
            #expect(result.status == 0 && result.lines.count == 1)
            let json = try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [String: Any]
            let monitors = try #require(json?["monitors"] as? [[String: Any]])
            #expect(monitors.contains { $0["kind"] as? String == "Listener" && $0["events_per_second"] is Double })
            #expect((json?["inboxes"] as? [[String: Any]])?.first?["inbox"] as? String == "card")
            #expect(json?["processors"] is Double)
            try await daemon.stop()
            #expect(try await house.ask("top").status == 69)
            #expect(try await house.ask("top", "--interval", "0.1").status == 64)
        }
    }
}
