import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// What a rebuild and the commands like it must not forget, or take for what it is not.
    @Suite("Rebuild: damaged files, quarantine, and files that were filed as they are")
    struct Rebuild {
        /// Changes one bit.
        private func damage(_ path: String) throws {
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes[bytes.count / 2] ^= 1
            try overwrite(path, with: bytes)
        }

        private func removeCatalogue(of house: House) {
            for ending in ["", "-wal", "-shm"] { unlink(house.path("st/catalogue.sqlite\(ending)")) }
        }

        @Test("A damaged file whose photo was filed again gets no record, and verify names it until it is gone")
        func replacedFile() async throws {
            let (house, places) = try await House.filled()
            let whole = try Data(contentsOf: URL(filePath: places[0]))
            try damage(places[0])
            let daemon = try await house.start()
            #expect(try await house.askByState("verify").status == 3)
            try house.drop(whole, as: "0.jpg")
            try await daemon.line(holding: "filed inbox/0.jpg as \(Photos.day)/0-2.jpg")
            try await daemon.stop()
            let rebuild = ["rebuild", "--library", house.library]
            for command in [["verify"], ["verify", "--repair"], rebuild, ["verify", "--repair"], rebuild] {
                let answer = try await house.askByState(command)
                #expect(answer.status == 0, "\(command): \(answer.output)")
                if command[0] == "rebuild" {
                    #expect(answer.output.contains("recorded  4 photos"), "\(answer.output)")
                    #expect(
                        answer.output.contains(
                            "\(Photos.day)/0.jpg: a damaged file, not recorded: its photo was filed again as "
                                + "\(Photos.day)/0-2.jpg"), "\(answer.output)")
                    continue
                }
                #expect(answer.output.contains("4 photos") && answer.output.contains("no damage"), "\(answer.output)")
                #expect(answer.output.contains("replaced  \(Photos.day)/0.jpg  (the damaged file is still there"))
                #expect(answer.output.contains("replaced it: \(Photos.day)/0-2.jpg)"), "\(answer.output)")
                #expect(answer.output.contains("look at them before you remove them: \(places[0])"), "\(answer.output)")
                #expect(!answer.output.contains("it had no record"), "\(answer.output)")
            }
            var answer = try await house.askByState("adopt", house.library)
            #expect(
                answer.status == 0 && answer.output.contains("0 photos")
                    && answer.output.contains("1 damaged and filed again"), "\(answer.output)")
            answer = try await house.askByState("verify", "--json")
            #expect(answer.output.contains("\"type\":\"replaced\"") && answer.output.contains("\"replaced\":1"))
            // The damaged file was restored from a backup: a second copy, and no damage.
            unlink(places[0])
            try write(whole, to: places[0])
            answer = try await house.askByState("verify", "--repair")
            #expect(!answer.output.contains("replaced") && answer.output.contains("the same bytes as"), "\(answer)")
            unlink(places[0])
            #expect(try await house.askByState("verify").output.contains("no damage"))
        }

        @Test("Photos that were renamed over each other are recorded where they are, and none counts as a damaged file")
        func renamedOver() async throws {
            let (house, places) = try await House.filled()
            let photos = try places.map { try Data(contentsOf: URL(filePath: $0)) }
            unlink(places[3])
            for number in [2, 1, 0] { rename(places[number], places[number + 1]) }
            // As a snapshot by hard links has it.
            link(places[2], house.path("snapshot"))
            // By verify, after one was filed again, then by a rebuild.
            let daemon = try await house.start()
            #expect(try await house.askByState("verify").status == 3)
            try house.drop(photos[1], as: "again.jpg")
            try await daemon.line(holding: "inbox/again.jpg")
            try await daemon.stop()
            #expect(try await !house.askByState("verify").output.contains("damaged file"))
            for command in [["rebuild", "--library", house.library], ["verify"]] {
                let answer = try await house.askByState(command)
                #expect(!answer.output.contains("damaged file"), "\(answer.output)")
            }
            let list = try await house.askByState("list", "--outcome", "filed", "--json")
            for number in 0..<3 { #expect(list.output.contains("\(Photos.day)/\(number + 1).jpg"), "\(list.output)") }
            #expect(house.files(in: house.library)["\(Photos.day)/1.jpg"] == photos[0])
            let whole = try await house.askByState("verify")
            #expect(whole.status == 0 && whole.output.contains("no damage"), "\(whole.output)")
        }

        @Test("A rebuild keeps what is damaged known as damaged, and the original is filed again afterwards")
        func damagedFile() async throws {
            let (house, places) = try await House.filled()
            let whole = try Data(contentsOf: URL(filePath: places[1]))
            try damage(places[1])
            var answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.status == 0, "\(answer)")
            #expect(answer.output.contains("\(Photos.day)/1.jpg: not what was filed"), "\(answer.output)")
            answer = try await house.askByState("verify")
            #expect(answer.status == 3 && answer.output.contains("damaged  \(Photos.day)/1.jpg"), "\(answer.output)")
            let daemon = try await house.start(reporting: ["PI-407"])
            try house.drop(whole, as: "again.jpg")
            try await daemon.lines(holding: ["filed inbox/again.jpg", "PI-407 is over"])
            try await daemon.stop()
            answer = try await house.askByState("verify")
            #expect(answer.status == 0 && answer.output.contains("replaced  \(Photos.day)/1.jpg"), "\(answer.output)")
        }

        @Test("What is damaged and missing stays known where the library was renamed")
        func renamedLibrary() async throws {
            let (house, places) = try await House.filled()
            try damage(places[1])
            unlink(places[2])
            let renamed = house.path("renamed")
            rename(house.library, renamed)
            var answer = try await house.askByState("rebuild", "--library", renamed)
            #expect(answer.status == 3 && answer.output.contains("recorded  4 photos"), "\(answer)")
            #expect(answer.output.contains("\(Photos.day)/1.jpg: not what was filed"), "\(answer.output)")
            #expect(answer.output.contains("\(Photos.day)/2.jpg: missing; it stays recorded"), "\(answer.output)")
            answer = try await house.askByState("verify")
            #expect(answer.status == 3 && answer.output.contains("1 missing, 1 damaged"), "\(answer.output)")
            #expect(!answer.output.contains("not verified"), "no photo is recorded in the former: \(answer.output)")
        }

        @Test("A file that was filed as it is stays a photo, or is named where nobody knows any more")
        func asItIs() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            try house.drop(Data(), as: "empty.jpg")
            try await daemon.line(holding: "quarantined card/empty.jpg")
            #expect(try await house.ask("release", "2", "--as-is").status == 0)
            try await daemon.line(holding: "filed card/empty.jpg")
            try await daemon.stop()
            var answer = try await house.ask("rebuild")
            #expect(answer.status == 0 && answer.text.contains("recorded  2 photos"), "\(answer.lines)")
            #expect(try await house.ask("list").text.contains("empty.jpg"))
            #expect(try await house.ask("verify").text.contains("no damage"))
            removeCatalogue(of: house)
            answer = try await house.ask("rebuild")
            #expect(answer.text.contains("empty.jpg: no photo by its content, and not recorded"), "\(answer.lines)")
            #expect(answer.text.contains("recorded  1 photo"), "\(answer.lines)")
            #expect(answer.text.contains("1 not photos"), "\(answer.lines)")
        }

        @Test("Quarantined files are recorded again, by rebuild and by the daemon", arguments: [false, true])
        func quarantine(isByDaemon: Bool) async throws {
            let house = try House()
            var daemon = try await house.start(configuration: House.oneCard)
            // Without a photo nobody knows the library again.
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            let photo = try Photos.named("rocket.jpg")
            try makeDirectory("\(house.inbox)/sub")
            try house.drop(photo.prefix(photo.count / 2), as: "sub/cut.jpg")
            try await daemon.line(holding: "quarantined card/sub/cut.jpg")
            try house.drop(photo.prefix(photo.count / 3), as: "other.jpg")
            try await daemon.line(holding: "quarantined card/other.jpg")
            try await daemon.stop()
            removeCatalogue(of: house)
            if !isByDaemon {
                let rebuilt = try await house.ask("rebuild", "--yes")
                #expect(rebuilt.status == 0, "\(rebuilt.lines)")
                #expect(rebuilt.text.contains("quarantine  2 files recorded"), "\(rebuilt.lines)")
            }
            daemon = try await house.start(
                configuration: House.oneCard, reporting: isByDaemon ? ["2 quarantined files", "PI-311"] : ["PI-311"])
            let listed = try await house.ask("list", "--outcome", "quarantined")
            #expect(listed.lines.count == 3 && listed.text.contains("card/sub/cut.jpg"), "\(listed.lines)")
            #expect(listed.text.contains("cut short"), "\(listed.lines)")
            let explained = try await house.ask("explain", "card/sub/cut.jpg")
            #expect(explained.text.contains(house.proposed("release", "1 --as-is")), "\(explained.lines)")
            let moved = try await house.ask("explain", house.path("quarantine/card/other.jpg"))
            #expect(moved.text.contains("quarantined") && moved.text.contains("card/other.jpg"), "\(moved.lines)")
            let released = try await house.ask("release", "1", "--as-is")
            #expect(released.status == 0, "\(released.lines)")
            try await daemon.line(holding: "filed card/sub/cut.jpg")
            #expect(try await house.ask("discard", "2", "--yes").status == 0)
            try await daemon.line(holding: "PI-311 is over")
            #expect(try await house.ask("list", "--outcome", "quarantined").status == 4)
            try await daemon.stop()
            // With the old catalogue there is nothing to be restored.
            let again = try await house.ask("rebuild")
            #expect(again.status == 0 && !again.text.contains("quarantine  "), "\(again.lines)")
        }

        @Test("Notes in quarantine lead nowhere outside the inbox")
        func hostileNotes() async throws {
            let house = try House()
            try house.configure(House.oneCard)
            for name in ["quarantine", "quarantine/card", "quarantine/.hidden", "quarantine/no inbox", "st"] {
                try makeDirectory(house.path(name))
            }
            let notes = [
                "absolute": "/etc/passwd", "outside": "\(house.inbox)/../outside/x.jpg", "dots": "\(house.inbox)/..",
                "inbox": house.inbox, "temporary": "\(house.inbox)/.photo-inbox-1.part",
                "good": "\(house.inbox)/a/b.jpg", "part": "\(house.inbox)/x.jpg.part", "odd": "\\x",
            ]
            for (name, origin) in notes {
                let text = "what  x\n why  because\nwhen  2999-01-01 00:00:00 UTC\nfrom  \(origin)\n  do  y\n"
                try write(Data(name.utf8), to: house.path("quarantine/card/\(name).jpg"))
                try write(Data(text.utf8), to: house.path("quarantine/card/\(name).jpg.reason.txt"))
            }
            for name in [".hidden", "no inbox"] { try write(Data(), to: house.path("quarantine/\(name)/a.jpg")) }
            symlink("/etc/passwd", house.path("quarantine/card/link.jpg"))
            symlink(house.outside, house.path("quarantine/linked"))
            try write(Data("x".utf8), to: "\(house.outside)/far.jpg")
            let rebuilt = try await house.ask("rebuild", "--yes")
            #expect(rebuilt.text.contains("quarantine  8 files recorded"), "\(rebuilt.lines)")
            let listed = try await house.ask("list", "--outcome", "quarantined", "--json")
            for name in notes.keys {
                let path = name == "good" ? "a/b.jpg" : "\(name).jpg"
                #expect(listed.text.contains("\"\(path)\"") || listed.text.contains("\"path\":\"\(path)\""), "\(name)")
            }
            #expect(!listed.text.contains("passwd") && !listed.text.contains("far.jpg"), "\(listed.lines)")
            let since = try await house.ask("list", "--outcome", "quarantined", "--since", "2998-01-01")
            #expect(since.status == 4, "nothing was set aside in the future: \(since.lines)")
        }

        @Test("A rebuild beside a daemon names what stops that daemon")
        func running() async throws {
            let (house, _) = try await House.filled()
            let daemon = try await house.start()
            let answer = try await house.askByState("rebuild", "--library", house.library)
            #expect(answer.status == 75 && answer.output.contains("Stop it: Ctrl-C where it was started"), "\(answer)")
            #expect(!answer.output.contains("systemctl") && !answer.output.contains("give --state"), "\(answer)")
            try await daemon.stop()
        }
    }
}
