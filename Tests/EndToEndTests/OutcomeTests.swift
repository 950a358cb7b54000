import ControlProtocol
import FileValues
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Every file gets the right outcome")
    struct Outcomes {
        @Test("A duplicate moves to duplicates/, and the library's copy is unchanged")
        func duplicates() async throws {
            let house = try House()
            let daemon = try await house.start()
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg as ")
            try house.drop(photo, as: "b.jpg")
            try await daemon.line(holding: "duplicate inbox/b.jpg: the same bytes as ")
            // Also under the old name, and once more.
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "duplicate inbox/a.jpg")
            try house.drop(photo, as: "b.jpg")
            try await daemon.line(holding: "duplicate inbox/b.jpg")
            #expect(house.files(in: house.library) == ["\(Photos.day)/a.jpg": photo])
            #expect(house.files(in: house.duplicates).values.map { $0 } == [photo, photo, photo])
            #expect(house.files(in: house.inbox).isEmpty)
            try await daemon.stop()
        }

        @Test("Bytes of a camera's name that are not text are escaped once")
        func hostileCamera() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            var photo = try Photos.unique(1)
            let name = try #require(photo.firstRange(of: Data("Canon EOS R6".utf8)))
            photo.replaceSubrange(name, with: Data("Canon\u{1B}EOS\\R6".utf8))
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg as ")
            for command in [["show", "1"], ["search", "--name", "a.jpg"]] {
                let shown = try await house.ask(command)
                #expect(shown.text.contains(#"Canon\x1bEOS\\R6"#), "\(shown.lines)")
            }
            try await daemon.stop()
        }

        @Test("Of many copies at the same time one is filed, and all others are duplicates")
        func duplicatesAtOnce() async throws {
            let house = try House()
            let photo = try Photos.unique(1)
            for number in 0..<12 { try house.drop(photo, as: "p\(number).jpg") }
            // A copy is deferred while another is being filed, and is then a duplicate.
            let daemon = try await house.start(reporting: Array(repeating: "duplicate inbox/", count: 11))
            #expect(house.files(in: house.library).count == 1)
            #expect(house.files(in: house.duplicates).count == 11)
            #expect(daemon.count(of: " filed inbox/") == 1)
            try await daemon.stop()
        }

        @Test("A photo whose copy in the library is damaged is filed")
        func damagedOriginal() async throws {
            let house = try House()
            let daemon = try await house.start()
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg as ")
            let stored = "\(house.library)/\(Photos.day)/a.jpg"
            try write(Data("x".utf8), to: stored)
            try house.drop(photo, as: "again.jpg")
            try await daemon.lines(holding: ["filed inbox/again.jpg as ", "damage in the library"])
            #expect(house.files(in: house.library)["\(Photos.day)/again.jpg"] == photo)
            #expect(house.files(in: house.library)["\(Photos.day)/a.jpg"] == photo + Data("x".utf8), "evidence stays")
            try await daemon.stop()
        }

        @Test("Different photos with the same name get a number, and nothing is overwritten")
        func collidingNames() async throws {
            let house = try House()
            let daemon = try await house.start()
            let photos = try (0..<4).map { try Photos.unique($0) }
            for photo in photos {
                try house.drop(photo, as: "IMG_0001.JPG")
                try await daemon.line(holding: "filed inbox/IMG_0001.JPG as ")
            }
            let library = house.files(in: house.library)
            #expect(library["\(Photos.day)/IMG_0001.JPG"] == photos[0])
            #expect(Set(library.values) == Set(photos) && library.count == 4)
            try await daemon.stop()
        }

        @Test("A truncated JPEG is deferred, then set aside with the reason")
        func truncated() async throws {
            let house = try House()
            let patient = try await house.start("--patience", "10m")
            let photo = try Photos.named("rocket.jpg")
            try house.drop(photo.prefix(photo.count / 2), as: "cut.jpg")
            try await patient.line(holding: "deferred inbox/cut.jpg", "cut short")
            #expect(house.files(in: house.inbox).count == 1, "deferred, it stays where it is")
            try await patient.stop()
            let daemon = try await house.start("--patience", "1s")
            // Any change of the mount table has the quarantine counted: the problem can come before the outcome's line.
            // It remains until the quarantine is empty.
            try await daemon.lines(holding: [
                "quarantined inbox/cut.jpg: JPEG is cut short", "PI-311 1 photo needs a decision: inbox/cut.jpg",
            ])
            let aside = house.files(in: house.quarantine)
            #expect(aside["cut.jpg"] == photo.prefix(photo.count / 2))
            let note = try #require(aside.first { $0.key.hasSuffix(".txt") })
            #expect(String(decoding: note.value, as: UTF8.self).contains("cut short"))
            #expect(aside.count == 2 && house.files(in: house.inbox).isEmpty && house.files(in: house.library).isEmpty)
            for name in aside.keys { unlink("\(house.quarantine)/\(name)") }
            daemon.signal(SIGUSR2)
            try await daemon.line(holding: "PI-311 is over")
            // So does the command that people know.
            try house.drop(photo.prefix(photo.count / 3), as: "again.jpg")
            try await daemon.lines(holding: ["quarantined inbox/again.jpg", "PI-311 1 photo needs a decision"])
            for name in house.files(in: house.quarantine).keys { unlink("\(house.quarantine)/\(name)") }
            let rescan = try await house.askByState("rescan")
            #expect(rescan.status == 0, "\(rescan.output)")
            try await daemon.line(holding: "PI-311 is over")
            try await daemon.stop()
        }

        @Test("A truncated JPEG that is completed later is filed")
        func completed() async throws {
            let house = try House()
            let daemon = try await house.start("--patience", "10m")
            let photo = try Photos.named("rocket.jpg")
            let half = photo.count / 2
            try house.drop(photo.prefix(half), as: "slow.jpg")
            try await daemon.line(holding: "deferred inbox/slow.jpg", "cut short")
            let writer = try SlowWriter("\(house.inbox)/slow.jpg")
            try writer.write(photo.dropFirst(half))
            writer.close()
            try await daemon.line(holding: "filed inbox/slow.jpg as ")
            #expect(house.files(in: house.library) == ["\(Photos.day)/slow.jpg": photo])
            try await daemon.stop()
        }

        @Test("Text named as a photo, text and empty files are not filed")
        func noPhotos() async throws {
            let house = try House()
            var daemon = try await house.start("--patience", "1s")
            try house.drop(Data("dear diary\n".utf8), as: "letter.jpg")
            try house.drop(Data("dear diary\n".utf8), as: "letter.txt")
            try house.drop(Data(), as: "empty.jpg")
            try house.drop(Data(), as: "empty")
            try await daemon.lines(holding: [
                "quarantined inbox/letter.jpg: not a photo in spite of its name",
                "ignored inbox/letter.txt: not a photo",
                "quarantined inbox/empty.jpg", "inbox/empty:",
            ])
            #expect(house.files(in: house.inbox)["letter.txt"] == Data("dear diary\n".utf8), "what is ignored stays")
            #expect(Set(house.files(in: house.quarantine).keys).isSuperset(of: ["letter.jpg", "empty.jpg"]))
            try await daemon.stop()
            // Reported once, not at each start.
            daemon = try await house.start("--patience", "1s")
            try house.drop(try Photos.unique(1), as: "after.jpg")
            try await daemon.lines(holding: ["filed inbox/after.jpg"])
            #expect(daemon.count(of: "letter.txt") == 0)
            try await daemon.stop()
        }

        @Test("A FIFO, a link to a photo and a photo with two names are not filed")
        func noRegularFiles() async throws {
            let house = try House()
            let daemon = try await house.start("--patience", "1s")
            #expect(mkfifo("\(house.inbox)/pipe.jpg", 0o666) == 0)
            try write(try Photos.unique(1), to: "\(house.outside)/secret.jpg")
            #expect(symlink("\(house.outside)/secret.jpg", "\(house.inbox)/symbolic.jpg") == 0)
            #expect(symlink("/dev/zero", "\(house.inbox)/endless.jpg") == 0)
            #expect(link("\(house.outside)/secret.jpg", "\(house.inbox)/hard.jpg") == 0)
            try await daemon.lines(holding: [
                "ignored inbox/pipe.jpg", "ignored inbox/symbolic.jpg: it is a symbolic link",
                "ignored inbox/endless.jpg",
                "ignored inbox/hard.jpg",
            ])
            #expect(house.files(in: house.library).isEmpty)
            #expect(house.files(in: house.outside).count == 1)
            // The daemon still runs.
            try house.drop(try Photos.unique(2), as: "after.jpg")
            try await daemon.line(holding: "filed inbox/after.jpg")
            try await daemon.stop()
        }

        @Test("A name of 255 bytes with a newline and invalid UTF-8 is filed and forges no line")
        func hostileName() async throws {
            let house = try House()
            let daemon = try await house.start()
            let start = Array("a\n2026-01-01 00:00:00 info filed forged.jpg as x\u{1B}[31m".utf8) + [0xFF, 0xC3]
            let end = Array(".jpg".utf8)
            let name = BytePath(start + Array(repeating: UInt8(ascii: "x"), count: 255 - start.count - end.count) + end)
            #expect(name.bytes.count == 255)
            let photo = try Photos.unique(1)
            let aside = "\(house.outside)/aside"
            try write(photo, to: aside)
            #expect(BytePath(house.inbox).appending(name).withCString { rename(aside, $0) } == 0)
            let line = try await daemon.line(holding: "filed inbox/a", "forged.jpg as x")
            #expect(!line.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "\(line.debugDescription)")
            #expect(!daemon.lines.contains { $0.hasPrefix("2026-01-01 00:00:00 ") })
            let stored = house.files(in: house.library)
            #expect(stored.values.map { $0 } == [photo])
            #expect(house.files(in: house.inbox).isEmpty)
            let state = try await house.state(of: daemon)
            #expect(state.outcomes.map(\.file) == [name.escaped])
            try await daemon.stop()
        }
    }
}
