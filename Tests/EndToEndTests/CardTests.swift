import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// Emulates a FAT card for kernels without FAT; see the script.
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
    /// With real mounts in the daemon's own mount namespace.
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

        /// Runs shell commands in the daemon's mount namespace; `$1` is the house.
        private func inside(_ daemon: RunningProgram, _ house: House, _ commands: String) async throws {
            let root = house.root
            try await aside {
                try runProgram([
                    "/usr/bin/nsenter", "-m", "-t", "\(daemon.pid)", "/bin/sh", "-ec",
                    "PATH=/usr/sbin:/usr/bin:/sbin:/bin; cd \"$1\"; \(commands)", "sh", root,
                ])
            }
        }

        /// A card is complete when it is mounted, so it is filled at another place.
        private static let stage = "mount -t tmpfs stage stage; cp -a card/. stage;"

        private func words(_ house: House) async throws -> String {
            let program = try RunningProgram([
                BuiltPrograms.path("photoinbox"), "status", "--config", house.path("photoinbox.toml"),
            ])
            _ = try await program.ending()
            return program.lines.joined(separator: "\n")
        }

        /// Unmounts the card and waits until the daemon sees that: the kernel gives the next mount the same number, and
        /// one that replaces it within a millisecond is indistinguishable in the table.
        private func unmountCard(_ daemon: RunningProgram, _ house: House) async throws {
            let before = daemon.count(of: "the mount table has changed")
            try await inside(daemon, house, "umount media/EOS")
            while daemon.count(of: "the mount table has changed") == before {
                try await daemon.line(holding: "the mount table has changed")
            }
        }

        @Test("A mounted card is imported and reported, and a second mount imports nothing new")
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

            // No file of it is held open, so it can be unmounted.
            try await unmountCard(daemon, house)
            try await inside(daemon, house, "mount --bind stage media/EOS")
            try await daemon.line(holding: "imported into inbox in ", "nothing new, 6 filed already")
            // The card is unchanged, and no other file was imported.
            try await inside(daemon, house, "diff -r card media/EOS; umount media/EOS")
            try await daemon.line(holding: "the mount table has changed")
            // The state is updated shortly after the log.
            let gone = try #require(try await house.state(of: daemon) { $0.cards?.first?.mounted == nil }.cards)
            #expect(gone.count == 1 && gone[0].mounted == nil && gone[0].known == 6 && gone[0].copied == 0, "\(gone)")
            #expect(house.files(in: house.library) == library)
            try await daemon.stop()
        }

        @Test("Mounts without DCIM, with a link to one, or elsewhere are ignored, and all are without [cards]")
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
            try await unmountCard(daemon, house)
            try await inside(
                daemon, house, "mv stage/photos stage/real; ln -s real stage/DCIM; mount --bind stage media/EOS")
            try await daemon.line(holding: "media/EOS is no card")
            // A disk in use: a part of it is mounted in an inbox.
            try await unmountCard(daemon, house)
            try await inside(
                daemon, house,
                """
                rm stage/DCIM; cp -a card/DCIM stage; mkdir stage/ours inbox/ours
                mount --bind stage/ours inbox/ours; mount --bind stage media/EOS
                """)
            try await daemon.line(holding: "media/EOS is no card")
            try await inside(
                daemon, house, "umount inbox/ours; rm -r stage/DCIM stage/ours inbox/ours; ln -s real stage/DCIM")
            // A card that is not below one of the places, and a mount of only a part of a file system.
            try await inside(
                daemon, house,
                "umount media/EOS; rm stage/DCIM; cp -a card/DCIM stage; mount --bind stage/DCIM media/EOS")
            #expect(try await house.state(of: daemon).cards?.isEmpty == true)
            // Switched off by the configuration, then on again.
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

        @Test("A card that is already mounted is imported at start-up; without enough space that is reported")
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
            try await unmountCard(daemon, house)
            // Unmounted with photos that are nowhere else: the problem continues.
            #expect(try await house.state(of: daemon).problems.contains { $0.code == "PI-211" })
            try await inside(daemon, house, "mount --bind stage media/EOS")
            try await daemon.lines(holding: ["imported into inbox in ", "PI-211 is over"])
            try await library(of: house, daemon, has: 6)
            try await daemon.stop()
        }

        /// Waits until `count` photos are filed.
        private func library(of house: House, _ daemon: RunningProgram, has count: Int) async throws {
            let limit = ContinuousClock.now + .seconds(waitLimit)
            while house.files(in: house.library).count < count, ContinuousClock.now < limit {
                _ = try await house.state(of: daemon)
            }
            #expect(house.files(in: house.library).count == count)
        }

        /// Serves the card as FAT; reads of one file block until `release` exists.
        private func serve(_ daemon: RunningProgram, _ house: House, hold: Bool) async throws {
            let extra = hold ? " --hold IMG_5.JPG \(house.path("release"))" : ""
            try await inside(
                daemon, house,
                "\(FATCard.python ?? "") \(FATCard.script) card media/EOS --block \(house.path("disk"))\(extra)")
        }

        @Test(
            "A card that is removed during the import is reported, and the next mount imports the rest once",
            .enabled(if: FATCard.canHaveDisk, FATCard.withoutDisk))
        func pulled() async throws {
            let house = try house(photos: 60)
            let daemon = try await house.start(configuration: Self.configuration)
            try await serve(daemon, house, hold: true)
            // The files before it in the order of names are copied, and a whole batch has its final names.
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
            "A card that does not respond delays neither filing nor shutdown",
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
            // The kernel keeps a process until the server answers its request.
            try write(Data(), to: house.path("release"))
            #expect(try await daemon.ending() == .status(0))
        }
    }
}
