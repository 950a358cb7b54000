import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// What stands in for a card of FAT where the kernel has none; see its own words.
enum FATCard {
    static let script = String(#filePath.dropLast("CardTests.swift".count)) + "Scripts/fat_card.py"
    static let python: String? = (["/usr/bin/python3", "/usr/local/bin/python3"] as [String]).first { path in
        access(path, X_OK) == 0
    }
    static let canServe = EndToEnd.canHang && python != nil
    static let withoutServing: Comment = "skipped: needs root, /dev/fuse and python3"
    static let canHaveDisk = canServe && access("/dev/loop-control", W_OK) == 0 && access("/sbin/losetup", X_OK) == 0
    static let withoutDisk: Comment = "skipped: needs root, /dev/fuse, python3, loop devices and losetup"
}

extension EndToEnd {
    /// Real mounts in a mount namespace that only the daemon lives in.
    @Suite("Cards are imported when they are mounted", .enabled(if: canMount, withoutMounts))
    struct Cards {
        private static let configuration = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            [cards]
            import = "yes"
            below = ["@media"]
            """

        private static let ownMounts = ["/usr/bin/unshare", "-m", "--propagation", "private"]

        private func house(_ command: [String] = ownMounts, photos: Int = 6) throws -> House {
            let house = try House(running: command)
            for name in ["st", "stage", "media", "media/EOS", "card"] { try makeDirectory(house.path(name)) }
            try fill(house.path("card"), photos: photos)
            return house
        }

        private func fill(_ card: String, photos: Int) throws {
            for name in ["/DCIM", "/DCIM/100CANON", "/MISC"] { try makeDirectory(card + name) }
            for number in 0..<photos {
                try write(try Photos.unique(number), to: "\(card)/DCIM/100CANON/IMG_\(number).JPG")
            }
            try write(try Photos.unique(500), to: "\(card)/MISC/other.jpg")
        }

        /// Runs a shell's commands where the daemon lives: `$1` is the house.
        private func inside(_ daemon: RunningProgram, _ house: House, _ commands: String) async throws {
            let root = house.root
            try await aside {
                try runProgram([
                    "/usr/bin/nsenter", "-m", "-t", "\(daemon.pid)", "/bin/sh", "-ec",
                    "PATH=/usr/sbin:/usr/bin:/sbin:/bin; cd \"$1\"; \(commands)", "sh", root,
                ])
            }
        }

        /// A card is whole when it is mounted, so it is filled where nobody looks.
        private static let stage = "mount -t tmpfs stage stage; cp -a card/. stage;"

        private func words(_ house: House) async throws -> String {
            let program = try RunningProgram([
                BuiltPrograms.path("photoinbox"), "status", "--config", house.path("photoinbox.toml"),
            ])
            _ = try await program.ending()
            return program.lines.joined(separator: "\n")
        }

        /// Until it is seen to be out: the kernel gives the next mount the same number, and one that takes its place within
        /// a millisecond is the same to whoever looks at the table.
        private func takeOut(_ daemon: RunningProgram, _ house: House) async throws {
            let before = daemon.count(of: "the mount table has changed")
            try await inside(daemon, house, "umount media/EOS")
            while daemon.count(of: "the mount table has changed") == before {
                try await daemon.line(holding: "the mount table has changed")
            }
        }

        @Test("Mounted: its photos are filed, journal, status and dump tell; mounted again there is nothing new")
        func mounted() async throws {
            let house = try house()
            let daemon = try await house.start(configuration: Self.configuration)
            #expect(try await house.state(of: daemon).cards?.isEmpty == true)
            try await inside(daemon, house, "\(Self.stage) mount --bind stage media/EOS")
            try await daemon.lines(
                holding: [
                    "card at \(house.path("media/EOS")) (stage, tmpfs): importing DCIM into inbox",
                    "imported into inbox in ", ": 6 copied (",
                ] + Array(repeating: "filed inbox/import-", count: 6))
            let library = house.files(in: house.library)
            #expect(library.count == 6 && library.keys.allSatisfy { $0.contains("IMG_") })
            let card = try #require(try await house.state(of: daemon).cards?.first)
            #expect(card.phase == "imported" && card.copied == 6 && card.files == 6 && card.totalFiles == 6)
            #expect(card.mounted == true && card.failed == 0 && card.totalBytes == card.bytes, "\(card)")
            let text = try await words(house)
            #expect(text.contains("media/EOS: imported ") && text.contains("6 copied"), "\(text)")
            #expect(text.contains("problems  none"), "\(text)")

            // Nothing of it is held open: it can be taken out.
            try await takeOut(daemon, house)
            try await inside(daemon, house, "mount --bind stage media/EOS")
            try await daemon.line(holding: "imported into inbox in ", "nothing new, 6 filed already")
            // Nothing was changed on it, and nothing else taken from it.
            try await inside(daemon, house, "diff -r card media/EOS; umount media/EOS")
            try await daemon.line(holding: "the mount table has changed")
            // The state shows it a moment after the log.
            let gone = try #require(try await house.state(of: daemon) { $0.cards?.first?.mounted == nil }.cards)
            #expect(gone.count == 1 && gone[0].mounted == nil && gone[0].known == 6 && gone[0].copied == 0, "\(gone)")
            #expect(house.files(in: house.library) == library)
            try await daemon.stop()
        }

        @Test("What has no DCIM, a link to one, or lies elsewhere, is left alone; so are all without [cards]")
        func leftAlone() async throws {
            let house = try house()
            let daemon = try await house.start(configuration: Self.configuration)
            try await inside(
                daemon, house,
                """
                mount -t tmpfs a stage; mkdir stage/photos; cp card/DCIM/100CANON/IMG_0.JPG stage
                mount --bind stage media/EOS
                """)
            try await daemon.line(holding: "media/EOS is no card")
            try await takeOut(daemon, house)
            try await inside(
                daemon, house, "mv stage/photos stage/real; ln -s real stage/DCIM; mount --bind stage media/EOS")
            try await daemon.line(holding: "media/EOS is no card")
            // A disk of ours: a part of it is mounted in an inbox.
            try await takeOut(daemon, house)
            try await inside(
                daemon, house,
                """
                rm stage/DCIM; cp -a card/DCIM stage; mkdir stage/ours inbox/ours
                mount --bind stage/ours inbox/ours; mount --bind stage media/EOS
                """)
            try await daemon.line(holding: "media/EOS is no card")
            try await inside(
                daemon, house, "umount inbox/ours; rm -r stage/DCIM stage/ours inbox/ours; ln -s real stage/DCIM")
            // A card, but not below one of the places; and a part of a file system that is no mount of the whole.
            try await inside(
                daemon, house,
                "umount media/EOS; rm stage/DCIM; cp -a card/DCIM stage; mount --bind stage/DCIM media/EOS")
            #expect(try await house.state(of: daemon).cards?.isEmpty == true)
            // Told by the configuration that it is none any more, then that it is one after all.
            try house.configure(Self.configuration.replacing("\"yes\"", with: "\"no\""))
            try await inside(daemon, house, "umount media/EOS")
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "configuration from ")
            try await inside(daemon, house, "mount --bind stage media/EOS")
            #expect(try await house.state(of: daemon).cards == nil)
            #expect(daemon.count(of: "importing DCIM") == 0 && house.files(in: house.inbox).isEmpty)
            try house.configure(Self.configuration)
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "imported into inbox in ", "6 copied")
            try await daemon.stop()
        }

        @Test("One that is mounted already is imported at the start; one with no room for it says so, and goes on")
        func atTheStart() async throws {
            let house = try house(
                Self.ownMounts + [
                    "/bin/sh", "-ec",
                    """
                    PATH=/usr/sbin:/usr/bin:/sbin:/bin; cd "${2%/*}"; \(Self.stage) mount --bind stage media/EOS
                    mount -t tmpfs -o size=20k,mode=755 inbox inbox
                    exec "$0" "$@"
                    """,
                ])
            let daemon = try await house.start(configuration: Self.configuration)
            try await daemon.lines(holding: [
                "not imported entirely: DCIM/100CANON/IMG_", "PI-211 not all photos of the card at ", "do not erase it",
            ])
            let card = try #require(try await house.state(of: daemon).cards?.first)
            #expect(card.phase == "incomplete" && card.failed > 0, "\(card)")
            let text = try await words(house)
            #expect(text.contains("PI-211") && text.contains("no space left in the inbox's file system"), "\(text)")
            try await inside(daemon, house, "mount -o remount,size=16m inbox")
            try await daemon.line(holding: "the mount table has changed", "size=16384k")
            try await takeOut(daemon, house)
            // Gone, with photos on it that are nowhere else: it is told on.
            #expect(try await house.state(of: daemon).problems.contains { $0.code == "PI-211" })
            try await inside(daemon, house, "mount --bind stage media/EOS")
            try await daemon.lines(holding: ["imported into inbox in ", "PI-211 is over"])
            try await library(of: house, daemon, has: 6)
            try await daemon.stop()
        }

        /// Waits until so many photos are filed.
        private func library(of house: House, _ daemon: RunningProgram, has count: Int) async throws {
            let limit = ContinuousClock.now + .seconds(waitLimit)
            while house.files(in: house.library).count < count, ContinuousClock.now < limit {
                _ = try await house.state(of: daemon)
            }
            #expect(house.files(in: house.library).count == count)
        }

        /// Serves the card as FAT would be, one file of which is not answered for until `release` is there.
        private func serve(_ daemon: RunningProgram, _ house: House, hold: Bool) async throws {
            let extra = hold ? " --hold IMG_5.JPG \(house.path("release"))" : ""
            try await inside(
                daemon, house,
                "\(FATCard.python ?? "") \(FATCard.script) card media/EOS --block \(house.path("disk"))\(extra)")
        }

        @Test(
            "Pulled in the middle: told, nothing lost; mounted again it goes on, and nothing comes twice",
            .enabled(if: FATCard.canHaveDisk, FATCard.withoutDisk))
        func pulled() async throws {
            let house = try house(photos: 60)
            let daemon = try await house.start(configuration: Self.configuration)
            try await serve(daemon, house, hold: true)
            // What comes before it in the order of names is brought; a whole batch of it has its names already.
            try await daemon.lines(30, holding: "filed inbox/import-")
            let now = try #require(try await house.state(of: daemon).cards?.first)
            #expect(now.phase == "importing" && now.totalFiles == 60 && now.files < 60, "\(now)")
            let text = try await words(house)
            #expect(text.contains("media/EOS: importing into inbox, ") && text.contains(" of 60 files, "), "\(text)")
            try await inside(daemon, house, "umount -l media/EOS")
            try await daemon.line(holding: "the mount table has changed")
            _ = try await house.state(of: daemon) { $0.cards?.first.map { $0.mounted == nil } ?? false }
            try write(Data(), to: house.path("release"))
            try await daemon.lines(holding: ["not imported entirely: taken out in the middle", "PI-211"])
            let card = try #require(try await house.state(of: daemon).cards?.first)
            #expect(card.phase == "incomplete" && card.mounted == nil && card.copied >= 30, "\(card)")

            try await serve(daemon, house, hold: false)
            try await daemon.lines(holding: ["imported into inbox in ", "PI-211 is over"])
            try await inside(daemon, house, "umount media/EOS")
            try await library(of: house, daemon, has: 60)
            #expect(Set(house.files(in: house.library).values) == Set(try (0..<60).map { try Photos.unique($0) }))
            #expect(house.files(in: house.duplicates).isEmpty)
            try await daemon.stop()
            house.expectNoTemporaries()
        }

        @Test(
            "One that does not answer keeps the daemon neither from filing nor from its end",
            .enabled(if: FATCard.canHaveDisk, FATCard.withoutDisk))
        func hanging() async throws {
            let house = try house()
            let daemon = try await house.start(configuration: Self.configuration)
            try await serve(daemon, house, hold: true)
            try await daemon.line(holding: "importing DCIM into inbox")
            try house.drop(try Photos.unique(700), as: "other.jpg")
            try await daemon.line(holding: "filed inbox/other.jpg")
            daemon.signal(SIGTERM)
            try await daemon.line(holding: "stopped, 0 monitors left")
            // The kernel keeps a process until a server that has taken its request answers.
            try write(Data(), to: house.path("release"))
            #expect(try await daemon.ending() == .status(0))
        }
    }
}
