import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// A house whose library is a separate file system, in the daemon's own mount namespace.
struct MountedHouse {
    let house: House

    /// `mount` is a command that mounts a file system on `$root/library`.
    init(mount: String) throws {
        // `$0` is the daemon, `$1` and `$2` are `--inbox` and the inbox, or `--config` and the file, both in the house.
        let script = "PATH=/usr/sbin:/usr/bin:/sbin:/bin; root=${2%/*}; \(mount) && exec \"$0\" \"$@\""
        house = try House(running: ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script])
    }

    /// The library as the daemon sees it.
    func library(of daemon: RunningProgram) -> String { "/proc/\(daemon.pid)/root\(house.library)" }

    /// Runs a program in the daemon's mount namespace.
    static func run(_ arguments: String..., beside daemon: RunningProgram) throws {
        try runProgram(["/usr/bin/nsenter", "-m", "-t", "\(daemon.pid)"] + arguments)
    }
}

extension EndToEnd {
    @Suite("Problems with the library are reported, waited for, and end by themselves")
    struct Trouble {
        @Test("Photos wait while the library is missing, and are filed when it is back", arguments: [false, true])
        func missing(wasUsed: Bool) async throws {
            let house = try House()
            let daemon = try await house.start()
            if wasUsed {
                try house.drop(try Photos.unique(0), as: "first.jpg")
                try await daemon.line(holding: "filed inbox/first.jpg")
            }
            try move(house.library, to: "\(house.outside)/library")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "PI-401")
            var state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code) == ["PI-401"])
            #expect(state.program.status.hasPrefix("FILING STOPPED: PI-401"))
            #expect(state.inHand.map(\.file) == ["a.jpg"] && house.files(in: house.inbox).count == 1)
            #expect(access(house.library, F_OK) != 0, "it is not made: its disk may just not be mounted")
            try move("\(house.outside)/library", to: house.library)
            // Detected by itself; with SIGUSR2 at once.
            daemon.signal(SIGUSR2)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-401 is over"])
            state = try await house.state(of: daemon)
            #expect(state.problems.isEmpty)
            #expect(house.files(in: house.library).count == (wasUsed ? 2 : 1))
            try await daemon.stop()
        }

        @Test("Photos wait while the library is full", .enabled(if: canMount, withoutMounts))
        func full() async throws {
            let mounted = try MountedHouse(mount: "mount -t tmpfs -o size=1m tmpfs $root/library")
            let house = mounted.house
            let daemon = try await house.start()
            let library = mounted.library(of: daemon)
            try write(Data(repeating: 1, count: 900 << 10), to: "\(library)/filler")
            let photo = try Photos.large(1, bytes: 400 << 10)
            try house.drop(photo, as: "a.jpg")
            let told = try await daemon.line(holding: "PI-402")
            let figures = #/: ([0-9.]+) kB needed for a photo, ([0-9.]+) kB free/#
            let room = try #require(told.firstMatch(of: figures), "\(told)")
            let (needed, free) = (try #require(Double(room.1)), try #require(Double(room.2)))
            #expect(free < needed && told.contains("1 photo waits"), "\(told)")
            // Still too little, so that no retry may file the photo meanwhile. Where the library does not answer at once, the
            // figure before is reported.
            truncate("\(library)/filler", 700 << 10)
            let status = try await poll({ try await house.askByState("status") }) { status in
                status.output.firstMatch(of: figures).flatMap { Double($0.2) }.map { $0 > free + 100 } == true
            }
            #expect(status.output.contains("1 photo waits"), "\(status)")
            #expect(house.files(in: house.inbox) == ["a.jpg": photo])
            #expect(house.files(in: library).keys.sorted() == ["filler"], "nothing half-done stays in the library")
            unlink("\(library)/filler")
            // By itself: the next try is within a minute.
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-402 is over"])
            #expect(house.files(in: library) == ["\(Photos.day)/a.jpg": photo])
            try await daemon.stop()
        }

        @Test(
            "A full disk is tested again, so the problem ends even if the photo was removed",
            .enabled(if: canMount, withoutMounts), arguments: ["library", "st"])
        func fullWithoutPhoto(which: String) async throws {
            let mounted = try MountedHouse(
                mount: "mkdir -p $root/\(which) && mount -t tmpfs -o size=9m tmpfs $root/\(which)")
            let house = mounted.house
            let code = which == "library" ? "PI-402" : "PI-501"
            let daemon = try await house.start()
            let filler = "/proc/\(daemon.pid)/root\(house.path(which))/filler"
            let file = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            let block = [UInt8](repeating: 0xAA, count: 4096)
            while Glibc.write(file, block, block.count) > 0 {}
            close(file)
            try house.drop(try Photos.large(1, megabytes: 2), as: "a.jpg")
            try await daemon.line(holding: code)
            unlink("\(house.inbox)/a.jpg")
            try await daemon.line(holding: "withdrawn inbox/a.jpg")
            unlink(filler)
            try await daemon.line(holding: "\(code) is over")
            try await daemon.stop()
        }

        @Test(
            "A card can be unmounted when its photos are filed, and mounted again",
            .enabled(if: canMount, withoutMounts)
        )
        func card() async throws {
            let mount = "mount -t tmpfs -o size=9m tmpfs "
            let house = try MountedHouse(mount: mount + "$root/inbox").house
            let daemon = try await house.start()
            let inbox = "/proc/\(daemon.pid)/root\(house.inbox)"
            try write(try Photos.unique(1), to: "\(inbox)/a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            // No file of it is held open for long.
            let unmount = "for try in $(seq 50); do umount \"$0\" 2>&- && exit; sleep 0.02; done; exec umount \"$0\""
            try MountedHouse.run("/bin/sh", "-c", unmount, house.inbox, beside: daemon)
            try MountedHouse.run("/bin/mount", "-t", "tmpfs", "tmpfs", house.inbox, beside: daemon)
            try write(try Photos.unique(2), to: "\(inbox)/b.jpg")
            try await daemon.line(holding: "filed inbox/b.jpg")
            #expect(house.files(in: house.library).count == 2)
            try await daemon.stop()
        }

        @Test(
            "An inbox that is unmounted and mounted again is reported, and its files do not count as removed",
            .enabled(if: canMount, withoutMounts))
        func unmountedInbox() async throws {
            let house = try MountedHouse(mount: "mount -t tmpfs -o size=9m tmpfs $root/inbox").house
            let daemon = try await house.start("--mode", "copy")
            let inbox = "/proc/\(daemon.pid)/root\(house.inbox)"
            try write(try Photos.unique(1), to: "\(inbox)/a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try makeDirectory(house.path("else"))
            try MountedHouse.run("/bin/mount", "--move", house.inbox, house.path("else"), beside: daemon)
            try await daemon.line(holding: "inbox inbox went away", "another directory")
            try write(try Photos.unique(2), to: "/proc/\(daemon.pid)/root\(house.path("else"))/b.jpg")
            try MountedHouse.run("/bin/mount", "--move", house.path("else"), house.inbox, beside: daemon)
            try await daemon.line(holding: "filed inbox/b.jpg")
            let state = try await house.state(of: daemon)
            #expect(state.inboxes.first?.counts.seen == 2 && state.inboxes.first?.counts.withdrawn == 0)
            #expect(state.inboxes.first?.verdict == "live" && state.problems.isEmpty)
            #expect(house.files(in: house.library).count == 2)
            try await daemon.stop()
        }

        @Test("An inbox whose parent is renamed is a problem with cause, effect and action, until it is back")
        func ancestorRenamed() async throws {
            let house = try House()
            for name in ["card", "card/DCIM"] { try makeDirectory(house.path(name)) }
            let daemon = try await house.start(
                configuration: """
                    library = "@library"
                    state = "@st"
                    [inbox.card]
                    path = "@card/DCIM"
                    """)
            try move(house.path("card"), to: house.path("away"))
            try await daemon.line(holding: "inbox card went away", "No such file or directory")
            try await daemon.line(holding: "PI-203", "card")
            var state = try await house.state(of: daemon)
            #expect(state.inboxes.first?.verdict == "gone")
            #expect(state.inboxes.first?.reason?.contains("No such file or directory") ?? false)
            let problem = try #require(state.problems.first)
            #expect(problem.code == "PI-203" && problem.effect.contains("other inboxes continue"))
            #expect(problem.action.contains("detected automatically"))
            try house.drop(try Photos.unique(1), as: "a.jpg", into: house.path("away/DCIM"))
            try move(house.path("away"), to: house.path("card"))
            try await daemon.lines(holding: ["filed card/a.jpg", "PI-203 is over for card"])
            state = try await house.state(of: daemon)
            #expect(state.problems.isEmpty && state.inboxes.first?.verdict == "live")
            try await daemon.stop()
        }

        @Test("Free space is read when it is reported", .enabled(if: canMount, withoutMounts))
        func freeSpace() async throws {
            let mounted = try MountedHouse(mount: "mount -t tmpfs -o size=9m tmpfs $root/library")
            let house = mounted.house
            let daemon = try await house.start()
            func free() async throws -> [Int] {
                var found: [Int] = []
                for command in [["status", "--json"], ["metrics"]] {
                    let program = try RunningProgram(
                        [BuiltPrograms.path("photoinbox")] + command + ["--state", house.path("st")])
                    _ = try await program.ending()
                    let figure = #/(?:"free_bytes":|(?m:^)photoinbox_library_free_bytes )([0-9]+)/#
                    let text = program.lines.joined(separator: "\n")
                    found.append(text.firstMatch(of: figure).flatMap { Int($0.1) } ?? -1)
                }
                return found
            }
            let before = try await free()
            try write(Data(count: 3 << 20), to: "\(mounted.library(of: daemon))/film.mov")
            // Where the library does not answer at once, the figure before is reported.
            _ = try await poll({ try await free() }) { after in zip(before, after).allSatisfy { $0 - $1 == 3 << 20 } }
            try await daemon.stop()
        }

        @Test(
            "On NTFS, characters that it forbids become _, and names that differ only in case are distinct",
            .enabled(
                if: canMount && access("/dev/fuse", W_OK) == 0 && access("/usr/bin/lowntfs-3g", X_OK) == 0,
                "skipped: needs root, FUSE and ntfs-3g"))
        func ntfs() async throws {
            let mounted = try MountedHouse(
                mount: """
                    truncate -s 32M $root/disk && mkfs.ntfs -F -Q -q $root/disk 2>/dev/null &&
                    lowntfs-3g -o windows_names,ignore_case $root/disk $root/library
                    """)
            let house = mounted.house
            let daemon = try await house.start()
            let names = ["a:b?.jpg", "IMG_1.JPG", "img_1.jpg"]
            for (number, name) in names.enumerated() { try house.drop(try Photos.unique(number), as: name) }
            try await daemon.lines(holding: names.map { "filed inbox/\($0) as \(Photos.day)/" })
            // This driver reports all names in lower case.
            let library = house.files(in: mounted.library(of: daemon)).filter { !$0.key.contains("/.photo-inbox") }
            #expect(library["\(Photos.day)/a_b_.jpg"] == (try Photos.unique(0)), "\(library.keys)")
            #expect(library.count == 3 && Set(library.values).count == 3, "\(library.keys)")
            try await daemon.stop()
        }

        @Test("Photos wait while the library is read-only", .enabled(if: canMount, withoutMounts))
        func readOnly() async throws {
            let mounted = try MountedHouse(mount: "mount -t tmpfs -o size=9m tmpfs $root/library")
            let house = mounted.house
            let daemon = try await house.start()
            let library = mounted.library(of: daemon)
            try MountedHouse.run("/bin/mount", "-o", "remount,ro", house.library, beside: daemon)
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "PI-403")
            #expect(house.files(in: house.inbox) == ["a.jpg": photo])
            try MountedHouse.run("/bin/mount", "-o", "remount,rw", house.library, beside: daemon)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-403 is over"])
            #expect(house.files(in: library) == ["\(Photos.day)/a.jpg": photo])
            try await daemon.stop()
        }

        @Test(
            "With a library that does not respond the state is still dumped, with the blocked step",
            .enabled(if: canFreeze, withoutDisks), .timeLimit(.minutes(60)))
        func stuck() async throws {
            let mounted = try MountedHouse(
                mount:
                    "truncate -s 32M $root/disk && mkfs.ext4 -q -F $root/disk && mount -o loop $root/disk $root/library"
            )
            let house = mounted.house
            let daemon = try await house.start()
            let library = mounted.library(of: daemon)
            try house.drop(try Photos.unique(1), as: "before.jpg")
            try await daemon.line(holding: "filed inbox/before.jpg")
            // Every write to it blocks while it is frozen.
            try MountedHouse.run("/sbin/fsfreeze", "-f", house.library, beside: daemon)
            let thaw = Locked(true)
            defer {
                if thaw.withLock({ $0 }) {
                    try? MountedHouse.run("/sbin/fsfreeze", "-u", house.library, beside: daemon)
                }
            }
            let photo = try Photos.unique(2)
            try house.drop(photo, as: "a.jpg")
            // The dump is written at once.
            var state = try await house.state(of: daemon)
            #expect(state.inHand.count <= 1)
            // The problem is reported after a while.
            try await daemon.line(holding: "PI-105", "files of inbox")
            state = try await house.state(of: daemon)
            let files = try #require(state.subsystems.first { $0.name == "files of inbox" })
            #expect((files.stuckSeconds ?? 0) >= 5 && files.step.contains("a.jpg"), "\(files)")
            #expect(state.subsystems.filter { $0.stuckSeconds != nil }.count == 1, "the others turn")
            #expect(state.inHand.map(\.stage) == ["working"])
            #expect(state.problems.contains { $0.code == "PI-105" && $0.subject == "inbox" })
            #expect(daemon.lines.contains { $0.contains("state in") && $0.contains("files of inbox stuck for") })
            thaw.withLock { $0 = false }
            try MountedHouse.run("/sbin/fsfreeze", "-u", house.library, beside: daemon)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-105 is over for inbox"])
            #expect(house.files(in: library)["\(Photos.day)/a.jpg"] == photo)
            try await daemon.stop()
        }
    }
}
