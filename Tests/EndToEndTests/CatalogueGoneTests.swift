import Catalogue
import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// A photo's source must not be removed without its record.
    @Suite("A removed or replaced catalogue, and places used by two daemons")
    struct Places {
        private func photos(of house: House) throws -> Int {
            try CatalogueFile.openForReading(house.path("st/catalogue.sqlite")).totals().photos
        }

        private func remove(_ house: House) {
            for suffix in ["", "-wal", "-shm"] { unlink(house.path("st/catalogue.sqlite\(suffix)")) }
        }

        @Test(
            "A catalogue that is removed or replaced under a daemon is written again with all records",
            arguments: [false, true])
        func goneWhileOpen(isReplaced: Bool) async throws {
            let house = try House()
            let daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            remove(house)
            if isReplaced { try write(Data("somebody's".utf8), to: house.path("st/catalogue.sqlite")) }
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(
                holding: ["PI-505 ", "is written to", "PI-505 is over", "filed inbox/a.jpg"])
            #expect(try await house.state(of: daemon).problems.isEmpty)
            #expect(try photos(of: house) == 2)
            let found = house.files(in: house.path("st")).filter { $0.key.contains(".found-") }
            #expect(found.values.map { $0 } == (isReplaced ? [Data("somebody's".utf8)] : []))
            try await daemon.stop()
            #expect(try photos(of: house) == 2)
            #expect(house.files(in: house.library).count == 2 && house.files(in: house.inbox).isEmpty)
        }

        @Test("A catalogue that is removed just before the end is written again")
        func goneAtTheEnd() async throws {
            let house = try House()
            let daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            remove(house)
            try await daemon.stop()
            #expect(try photos(of: house) == 1)
        }

        @Test("A start without the previous catalogue rebuilds it from the library and reports that")
        func goneAtTheStart() async throws {
            let house = try House()
            var daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            try await daemon.stop()
            remove(house)
            daemon = try await house.start(reporting: ["PI-504", "the catalogue is made anew: 1 photo recorded"])
            try house.drop(try Photos.unique(0), as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            #expect(house.files(in: house.library).count == 1)
            try await daemon.stop()
        }

        @Test(
            "Without a catalogue, an empty directory is not accepted as the library, unless a person says so",
            arguments: [false, true])
        func goneWithTheLibrary(isEmptyFile: Bool) async throws {
            let house = try House()
            var daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            try await daemon.stop()
            remove(house)
            if isEmptyFile { try write(Data(), to: house.path("st/catalogue.sqlite")) }
            try move(house.library, to: house.path("away"))
            try makeDirectory(house.library)
            daemon = try await house.start(reporting: ["PI-406", "the catalogue was lost"])
            try house.drop(try Photos.unique(1), as: "a.jpg")
            // It waits for the catalogue to be rebuilt.
            let state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code).contains("PI-406"))
            #expect(house.files(in: house.library).isEmpty)
            // The library is back: the catalogue is rebuilt from it.
            rmdir(house.library)
            try move(house.path("away"), to: house.library)
            try await daemon.lines(holding: ["1 photo recorded", "filed inbox/a.jpg", "PI-406 is over"])
            #expect(house.files(in: house.library).count == 2)
            try await daemon.stop()
            remove(house)
            try move(house.library, to: house.path("away"))
            try makeDirectory(house.library)
            let places = ["--inbox", house.inbox, "--library", house.library, "--state", house.path("st")]
            #expect(try await house.launch(places + ["--accept-library"]).ending() == .status(0))
            daemon = try await house.start()
            try house.drop(try Photos.unique(2), as: "b.jpg")
            try await daemon.line(holding: "filed inbox/b.jpg")
            #expect(house.files(in: house.library).count == 1)
            try await daemon.stop()
        }

        @Test("A catalogue behind a symbolic link is used")
        func linked() async throws {
            let house = try House()
            for directory in ["st", "disk"] { try makeDirectory(house.path(directory)) }
            #expect(symlink(house.path("disk/catalogue.sqlite"), house.path("st/catalogue.sqlite")) == 0)
            for number in 0..<2 {
                let daemon = try await house.start()
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try await daemon.line(holding: "filed inbox/\(number).jpg")
                #expect(try await house.state(of: daemon).problems.isEmpty)
                try await daemon.stop()
            }
            #expect(try photos(of: house) == 2)
            // The target's disk is emptied under the daemon: the catalogue is written there again.
            let daemon = try await house.start()
            for suffix in ["", "-wal", "-shm"] { unlink(house.path("disk/catalogue.sqlite\(suffix)")) }
            try await daemon.line(holding: "it was still open and is written to")
            try house.drop(try Photos.unique(3), as: "3.jpg")
            try await daemon.line(holding: "filed inbox/3.jpg")
            try await daemon.stop()
            #expect(try photos(of: house) == 3)
        }

        @Test(
            "Photos in the library that a first catalogue lacks are reported, and those in another library too"
        )
        func unrecorded() async throws {
            let house = try House()
            try write(try Photos.unique(0), to: "\(house.library)/old.jpg")
            // It may be reported before the daemon is ready.
            let daemon = try await house.start(reporting: ["PI-411"])
            let report = daemon.lines.first { $0.contains("PI-411") } ?? ""
            #expect(report.contains("old.jpg") && report.contains("photoinbox adopt"), "\(report)")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            #expect(try await house.state(of: daemon).problems.map(\.code) == ["PI-411"])
            try await daemon.stop()
            // Filing a photo does not end the problem; recording them does.
            let next = try await house.start(reporting: ["PI-411"])
            try runProgram([BuiltPrograms.path("photoinbox"), "adopt", "--state", house.path("st"), house.library])
            try await next.line(holding: "PI-411 is over")
            try await next.stop()
            try makeDirectory(house.path("new"))
            let again = try await house.start("--library", house.path("new"), reporting: ["PI-409"])
            let state = try await house.state(of: again)
            #expect(state.problems.map(\.code) == ["PI-409"])
            #expect(state.problems.first?.what.contains("2 recorded photos are in \(house.library)") == true)
            try await again.stop()
        }

        @Test("Of two daemons on one library, the second files when the first has ended")
        func oneLibrary() async throws {
            let house = try House()
            let first = try await house.start()
            try makeDirectory(house.path("inbox2"))
            let second = try house.launch([
                "--inbox", house.path("inbox2"), "--library", house.library, "--state", house.path("st2"),
                "--log-level",
                "debug",
            ])
            try await second.lines(holding: ["PI-408", "ready: "])
            #expect(second.lines.contains { $0.contains("PI-408") && $0.contains("process \(first.pid), uses it") })
            try house.drop(try Photos.unique(1), as: "a.jpg", into: house.path("inbox2"))
            try await second.line(holding: "deferred inbox2/a.jpg", "photoinboxd, process")
            try await first.stop()
            try await second.lines(holding: ["PI-408 is over", "filed inbox2/a.jpg"])
            try await second.stop()
        }

        @Test("Of two daemons on one inbox, the second files when the first has ended")
        func oneInbox() async throws {
            let house = try House()
            let first = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await first.line(holding: "filed inbox/first.jpg")
            first.signal(SIGSTOP)
            defer { first.signal(SIGCONT) }
            try makeDirectory(house.path("library2"))
            let second = try house.launch([
                "--inbox", house.inbox, "--library", house.path("library2"), "--state", house.path("st2"),
                "--log-level",
                "debug",
            ])
            try await second.line(holding: "ready: ")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await second.lines(holding: ["PI-213", "deferred inbox/a.jpg"])
            #expect(house.files(in: house.path("library2")).isEmpty)
            first.killIfRunning()
            try await second.lines(holding: ["filed inbox/a.jpg", "PI-213 is over"])
            try await second.stop()
        }
    }
}
