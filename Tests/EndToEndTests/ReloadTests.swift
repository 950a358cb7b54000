import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("photoinbox reload")
    struct Reload {
        private static let second = "\n[inbox.second]\npath = \"@second\"\n"

        @Test(
            "A valid configuration is in force when the command ends; an invalid one is refused by line, with status 78"
        )
        func goodAndBad() async throws {
            let house = try House()
            try makeDirectory(house.path("second"))
            let daemon = try await house.start(configuration: House.oneCard)
            let file = house.path("photoinbox.toml")

            try house.configure(House.oneCard + Self.second)
            let dry = try await house.ask("reload", "--dry-run")
            #expect(dry.status == 0 && dry.text.contains("would be loaded: the configuration from \(file), 2 inboxes"))
            #expect(try await house.state(of: daemon).inboxes.count == 1, "nothing was changed")
            let taken = try await house.ask("reload")
            #expect(taken.status == 0, "\(taken.lines)")
            #expect(taken.lines == ["in force: the configuration from \(file), 2 inboxes"])
            try await daemon.line(holding: "reading the configuration again, asked by ")
            var state = try await house.state(of: daemon)
            #expect(state.inboxes.map(\.name) == ["card", "second"] && state.program.phase == "running")

            // The keys are valid, but a directory is missing.
            try house.configure(House.oneCard + "\n[inbox.third]\npath = \"@third\"\n")
            let missing = try await house.ask("reload")
            #expect(missing.status == 78 && missing.text.contains("\(file):10:8: path = "), "\(missing.lines)")
            #expect(missing.text.contains("no such directory") && missing.text.contains("the running one is kept"))
            state = try await house.state(of: daemon)
            #expect(state.inboxes.count == 2 && state.problems.map(\.code) == ["PI-101"])

            // All mistakes are reported, and the daemon is found although its file is invalid.
            try house.configure("libary = 1\n" + House.oneCard + "\nmode = \"steal\"\n")
            for arguments in [["reload"], ["reload", "--dry-run"]] {
                let bad = try await house.ask(arguments)
                #expect(bad.status == 78, "\(bad.lines)")
                #expect(bad.lines.first?.hasPrefix("photoinbox: the configuration ") == true)
                #expect(bad.text.contains("\(file):1:1: unknown key \"libary\""), "\(bad.lines)")
                #expect(bad.text.contains("\(file):10:8: mode = \"steal\""), "\(bad.lines)")
            }
            let object = try await house.ask("reload", "--json")
            let error = try JSONSerialization.jsonObject(with: Data(object.text.utf8)) as? [String: Any]
            #expect((error?["error"] as? [String: Any])?["exit_status"] as? Int == 78, "\(object.lines)")

            // A file that is not TOML.
            try house.configure("library = \n" + House.oneCard)
            let broken = try await house.ask("reload")
            #expect(broken.status == 78 && broken.text.contains("\(file):1:"), "\(broken.lines)")
            try house.drop(try Photos.unique(1), as: "still.jpg", into: house.path("second"))
            try await daemon.line(holding: "filed second/still.jpg")

            try house.configure(House.oneCard)
            let healed = try await house.ask("reload", "--json")
            #expect(healed.status == 0 && healed.text.contains("\"warnings\":[]"), "\(healed.lines)")
            state = try await house.state(of: daemon)
            #expect(state.inboxes.map(\.name) == ["card"] && state.problems.isEmpty)
            try await daemon.stop()
            #expect(try await house.ask("reload").status == 69)
        }

        @Test("Concurrent reloads are all answered, and a running one completes first")
        func several() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let count = 20
            try makeDirectory("\(house.outside)/many")
            for number in 0..<count { try write(try Photos.unique(number), to: "\(house.outside)/many/\(number).jpg") }
            try move("\(house.outside)/many", to: "\(house.inbox)/many")
            let results = try await withThrowingTaskGroup(of: CommandResult.self) { group in
                for _ in 0..<4 { group.addTask { try await house.ask("reload") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.map(\.status) == [0, 0, 0, 0], "\(results.map(\.lines))")
            try await daemon.lines(count, holding: "filed card/many/")
            #expect(house.files(in: house.library).count == count)
            try await daemon.stop()
        }

        @Test(
            "A user without operator rights may not reload",
            .enabled(if: EndToEnd.isRoot && EndToEnd.canBeOrdinary, "skipped: needs root, to be somebody else"))
        func permission() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            // Any user may connect, as a socket unit can allow.
            for path in ["", "/st", "/st/run", "/st/run/control"] { #expect(chmod(house.root + path, 0o777) == 0) }
            let refused = try await house.ask(["reload"], tracing: EndToEnd.asNobody)
            #expect(refused.status == 77 && refused.text.contains("may only look"), "\(refused.lines)")
            let looked = try await house.ask(["metrics"], tracing: EndToEnd.asNobody)
            #expect(looked.status == 0 && looked.lines.last == "# EOF")
            #expect(daemon.count(of: "reading the configuration again") == 0)
            try await daemon.stop()
        }
    }
}
