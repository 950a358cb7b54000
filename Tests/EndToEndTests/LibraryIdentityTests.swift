import Catalogue
import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Photos filed into a bare mount point or onto a wrong disk would be hidden or lost when the library is back.
    @Suite("The identity of the library")
    struct LibraryIdentity {
        /// Files one photo, by which the library can be recognised.
        private func used(_ house: House) async throws -> RunningProgram {
            let daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            return daemon
        }

        @Test(
            "Another directory at the library's path is not used, whether found at start-up or later",
            arguments: [false, true])
        func replaced(isRestarted: Bool) async throws {
            let house = try House()
            var daemon = try await used(house)
            if isRestarted { try await daemon.stop() }
            try move(house.library, to: "\(house.outside)/library")
            try makeDirectory(house.library)
            // Detected at start-up, or when the photo arrives.
            if isRestarted { daemon = try await house.start(reporting: ["PI-406"]) }
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: isRestarted ? "deferred inbox/a.jpg" : "PI-406")
            // The library may be checked before the photo.
            let state = try await house.state(of: daemon) { $0.inHand.map(\.file) == ["a.jpg"] }
            #expect(state.problems.map(\.code) == ["PI-406"])
            #expect(house.files(in: house.library).isEmpty, "nothing of ours goes into it")
            #expect(house.files(in: house.inbox).keys.sorted() == ["a.jpg"])
            // An audit of it would report every photo as missing.
            daemon.signal(SIGUSR2)
            try move(house.library, to: "\(house.outside)/impostor")
            try move("\(house.outside)/library", to: house.library)
            daemon.signal(SIGUSR2)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-406 is over"])
            #expect(house.files(in: house.library).count == 2)
            #expect(house.files(in: "\(house.outside)/impostor").isEmpty)
            try await daemon.stop()
        }

        @Test("An idle daemon detects that its library is missing, replaced, and back")
        func idle() async throws {
            let house = try House()
            let daemon = try await used(house)
            try move(house.library, to: "\(house.outside)/library")
            try await daemon.line(holding: "PI-401")
            #expect(try await house.state(of: daemon).program.status.hasPrefix("FILING STOPPED: PI-401"))
            try makeDirectory(house.library)
            try await daemon.lines(holding: ["PI-406", "PI-401 is over"])
            try move(house.library, to: "\(house.outside)/impostor")
            try move("\(house.outside)/library", to: house.library)
            try await daemon.line(holding: "PI-406 is over")
            // Between the two moves it was missing for a moment.
            _ = try await house.state(of: daemon) { $0.problems.isEmpty }
            #expect(house.files(in: house.inbox).isEmpty && house.files(in: house.library).count == 1)
            try await daemon.stop()
        }

        @Test(
            "An empty XFS disk with the library's device number is not accepted",
            .enabled(
                if: canMount && access("/dev/loop-control", W_OK) == 0 && access("/sbin/mkfs.xfs", X_OK) == 0,
                "skipped: needs root, loop devices and mkfs.xfs"))
        func emptyDisk() async throws {
            let script = """
                set -e; cd "$1"; truncate -s 320M image; losetup --find --show image > disk
                mkfs.xfs -q -f "$(cat disk)"
                """
            let mounted = try MountedHouse(mount: "mount $(cat $root/disk) $root/library")
            let house = mounted.house
            try runProgram(["/bin/sh", "-c", "PATH=/usr/sbin:/sbin:$PATH; " + script, "sh", house.root])
            defer { try? runProgram(["/bin/sh", "-c", "/sbin/losetup -d $(cat \(house.root)/disk)"]) }
            try await used(house).stop()
            try runProgram(["/bin/sh", "-c", "exec /sbin/mkfs.xfs -q -f $(cat \(house.root)/disk)"])
            let daemon = try await house.start(reporting: ["PI-406"])
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "deferred", "a.jpg")
            #expect(house.files(in: mounted.library(of: daemon)).isEmpty)
            #expect(house.files(in: house.inbox).keys.sorted() == ["a.jpg"])
            try await daemon.stop()
        }

        @Test(
            "The bare mount point of the quarantine's disk is not used", .enabled(if: canMount, withoutMounts))
        func quarantineAway() async throws {
            let mounted = try MountedHouse(mount: "mkdir -p $root/q && mount -t tmpfs q $root/q")
            let house = mounted.house
            let daemon = try await house.start("--quarantine", house.path("q"), "--patience", "1s")
            try house.drop(Data(), as: "empty.jpg")
            try await daemon.line(holding: "quarantined inbox/empty.jpg")
            let quarantine = "/proc/\(daemon.pid)/root\(house.path("q"))"
            try makeDirectory(house.path("else"))
            try MountedHouse.run("/bin/mount", "--bind", house.path("q"), house.path("else"), beside: daemon)
            try MountedHouse.run("/bin/umount", "-l", house.path("q"), beside: daemon)
            try await daemon.line(holding: "PI-412")
            try house.drop(Data(), as: "second.jpg")
            try await daemon.line(holding: "deferred", "second.jpg", "is not available")
            #expect(house.files(in: quarantine).isEmpty && house.files(in: house.inbox).count == 1)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try MountedHouse.run("/bin/mount", "--move", house.path("else"), house.path("q"), beside: daemon)
            try await daemon.lines(holding: ["quarantined inbox/second.jpg", "PI-412 is over"])
            #expect(house.files(in: "\(quarantine)/inbox").keys.contains("empty.jpg"))
            try await daemon.stop()
        }

        @Test(
            "The bare mount point of a disk within the library is not used",
            .enabled(if: canMount, withoutMounts)
        )
        func innerMountAway() async throws {
            let mounted = try MountedHouse(mount: "mkdir -p $root/library/2024 && mount -t tmpfs y $root/library/2024")
            let house = mounted.house
            let daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            let library = mounted.library(of: daemon)
            try makeDirectory(house.path("else"))
            try MountedHouse.run("/bin/mount", "--bind", "\(house.library)/2024", house.path("else"), beside: daemon)
            try MountedHouse.run("/bin/umount", "-l", "\(house.library)/2024", beside: daemon)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["deferred inbox/a.jpg", "PI-412"])
            #expect(house.files(in: library).isEmpty && house.files(in: house.inbox).count == 1)
            try MountedHouse.run("/bin/mount", "--move", house.path("else"), "\(house.library)/2024", beside: daemon)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-412 is over"])
            #expect(house.files(in: library).count == 2)
            try await daemon.stop()
        }

        @Test(
            "verify --repair strikes no record of a disk within the library that is not mounted",
            .enabled(if: canMount, withoutMounts))
        func innerMountNotStruck() async throws {
            let mounted = try MountedHouse(mount: "mkdir -p $root/library/2024 && mount -t tmpfs y $root/library/2024")
            let house = mounted.house
            let daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            try house.drop(try Photos.named("plain.jpg"), as: "plain.jpg")
            try await daemon.line(holding: "filed inbox/plain.jpg")
            // Where the command runs, nothing is mounted.
            let answer = try await house.askByState("verify", "--repair", "--yes")
            #expect(answer.status == 3 && answer.output.contains("0 struck"), "\(answer.output)")
            #expect(answer.output.contains("photos in \(house.library)/2024 are not struck"), "\(answer.output)")
            #expect(try await house.askByState("list").output.contains("first.jpg"))
            try await daemon.stop()
        }

        @Test("A library that was copied to another disk is recognised by its photos")
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

        @Test("--accept-library accepts another directory, only while no daemon runs")
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
            "An accepted library stays accepted on file systems without a UUID",
            .enabled(if: canMount, withoutMounts))
        func acceptedWithoutUUID() async throws {
            let house = try MountedHouse(mount: "mount -t tmpfs -o size=9m tmpfs $root/library").house
            let daemon = try await used(house)
            try await daemon.stop()
            // Each start mounts a new, empty one.
            let refusing = try await house.start(reporting: ["PI-406"])
            try await refusing.stop()
            let arguments = ["--inbox", house.inbox, "--library", house.library, "--state", house.path("st")]
            let accepting = try house.launch(arguments + ["--accept-library"])
            #expect(try await accepting.ending() == .status(0))
            let again = try await house.start()
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await again.line(holding: "filed inbox/a.jpg")
            try await again.stop()
            // It is now recognised by the photos filed since.
            let next = try await house.start(reporting: ["PI-406", "with 0 of the 1 photos"])
            try await next.stop()
        }

        @Test(
            "The bare mount point of a disk that is missing before the first photo is not used",
            .enabled(if: canMount, withoutMounts))
        func awayBeforeTheFirst() async throws {
            let house = try MountedHouse(mount: "mount -t tmpfs -o size=9m tmpfs $root/library").house
            let daemon = try await house.start()
            // It is known once the daemon has examined it.
            let catalogue = try CatalogueFile.openForReading(house.path("st/catalogue.sqlite"))
            _ = try await poll({ try catalogue.knownPlaces() }, until: { !$0.isEmpty })
            catalogue.close()
            try await daemon.stop()
            let bare = try RunningProgram([
                BuiltPrograms.path("photoinboxd"), "--inbox", house.inbox, "--library", house.library, "--state",
                house.path("st"), "--log-level", "debug",
            ])
            try await bare.line(holding: "PI-406", "is not mounted")
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await bare.line(holding: "deferred inbox/a.jpg")
            #expect(house.files(in: house.library).isEmpty)
            bare.signal(SIGTERM)
            #expect(try await bare.ending() == .status(0))
        }

        @Test(
            "The bare mount point of a library that was unmounted lazily is not used",
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
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-406 is over"])
            #expect(house.files(in: mounted.library(of: daemon)).count == 2)
            try await daemon.stop()
        }

        @Test(
            "With less than min-free left photos wait, and are filed when there is space again",
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
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-402 is over"])
            try await daemon.stop()
        }
    }
}
