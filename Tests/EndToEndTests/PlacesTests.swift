import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Files reached by another path, a former library, a missing copy.
    @Suite("No file counts as a copy of itself")
    struct PlacesTaken {
        private func configuration(library: String, more: String = "") -> String {
            """
            library = "@\(library)"
            quarantine = "@quarantine"
            duplicates = "@duplicates"
            state = "@st"
            runtime = "@st/run"
            [inbox.inbox]
            path = "@inbox"
            \(more)
            """
        }

        /// Runs `photoinbox import` in JSON; returns its status and the counts of its last line.
        private func runImport(_ house: House, _ arguments: String...) async throws -> (status: Int32?, [String: Any]) {
            let result = try await house.ask(["import", "--json"] + arguments)
            let summary =
                result.lines.last { $0.contains("\"summary\"") }
                .flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) } as? [String: Any]
            return (result.status, summary ?? [:])
        }

        /// A daemon that has filed `count` photos, and their contents.
        private func filed(_ count: Int, _ house: House, library: String) async throws -> (RunningProgram, [Data]) {
            let daemon = try await house.start(configuration: configuration(library: library))
            let photos = try (0..<count).map { try Photos.unique($0) }
            for (number, photo) in photos.enumerated() { try house.drop(photo, as: "P\(number).JPG") }
            try await daemon.lines(count, holding: "filed inbox/P")
            return (daemon, photos)
        }

        @Test("import --move from a former library copies each photo before it removes it")
        func formerLibrary() async throws {
            let house = try House()
            let (daemon, photos) = try await filed(3, house, library: "library")
            try await daemon.stop()
            try makeDirectory(house.path("new"))
            try house.configure(configuration(library: "new"))
            let (status, summary) = try await runImport(house, "--move", house.library)
            #expect(status == 0 && summary["copied"] as? Int == 3, "\(summary)")
            for photo in photos { #expect(!house.places(of: photo).isEmpty, "the only copy was removed") }
            let next = try await house.start(
                configuration: configuration(library: "new"),
                reporting: Array(repeating: "filed inbox/import-", count: 3))
            for photo in photos { #expect(house.places(of: photo).filter { $0.hasPrefix("new/") }.count == 1) }
            #expect(next.count(of: "damage in the library") == 0, "what another library had is no loss of this one")
            try await next.stop()
        }

        @Test(
            "import --move from the library through another mount removes nothing",
            .enabled(if: geteuid() == 0, "skipped: needs root to mount"))
        func boundLibrary() async throws {
            let house = try House()
            let (daemon, photos) = try await filed(3, house, library: "library")
            try makeDirectory(house.path("mnt"))
            try runProgram(["/bin/mount", "--bind", house.library, house.path("mnt")])
            defer { try? runProgram(["/bin/umount", "-l", house.path("mnt")]) }
            let (status, _) = try await runImport(house, "--move", house.path("mnt"))
            #expect(status != 0)
            #expect(Set(house.files(in: house.library).values) == Set(photos))
            try await daemon.stop()
        }

        @Test("A photo whose file is missing from the library is imported again")
        func lostFromLibrary() async throws {
            let house = try House()
            let (daemon, photos) = try await filed(3, house, library: "library")
            try makeDirectory(house.path("card"))
            for (number, photo) in photos.enumerated() { try write(photo, to: house.path("card/C\(number).JPG")) }
            let known = try await runImport(house, house.path("card"))
            #expect(known.1["known"] as? Int == 3, "\(known)")
            for path in house.files(in: house.library).keys { unlink("\(house.library)/\(path)") }
            let again = try await runImport(house, house.path("card"))
            #expect(again.status == 0 && again.1["copied"] as? Int == 3, "\(again)")
            try await daemon.lines(3, holding: "filed inbox/import-")
            #expect(Set(house.files(in: house.library).values) == Set(photos))
            try await daemon.stop()
        }

        /// A daemon with a short trash time and a photo that arrived twice: operation 2 is the duplicate.
        private func duplicated() async throws -> (House, RunningProgram, Data) {
            let house = try House()
            let daemon = try await house.start(
                configuration: configuration(library: "library", more: "[filing]\ntrash = \"1s\""))
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.JPG")
            try await daemon.line(holding: "filed inbox/a.JPG")
            try house.drop(photo, as: "b.JPG")
            try await daemon.line(holding: "duplicate inbox/b.JPG")
            return (house, daemon, photo)
        }

        @Test("A photo that arrives again replaces its own record and that of another missing file whose name it gets")
        func replacesTwo() async throws {
            let house = try House()
            let (daemon, photos) = try await filed(2, house, library: "library")
            for path in house.files(in: house.library).keys.sorted() {
                try FileManager.default.removeItem(atPath: "\(house.library)/\(path)")
            }
            try house.drop(photos[1], as: "P0.JPG")
            try await daemon.line(holding: "filed inbox/P0.JPG")
            #expect(house.files(in: house.library).values.map { $0 } == [photos[1]])
            let list = try await house.ask("list", "--json")
            #expect(list.lines.count == 1, "\(list.lines)")
            try await daemon.stop()
        }

        @Test("A discarded duplicate stays in the trash while the original is missing")
        func lastInTrash() async throws {
            let (house, daemon, photo) = try await duplicated()
            let place = try #require(house.files(in: house.library).keys.first)
            try move("\(house.library)/\(place)", to: house.path("away.JPG"))
            #expect(try await house.ask("discard", "2", "--yes").status == 0)
            try await daemon.line(holding: "stays in the trash")
            #expect(house.places(of: photo).contains { $0.hasPrefix("trash/") })
            try await daemon.stop()
        }

        @Test("A discarded duplicate is deleted while the original is in the library")
        func deletedFromTrash() async throws {
            let (house, daemon, photo) = try await duplicated()
            #expect(try await house.ask("discard", "2", "--yes").status == 0)
            try await daemon.line(holding: "deleted from the trash: ", "/trash/inbox/b.JPG")
            #expect(house.places(of: photo).count == 1)
            #expect(house.places(of: photo).allSatisfy { $0.hasPrefix("library/") })
            try await daemon.stop()
        }

        @Test(
            "A library that is mounted over its inbox loses no photo",
            .enabled(if: geteuid() == 0, "skipped: needs root to mount"))
        func libraryOverInbox() async throws {
            let house = try House()
            let (daemon, photos) = try await filed(3, house, library: "library")
            let unrecorded = try Photos.unique(50)
            try write(unrecorded, to: "\(house.library)/new.JPG")
            try runProgram(["/bin/mount", "--bind", house.library, house.inbox])
            defer { try? runProgram(["/bin/umount", "-l", house.inbox]) }
            try await daemon.line(holding: "PI-410")
            daemon.signal(SIGUSR2)
            #expect(try await house.state(of: daemon).problems.contains { $0.code == "PI-410" })
            #expect(Set(house.files(in: house.library).values) == Set(photos + [unrecorded]))
            try await daemon.stop()
        }
    }
}
