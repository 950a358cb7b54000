import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Imports of cards and archives into an inbox by the real program, with or without a daemon.
    @Suite("photoinbox import")
    struct Importing {
        struct Answer {
            let status: Int32
            let output: String

            /// The last line of JSON output.
            var summary: [String: Any] {
                let line = output.split(separator: "\n").last { $0.hasPrefix("{") && $0.contains("\"summary\"") }
                let object = line.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) }
                return object as? [String: Any] ?? [:]
            }

            func count(_ name: String) -> Int { summary[name] as? Int ?? -1 }
        }

        private static let configuration = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            """

        /// A house with a configured inbox and a card with this number of photos.
        private func house(photos: Int = 6) throws -> House {
            let house = try House()
            try makeDirectory(house.path("st"))
            try house.configure(Self.configuration)
            try fill(house.path("card"), photos: photos)
            return house
        }

        /// Fills a card as cameras do: two directories, sets of picture and sidecar, and files that are not photos.
        private func fill(_ card: String, photos: Int) throws {
            for directory in ["", "/DCIM", "/DCIM/100CANON", "/DCIM/101CANON", "/MISC", "/.Trashes"] {
                try makeDirectory(card + directory)
            }
            for number in 0..<photos {
                let name = "\(card)/DCIM/10\(number % 2)CANON/IMG_\(number)"
                try write(try Photos.unique(number), to: "\(name).JPG")
                if number % 3 == 0 { try write(Data("<x:xmpmeta n='\(number)'/>".utf8), to: "\(name).xmp") }
            }
            try write(Data("catalogue of a camera".utf8), to: "\(card)/MISC/M0100.CTG")
            try write(try Photos.unique(1000), to: "\(card)/.Trashes/old.JPG")
            symlink("/etc/passwd", "\(card)/DCIM/link.JPG")
        }

        private func words(_ house: House, _ arguments: [String]) -> [String] {
            [BuiltPrograms.path("photoinbox"), "import", "--config", house.path("photoinbox.toml")] + arguments
        }

        private func run(
            _ house: House, _ arguments: String..., before: [String] = [], card: String? = nil
        ) async throws -> Answer {
            let words = before + words(house, ["--json"] + arguments + [card ?? house.path("card")])
            let program = try RunningProgram(words)
            let ending = try await program.ending()
            guard case .status(let status) = ending else { return Answer(status: -1, output: "\(ending)") }
            return Answer(status: status, output: program.lines.joined(separator: "\n"))
        }

        /// The contents in the inbox by their paths below the run's directory.
        private func arrived(_ house: House) -> [String: Data] {
            Dictionary(
                house.files(in: house.inbox).map { path, data in
                    (path.split(separator: "/").dropFirst().joined(separator: "/"), data)
                }, uniquingKeysWith: { first, _ in first })
        }

        private func photos(of card: String) -> [String: Data] {
            Tree.files(below: card).filter { $0.key.hasPrefix("DCIM/") }
        }

        @Test(
            "Sets are copied into the inbox with their directories, a second run copies nothing, a dry run reports both"
        )
        func copied() async throws {
            let house = try house()
            let card = photos(of: house.path("card"))
            #expect(card.count == 8)
            let dry = try await run(house, "--dry-run")
            #expect(dry.status == 0 && dry.count("copied") == 8 && dry.count("left_out") == 3, "\(dry.output)")
            #expect(house.files(in: house.inbox).isEmpty)
            let first = try await run(house)
            #expect(first.status == 0 && first.count("copied") == 8 && first.count("failed") == 0, "\(first.output)")
            #expect(arrived(house) == card)
            #expect(photos(of: house.path("card")) == card)
            let second = try await run(house)
            #expect(second.status == 0 && second.count("copied") == 0 && second.count("waiting") == 8)
            #expect(house.files(in: house.inbox).count == 8)
        }

        @Test("Filed photos are known, also from another directory, and --move removes them there")
        func known() async throws {
            let house = try house()
            let card = photos(of: house.path("card"))
            let daemon = try await house.start(configuration: Self.configuration)
            let first = try await run(house)
            #expect(first.count("copied") == 8, "\(first.output)")
            try await daemon.lines(8, holding: "filed inbox/import-")
            #expect(house.files(in: house.library).count == 8)
            try runProgram(["/bin/cp", "-a", house.path("card"), house.path("copy")])
            let again = try await run(house, card: house.path("copy"))
            // A single sidecar is known by its hash, too.
            #expect(again.status == 0 && again.count("copied") == 0 && again.count("known") == 8, "\(again.output)")
            let moved = try await run(house, "--move", card: house.path("copy"))
            #expect(moved.status == 0 && moved.count("removed") == 8, "\(moved.output)")
            #expect(photos(of: house.path("copy")).isEmpty)
            #expect(photos(of: house.path("card")) == card)
            // With a damaged copy in the library nothing is removed.
            let place = try #require(house.files(in: house.library).keys.first { $0.hasSuffix(".JPG") })
            var damaged = try #require(house.files(in: house.library)[place])
            damaged[damaged.count / 2] ^= 1
            try overwrite("\(house.library)/\(place)", with: damaged)
            let kept = try await run(house, "--move")
            #expect(kept.status == 3 && kept.count("removed") == 7, "\(kept.output)")
            #expect(photos(of: house.path("card")).count == 1)
            try await daemon.stop()
        }

        @Test("Directories of completed imports are removed, but not those of running ones or with other files")
        func emptyDirectories() async throws {
            let house = try house()
            let daemon = try await house.start(configuration: Self.configuration)
            #expect(try await run(house).count("copied") == 8)
            try await daemon.lines(8, holding: "filed inbox/import-")
            try await daemon.stop()
            let imports = { try FileManager.default.contentsOfDirectory(atPath: house.inbox).sorted() }
            #expect(try imports() == [], "the daemon removes what it has emptied")
            let first = "import-2020-01-01-5"
            try runProgram(["/bin/mkdir", "\(house.inbox)/\(first)"])
            // Of another day: with another file, with another name, and held by a running import.
            for name in ["import-2020-01-01-1/a/b", "import-2020-01-01-2/a", "import-2020-01-01-3", "import-mine/a"] {
                try runProgram(["/bin/mkdir", "-p", "\(house.inbox)/\(name)"])
            }
            try write(Data("mine".utf8), to: "\(house.inbox)/import-2020-01-01-2/a/mine.txt")
            #expect(symlink("../import-mine", "\(house.inbox)/import-2020-01-01-1/link") == 0)
            #expect(symlink("import-mine", "\(house.inbox)/import-2020-01-01-4") == 0)
            let held = open("\(house.inbox)/import-2020-01-01-3", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            #expect(flock(held, LOCK_SH | LOCK_NB) == 0)
            let dry = try await run(house, "--dry-run")
            #expect(dry.status == 0)
            #expect(try imports().contains(first))
            #expect(try await run(house).status == 0)
            #expect(
                try imports() == [
                    "import-2020-01-01-1", "import-2020-01-01-2", "import-2020-01-01-3", "import-2020-01-01-4",
                    "import-mine",
                ])
            #expect(access("\(house.inbox)/import-2020-01-01-1/a", F_OK) == -1)
            #expect(access("\(house.inbox)/import-2020-01-01-2/a/mine.txt", F_OK) == 0)
            #expect(access("\(house.inbox)/import-mine/a", F_OK) == 0)
            close(held)
            #expect(try await run(house).status == 0)
            #expect(try !imports().contains("import-2020-01-01-3"))
        }

        @Test("--move removes only files that are complete in the inbox")
        func moved() async throws {
            let house = try house()
            let card = photos(of: house.path("card"))
            let answer = try await run(house, "--move")
            #expect(answer.status == 0 && answer.count("removed") == 8, "\(answer.output)")
            #expect(arrived(house) == card)
            #expect(Set(Tree.files(below: house.path("card")).keys) == ["MISC/M0100.CTG", ".Trashes/old.JPG"])
            house.expectNoTemporaries()
        }

        @Test(
            "--move waits for a copy that the daemon moves to quarantine, even on a slow disk",
            .enabled(if: ControlKills.canTrace, "skipped: needs strace"), .timeLimit(.minutes(60)))
        func movedMeanwhile() async throws {
            let house = try house(photos: 0)
            try write(try Photos.unique(1).dropLast(2_000), to: house.path("card/DCIM/100CANON/broken.JPG"))
            let daemon = try await house.start(
                configuration: "quarantine = \"@quarantine\"\n\(Self.configuration)\npatience = \"1s\"")
            // Each commit of the catalogue takes longer than the import waits for an unrecorded copy.
            let tracer = try RunningProgram([
                "/usr/bin/strace", "-f", "-p", "\(daemon.pid)", "-e", "trace=renameat2,fdatasync", "-e",
                "inject=fdatasync:delay_enter=1500000",
            ])
            try await tracer.line(holding: "attached")
            #expect(try await run(house).count("copied") == 1)
            try await tracer.line("the move to quarantine") {
                $0.contains("\"broken.JPG\", RENAME_NOREPLACE")
            }
            let answer = try await run(house, "--move")
            #expect(answer.status == 0 && answer.count("removed") == 1, "\(answer.output)")
            #expect(photos(of: house.path("card")).isEmpty)
            tracer.signal(SIGTERM)
            try await daemon.stop()
            #expect(house.files(in: house.path("quarantine/inbox")).keys.contains { $0.hasSuffix("broken.JPG") })
        }

        @Test("After kills at random points another run completes the import")
        func killed() async throws {
            let rounds = ProcessInfo.processInfo.environment["PHOTOINBOX_CANCELLATIONS"].flatMap(Int.init) ?? 10
            for round in 0..<rounds {
                let house = try house(photos: 24)
                let card = photos(of: house.path("card"))
                let moves = round % 2 == 1
                let words = words(house, ["--json"] + (moves ? ["--move"] : []) + [house.path("card")])
                // Without timing: strace kills it at the Nth call that changes something.
                let calls = "openat,pwrite64,fsync,renameat2,mkdirat,unlinkat"
                let point = Int.random(in: 1...260)
                if access("/usr/bin/strace", X_OK) == 0 {
                    let program = try RunningProgram(
                        [
                            "/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(calls)", "-e",
                            "inject=\(calls):signal=SIGKILL:when=\(point)",
                        ] + words)
                    _ = try await program.ending()
                } else {
                    let program = try RunningProgram(words)
                    try await program.line(holding: "\"progress\"")
                    program.signal(round % 3 == 0 ? SIGINT : SIGKILL)
                    _ = try await program.ending()
                }
                // Every file with its final name is whole.
                for (path, data) in arrived(house) where path.hasPrefix("DCIM/") { #expect(data == card[path]) }
                let answer = try await run(house, moves ? "--move" : "--json")
                #expect(answer.status == 0, "point \(point): \(answer.output)")
                #expect(arrived(house) == card, "point \(point), \(moves ? "moving" : "copying")")
                #expect(photos(of: house.path("card")) == (moves ? [:] : card), "point \(point)")
                house.expectNoTemporaries()
            }
        }

        @Test(
            "Ctrl-C ends after the current set, and the next run copies the rest",
            .enabled(if: ControlKills.canTrace, "skipped: needs strace"), .timeLimit(.minutes(60)))
        func interrupted() async throws {
            let house = try house(photos: 0)
            for number in 0..<60 {
                try write(
                    try Photos.large(number, megabytes: 2),
                    to: house.path("card/DCIM/100CANON/IMG_\(1000 + number).JPG"))
            }
            // strace delays each copying thread, so that it cannot finish before the signal.
            let calls = "sync_file_range"
            let program = try RunningProgram(
                [
                    "/usr/bin/strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=\(calls)",
                    "-e", "inject=\(calls):delay_enter=100000",
                ] + words(house, ["--json", house.path("card")]))
            try await program.line(holding: "\"type\":\"progress\"")
            program.signal(SIGINT)
            #expect(try await program.ending() == .status(3))
            #expect(program.lines.contains { $0.contains("\"complete\":false") })
            house.expectNoTemporaries()
            let answer = try await run(house)
            #expect(answer.status == 0 && answer.count("waiting") + answer.count("copied") == 60, "\(answer.output)")
            #expect(answer.count("waiting") > 0)
            #expect(arrived(house) == photos(of: house.path("card")))
        }

        @Test(
            "An unreadable file is reported, and the rest copied",
            .disabled(if: isRoot, "skipped: root reads everything"))
        func unreadable() async throws {
            let house = try house()
            chmod(house.path("card/DCIM/100CANON/IMG_0.JPG"), 0)
            let answer = try await run(house)
            #expect(
                answer.status == 3 && answer.count("failed") == 1 && answer.count("copied") == 7, "\(answer.output)")
        }

        @Test(
            "A full inbox is reported for each file, and a later run copies the rest",
            .enabled(if: canMount, withoutMounts)
        )
        func full() async throws {
            let house = try house()
            let script = """
                mount -t tmpfs -o size=32k tmpfs "$1"; shift
                "$@"; first=$?
                mount -o remount,size=16m "$INBOX"
                "$@"; echo "ended $first $? $(find "$INBOX" -name '*.JPG' | wc -l)"
                """
            let program = try RunningProgram(
                ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh", house.inbox]
                    + words(house, ["--json", house.path("card")]), environment: ["INBOX": house.inbox])
            _ = try await program.ending()
            #expect(program.lines.contains { $0.contains("no space left in the inbox") }, "\(program.lines)")
            #expect(program.lines.last == "ended 3 0 6", "\(program.lines)")
        }

        @Test("A FAT card: two-second times, equal names in two spellings", .enabled(if: canMountFAT, withoutFAT))
        func fat() async throws {
            let house = try house()
            let script = """
                truncate -s 64M "$IMAGE" && mkfs.vfat "$IMAGE" >/dev/null && mkdir "$MOUNT" || exit 9
                mount -o loop "$IMAGE" "$MOUNT" || exit 9
                cp -r "$CARD/DCIM" "$MOUNT"
                "$@"; first=$?
                umount "$MOUNT"; mount -o loop "$IMAGE" "$MOUNT"
                "$@"; second=$?
                "$@" --move; echo "ended $first $second $? $(find "$MOUNT" -name '*.JPG' | wc -l)"
                umount "$MOUNT"
                """
            let program = try RunningProgram(
                ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh"]
                    + words(house, ["--json", house.path("fat")]),
                environment: [
                    "IMAGE": house.path("fat.img"), "MOUNT": house.path("fat"), "CARD": house.path("card"),
                ])
            _ = try await program.ending()
            #expect(program.lines.last == "ended 0 0 0 0", "\(program.lines)")
            #expect(arrived(house).count == 8)
        }

        @Test("The daemon's own directories and missing ones are refused")
        func refused() async throws {
            let house = try house()
            for wrong in [house.inbox, house.library, house.root, house.path("st")] {
                #expect(try await run(house, card: wrong).status == 64, "\(wrong)")
            }
            #expect(try await run(house, card: house.path("nowhere")).status == 1)
            #expect(try await run(house, "--inbox", "phones").status == 4)
            #expect(house.files(in: house.inbox).isEmpty)
        }

        @Test(
            "The library through another mount, whole, in part or a parent, is refused, and nothing is removed",
            .enabled(if: canMount, withoutMounts), arguments: ["library", "library/2024", "."])
        func mountedLibrary(what: String) async throws {
            let house = try house()
            try makeDirectory("\(house.library)/2024")
            try makeDirectory(house.path("mnt"))
            try write(try Photos.unique(1), to: "\(house.library)/2024/a.JPG")
            let answer = try await run(
                house, "--move",
                before: [
                    "/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c",
                    "mount --bind \"$0\" \"$1\" && shift && exec \"$@\"", house.path(what), house.path("mnt"),
                ], card: house.path("mnt"))
            #expect(answer.status == 64 && answer.output.contains("both lie in"), "\(answer)")
            #expect(house.files(in: house.library).count == 1)
        }

        @Test("Photos can be imported from a former library")
        func formerLibrary() async throws {
            let house = try house()
            try makeDirectory(house.path("old"))
            let daemon = try await house.start(
                configuration: Self.configuration.replacingOccurrences(of: "@library", with: "@old"))
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            #expect(try await run(house, "--dry-run", card: house.path("old")).status == 64)
            try await daemon.stop()
            try house.configure(Self.configuration)
            #expect(try await run(house, "--dry-run", card: house.path("old")).status == 0)
        }
    }

    /// Whether a FAT file system can be created and mounted in one program's mount namespace.
    static let canMountFAT =
        canMount && access("/dev/loop-control", W_OK) == 0 && access("/sbin/mkfs.vfat", X_OK) == 0
        && ((try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8))?.contains("vfat") ?? false)
    static let withoutFAT: Comment = "skipped: needs root, loop devices, mkfs.vfat, and vfat in the kernel"
}
