import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Pause, release, discard and undo")
    struct Control {
        @Test("Pause: arrivals are counted and wait, also after a restart and a reload, until resume")
        func pause() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: House.oneCard)
            let paused = try await house.ask("pause", "card")
            #expect(paused.status == 0 && paused.text.contains("paused card: "), "\(paused.lines)")
            try await daemon.line(holding: "paused card, asked by ")
            for number in 0..<3 { try house.drop(try Photos.unique(number), as: "\(number).jpg") }
            var state = try await counted(3, daemon, house)
            let pause = try #require(state.inboxes.first?.paused)
            #expect(!pause.by.isEmpty && pause.since.hasSuffix("Z"))
            #expect(state.problems.contains { $0.code == "PI-210" && $0.what.contains("inbox card was paused by") })
            #expect(state.program.status.contains("card paused"))
            let status = try await house.ask("status")
            #expect(
                status.status == 0 && status.text.contains("paused")
                    && status.text.contains(house.proposed("resume", "card")))
            #expect(state.inHand.allSatisfy { $0.what == "waits: its inbox is paused" })
            let waiting = try await house.ask("explain", "card/0.jpg")
            #expect(
                waiting.text.hasPrefix("card/0.jpg: waiting; its inbox is paused\n")
                    && waiting.text.contains(" now  " + house.proposed("resume", "card")), "\(waiting.lines)")
            let again = try await house.ask("pause", "card")
            #expect(again.status == 0 && again.text.contains("paused already"))

            daemon.signal(SIGHUP)
            try await daemon.line(holding: "configuration from ")
            state = try await counted(3, daemon, house)
            #expect(state.inboxes.first?.paused != nil)
            // It ends normally, although photos wait.
            try await daemon.stop()
            #expect(house.files(in: house.inbox).count == 3 && house.files(in: house.library).isEmpty)

            daemon = try await house.start(configuration: House.oneCard)
            state = try await counted(3, daemon, house)
            #expect(state.inboxes.first?.paused?.since == pause.since)
            let resumed = try await house.ask("resume", "card", "--json")
            #expect(resumed.status == 0 && resumed.text.contains("\"did\":\"resumed\""), "\(resumed.lines)")
            try await daemon.lines(3, holding: "filed card/")
            #expect(house.files(in: house.library).count == 3)
            state = try await house.state(of: daemon)
            #expect(state.inboxes.first?.paused == nil && !state.problems.contains { $0.code == "PI-210" })
            try await daemon.stop()
        }

        /// The state once `count` files are in hand.
        private func counted(_ count: Int, _ daemon: RunningProgram, _ house: House) async throws -> DaemonState {
            try await house.state(of: daemon) { state in
                let counts = try #require(state.inboxes.first?.counts)
                #expect(counts.balances && counts.filed == 0)
                return counts.inHand == count
            }
        }

        @Test("Release: a file returns to the inbox for another try, or is filed as it is, which its proof records")
        func release() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let photo = try Photos.named("rocket.jpg")
            let cut = photo.prefix(photo.count / 2)
            try makeDirectory("\(house.inbox)/sub")
            try house.drop(cut, as: "sub/cut.jpg")
            try await daemon.line(holding: "quarantined card/sub/cut.jpg")
            let explained = try await house.ask("explain", "card/sub/cut.jpg")
            #expect(explained.text.contains(house.proposed("release", "1 --as-is")), "\(explained.lines)")

            for name in ["1", "card/sub/cut.jpg"] {
                let dry = try await house.ask("release", name, "--dry-run")
                #expect(dry.status == 0 && dry.text.contains("\(house.inbox)/sub/cut.jpg"), "\(dry.lines)")
            }
            #expect(house.places(of: cut) == ["quarantine/card/cut.jpg"])
            let first = try await house.ask("release", "1")
            #expect(first.status == 0 && first.text.contains("looked at again"), "\(first.lines)")
            try await daemon.line(holding: "released card/sub/cut.jpg", "asked by ")
            try await daemon.line(holding: "quarantined card/sub/cut.jpg")
            #expect(house.places(of: cut).count == 1)
            #expect(house.files(in: house.path("quarantine/card")).count == 2, "the note is one")

            let twice = try await house.ask("release", "1", "--json")
            #expect(twice.status == 4 && twice.text.contains("released already"), "\(twice.lines)")
            let waiting = try await house.ask("list", "--outcome", "quarantined")
            #expect(waiting.lines.count == 2 && waiting.lines[1].hasPrefix("     2  "), "\(waiting.lines)")
            let asIs = try await house.ask("release", "2", "--as-is")
            #expect(asIs.status == 0 && asIs.text.contains("filed as it is"), "\(asIs.lines)")
            try await daemon.line(holding: "filed card/sub/cut.jpg as ")
            #expect(try await house.ask("list", "--outcome", "quarantined").status == 4)
            #expect(house.places(of: cut).count == 1 && house.files(in: house.library).count == 1)
            let shown = try await house.ask("show", "3")
            #expect(shown.text.contains("released by "), "\(shown.lines)")
            #expect(house.files(in: "\(house.root)/quarantine").isEmpty)
            house.expectNoTemporaries()
            try await daemon.stop()
        }

        @Test("Discard: a file moves to the trash, where it expires; a filed photo is never discarded")
        func discard() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard + "\n[filing]\ntrash = \"1s\"\n")
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            try house.drop(photo, as: "b.jpg")
            try await daemon.line(holding: "duplicate card/b.jpg")
            let unsure = try await house.ask("discard", "2")
            #expect(unsure.status == 64 && unsure.text.contains("--yes"))
            let impossible = try await house.ask("discard", "1")
            #expect(impossible.status == 1 && impossible.text.contains(house.proposed("undo", "1")), "\(impossible)")
            let filed = try await house.ask("discard", "1", "--yes")
            #expect(filed.status == 1 && filed.text.contains(house.proposed("undo", "1")), "\(filed.lines)")
            let done = try await house.ask("discard", "2", "--yes", "--json")
            let there = try await house.ask("explain", house.path("trash/card/b.jpg"))
            #expect(there.status == 0 && there.text.contains("discarded"), "\(there.lines)")
            #expect(done.status == 0 && done.text.contains("\(house.root)/trash/card/b.jpg"), "\(done.lines)")
            // Deleted on a tick, after a second; the filed photo stays.
            try await daemon.line(holding: "deleted from the trash: ", "/trash/card/b.jpg")
            #expect(house.places(of: photo) == ["library/\(Photos.day)/a.jpg"])
            house.expectNoTemporaries()
            let twice = try await house.ask("discard", "2", "--yes")
            #expect(twice.status == 4)
            // The problem of the file that needed a decision ends.
            try house.drop(photo.prefix(photo.count / 2), as: "cut.jpg")
            try await daemon.line(holding: "quarantined card/cut.jpg")
            #expect(try await house.ask("list", "--outcome", "quarantined").status == 0)
            #expect(try await house.ask("discard", "card/cut.jpg", "--yes").status == 0)
            #expect(try await house.ask("list", "--outcome", "quarantined").status == 4)
            try await daemon.stop()
        }

        @Test("A quarantined file that somebody deleted is closed by discard and rescan, unless its disk may be away")
        func deletedByHand() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let photo = try Photos.named("rocket.jpg")
            for (name, part) in [("a.jpg", 2), ("b.jpg", 3), ("c.jpg", 4)] {
                try house.drop(photo.prefix(photo.count / part), as: name)
                try await daemon.line(holding: "quarantined card/\(name)")
            }
            let place = house.path("quarantine/card")
            func delete(_ name: String) {
                for ending in ["", ".reason.txt"] { unlink("\(place)/\(name)\(ending)") }
            }
            func waiting() async throws -> Int {
                try await house.ask("list", "--outcome", "quarantined").lines.count { $0.contains("card/") }
            }
            delete("a.jpg")
            let release = try await house.ask("release", "1")
            #expect(release.status == 4 && release.text.contains("photoinbox rescan"), "\(release.lines)")
            let dry = try await house.ask("discard", "1", "--dry-run")
            #expect(dry.status == 0 && dry.text.contains("would be closed: card/a.jpg"), "\(dry.lines)")
            #expect(try await waiting() == 3)
            let done = try await house.ask("discard", "1", "--yes")
            #expect(done.status == 0 && done.text.contains("closed card/a.jpg, which was deleted by hand"), "\(done)")
            #expect(try await waiting() == 2)
            for name in ["card/a.jpg", "\(place)/a.jpg"] {
                let explained = try await house.ask("explain", name)
                #expect(explained.text.contains("deleted by hand; noted"), "\(explained.lines)")
                #expect(!explained.text.contains("now at"), "\(explained.lines)")
            }
            #expect(try await house.ask("show", "1").text.contains("deleted by hand"))
            #expect(try await house.ask("discard", "1", "--yes").status == 4)
            // Somewhere else, as on a disk that is away: nothing is forgotten.
            let (root, away) = (house.path("quarantine"), "\(house.outside)/away")
            try move(root, to: away)
            for step in 0..<3 {
                if step == 1 { try makeDirectory(root) }
                if step == 2 { try makeDirectory(place) }
                let refused = try await house.ask("discard", "2", "--yes")
                #expect(refused.status == 1, "\(step): \(refused.lines)")
                #expect(try await house.ask("rescan").status == 0)
                #expect(try await waiting() == 2, "\(step)")
            }
            #expect(rmdir(place) == 0 && rmdir(root) == 0)
            try move(away, to: root)
            delete("c.jpg")
            let rescan = try await house.ask("rescan")
            #expect(rescan.text.contains("closed 1 quarantined file, deleted by hand"), "\(rescan.lines)")
            #expect(try await waiting() == 1, "b.jpg is still there")
            #expect(try await house.ask("release", "2").status == 0)
            try await daemon.stop()
        }

        @Test("What was set aside in the place of a deleted file is not discarded by the number of that one")
        func placeTakenAgain() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let photo = try Photos.named("rocket.jpg")
            let place = house.path("quarantine/card/a.jpg")
            for part in [2, 3, 4] {
                unlink(place)
                unlink("\(place).reason.txt")
                try house.drop(photo.prefix(photo.count / part), as: "a.jpg")
                try await daemon.line(holding: "quarantined card/a.jpg")
            }
            let kept = photo.prefix(photo.count / 4)
            let release = try await house.ask("release", "1")
            #expect(release.status == 1 && release.text.contains("is of operation 3"), "\(release.lines)")
            let done = try await house.ask("discard", "1", "--yes")
            #expect(done.status == 0 && done.text.contains("closed card/a.jpg, which was deleted by hand"), "\(done)")
            #expect(FileManager.default.contents(atPath: place) == kept)
            let rescan = try await house.ask("rescan")
            #expect(rescan.text.contains("closed 1 quarantined file, deleted by hand"), "\(rescan.lines)")
            #expect(FileManager.default.contents(atPath: place) == kept)
            #expect(try await house.ask("discard", "3", "--yes").text.contains("discarded"))
            #expect(FileManager.default.contents(atPath: place) == nil)
            try await daemon.stop()
        }

        @Test("A photo has one number everywhere, and can be named by its path or the start of its SHA-256")
        func oneNumber() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let photos = try (0..<3).map { try Photos.unique($0) }
            for (data, name) in [
                (photos[0], "a.jpg"), (photos[0], "b.jpg"), (photos[1], "c.jpg"), (photos[2], "d.jpg"),
            ] {
                try house.drop(data, as: name)
                try await daemon.line(holding: name == "b.jpg" ? "duplicate card/b.jpg" : "filed card/\(name)")
            }
            // After a duplicate, the catalogue's own numbers of photos differ.
            let list = try await house.ask("list")
            let number = try #require(list.lines.first { $0.hasSuffix("d.jpg") }?.split(separator: " ").first)
            #expect(number == "4", "\(list.lines)")
            #expect(try await house.ask("search", "--name", "d.jpg").text.contains("\n     \(number)"))
            #expect(try await house.ask("show", String(number)).text.contains("card/d.jpg"))
            let json = try await house.ask("list", "--json")
            #expect(json.text.contains("\"operation\":4"), "\(json.lines)")
            let place = "\(house.library)/\(Photos.day)/d.jpg"
            let hash = String(try #require(json.text.firstMatch(of: #/"sha256":"([0-9a-f]{10})/#)?.1))
            for name in [place, "card/d.jpg", hash] {
                let dry = try await house.ask("undo", name, "--dry-run")
                #expect(dry.status == 0 && dry.text.contains("card/d.jpg"), "\(name): \(dry.lines)")
                #expect(try await house.ask("show", name).text.contains("\(Photos.day)/d.jpg"), "\(name)")
            }
            #expect(try await house.ask("undo", "0123456789", "--dry-run").status == 4)
            #expect(try await house.ask("undo", "card/b.jpg").status == 4, "a duplicate was not filed")
            #expect(try await house.ask("discard", "card/b.jpg", "--yes").status == 0)
            try overwrite(place, with: Data("damaged".utf8))
            let verified = try await house.ask("verify", "--json")
            #expect(verified.status == 3)
            let damaged = verified.lines.first { $0.contains("d.jpg") }
            #expect(damaged?.contains("\"operation\":4") == true, "\(verified.lines)")
            try await daemon.stop()
        }

        @Test("On a terminal a command shows its effect and asks, and proposed commands work when pasted")
        func confirmation() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            let explained = try await house.ask("explain", "card/a.jpg")
            let proposed = try #require(explained.lines.first { $0.contains("photoinbox undo ") })
            let command = proposed[try #require(proposed.range(of: "photoinbox undo")).lowerBound...]
            let program = BuiltPrograms.path("photoinbox")
            for (answer, place) in [("n\r", "library/\(Photos.day)/a.jpg"), ("y\r", "returned/card/a.jpg")] {
                let terminal = try PseudoTerminal(
                    ["/bin/sh", "-c", "\(program)\(command.dropFirst("photoinbox".count))"], columns: 200)
                try await terminal.wait(for: "would be taken back: card/a.jpg")
                try await terminal.wait(for: "[y/N]")
                terminal.type(answer)
                #expect(try await terminal.ending() == .status(answer == "y\r" ? 0 : 1))
                #expect(house.places(of: photo) == [place])
            }
            try await daemon.stop()
        }

        @Test("Undo: a photo moves from the library to returned/, and can be filed again")
        func undo() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            let explained = try await house.ask("explain", "card/a.jpg")
            #expect(explained.text.contains(house.proposed("undo", "1")), "\(explained.lines)")
            let dry = try await house.ask("undo", "1", "--dry-run")
            #expect(dry.status == 0 && house.places(of: photo) == ["library/\(Photos.day)/a.jpg"])
            let done = try await house.ask("undo", "1")
            #expect(done.status == 0, "\(done.lines)")
            try await daemon.line(holding: "taken back card/a.jpg", "asked by ")
            #expect(house.places(of: photo) == ["returned/card/a.jpg"])
            let told = try await house.ask("explain", "card/a.jpg")
            #expect(told.text.contains("taken back") && told.text.contains("returned/card/a.jpg"), "\(told.lines)")
            let there = try await house.ask("explain", house.path("returned/card/a.jpg"))
            #expect(there.status == 0 && there.text.contains("taken back"), "\(there.lines)")
            #expect(
                there.text.contains("card/a.jpg") && there.text.contains(house.proposed("show", "1")), "\(there.lines)")
            let twice = try await house.ask("undo", "1")
            #expect(twice.status == 4 && twice.text.contains("taken back already"), "\(twice.lines)")
            let none = try await house.ask("undo", "77")
            #expect(none.status == 4)
            // A photo that was undone is no longer known.
            try house.drop(photo, as: "again.jpg")
            try await daemon.line(holding: "filed card/again.jpg")
            #expect(
                house.places(of: photo) == ["library/\(Photos.day)/again.jpg", "returned/card/a.jpg"])
            house.expectNoTemporaries()
            try await daemon.stop()
        }

        @Test("Undo of a whole set, or of one member")
        func undoSet() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            for (stem, number) in [("DSC_1", 1), ("DSC_2", 2)] {
                var raw = try Photos.named("mosaic.nef")
                raw.append(contentsOf: Array("\(number)".utf8))
                try house.drop(raw, as: "\(stem).NEF")
                try house.drop(try Photos.unique(number), as: "\(stem).JPG")
                try await daemon.lines(holding: ["filed card/\(stem).JPG", "filed card/\(stem).NEF"])
            }
            #expect(daemon.count(of: "filed as one with") == 4)
            func number(of name: String) async throws -> String {
                let command = try await house.ask("explain", "card/\(name)").text.split(
                    separator: house.proposed("undo", ""))
                return String(try #require(command.last?.prefix { $0.isNumber }))
            }
            let jpeg = try await number(of: "DSC_1.JPG")
            let dry = try await house.ask("undo", jpeg, "--dry-run")
            #expect(dry.status == 0 && dry.text.contains("DSC_1.NEF") && dry.text.contains("DSC_1.JPG"), "\(dry.lines)")
            #expect(dry.text.ranges(of: "would be taken back").count == 1, "\(dry.lines)")
            #expect(dry.lines[0].hasSuffix("would be taken back: card/DSC_1.JPG, card/DSC_1.NEF"), "\(dry.lines)")
            let done = try await house.ask("undo", jpeg)
            #expect(done.status == 0, "\(done.lines)")
            try await daemon.lines(holding: ["taken back card/DSC_1.JPG", "taken back card/DSC_1.NEF"])
            #expect(Set(house.files(in: house.path("returned/card")).keys) == ["DSC_1.JPG", "DSC_1.NEF"])
            let alone = try await house.ask("undo", try await number(of: "DSC_2.JPG"), "--alone")
            #expect(alone.status == 0 && !alone.text.contains("NEF"), "\(alone.lines)")
            #expect(
                Set(house.files(in: house.path("returned/card")).keys) == ["DSC_1.JPG", "DSC_1.NEF", "DSC_2.JPG"])
            #expect(house.files(in: house.library).count == 1, "the raw file of the second stays")
            house.expectNoTemporaries()
            try await daemon.stop()
        }

        @Test("Outcomes of an inbox that is no longer configured can be undone and discarded")
        func removedInbox() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: House.oneCard)
            let photo = try Photos.unique(1)
            for name in ["a.jpg", "b.jpg"] {
                try house.drop(photo, as: name)
                try await daemon.line(holding: " card/\(name)")
            }
            try await daemon.stop()
            let other = House.oneCard.replacing("[inbox.card]", with: "[inbox.other]") + "\n[filing]\ntrash = \"1s\"\n"
            daemon = try await house.start(configuration: other)
            let undone = try await house.ask("undo", "1")
            #expect(undone.status == 0 && undone.text.contains("taken back card/a.jpg"), "\(undone.lines)")
            #expect(house.files(in: house.path("returned/card")) == ["a.jpg": photo])
            #expect(try await house.ask("discard", "2", "--yes").status == 0)
            try await daemon.line(holding: "deleted from the trash: ", "/trash/card/b.jpg")
            #expect(house.places(of: photo) == ["returned/card/a.jpg"])
            try await daemon.stop()
        }

        @Test("Retry and rescan: deferred files at once, an ignored file, an inbox whose events were lost")
        func retryAndRescan() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: House.oneCard.replacing("patience = \"1s\"", with: "patience = \"10m\""))
            let photo = try Photos.named("rocket.jpg")
            try house.drop(photo.prefix(1_000), as: "cut.jpg")
            // After four tries the next one is 8 s away.
            try await daemon.lines(4, holding: "deferred card/cut.jpg")
            let retried = try await house.ask("retry", "card/cut.jpg")
            #expect(retried.status == 0 && retried.text.contains("trying 1 file"), "\(retried.lines)")
            try await daemon.lines(holding: ["trying what is deferred of card/cut.jpg now", "deferred card/cut.jpg"])
            let all = try await house.ask("retry", "--all", "--dry-run")
            #expect(all.status == 0 && all.text.contains("1 of all inboxes"), "\(all.lines)")
            let nothing = try await house.ask("retry", "card/none.jpg")
            #expect(nothing.status == 4)
            let both = try await house.ask("retry", "--all", "card")
            #expect(both.status == 64)

            try house.drop(Data("text".utf8), as: "notes.xyz")
            try await daemon.line(holding: "ignored card/notes.xyz")
            let looked = try await house.ask("rescan", "card/notes.xyz")
            #expect(looked.status == 0, "\(looked.lines)")
            try await daemon.line(holding: "ignored card/notes.xyz")
            let whole = try await house.ask("rescan")
            #expect(whole.status == 0 && whole.text.contains("rescanned card"), "\(whole.lines)")
            let wrong = try await house.ask("rescan", "cart")
            #expect(wrong.status == 4 && wrong.text.contains("Inboxes: card"), "\(wrong.lines)")
            try await daemon.stop()
        }

        @Test("Without a daemon commands do what is possible, and report what to do for the rest")
        func withoutDaemon() async throws {
            let house = try House()
            try house.configure(House.oneCard)
            let never = try await house.ask("pause", "card")
            #expect(never.status == 69 && never.text.contains("is not running"), "\(never.lines)")
            var daemon = try await house.start(configuration: House.oneCard)
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            try await daemon.stop()
            let rescan = try await house.ask("rescan")
            #expect(
                rescan.status == 69 && rescan.text.contains("photoinboxd --config \(house.path("photoinbox.toml"))"),
                "\(rescan.lines)")
            let undone = try await house.ask("undo", "1")
            #expect(undone.status == 0, "\(undone.lines)")
            #expect(house.places(of: photo) == ["returned/card/a.jpg"])
            let paused = try await house.ask("pause", "card")
            #expect(paused.status == 0 && paused.text.contains("not running"), "\(paused.lines)")
            try house.drop(try Photos.unique(2), as: "b.jpg")
            daemon = try await house.start(configuration: House.oneCard)
            #expect(try await counted(1, daemon, house).inboxes.first?.paused != nil)
            #expect(try await house.ask("resume", "card").status == 0)
            try await daemon.line(holding: "filed card/b.jpg")
            try await daemon.stop()
        }

        @Test("Without a daemon and its program a command names the missing file and changes nothing")
        func withoutTheProgram() async throws {
            let house = try House()
            try await house.start(configuration: House.oneCard).stop()
            let alone = house.path("photoinbox")
            try copy(BuiltPrograms.path("photoinbox"), to: alone)
            let program = try RunningProgram([alone, "pause", "card", "--config", house.path("photoinbox.toml")])
            #expect(try await program.ending() == .status(69))
            #expect(
                program.lines.first?.contains("cannot be started for this: there is no ") == true, "\(program.lines)")
            #expect(try await house.ask("resume", "card").text.contains("card is not paused"))
        }

        @Test("explain names the writer of a file, and recognises an inbox")
        func explained() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let writer = try SlowWriter("\(house.inbox)/long.jpg")
            try writer.write(try Photos.unique(1).prefix(1_000))
            var answer = try await house.ask("explain", "card/long.jpg")
            #expect(
                answer.status == 0 && answer.text.contains("not finished: open for writing by ")
                    && answer.text.contains("(pid \(getpid()))"), "\(answer.lines)")
            for name in ["card", house.inbox] {
                answer = try await house.ask("explain", name)
                #expect(answer.text.contains("is the inbox card; name a file in it"), "\(answer.lines)")
            }
            try writer.write(try Photos.unique(1).dropFirst(1_000))
            writer.close()
            try await daemon.line(holding: "filed card/long.jpg")
            try await daemon.stop()
        }
    }
}
