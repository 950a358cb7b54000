import Foundation
import Glibc
import Inbox
import TestSupport
import Testing

extension EndToEnd {
    /// What is filed into a bare mount point, or onto a disk that was mixed up, is hidden or lost when the library is back.
    @Suite("Which directory the library is")
    struct LibraryIdentity {
        /// Files one photo, so that there is something to know the library by.
        private func used(_ house: House) async throws -> RunningProgram {
            let daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            return daemon
        }

        @Test(
            "Another directory under its path is not filed into, found by a running daemon or at its start",
            arguments: [false, true])
        func replaced(isRestarted: Bool) async throws {
            let house = try House()
            var daemon = try await used(house)
            if isRestarted { try await daemon.stop() }
            try move(house.library, to: "\(house.outside)/library")
            try makeDirectory(house.library)
            if isRestarted { daemon = try await house.start() }
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "PI-406")
            let state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code) == ["PI-406"])
            #expect(state.inHand.map(\.file) == ["a.jpg"])
            #expect(house.files(in: house.library).isEmpty, "nothing of ours goes into it")
            #expect(house.files(in: house.inbox).keys.sorted() == ["a.jpg"])
            // An audit of it would tell every photo as lost.
            daemon.signal(SIGUSR2)
            try move(house.library, to: "\(house.outside)/impostor")
            try move("\(house.outside)/library", to: house.library)
            daemon.signal(SIGUSR2)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-406 is over"])
            #expect(house.files(in: house.library).count == 2)
            #expect(house.files(in: "\(house.outside)/impostor").isEmpty)
            try await daemon.stop()
        }

        @Test("A library that was copied to another disk is known by its photos")
        func restored() async throws {
            let house = try House()
            let daemon = try await used(house)
            try await daemon.stop()
            try runProgram(["/bin/cp", "-a", "--", house.library, "\(house.outside)/library"])
            try move(house.library, to: "\(house.outside)/old")
            try move("\(house.outside)/library", to: house.library)
            let again = try await house.start()
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await again.line(holding: "filed inbox/a.jpg")
            #expect(house.files(in: house.library).count == 2)
            try await again.stop()
        }

        @Test("--accept-library takes another directory on somebody's word, and only while no daemon runs")
        func accepted() async throws {
            let house = try House()
            let daemon = try await used(house)
            try move(house.library, to: "\(house.outside)/library")
            try makeDirectory(house.library)
            let arguments = ["--inbox", house.inbox, "--library", house.library, "--state", house.path("st")]
            let refused = try house.launch(arguments + ["--accept-library"])
            #expect(try await refused.ending() == .status(EX_TEMPFAIL))
            try await daemon.stop()
            let accepting = try house.launch(arguments + ["--accept-library"])
            #expect(try await accepting.ending() == .status(0))
            let again = try await house.start()
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await again.line(holding: "filed inbox/a.jpg")
            #expect(house.files(in: house.library).count == 1)
            try await again.stop()
        }

        @Test(
            "A library that is unmounted lazily leaves a bare mount point, which is not filed into",
            .enabled(if: canMount, withoutMounts))
        func unmountedLazily() async throws {
            let mounted = try MountedHouse(mount: "mount -t tmpfs -o size=9m tmpfs $root/library")
            let house = mounted.house
            let daemon = try await used(house)
            try makeDirectory(house.path("else"))
            try MountedHouse.run("/bin/mount", "--bind", house.library, house.path("else"), beside: daemon)
            try MountedHouse.run("/bin/umount", "-l", house.library, beside: daemon)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "PI-406")
            #expect(house.files(in: mounted.library(of: daemon)).isEmpty)
            try MountedHouse.run("/bin/mount", "--move", house.path("else"), house.library, beside: daemon)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-406 is over"], within: 90)
            #expect(house.files(in: mounted.library(of: daemon)).count == 2)
            try await daemon.stop()
        }

        @Test(
            "With less than min-free left, photos wait, and are filed when there is room again",
            .enabled(if: canMount, withoutMounts))
        func minFree() async throws {
            let mounted = try MountedHouse(mount: "mount -t tmpfs -o size=9m tmpfs $root/library")
            let house = mounted.house
            let daemon = try await house.start("--set", "filing.min-free=4M")
            let library = mounted.library(of: daemon)
            try write(Data(repeating: 1, count: 6 << 20), to: "\(library)/filler")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "PI-402")
            #expect(house.files(in: library).keys.sorted() == ["filler"])
            unlink("\(library)/filler")
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-402 is over"], within: 90)
            try await daemon.stop()
        }
    }
}
