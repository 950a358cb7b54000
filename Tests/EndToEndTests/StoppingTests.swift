import Catalogue
import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("However the daemon ends, no photo is lost or filed twice")
    struct Stopping {
        @Test(
            "SIGTERM or SIGINT during filing ends the daemon normally, and the next start completes it",
            arguments: [SIGTERM, SIGINT])
        func terminated(signal: Int32) async throws {
            let house = try House()
            var daemon = try await house.start()
            let photos = try (0..<60).map { try Photos.unique($0) }
            try makeDirectory("\(house.outside)/many")
            for (number, photo) in photos.enumerated() { try write(photo, to: "\(house.outside)/many/\(number).jpg") }
            try move("\(house.outside)/many", to: "\(house.inbox)/many")
            try await daemon.line(holding: "filed inbox/many/")
            daemon.signal(signal)
            #expect(try await daemon.ending() == .status(0))
            #expect(daemon.lines.contains { $0.contains("stopped, 0 monitors left") })
            house.expectNoTemporaries()
            let inbox = house.files(in: house.inbox)
            let library = house.files(in: house.library)
            #expect(inbox.count + library.count == photos.count)
            #expect(Set(inbox.values).union(library.values) == Set(photos))

            daemon = try await house.start(reporting: inbox.keys.map { "filed inbox/\($0) as " })
            #expect(Set(house.files(in: house.library).values) == Set(photos))
            #expect(house.files(in: house.library).count == photos.count)
            try await daemon.stop()
        }

        @Test("A second SIGTERM aborts a long copy, whose source stays for the next start")
        func hurried() async throws {
            let house = try House()
            var daemon = try await house.start()
            let photos = try (0..<3).map { try Photos.large($0, megabytes: 96) }
            for (number, photo) in photos.enumerated() { try house.drop(photo, as: "\(number).jpg") }
            daemon.signal(SIGTERM)
            daemon.signal(SIGTERM)
            try await daemon.line(holding: "stopping, asked by SIGTERM")
            daemon.signal(SIGTERM)
            // Reading a file's structure is not aborted, and slow with a sanitizer.
            #expect(try await daemon.ending() == .status(0))
            house.expectNoTemporaries()
            let left = house.files(in: house.inbox)
            #expect(Set(left.values).union(house.files(in: house.library).values) == Set(photos))
            daemon = try await house.start(reporting: left.keys.map { "filed inbox/\($0) as " })
            #expect(Set(house.files(in: house.library).values) == Set(photos))
            try await daemon.stop()
        }

        @Test("SIGTERM at any moment of start-up or a reload ends the daemon normally")
        func terminatedEarly() async throws {
            let house = try House()
            try house.configure("library = \"@library\"\nstate = \"@st\"\n[inbox.inbox]\npath = \"@inbox\"\n")
            let arguments = ["--config", house.path("photoinbox.toml"), "--log-level", "debug"]
            // At the first line of the log, and at the last before it is ready.
            for line in ["configuration from", "ready: "] {
                let daemon = try house.launch(arguments)
                try await daemon.line(holding: line)
                try await daemon.stop()
            }
            let daemon = try house.launch(arguments)
            try await daemon.line(holding: "ready: ")
            for _ in 0..<5 { daemon.signal(SIGHUP) }
            try await daemon.stop()
        }

        @Test(
            "After twenty SIGKILLs during arrivals each photo is in the library once, complete and recorded",
            .timeLimit(.minutes(60)))
        func killed() async throws {
            let house = try House()
            var random = SystemRandomNumberGenerator()
            var photos: [Data] = []
            for round in 0..<20 {
                let daemon = try await house.start()
                // Killed after this many photos, at an arbitrary step.
                let last = Int.random(in: 0..<12, using: &random)
                for number in 0..<30 {
                    let photo = try Photos.unique(round * 30 + number)
                    photos.append(photo)
                    try house.drop(photo, as: "IMG_\(number).jpg")
                }
                try await daemon.lines(last + 1, holding: round.isMultiple(of: 2) ? " filed inbox/" : "inbox")
                daemon.signal(SIGKILL)
                #expect(try await daemon.ending() == .signal(SIGKILL))
                // The next round's names would replace the remaining files.
                let left = house.files(in: house.inbox)
                for (index, name) in left.keys.sorted().enumerated() where !name.contains(".photo-inbox") {
                    try move("\(house.inbox)/\(name)", to: "\(house.inbox)/left_\(round)_\(index).jpg")
                }
                let places = Set(left.values).union(house.files(in: house.library).values)
                #expect(places.isSuperset(of: photos), "at every moment, each is somewhere whole")
            }
            let daemon = try await house.start()
            var waiting = 1
            while waiting > 0 {
                daemon.signal(SIGUSR2)
                let counts = try #require(try await house.state(of: daemon).inboxes.first?.counts)
                #expect(counts.balances)
                waiting = counts.inHand + counts.deferred + house.files(in: house.inbox).count
            }
            try await daemon.stop()
            let library = house.files(in: house.library)
            #expect(library.count == photos.count)
            #expect(Set(library.values) == Set(photos))
            house.expectNoTemporaries()
            let catalogue = try CatalogueFile.openForReading(house.path("st/catalogue.sqlite"))
            #expect(try catalogue.totals().photos == photos.count)
            #expect(try catalogue.pendingIntents().isEmpty)
        }
    }
}
