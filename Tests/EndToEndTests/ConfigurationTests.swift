import Foundation
import Glibc
import Inbox
import TestSupport
import Testing

extension EndToEnd {
    @Suite("The configuration: read, checked, read again")
    struct Configuration {
        private static let good = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            """

        @Test("Every mistake is told at once with file, line and column, and the status is 78")
        func mistakes() async throws {
            let house = try House()
            try house.configure(
                """
                library = "@library"
                libary = "x"
                [inbox.a]
                path = 7
                [inbox.b]
                path = "@nowhere"
                [inbox.c]
                path = "@library/inside"
                [[timer]]
                name = "t"
                action = "dance"
                every = "1h"
                """)
            for flags in [[], ["--check"]] {
                let daemon = try house.launch(["--config", house.path("photoinbox.toml")] + flags)
                #expect(try await daemon.ending() == .status(78))
                let file = house.path("photoinbox.toml")
                for place in [":2:1: ", ":4:", ":6:8: ", ":8:8: ", ":11:"] {
                    #expect(daemon.lines.contains { $0.hasPrefix(file + place) }, "\(place) of \(daemon.lines)")
                }
                #expect(daemon.lines.contains { $0.contains("library") && $0.contains("libary") })
            }
            #expect(access(house.path("st"), F_OK) != 0, "a refused configuration leaves no trace")
        }

        @Test("Directories are checked too: one that is missing, an inbox inside the library")
        func directories() async throws {
            let house = try House()
            try house.configure(
                """
                library = "@lost"
                state = "@st"
                [inbox.b]
                path = "@nowhere"
                """)
            let missing = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await missing.ending() == .status(78))
            #expect(missing.lines.contains { $0.contains(":1:11: ") && $0.contains("lost") }, "\(missing.lines)")
            #expect(missing.lines.contains { $0.contains(":4:8: ") && $0.contains("nowhere") }, "\(missing.lines)")

            try makeDirectory("\(house.library)/inside")
            try house.configure(
                """
                library = "@library"
                state = "@st"
                [inbox.c]
                path = "@library/inside"
                """)
            let inside = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await inside.ending() == .status(78))
            #expect(inside.lines.contains { $0.contains(":4:8: ") && $0.contains("library") }, "\(inside.lines)")
        }

        @Test("--check of a good one says so and ends with 0")
        func check() async throws {
            let house = try House()
            try house.configure(Self.good)
            let daemon = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await daemon.ending() == .status(0))
            #expect(daemon.lines == ["\(house.path("photoinbox.toml")): good"])
            #expect(access(house.path("st"), F_OK) != 0, "it makes nothing")
        }

        @Test("A file that is not there, wrong usage, and --help")
        func usage() async throws {
            let house = try House()
            let missing = try house.launch(["--config", house.path("none.toml")])
            #expect(try await missing.ending() == .status(78))
            #expect(missing.lines.first?.contains("none.toml") == true)
            let wrong = try house.launch(["--inbos", "x"])
            #expect(try await wrong.ending() == .status(64))
            let help = try house.launch(["--help"])
            #expect(try await help.ending() == .status(0))
            #expect(help.lines.contains { $0.contains("--inbox") })
        }

        @Test("SIGHUP takes a good configuration, and keeps the old one where the new one is bad")
        func reload() async throws {
            let house = try House()
            try makeDirectory(house.path("second"))
            let daemon = try await house.start(configuration: Self.good)
            try house.drop(try Photos.unique(1), as: "before.jpg")
            try await daemon.line(holding: "filed inbox/before.jpg")

            try house.configure("libary = 1\n" + Self.good)
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "photoinbox.toml:1:1: ", "the running configuration is kept")
            try await daemon.line(holding: "PI-101")
            var state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code) == ["PI-101"] && state.inboxes.count == 1)
            try house.drop(try Photos.unique(2), as: "still.jpg")
            try await daemon.line(holding: "filed inbox/still.jpg")

            try house.configure(Self.good + "\n[inbox.second]\npath = \"@second\"\n")
            try house.drop(try Photos.unique(3), as: "there.jpg", into: house.path("second"))
            daemon.signal(SIGHUP)
            try await daemon.lines(holding: ["PI-101 is over", "filed second/there.jpg"])
            try house.drop(try Photos.unique(4), as: "after.jpg")
            try await daemon.line(holding: "filed inbox/after.jpg")
            state = try await house.state(of: daemon)
            #expect(state.problems.isEmpty && state.inboxes.count == 2)
            #expect(state.inboxes.allSatisfy { $0.counts.balances })
            #expect(state.inboxes.reduce(0) { $0 + $1.counts.filed } == 4, "counts go on over a reload")
            #expect(!state.monitors.contains { $0.state != "active" }, "nothing of the old one is left")
            try await daemon.stop()
        }

        @Test("SIGHUP while photos are in flight loses none")
        func reloadAtWork() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.good)
            let count = 60
            try makeDirectory("\(house.outside)/many")
            for number in 0..<count { try write(try Photos.unique(number), to: "\(house.outside)/many/\(number).jpg") }
            try move("\(house.outside)/many", to: "\(house.inbox)/many")
            for _ in 0..<4 {
                try await daemon.line(holding: " filed inbox/many")
                daemon.signal(SIGHUP)
            }
            var filed = 0
            while filed < count {
                let counts = try #require(try await house.state(of: daemon).inboxes.first?.counts)
                #expect(counts.balances)
                filed = counts.filed
            }
            #expect(house.files(in: house.library).count == count)
            try await daemon.stop()
        }

        @Test(
            "Without a journal, the log that asked for it goes to standard error",
            .enabled(if: access("/run/systemd/journal/socket", F_OK) != 0, "skipped: there is a journal here"))
        func noJournal() async throws {
            let house = try House()
            let daemon = try await house.start("--log", "journal")
            try await daemon.stop()
            #expect(daemon.lines.contains { $0.contains("the journal was asked for") })
        }
    }
}
