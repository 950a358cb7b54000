import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Reading, checking and reloading the configuration")
    struct Configuration {
        private static let good = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            """

        @Test("All mistakes are reported with file, line and column, and status 78")
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

        @Test("Missing directories and an inbox inside the library are reported")
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

        @Test(
            "Mounts by which inbox and library overlap are found by --check and at start-up",
            .enabled(if: canMount, withoutMounts),
            arguments: [
                ("mkdir -p $root/library/2024; mount --bind $root/library/2024 $root/inbox", "lies inside the library"),
                (
                    "mkdir -p $root/data/library; mount --bind $root/data $root/inbox; "
                        + "mount --bind $root/data/library $root/library", "contains the library"
                ),
                ("mkdir -p $root/inbox/deep; mount --bind $root/inbox/deep $root/library", "contains the library"),
                ("mount --bind $root/library $root/inbox", "is also the library"),
                (
                    "mount -t tmpfs t $root/outside; cd $root/outside; mkdir up work low; "
                        + "mount -t overlay -o lowerdir=low,upperdir=up,workdir=work o $root/inbox; "
                        + "mount --bind up $root/library", "is also the library"
                ),
                (
                    "mkdir -p $root/outside/both $root/inbox/x $root/library/x; "
                        + "mount --bind $root/outside/both $root/inbox/x; "
                        + "mount --bind $root/outside/both $root/library/x", "has files in common with the library"
                ),
            ])
        func nesting(mount: String, relation: String) async throws {
            let house = try MountedHouse(mount: "set -e; \(mount)").house
            try house.configure(Self.good)
            for flags in [["--check"], []] {
                let daemon = try house.launch(["--config", house.path("photoinbox.toml")] + flags)
                #expect(try await daemon.ending() == .status(78))
                #expect(
                    daemon.lines.count == 1 && daemon.lines[0].contains("photoinbox.toml:4:8: ")
                        && daemon.lines[0].contains("this inbox \(relation), \(house.library)"), "\(daemon.lines)")
            }
            house.expectNoTemporaries()
        }

        @Test(
            "A directory in another spelling is the same if the file system ignores case",
            .enabled(if: canMountFAT, withoutFAT))
        func spelled() async throws {
            let house = try MountedHouse(
                mount: """
                    set -e; truncate -s 8M $root/disk; mkfs.vfat $root/disk >/dev/null; mount -o loop $root/disk $root/outside
                    mkdir -p $root/outside/Photos/in
                    """
            ).house
            try house.configure(
                """
                library = "@outside/Photos"
                state = "@st"
                [inbox.inbox]
                path = "@outside/PHOTOS/in"
                """)
            let daemon = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await daemon.ending() == .status(78))
            #expect(daemon.lines.contains { $0.contains("this inbox lies inside the library") }, "\(daemon.lines)")
        }

        @Test(
            "A library in the inbox that another mount covers does not overlap", .enabled(if: canMount, withoutMounts))
        func covered() async throws {
            let house = try MountedHouse(
                mount: """
                    set -e; mkdir -p $root/data/library; mount --bind $root/data $root/inbox;
                    mount --bind $root/data/library $root/library; mount -t tmpfs t $root/inbox/library
                    """
            ).house
            try house.configure(Self.good)
            let daemon = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await daemon.ending() == .status(0), "\(daemon.lines)")
        }

        @Test(
            "A mount that makes them overlap stops filing until it is removed",
            .enabled(if: canMount, withoutMounts))
        func joinedLater() async throws {
            let house = try MountedHouse(mount: "true").house
            let daemon = try await house.start()
            try house.drop(try Photos.unique(0), as: "first.jpg")
            try await daemon.line(holding: "filed inbox/first.jpg")
            try makeDirectory("\(house.inbox)/deep")
            try MountedHouse.run("/bin/mount", "--bind", house.library, "\(house.inbox)/deep", beside: daemon)
            try await daemon.line(holding: "PI-410")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            let state = try await house.state(of: daemon)
            // A file that was in work at the time of the mount may be reported as one of the library (PI-207).
            #expect(state.problems.map(\.code).filter { $0 != "PI-207" } == ["PI-410"])
            #expect(state.program.status.hasPrefix("FILING STOPPED: PI-410"), "\(state.program.status)")
            #expect(state.problems.first?.what.contains("inbox inbox, \(house.inbox), contains the library") == true)
            #expect(house.files(in: house.library).count == 1, "the library's photo stays where it is")
            try MountedHouse.run("/bin/umount", "\(house.inbox)/deep", beside: daemon)
            try await daemon.lines(holding: ["filed inbox/a.jpg", "PI-410 is over"])
            #expect(house.files(in: house.library).count == 2)
            try await daemon.stop()
        }

        @Test(
            "A new configuration separates overlapping places, and the old one is refused",
            .enabled(if: canMount, withoutMounts))
        func parted() async throws {
            let house = try MountedHouse(mount: "true").house
            try makeDirectory(house.path("second"))
            let both = Self.good + "\n[inbox.second]\npath = \"@second\"\n"
            let daemon = try await house.start(configuration: both)
            try MountedHouse.run("/bin/mount", "--bind", house.library, house.path("second"), beside: daemon)
            try await daemon.line(holding: "PI-410", "inbox second")
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "photoinbox.toml:6:8: ", "this inbox is also the library")
            try house.configure(Self.good)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            daemon.signal(SIGHUP)
            try await daemon.lines(holding: ["PI-410 is over", "filed inbox/a.jpg"])
            try await daemon.stop()
        }

        @Test("--check of a valid configuration reports it and exits with 0")
        func check() async throws {
            let house = try House()
            try house.configure(Self.good)
            let daemon = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await daemon.ending() == .status(0))
            #expect(daemon.lines == ["\(house.path("photoinbox.toml")): configuration OK"])
            #expect(access(house.path("st"), F_OK) != 0, "it makes nothing")
        }

        @Test("--check reports a library that is not that of the catalogue, as the daemon does when it starts")
        func checkOfTheLibrary() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.good)
            try house.drop(try Photos.unique(0), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try await daemon.stop()
            func check(_ status: Int32, _ parts: String...) async throws {
                let check = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
                try await check.lines(holding: parts)
                #expect(try await check.ending() == .status(status), "\(check.lines)")
            }
            try await check(0, "configuration OK")
            try makeDirectory(house.path("elsewhere"))
            try house.configure(Self.good.replacing("@library", with: "@elsewhere"))
            try await check(0, "PI-409: 1 recorded photo is in \(house.library), which is not", "configuration OK")
            try house.configure(Self.good)
            // As where its file system is not mounted.
            try runProgram(["/bin/mv", house.library, house.path("unmounted")])
            try await check(78, "\(house.library)\": no such directory")
            try makeDirectory(house.library)
            try await check(78, "PI-406: the directory at \(house.library) is not the library: ", "cannot be used so")
        }

        @Test(
            "--check of a service's configuration runs as its user, or reports that it did not",
            .enabled(if: canMount && canBeOrdinary, "skipped: needs mounts, and another user who can run the daemon"))
        func checkOfAService() async throws {
            for (user, words) in [
                ("", "as _photoinbox, the user of the service"),
                (
                    asNobody.joined(separator: " "),
                    "as nobody, not as _photoinbox, the user of the service"
                ),
            ] {
                // An /etc with an installed service.
                let house = try MountedHouse(
                    mount: """
                        set -e; mkdir -p $root/etc/photoinbox; cp /etc/passwd /etc/group /etc/nsswitch.conf $root/etc
                        grep -q ^_photoinbox: $root/etc/passwd \
                            || echo _photoinbox:x:64999:65534::/:/bin/false >> $root/etc/passwd
                        cp $root/photoinbox.toml $root/etc/photoinbox; mount --bind $root/etc /etc
                        exec \(user) "$0" --check --config /etc/photoinbox/photoinbox.toml
                        """
                ).house
                try house.configure(Self.good)
                for path in [house.root, house.library, house.inbox] { chmod(path, 0o777) }
                let good = try house.launch(["--config", house.path("photoinbox.toml")])
                #expect(try await good.ending() == .status(0), "\(good.lines)")
                #expect(good.lines == ["/etc/photoinbox/photoinbox.toml: configuration OK, checked \(words)"])
                chmod(house.library, 0o755)
                let bad = try house.launch(["--config", house.path("photoinbox.toml")])
                #expect(try await bad.ending() == .status(78), "\(bad.lines)")
                #expect(bad.lines.last == "checked \(words)", "\(bad.lines)")
            }
        }

        @Test("A user's own configuration needs no --config, and --check fails without any")
        func ownConfiguration() async throws {
            let house = try House()
            for name in ["config", "config/photoinbox"] { try makeDirectory(house.path(name)) }
            let home = ["XDG_CONFIG_HOME": house.path("config"), "XDG_STATE_HOME": house.path("states")]
            try house.configure(Self.good)
            let daemon = try RunningProgram([BuiltPrograms.path("photoinboxd"), "--check"], environment: home)
            if access("/etc/photoinbox/photoinbox.toml", F_OK) != 0 {
                #expect(try await daemon.ending() == .status(78))
                #expect(daemon.lines.first?.contains("no configuration: neither") == true, "\(daemon.lines)")
            }
            try move(house.path("photoinbox.toml"), to: house.path("config/photoinbox/photoinbox.toml"))
            let found = try RunningProgram([BuiltPrograms.path("photoinboxd"), "--check"], environment: home)
            #expect(try await found.ending() == .status(0))
            #expect(found.lines == ["\(house.path("config/photoinbox/photoinbox.toml")): configuration OK"])
            // A service has the manager's state directory and the system's configuration.
            let service = try RunningProgram(
                [BuiltPrograms.path("photoinboxd"), "--check"],
                environment: home.merging(["STATE_DIRECTORY": house.path("st")]) { $1 })
            _ = try await service.ending()
            #expect(!service.lines.contains { $0.contains("config/photoinbox") })
        }

        @Test("A missing file, wrong usage, too few open files, and --help")
        func usage() async throws {
            let house = try House()
            let missing = try house.launch(["--config", house.path("none.toml")])
            #expect(try await missing.ending() == .status(78))
            #expect(missing.lines.first?.contains("none.toml") == true)
            let wrong = try house.launch(["--inbos", "x"])
            #expect(try await wrong.ending() == .status(64))
            let narrow = try House(running: ["/bin/sh", "-c", "ulimit -n 64; exec \"$0\" \"$@\""])
            let started = try narrow.launch(["--inbox", house.inbox, "--library", house.library])
            #expect(try await started.ending() == .status(71))
            #expect(started.lines.first?.contains("limit of open files is 64") == true, "\(started.lines)")
            let help = try house.launch(["--help"])
            #expect(try await help.ending() == .status(0))
            #expect(help.lines.contains { $0.contains("--inbox") })
        }

        @Test("SIGHUP applies a valid configuration and keeps the old one if the new one is invalid")
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

        @Test("SIGHUP during filing loses no photo")
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
            "Without a journal its log goes to standard error",
            .enabled(if: access("/run/systemd/journal/socket", F_OK) != 0, "skipped: there is a journal here"))
        func noJournal() async throws {
            let house = try House()
            let daemon = try await house.start("--log", "journal")
            try await daemon.stop()
            #expect(daemon.lines.contains { $0.contains("the journal was asked for") })
        }
    }
}
