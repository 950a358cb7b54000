import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    /// Files of links in an inbox, with the real daemon, photoinbox-fetch and an HTTP server.
    @Suite(
        "Files of links in an inbox", .enabled(if: AwkwardServer.isThere, "skipped: Python is not installed"),
        .timeLimit(.minutes(60)))
    struct DroppedLinks {
        private func configuration(_ links: String = "links = \"yes\"") -> String {
            """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            [sets]
            wait = "0s"
            [fetch]
            \(links)
            allow-private = ["127.0.0.1"]
            pause = "10ms"
            stall = "10m"
            tries = "2"
            """
        }

        private func house() async throws -> (House, AwkwardServer) {
            let house = try House()
            for name in ["st", "st/run"] { try makeDirectory(house.path(name)) }
            return (house, try await AwkwardServer(photo: try Photos.named("exif.jpg"), in: house))
        }

        private func drop(_ house: House, _ name: String, _ text: String) throws {
            try house.drop(Data(text.utf8), as: name)
        }

        private func ask(_ house: House, _ arguments: String...) async throws -> String {
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox")] + arguments.prefix(1) + ["--config", house.path("photoinbox.toml")]
                    + arguments.dropFirst())
            _ = try await program.ending()
            return program.lines.joined(separator: "\n")
        }

        private func names(_ directory: String) -> Set<String> {
            Set((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
        }

        private func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

        private func keepsAttributes(_ directory: String) -> Bool {
            guard let opened = try? openDirectory(BytePath(directory)) else { return false }
            return opened.setAttribute("user.photo-inbox.test", [1])
        }

        @Test("Links of each kind are fetched, failures and non-links reported, and the photos filed with their origin")
        func kinds() async throws {
            let (house, server) = try await house()
            let daemon = try await house.start(configuration: configuration())
            try drop(
                house, "trip.links",
                "# two\n\(server.address("photo/1.jpg"))\nnonsense\n\(server.address("soon/2"))\n")
            try drop(house, "one.url", "[InternetShortcut]\r\nURL=\(server.address("photo/3.jpg"))\r\n")
            try drop(
                house, "two.webloc",
                "<plist><dict><key>URL</key><string>\(server.address("photo/4.jpg"))</string></dict></plist>")
            try drop(house, "bad.webloc", "bplist00 and nothing more")
            try await daemon.lines(holding: [
                "links inbox/trip.links: 1 arrived, 2 failed; trip.links.failed says what to do; it lies in "
                    + ".fetched/trip.links now",
                "links inbox/one.url: 1 arrived, 0 failed", "links inbox/two.webloc: 1 arrived, 0 failed",
                "links inbox/bad.webloc: nothing is fetched: a binary property list that is cut short",
                "filed inbox/fetch-", "filed inbox/fetch-", "filed inbox/fetch-",
            ])
            #expect(names("\(house.inbox)/.fetched") == ["trip.links", "one.url", "two.webloc"])
            let note = text("\(house.inbox)/trip.links.failed")
            #expect(note.contains("# line 3: not http or https\n"), "\(note)")
            #expect(note.contains("# the server responded with status 404") || note.contains("status 404"), "\(note)")
            #expect(note.hasSuffix("\n\(server.address("soon/2"))\n"), "\(note)")
            #expect(text("\(house.inbox)/bad.webloc.failed").contains("# Correct that file"))
            let status = try await ask(house, "status")
            #expect(status.contains("links") && status.contains("nothing waiting, last inbox/"), "\(status)")
            let trip = try await ask(house, "explain", "inbox/trip.links")
            #expect(trip.contains("a file of links, done: 1 of 3 arrived, 2 failed"), "\(trip)")
            let bad = try await ask(house, "explain", "inbox/bad.webloc")
            #expect(bad.contains("a file of links, refused"), "\(bad)")
            // Renamed, the note of failures is a list of links.
            try move("\(house.inbox)/trip.links.failed", to: "\(house.inbox)/again.links")
            try await daemon.lines(holding: ["links inbox/again.links: 1 arrived, 0 failed", "filed inbox/fetch-"])
            #expect(house.files(in: house.library).count == 4)
            let photo = try await ask(house, "list", "--json")
            #expect(photo.contains("fetch-"), "\(photo)")
            for operation in try filedPaths(daemon) {
                let explained = try await ask(house, "explain", operation)
                #expect(
                    explained.contains("http://127.0.0.1:\(server.port)/") == keepsAttributes(house.inbox),
                    "\(explained)")
            }
            try await daemon.stop()
            #expect(server.requests("photo/1.jpg").count == 1)
            // Nothing is repeated.
            let second = try await house.start(configuration: configuration())
            try await second.stop()
            #expect(server.requests("photo/1.jpg").count == 1 && server.requests("soon/2").count == 2)
            #expect(second.count(of: "links inbox/") == 0, "\(second.lines)")
        }

        /// The sources of filed photos: `inbox/fetch-DATE-N/NAME`.
        private func filedPaths(_ daemon: RunningProgram) throws -> [String] {
            let found = daemon.lines.compactMap { line -> String? in
                guard let start = line.range(of: "filed inbox/fetch-") else { return nil }
                return line[start.lowerBound...].split(separator: " ").dropFirst().first.map(String.init)
            }
            try #require(found.count == 4, "\(found)")
            return found
        }

        @Test(
            "A daemon that ends or is killed continues with unfinished downloads",
            arguments: [SIGTERM, SIGKILL])
        func restarted(by signal: Int32) async throws {
            let (house, server) = try await house()
            let first = try await house.start(configuration: configuration())
            let addresses = [1, 2].map { server.address("photo/\($0).jpg") } + [server.address("later/3")]
            try drop(house, "trip.links", addresses.map { $0 + "\n" }.joined())
            try await server.program.line(holding: "holding /later/3")
            try await first.lines(holding: [
                "filed inbox/fetch-", "filed inbox/fetch-", "links inbox/trip.links: 2 of 3 have ended",
            ])
            let status = try await ask(house, "status")
            #expect(status.contains("fetching inbox/trip.links: 2 of 3 arrived"), "\(status)")
            if signal == SIGTERM {
                try await first.stop()
            } else {
                first.signal(signal)
                _ = try await first.ending()
            }
            #expect(names(house.inbox).contains("trip.links"))
            // It may end before all inboxes are watched.
            let second = try await house.start(
                configuration: configuration(),
                reporting: [
                    "links inbox/trip.links: fetching 1 of 3 addresses",
                    "links inbox/trip.links: 3 arrived, 0 failed", "filed inbox/fetch-",
                ])
            // The server's output is read by another thread.
            _ = try await poll({ server.requests("later/3").count }) { $0 == 2 }
            for number in 1...2 { #expect(server.requests("photo/\(number).jpg").count == 1) }
            #expect(house.files(in: house.library).count == 3 && house.files(in: house.duplicates).isEmpty)
            try await second.stop()
            house.expectNoTemporaries()
        }

        @Test("A listening service is used, and gets only the inbox's name and the addresses")
        func service() async throws {
            let (house, server) = try await house()
            try house.configure(configuration())
            try write(Data(FetchUnit.driver.utf8), to: house.path("driver"))
            let service = try RunningProgram([
                AwkwardServer.python, house.path("driver"), BuiltPrograms.path("photoinbox-fetch"),
                house.path("photoinbox.toml"), "\(geteuid())", house.path("st/run/fetch"),
            ])
            defer { service.killIfRunning() }
            try await service.line(holding: "listening")
            let daemon = try await house.start(configuration: configuration())
            try drop(house, "one.links", server.address("photo/1.jpg"))
            try await daemon.lines(holding: ["links inbox/one.links: 1 arrived, 0 failed", "filed inbox/fetch-"])
            try await service.line(holding: "served by")
            #expect(service.lines.contains { $0.contains("fetching 1 addresses into the inbox inbox") })
            try await daemon.stop()
        }

        @Test("Unless links are switched on such a file is ignored, and explain says how to have it fetched")
        func off() async throws {
            let (house, server) = try await house()
            let daemon = try await house.start(configuration: configuration(""))
            try drop(house, "one.links", server.address("photo/1.jpg"))
            try await daemon.line(holding: "ignored inbox/one.links")
            let explained = try await ask(house, "explain", "inbox/one.links")
            #expect(explained.contains("set links = \"yes\" in [fetch]"), "\(explained)")
            #expect(!(try await ask(house, "status")).contains("links"))
            // Switched on, it applies to later files.
            try house.configure(configuration())
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "configuration from ")
            try drop(house, "two.links", server.address("photo/2.jpg"))
            try await daemon.lines(holding: ["links inbox/two.links: 1 arrived, 0 failed", "filed inbox/fetch-"])
            #expect(server.requests("photo/1.jpg").isEmpty && names(house.inbox).contains("one.links"))
            try await daemon.stop()
        }
    }
}
