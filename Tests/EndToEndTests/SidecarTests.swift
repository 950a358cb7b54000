import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("What people say of photos is written beside them")
    struct Sidecars {
        private static let hasExiftool = access(Metadata.exiftool, X_OK) == 0
        private static let configuration = House.oneCard + "\n[describe]\nwrite-sidecars = \"yes\"\n"

        private func place(_ house: House, _ name: String) -> String { "\(house.library)/\(Photos.day)/\(name)" }

        private func text(_ house: House, _ name: String) -> String? {
            FileManager.default.contents(atPath: place(house, name)).map { String(decoding: $0, as: UTF8.self) }
        }

        private func file(_ house: House, _ daemon: RunningProgram, _ photos: [String: Data]) async throws {
            for (name, photo) in photos { try house.drop(photo, as: name) }
            try await daemon.lines(holding: photos.keys.map { "filed card/\($0)" })
        }

        private func describe(_ house: House, _ rows: [String]) async throws {
            let table = house.path("\(UUID()).csv")
            let text = (["path,title,keywords,rating,taken,place"] + rows.map { "\(Photos.day)/\($0)" })
            try write(Data((text.joined(separator: "\n") + "\n").utf8), to: table)
            let answer = try await house.ask("import-csv", table)
            #expect(answer.status == 0, "\(answer.text)")
        }

        /// Polls, since sidecars are written within seconds.
        @discardableResult
        private func sidecar(_ house: House, _ name: String, holding part: String) async throws -> String {
            try await poll({ text(house, name) ?? "" }) { $0.contains(part) }
        }

        @Test(
            "exiftool reads them; what it wrote there before stays byte for byte; they are undone with their photos",
            .enabled(if: hasExiftool, "skipped: needs exiftool"))
        func read() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration)
            try await file(house, daemon, ["a.jpg": try Photos.unique(1), "b.jpg": try Photos.unique(2)])
            try runProgram([
                Metadata.exiftool, "-q", "-XMP-crs:Exposure2012=+1.25", "-XMP-acdsee:Notes=kept <here>",
                "-XMP-dc:Subject=old",
                "-XMP-mwg-rs:RegionInfo={RegionList=[{Name=Ada,Type=Face}]}", "-o", place(house, "b.jpg.xmp"),
            ])
            let before = try #require(text(house, "b.jpg.xmp"))
            try await describe(
                house,
                [
                    #"a.jpg,"Möwen & ""Boote""",gull;harbour,4,2026-11-21 14:07:31,Kiel"#, "b.jpg,Second,new,2,,",
                ])
            try await sidecar(house, "a.jpg.xmp", holding: "</x:xmpmeta>")
            let merged = try await sidecar(house, "b.jpg.xmp", holding: "Second")
            for (name, values) in [
                ("a.jpg.xmp", ["Möwen & \"Boote\"|gull, harbour|4|2026:11:21 14:07:31|Kiel|-|-|-"]),
                ("b.jpg.xmp", ["Second|old, new|2|-|-|+1.25|kept <here>|Ada"]),
            ] {
                let fields = [
                    "XMP-dc:Title", "XMP-dc:Subject", "XMP-xmp:Rating", "XMP-photoshop:DateCreated",
                    "XMP-iptcCore:Location", "XMP-crs:Exposure2012", "XMP-acdsee:Notes", "XMP-mwg-rs:RegionName",
                ]
                let format = fields.map { "${\($0)}" }.joined(separator: "|")
                let program = try RunningProgram([
                    Metadata.exiftool, "-m", "-q", "-f", "-p", format, place(house, name),
                ])
                #expect(try await program.ending() == .status(0))
                #expect(program.lines == values)
            }
            // Each line that exiftool wrote is there, in its order, but those of the list.
            var rest = merged.split(separator: "\n")[...]
            for line in before.split(separator: "\n") where !line.contains(/rdf:Bag>|dc:subject>|>old</) {
                let place = try #require(rest.firstIndex(of: line), "\(line)")
                rest = rest[(place + 1)...]
            }
            house.expectNoTemporaries()

            try runProgram([
                Metadata.exiftool, "-q", "-overwrite_original", "-XMP-acdsee:Notes=edited", place(house, "b.jpg.xmp"),
            ])
            let last = ["a.jpg.xmp", "b.jpg.xmp"].map { text(house, $0) }
            for name in ["a.jpg", "b.jpg"] {
                let undone = try await house.ask("undo", place(house, name))
                #expect(undone.status == 0, "\(undone.text)")
            }
            try await poll({ ["a.jpg.xmp", "b.jpg.xmp"].allSatisfy { text(house, $0) == nil } }) { $0 }
            let returned = ["a.jpg.xmp", "b.jpg.xmp"].map { house.path("returned/card/\($0)") }
            #expect(returned.map { FileManager.default.contents(atPath: $0) } == last.map { $0.map { Data($0.utf8) } })

            // The name is free for another photo's. A sidecar that comes late, to a name that is taken, is filed beside it.
            try await file(house, daemon, ["a.jpg": try Photos.unique(3)])
            try await describe(house, ["a.jpg,Another,,,,"])
            let other = try await sidecar(house, "a.jpg.xmp", holding: "Another")
            try house.drop(Data(before.utf8), as: "a.jpg.xmp")
            try await daemon.line(holding: "filed card/a.jpg.xmp")
            #expect(text(house, "a.jpg.xmp") == other && text(house, "a.jpg-2.xmp") == before)
            try await daemon.stop()
        }

        @Test(
            "What people change in other programs stays: after a reload, a restart, verify --repair and another import",
            .enabled(if: hasExiftool, "skipped: needs exiftool"))
        func edited() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: Self.configuration)
            try await file(house, daemon, ["a.jpg": try Photos.unique(1)])
            try await describe(house, ["a.jpg,One,k1;k2,3,,Kiel"])
            try await sidecar(house, "a.jpg.xmp", holding: "</x:xmpmeta>")
            try runProgram([
                Metadata.exiftool, "-q", "-overwrite_original", "-XMP-xmp:Rating=5", "-XMP-dc:Title=Mine",
                "-XMP-dc:Subject-=k1", "-XMP-xmp:Label=Red", place(house, "a.jpg.xmp"),
            ])
            let mine = try #require(text(house, "a.jpg.xmp"))
            // What follows in the order of photos is written after it was looked at.
            func settle(_ name: String, _ photo: Data) async throws {
                try await file(house, daemon, [name: photo])
                try await describe(house, ["\(name),\(name),,,,"])
                try await sidecar(house, "\(name).xmp", holding: "</x:xmpmeta>")
                #expect(text(house, "a.jpg.xmp") == mine, "\(name)")
            }
            #expect(try await house.ask("reload").status == 0)
            try await settle("reload.jpg", try Photos.unique(2))
            try await daemon.stop()
            daemon = try await house.start(configuration: Self.configuration)
            try await settle("restart.jpg", try Photos.unique(3))
            #expect(try await house.ask("verify", "--repair").status == 0)
            try await settle("repair.jpg", try Photos.unique(4))
            try await describe(house, ["a.jpg,Two,k1;k2;k3,4,,Laboe"])
            try await sidecar(house, "a.jpg.xmp", holding: "Laboe")
            let format = "${XMP-xmp:Rating}|${XMP-dc:Title}|${XMP-dc:Subject}|${XMP-xmp:Label}|${XMP-iptcCore:Location}"
            let program = try RunningProgram([
                Metadata.exiftool, "-m", "-q", "-f", "-p", format, place(house, "a.jpg.xmp"),
            ])
            #expect(try await program.ending() == .status(0))
            #expect(program.lines == ["5|Mine|k2, k3|Red|Laboe"])
            let names = try FileManager.default.contentsOfDirectory(atPath: "\(house.library)/\(Photos.day)")
            #expect(names.count == 8 && !names.contains { $0.contains("-") }, "\(names)")
            try await daemon.stop()
        }

        @Test("A lost catalogue costs nothing: rebuild finds what was said, and adopt and verify no stranger")
        func rebuilt() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: Self.configuration)
            try await file(house, daemon, ["a.jpg": try Photos.unique(1), "b.jpg": try Photos.unique(2)])
            try await describe(house, ["a.jpg,Harbour,gull,4,2026-11-21,Kiel"])
            try await sidecar(house, "a.jpg.xmp", holding: "</x:xmpmeta>")
            try await daemon.stop()
            let before = try await house.ask("show", place(house, "a.jpg"), "--json")
            for suffix in ["", "-wal", "-shm"] { unlink(house.path("st/catalogue.sqlite\(suffix)")) }
            let rebuilt = try await house.ask("rebuild", "--library", house.library, "--yes")
            #expect(rebuilt.status == 0 && rebuilt.text.contains("2 photos"), "\(rebuilt.text)")
            for words in [["harbour"], ["--keyword", "gull"], ["--place", "kiel", "--rating", "4"]] {
                let found = try await house.ask(["search"] + words)
                #expect(found.status == 0 && found.text.contains("a.jpg"), "\(words)")
            }
            let described = #/"description":\{[^}]*2026-11-21[^}]*\}/#
            let after = try await house.ask("show", place(house, "a.jpg"), "--json")
            #expect(before.text.firstMatch(of: described)?.output == after.text.firstMatch(of: described)?.output)
            #expect(before.text.contains(described), "\(before.text)")
            let verified = try await house.ask("verify", "--repair", "--dry-run", "--json")
            #expect(verified.status == 0 && verified.text.contains("\"photos\":2"), "\(verified.text)")
            #expect(!verified.text.contains("\"what\""), "\(verified.text)")
            daemon = try await house.start(configuration: Self.configuration)
            try await describe(house, ["a.jpg,Lighthouse,,,,"])
            try await sidecar(house, "a.jpg.xmp", holding: "Lighthouse")
            try await daemon.stop()
        }

        @Test("A daemon that another one locks out of the library writes none until that has ended")
        func lockedOut() async throws {
            let house = try House()
            var first = try await house.start(configuration: Self.configuration)
            try await file(house, first, ["a.jpg": try Photos.unique(1)])
            try await describe(house, ["a.jpg,One,,,,"])
            try await sidecar(house, "a.jpg.xmp", holding: "One")
            try await first.stop()
            try runProgram(["/bin/cp", "-a", house.path("st"), house.path("st2")])
            first = try await house.start(configuration: Self.configuration)
            try makeDirectory(house.path("inbox2"))
            try house.configure(
                Self.configuration.replacing("@st", with: "@st2").replacing("@inbox", with: "@inbox2"))
            let second = try house.launch(["--config", house.path("photoinbox.toml"), "--log-level", "debug"])
            try await second.lines(holding: ["PI-408", "ready: "])
            try await describe(house, ["a.jpg,Second,,,,"])
            try await second.line(holding: "metadata is read later: photoinboxd, process")
            #expect(text(house, "a.jpg.xmp")?.contains("Second") == false)
            try await first.stop()
            try await sidecar(house, "a.jpg.xmp", holding: "Second")
            try await second.stop()
        }

        @Test("show and explain say why one was left, and it is written after a reload")
        func left() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration)
            try await file(house, daemon, ["a.jpg": try Photos.unique(1)])
            #expect(mkdir(place(house, "a.jpg.xmp"), 0o755) == 0)
            try await describe(house, ["a.jpg,Harbour,,,,"])
            try await daemon.line(holding: "a.jpg is left as it is: a.jpg.xmp: it is a directory")
            for command in ["show", "explain"] {
                // The record follows the line.
                let answer = try await poll({ try await house.ask(command, place(house, "a.jpg")).text }) {
                    $0.contains("left as it is: a.jpg.xmp: it is a directory")
                }
                #expect(answer.contains("photoinbox reload --config"), "\(answer)")
                let json = try await house.ask(command, place(house, "a.jpg"), "--json")
                #expect(json.text.contains("\"sidecar_left\":\"a.jpg.xmp: it is a directory\""))
            }
            #expect(rmdir(place(house, "a.jpg.xmp")) == 0)
            #expect(try await house.ask("reload").status == 0)
            try await sidecar(house, "a.jpg.xmp", holding: "Harbour")
            try await daemon.stop()
        }

        @Test("A killed daemon leaves no half of a sidecar, and its next start writes the rest")
        func killed() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: House.oneCard)
            let names = (1...60).map { "\($0).jpg" }
            for (number, name) in names.enumerated() { try house.drop(try Photos.unique(number), as: name) }
            try await daemon.lines(holding: names.map { "filed card/\($0)" })
            try await describe(house, names.map { "\($0),Title of \($0),gull,3,," })
            try await daemon.stop()
            for count in [1, 15, 30] {
                daemon = try await house.start(configuration: Self.configuration)
                try await poll({ names.count { text(house, "\($0).xmp") != nil } }) { $0 >= count }
                daemon.signal(SIGKILL)
                _ = try await daemon.ending()
                for name in names {
                    let text = text(house, "\(name).xmp")
                    #expect(text?.hasSuffix("<?xpacket end=\"w\"?>\n") != false)
                }
            }
            daemon = try await house.start(configuration: Self.configuration)
            for name in names { try await sidecar(house, "\(name).xmp", holding: "Title of \(name)<") }
            try await daemon.stop()
            house.expectNoTemporaries()
        }
    }
}
