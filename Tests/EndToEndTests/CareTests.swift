import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Commands that restore the match of library and catalogue.
    @Suite("verify, adopt, rebuild, and a lost catalogue")
    struct Care {
        @Test(
            "verify passes an intact library, reports damaged, missing and unknown files, and --repair corrects records"
        )
        func verify() async throws {
            let (house, places) = try await House.filled()
            var answer = try await house.askByState("verify")
            #expect(answer.status == 0 && answer.output.contains("4 photos") && answer.output.contains("no damage"))
            // One damaged by a bit, one missing, one moved, one added by hand.
            var bytes = try Data(contentsOf: URL(filePath: places[0]))
            bytes[bytes.count / 2] ^= 1
            try overwrite(places[0], with: bytes)
            unlink(places[1])
            try makeDirectory("\(house.library)/sorted")
            try move(places[2], to: "\(house.library)/sorted/kept.jpg")
            try write(try Photos.unique(9), to: "\(house.library)/sorted/own.jpg")
            answer = try await house.askByState("verify")
            #expect(answer.status == 3, "\(answer.output)")
            #expect(answer.output.contains("damaged  \(Photos.day)/0.jpg"))
            #expect(answer.output.contains("missing  \(Photos.day)/1.jpg"))
            #expect(answer.output.contains("missing  \(Photos.day)/2.jpg"))
            #expect(answer.output.split(separator: " action  ").count == 2, "\(answer.output)")
            #expect(
                answer.output.contains(
                    "verify --state \(house.path("st")) --repair, which strikes the records of missing"))
            let before = house.files(in: house.library)
            answer = try await house.askByState("verify", "--repair")
            #expect(
                answer.status == 3 && answer.output.contains("1 photo recorded, 1 moved, 1 struck"), "\(answer.output)")
            #expect(house.files(in: house.library) == before, "repair never touches a photo")
            answer = try await house.askByState("verify", "--json")
            let lines = answer.output.split(separator: "\n").compactMap {
                try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
            let summary = try #require(lines.last)
            #expect(
                summary["photos"] as? Int == 4 && summary["damaged"] as? Int == 1 && summary["missing"] as? Int == 0)
            // The missing photo is filed again; the damaged one too, beside the damaged file.
            let daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "1.jpg")
            try await daemon.line(holding: "filed inbox/1.jpg")
            try house.drop(try Photos.unique(0), as: "0.jpg")
            try await daemon.line(holding: "filed inbox/0.jpg")
            // The moved file is known at its new path.
            try house.drop(try Photos.unique(2), as: "2.jpg")
            try await daemon.line(holding: "duplicate inbox/2.jpg")
            try await daemon.stop()
        }

        @Test("A verify that was stopped continues where it was")
        func resumed() async throws {
            let (house, _) = try await House.filled()
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox"), "verify", "--rate", "1K", "--json", "--state", house.path("st")])
            try await program.line(holding: "\"photos\":1,")
            program.signal(SIGINT)
            #expect(try await program.ending() == .status(3))
            let answer = try await house.askByState("verify")
            #expect(answer.status == 0 && answer.output.contains("continuing after photo"), "\(answer.output)")
            #expect(!answer.output.contains("4 photos"))
            #expect(try await house.askByState("verify").output.contains("4 photos"))
        }

        @Test("An existing library is adopted in place, and no photo of it is filed twice")
        func adopted() async throws {
            let house = try House()
            try makeDirectory("\(house.library)/old")
            for number in 0..<3 { try write(try Photos.unique(number), to: "\(house.library)/old/\(number).jpg") }
            try write(try Photos.unique(0), to: "\(house.library)/old/same.jpg")
            try write(Data("no photo".utf8), to: "\(house.library)/old/readme.txt")
            var daemon = try await house.start()
            try await daemon.stop()
            var answer = try await house.askByState("adopt", "--dry-run", house.library)
            #expect(answer.status == 0 && answer.output.contains("would record  old/2.jpg"), "\(answer.output)")
            daemon = try await house.start()
            answer = try await house.askByState("adopt", house.library)
            #expect(answer.status == 0 && answer.output.contains("3 photos"), "\(answer.output)")
            #expect(answer.output.contains("old/same.jpg  (the same bytes as old/0.jpg)"))
            answer = try await house.askByState("adopt", "\(house.library)/old")
            #expect(answer.output.contains("0 photos") && answer.output.contains("3 known already"), "\(answer.output)")
            try house.drop(try Photos.unique(1), as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            #expect(try await house.askByState("adopt", house.outside).status == 64)
            try await daemon.stop()
        }

        @Test("The catalogue is rebuilt by command, never beside a running daemon, and the old one is kept")
        func rebuilt() async throws {
            let (house, _) = try await House.filled()
            let daemon = try await house.start()
            #expect(try await house.askByState("rebuild", "--library", house.library).status == 75)
            try await daemon.stop()
            let answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.status == 0 && answer.output.contains("4 photos"), "\(answer.output)")
            let kept = house.files(in: house.path("st")).keys.filter { $0.contains("before-rebuild") }
            #expect(kept.contains { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
            #expect(try await house.askByState("verify").output.contains("4 photos"))
            let again = try await house.start()
            try house.drop(try Photos.unique(3), as: "again.jpg")
            try await again.line(holding: "duplicate inbox/again.jpg")
            try await again.stop()
        }

        @Test(
            "A missing or different library is neither verified, repaired nor used for a rebuild"
        )
        func replaced() async throws {
            let (house, _) = try await House.filled()
            let away = "\(house.outside)/away"
            let commands = [
                ["verify"], ["verify", "--repair", "--yes"], ["adopt", house.library], ["thumbs"],
                ["rebuild", "--yes", "--library", house.library],
            ]
            try move(house.library, to: away)
            for command in commands {
                let answer = try await house.askByState(command)
                #expect(answer.status == 69 && answer.output.contains("does not exist"), "\(command) \(answer)")
            }
            try makeDirectory(house.library)
            for command in commands {
                let answer = try await house.askByState(command)
                #expect(answer.status == 5 && answer.output.contains("is not the library"), "\(command) \(answer)")
            }
            // A file in it does not make it the library.
            try write(try Photos.unique(9), to: "\(house.library)/own.jpg")
            #expect(try await house.askByState("verify", "--repair", "--yes").status == 5)
            try move(house.library, to: "\(house.outside)/other")
            try move(away, to: house.library)
            let answer = try await house.askByState("verify")
            #expect(answer.status == 0 && answer.output.contains("4 photos"), "\(answer)")
        }

        @Test("A library that was emptied is not repaired")
        func emptied() async throws {
            let (house, places) = try await House.filled()
            for place in places { unlink(place) }
            let config = ["--repair", "--yes"]
            // Refused by the marks, or by its emptiness if its identity is known.
            #expect(try await house.askByState(["verify"] + config).status == 5)
            #expect(try await house.askByState("list").output.contains("3.jpg"))
        }

        @Test("More than a few records are struck only with an option, and restored with their files")
        func struck() async throws {
            let (house, places) = try await House.filled()
            let kept = try places.map { try Data(contentsOf: URL(filePath: $0)) }
            for place in places[..<2] { unlink(place) }
            var answer = try await house.askByState("verify", "--repair", "--dry-run")
            #expect(answer.status == 3 && answer.output.contains("would repair  0 photos recorded, 0 moved, 2 struck"))
            answer = try await house.askByState("verify", "--repair")
            #expect(
                answer.status == 3 && answer.output.contains("0 struck")
                    && answer.output.contains("2 photos are nowhere, and no record was struck"), "\(answer)")
            answer = try await house.askByState("verify")
            #expect(answer.output.contains("2 missing"))
            answer = try await house.askByState("verify", "--repair", "--yes")
            #expect(
                answer.status == 0 && answer.output.contains("2 struck")
                    && answer.output.contains("photoinbox adopt --state \(house.path("st")) \(house.library)"),
                "\(answer)")
            #expect(try await house.askByState("verify").output.contains("2 photos"))
            #expect(try await house.askByState("show", "photo:1").output.contains("its record was struck"))
            for (place, data) in zip(places, kept).prefix(2) { try write(data, to: place) }
            answer = try await house.askByState("adopt", house.library)
            #expect(answer.status == 0 && answer.output.contains("2 photos"), "\(answer)")
            answer = try await house.askByState("show", "photo:1")
            #expect(!answer.output.contains("struck") && answer.output.contains("inbox/0.jpg"), "\(answer)")
        }

        @Test("On a terminal a confirmation is required, and any answer but yes is no")
        func confirmed() async throws {
            let (house, places) = try await House.filled()
            for place in places[..<2] { unlink(place) }
            for (answer, status) in [("\r", Int32(3)), ("n\r", 3), ("y\r", 0)] {
                let terminal = try PseudoTerminal(
                    [BuiltPrograms.path("photoinbox"), "verify", "--repair", "--state", house.path("st")], columns: 200)
                try await terminal.wait(
                    for: "2 of 4 photos are nowhere in \(house.library). Strike their records? [y/N]")
                terminal.type(answer)
                #expect(try await terminal.ending() == .status(status))
            }
            #expect(try await house.askByState("verify").output.contains("2 photos"))
        }

        @Test("Ctrl-C at the confirmation strikes no record")
        func confirmationInterrupted() async throws {
            let (house, places) = try await House.filled()
            for place in places[..<2] { unlink(place) }
            let terminal = try PseudoTerminal(
                [BuiltPrograms.path("photoinbox"), "verify", "--repair", "--state", house.path("st")], columns: 200)
            try await terminal.wait(for: "[y/N]")
            terminal.type("\u{3}")
            #expect(try await terminal.ending() == .signal(SIGINT))
            #expect(try await house.askByState("verify").output.contains("2 missing"))
        }

        @Test("Records of another library are unchanged, and a note reports that it was not verified")
        func otherLibrary() async throws {
            let house = try House()
            func configuration(_ library: String) -> String {
                "library = \"@\(library)\"\nstate = \"@st\"\n[inbox.inbox]\npath = \"@inbox\"\n"
            }
            try makeDirectory(house.path("old"))
            for (number, library) in ["old", "library"].enumerated() {
                let daemon = try await house.start(configuration: configuration(library))
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try await daemon.line(holding: "filed inbox/\(number).jpg")
                try await daemon.stop()
            }
            func verify(_ more: String...) async throws -> (RunningProgram.Ending, [String]) {
                let program = try RunningProgram(
                    [BuiltPrograms.path("photoinbox"), "verify", "--config", house.path("photoinbox.toml")] + more)
                return (try await program.ending(), program.lines)
            }
            #expect(try await verify().0 == .status(0))
            try move(house.path("old"), to: house.path("drawer"))
            try unlinked("\(house.library)/\(Photos.day)/1.jpg")
            try write(try Photos.unique(7), to: "\(house.library)/own.jpg")
            for flags in [[], ["--repair"]] {
                let (ending, lines) = try await verify("--restart", flags.first ?? "--rate=1G")
                #expect(ending == .status(3))
                #expect(lines.contains { $0.contains("not verified") && $0.contains(house.path("old")) }, "\(lines)")
            }
            let answer = try await house.askByState("list")
            #expect(answer.output.contains("0.jpg") && answer.output.contains("own.jpg"), "\(answer)")
            #expect(!answer.output.contains("1.jpg"))
            let named = try await verify("--library", house.path("old"))
            #expect(named.0 == .status(69), "\(named)")
        }

        @Test("A rebuild forgets no photo whose file is missing, until verify --repair strikes it")
        func missing() async throws {
            let (house, places) = try await House.filled()
            let kept = try places.map { try Data(contentsOf: URL(filePath: $0)) }
            for place in places[..<2] { unlink(place) }
            let rebuild = ["rebuild", "--library", house.library]
            var answer = try await house.askByState(rebuild + ["--dry-run"])
            #expect(answer.status == 0 && answer.output.contains("would record  2 photos"), "\(answer)")
            #expect(answer.output.contains("missing  2 photos, which would stay recorded"), "\(answer)")
            // The library is recognised by another path.
            symlink(house.library, house.path("link"))
            answer = try await house.askByState("rebuild", "--dry-run", "--library", house.path("link"))
            #expect(answer.output.contains("would record  2 photos"), "\(answer)")
            try move(house.library, to: "\(house.outside)/away")
            try makeDirectory(house.library)
            #expect(try await house.askByState("rebuild", "--library", house.path("link")).status == 5)
            rmdir(house.library)
            try move("\(house.outside)/away", to: house.library)
            for _ in 0..<2 {
                answer = try await house.askByState(rebuild)
                #expect(answer.status == 3 && answer.output.contains("recorded  4 photos"), "\(answer)")
                #expect(answer.output.contains("\(Photos.day)/1.jpg: missing; it stays recorded"), "\(answer)")
                #expect(!house.files(in: house.path("st")).keys.contains { $0.contains("rebuilding") })
                answer = try await house.askByState("verify")
                #expect(answer.status == 3 && answer.output.contains("2 missing"), "\(answer)")
            }
            // One is put back, one arrives again.
            try write(kept[0], to: places[0])
            let daemon = try await house.start(reporting: ["PI-407"])
            try house.drop(kept[1], as: "again.jpg")
            try await daemon.lines(holding: ["filed inbox/again.jpg", "PI-407 is over"])
            try await daemon.stop()
            answer = try await house.askByState("verify")
            #expect(answer.status == 0 && answer.output.contains("4 photos"), "\(answer)")
            unlink(places[2])
            #expect(try await house.askByState(rebuild).status == 3)
            answer = try await house.askByState("verify", "--repair", "--yes")
            #expect(answer.status == 0 && answer.output.contains("1 struck"), "\(answer)")
            answer = try await house.askByState(rebuild)
            #expect(answer.status == 0 && answer.output.contains("recorded  3 photos"), "\(answer)")
        }

        @Test("A rebuild keeps what can be read of a catalogue whose table of photos is damaged")
        func damagedTable() async throws {
            let (house, _) = try await House.filled()
            let row = "\(Photos.day)/2.jpg,Harbour,,,,"
            try write(Data("path,title,keywords,rating,taken,place\n\(row)\n".utf8), to: house.path("table.csv"))
            #expect(try await house.askByState("import-csv", house.path("table.csv")).status == 0)
            let catalogue = house.path("st/catalogue.sqlite")
            let sqlite = try RunningProgram([
                "/usr/bin/sqlite3", catalogue,
                "PRAGMA wal_checkpoint(TRUNCATE); SELECT rootpage FROM sqlite_master WHERE name = 'photo'",
            ])
            #expect(try await sqlite.ending() == .status(0))
            let page = try #require(sqlite.lines.last.flatMap { Int($0) })
            var bytes = try Data(contentsOf: URL(filePath: catalogue))
            bytes.replaceSubrange((page - 1) * 4096..<page * 4096, with: Data(repeating: 7, count: 4096))
            try overwrite(catalogue, with: bytes)
            var answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.status == 3 && answer.output.contains("cannot be read whole"), "\(answer)")
            #expect(try Data(contentsOf: URL(filePath: catalogue)) == bytes)
            answer = try await house.askByState("rebuild", "--library", house.library, "--yes")
            #expect(answer.status == 3 && answer.output.contains("4 photos"), "\(answer)")
            #expect(try await house.askByState("search", "harbour").output.contains("2.jpg"))
        }

        @Test("A rebuild that was killed after it had kept a missing photo is finished by the next one")
        func killedAfterKeeping() async throws {
            let (house, places) = try await House.filled()
            unlink(places[0])
            var bytes = try Data(contentsOf: URL(filePath: places[1]))
            bytes[bytes.count / 2] ^= 1
            try overwrite(places[1], with: bytes)
            let rebuild = ["rebuild", "--library", house.library]
            // What a run leaves that is killed before its last steps.
            #expect(try await house.askByState(rebuild).status == 3)
            let catalogue = house.path("st/catalogue.sqlite")
            try runProgram(["/usr/bin/sqlite3", catalogue, "VACUUM INTO '\(catalogue).rebuilding'"])
            for _ in 0..<2 {
                let answer = try await house.askByState(rebuild)
                #expect(answer.status == 3 && answer.output.contains("recorded  4 photos"), "\(answer.output)")
                let verified = try await house.askByState("verify")
                #expect(verified.output.contains("1 missing, 1 damaged"), "\(verified.output)")
            }
            // Killed between its last two renames; somebody looks with sqlite3, which makes an empty file.
            try move(catalogue, to: "\(catalogue).restored")
            try write(Data(), to: catalogue)
            let daemon = try await house.start(reporting: ["PI-407"])
            #expect(!daemon.lines.contains { $0.contains("made anew") }, "\(daemon.lines)")
            try await daemon.stop()
        }

        @Test("A catalogue that cannot be read, and may know of photos in a bucket, is not replaced without an option")
        func unreadable() async throws {
            let (house, _) = try await House.filled()
            for ending in ["-wal", "-shm"] { unlink(house.path("st/catalogue.sqlite\(ending)")) }
            let garbage = Data(repeating: 7, count: 10_000)
            try overwrite(house.path("st/catalogue.sqlite"), with: garbage)
            let rebuild = ["rebuild", "--library", house.library]
            var answer = try await house.askByState(rebuild)
            #expect(answer.status == 3 && answer.output.contains("photos in a bucket may be missing"), "\(answer)")
            #expect(try Data(contentsOf: URL(filePath: house.path("st/catalogue.sqlite"))) == garbage)
            answer = try await house.askByState(rebuild + ["--yes"])
            #expect(answer.status == 0 && answer.output.contains("4 photos"), "\(answer)")
            #expect(answer.output.contains("photos in a bucket that it alone knew are not recorded"), "\(answer)")
            #expect(try await house.askByState("verify").output.contains("4 photos"))
        }

        @Test("The log of a removed catalogue is not used for the new one")
        func logAlone() async throws {
            let (house, _) = try await House.filled()
            let catalogue = house.path("st/catalogue.sqlite")
            let daemon = try await house.start()
            try house.drop(try Photos.unique(8), as: "8.jpg")
            try await daemon.line(holding: "filed inbox/8.jpg")
            daemon.signal(SIGKILL)
            _ = try await daemon.ending()
            try unlinked(catalogue)
            #expect(!(try Data(contentsOf: URL(filePath: "\(catalogue)-wal"))).isEmpty)
            let answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.status == 0 && answer.output.contains("5 photos"), "\(answer)")
            #expect(house.files(in: house.path("st")).keys.contains { $0.hasSuffix("-wal") && $0.contains("before") })
            #expect(try await house.askByState("verify").output.contains("5 photos"))
        }

        @Test("A rebuild restores titles and keywords")
        func descriptions() async throws {
            let (house, _) = try await House.filled()
            let row = "\(Photos.day)/2.jpg,Harbour,boat; sea,4,2026-08-21T14:07:31+02:00,Kiel"
            try write(
                Data("path,title,keywords,rating,taken,place\n\(row)\n".utf8), to: house.path("table.csv"))
            #expect(try await house.askByState("import-csv", house.path("table.csv")).status == 0)
            func described() async throws -> String {
                let program = try RunningProgram([
                    "/usr/bin/sqlite3", house.path("st/catalogue.sqlite"),
                    "SELECT hex(sha256), title, keywords, rating, taken, place FROM description",
                ])
                #expect(try await program.ending() == .status(0))
                return program.lines.joined(separator: "/")
            }
            let before = try await described()
            #expect(before.hasSuffix("|Harbour|boat/sea|4|2026-08-21T14:07:31+02:00|Kiel"), "\(before)")
            let answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(
                answer.status == 0 && answer.output.contains("titles, keywords, ratings or places of 1 photo"),
                "\(answer)")
            #expect(try await described() == before)
            #expect(try await house.askByState("search", "harbour").output.contains("2.jpg"))
        }

        @Test("A photo that was renamed after a rebuild was stopped is recorded by the next one")
        func renamedSinceStopped() async throws {
            let (house, places) = try await House.filled()
            // The file of a stopped run, with all its records.
            let left = house.path("st/catalogue.sqlite.rebuilding")
            let database = house.path("st/catalogue.sqlite")
            try runProgram(["/usr/bin/sqlite3", database, "VACUUM INTO '\(left)'"])
            try move(places[1], to: "\(house.library)/\(Photos.day)/renamed.jpg")
            var answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.status == 0, "\(answer.output)")
            let list = try await house.askByState("list", "--json")
            #expect(list.output.contains("renamed.jpg"), "\(list.output)")
            #expect(try await house.askByState("verify").output.contains("no damage"))
            // All photos of this house have one size: this one was replaced since, which is damage.
            try runProgram(["/usr/bin/sqlite3", database, "VACUUM INTO '\(left)'"])
            try overwrite(places[2], with: try Photos.unique(7))
            answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.output.contains("\(Photos.day)/2.jpg: not what was filed"), "\(answer.output)")
            #expect(try await house.askByState("verify").output.contains("1 damaged"))
            // It is begun anew where it is damaged, or the catalogue is empty.
            try write(Data(repeating: 7, count: 10_000), to: left)
            #expect(try await house.askByState("rebuild", "--library", house.library).status == 0)
            try overwrite(database, with: Data())
            answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.status == 0 && answer.output.contains("recorded  4 photos"), "\(answer.output)")
        }

        @Test("What a stopped verification found is counted by the one that continues it, for its libraries alone")
        func resumedAfterFault() async throws {
            let (house, places) = try await House.filled()
            unlink(places[0])
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox"), "verify", "--rate", "1K", "--json", "--state", house.path("st")])
            try await program.line(holding: "\"photos\":2,")
            program.signal(SIGINT)
            #expect(try await program.ending() == .status(3))
            // Other photos than with that option.
            var answer = try await house.askByState("verify", "--library", house.library)
            #expect(answer.status == 3 && !answer.output.contains("continuing"), "\(answer.output)")
            let again = try RunningProgram(
                [BuiltPrograms.path("photoinbox"), "verify", "--rate", "1K", "--json", "--state", house.path("st")])
            try await again.line(holding: "\"photos\":2,")
            again.signal(SIGINT)
            #expect(try await again.ending() == .status(3))
            answer = try await house.askByState("verify")
            #expect(answer.status == 3 && answer.output.contains("before  1 with a fault"), "\(answer.output)")
            #expect(answer.output.contains("no damage"), "in what is left: \(answer.output)")
        }

        @Test("Sidecars of the same bytes stay with their photos when their directory is renamed")
        func alikeSidecars() async throws {
            let house = try House()
            var daemon = try await house.start()
            let sidecar = Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8)
            for number in 0..<2 {
                try write(sidecar, to: "\(house.outside)/\(number).xmp")
                try write(try Photos.unique(number), to: "\(house.outside)/\(number).jpg")
                for ending in ["xmp", "jpg"] {
                    try move("\(house.outside)/\(number).\(ending)", to: "\(house.inbox)/\(number).\(ending)")
                }
                try await daemon.lines(holding: ["filed inbox/\(number).jpg", "filed inbox/\(number).xmp"])
            }
            try await daemon.stop()
            func sets() async throws -> [String] {
                let program = try RunningProgram([
                    "/usr/bin/sqlite3", house.path("st/catalogue.sqlite"),
                    """
                    SELECT group_concat(name, ' ') FROM (SELECT set_id, substr(CAST(library_path AS TEXT), -5) AS name
                    FROM photo WHERE superseded_at IS NULL ORDER BY name) GROUP BY set_id ORDER BY 1
                    """,
                ])
                #expect(try await program.ending() == .status(0))
                return program.lines
            }
            #expect(try await sets() == ["0.jpg 0.xmp", "1.jpg 1.xmp"])
            try move("\(house.library)/\(Photos.day)", to: "\(house.library)/trip")
            var answer = try await house.askByState("verify", "--repair")
            #expect(answer.status == 0 && answer.output.contains("4 moved, 0 struck"), "\(answer.output)")
            #expect(try await sets() == ["0.jpg 0.xmp", "1.jpg 1.xmp"])
            // A program writes to one of them, which is no damage.
            try overwrite("\(house.library)/trip/1.xmp", with: sidecar + Data("<!-- edited -->".utf8))
            answer = try await house.askByState("verify")
            #expect(answer.status == 0 && answer.output.contains("edited  1 sidecar, which is no damage"), "\(answer)")
            daemon = try await house.start(
                configuration: """
                    library = "@library"
                    state = "@st"
                    [inbox.inbox]
                    path = "@inbox"
                    [signals]
                    SIGQUIT = "verify-slice"
                    SIGALRM = "audit"
                    """)
            daemon.signal(SIGQUIT)
            try await daemon.line(holding: "verified 4 photos, 0 MiB: 0 damaged")
            daemon.signal(SIGALRM)
            try await daemon.line(holding: "audit: 4 photos of the catalogue, 0 missing")
            #expect(try await house.state(of: daemon).problems.isEmpty)
            try await daemon.stop()
        }

        @Test(
            "A rebuild by root keeps the daemon's owner, and the daemon continues",
            .enabled(
                if: isRoot && EndToEnd.canBeOrdinary, "skipped: needs root, and another user who can run the daemon"))
        func byRoot() async throws {
            let house = try House(running: EndToEnd.asNobody)
            for path in [house.root, house.inbox, house.library] { chown(path, 65534, 65534) }
            func drop(_ number: Int, as name: String) throws {
                let aside = "\(house.outside)/\(name)"
                try write(try Photos.unique(number), to: aside)
                chown(aside, 65534, 65534)
                try move(aside, to: "\(house.inbox)/\(name)")
            }
            var daemon = try await house.start()
            try drop(1, as: "1.jpg")
            try await daemon.line(holding: "filed inbox/1.jpg")
            try await daemon.stop()
            let catalogue = house.path("st/catalogue.sqlite")
            func owners() -> [String: [UInt32]] {
                var found: [String: [UInt32]] = [:]
                for name in house.files(in: house.path("st")).keys {
                    var status = stat()
                    stat(house.path("st/\(name)"), &status)
                    found[name] = [status.st_uid, status.st_gid]
                }
                return found
            }
            chmod(catalogue, 0o600)
            for isThere in [true, false] {
                if !isThere { for ending in ["", "-wal", "-shm"] { unlink(catalogue + ending) } }
                let answer = try await house.askByState("rebuild", "--library", house.library)
                #expect(answer.status == 0 && answer.output.contains("1 photo"), "\(answer)")
                #expect(owners().values.allSatisfy { $0 == [65534, 65534] }, "\(owners())")
                var status = stat()
                #expect(stat(catalogue, &status) == 0 && status.st_mode & 0o777 == (isThere ? 0o600 : 0o640))
            }
            daemon = try await house.start()
            try drop(1, as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            try await daemon.stop()
        }

        private func unlinked(_ path: String) throws { try #require(unlink(path) == 0) }
    }
}
