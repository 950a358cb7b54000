import Foundation
import Glibc
import Inbox
import TestSupport
import Testing

extension EndToEnd {
    /// What keeps library and catalogue one to one, when people or disks have changed one of them.
    @Suite("verify, adopt, rebuild, and a catalogue that was lost")
    struct Care {
        struct Answer {
            let status: Int32
            let output: String
        }

        /// Runs `photoinbox` on the house's state.
        private func ask(_ house: House, _ arguments: String...) async throws -> Answer {
            let out = house.path(".\(UUID()).out")
            let words = ([BuiltPrograms.path("photoinbox")] + arguments + ["--state", house.path("st")])
            let program = try RunningProgram(
                ["/bin/sh", "-c", "out=$1; shift; exec \"$@\" >\"$out\" 2>&1 </dev/null", "sh", out] + words)
            let ending = try await program.ending(within: 60)
            let text = String(decoding: (try? Data(contentsOf: URL(filePath: out))) ?? Data(), as: UTF8.self)
            guard case .status(let status) = ending else { return Answer(status: -1, output: text) }
            return Answer(status: status, output: text)
        }

        /// A house in which four photos were filed; their places, in order.
        private func filled() async throws -> (House, [String]) {
            let house = try House()
            let daemon = try await house.start()
            for number in 0..<4 {
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try await daemon.line(holding: "filed inbox/\(number).jpg")
            }
            try await daemon.stop()
            return (house, (0..<4).map { "\(house.library)/\(Photos.day)/\($0).jpg" })
        }

        @Test(
            "A library as it was filed is verified; damage, loss and strangers are named, and repair sets records right"
        )
        func verify() async throws {
            let (house, places) = try await filled()
            var answer = try await ask(house, "verify")
            #expect(answer.status == 0 && answer.output.contains("4 photos") && answer.output.contains("no damage"))
            // One bit of damage, one lost, one moved elsewhere, one put there by hand.
            var bytes = try Data(contentsOf: URL(filePath: places[0]))
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: URL(filePath: places[0]))
            unlink(places[1])
            try makeDirectory("\(house.library)/sorted")
            try move(places[2], to: "\(house.library)/sorted/kept.jpg")
            try write(try Photos.unique(9), to: "\(house.library)/sorted/own.jpg")
            answer = try await ask(house, "verify")
            #expect(answer.status == 3, "\(answer.output)")
            #expect(answer.output.contains("damaged  \(Photos.day)/0.jpg"))
            #expect(answer.output.contains("missing  \(Photos.day)/1.jpg"))
            #expect(answer.output.contains("missing  \(Photos.day)/2.jpg"))
            let before = house.files(in: house.library)
            answer = try await ask(house, "verify", "--repair")
            #expect(
                answer.status == 3 && answer.output.contains("1 photo recorded, 1 moved, 1 struck"), "\(answer.output)")
            #expect(house.files(in: house.library) == before, "repair never touches a photo")
            answer = try await ask(house, "verify", "--json")
            let lines = answer.output.split(separator: "\n").compactMap {
                try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
            let summary = try #require(lines.last)
            #expect(
                summary["photos"] as? Int == 4 && summary["damaged"] as? Int == 1 && summary["missing"] as? Int == 0)
            // The photo that was lost comes again and is filed; the damaged one too, beside what is left of it.
            let daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "1.jpg")
            try await daemon.line(holding: "filed inbox/1.jpg")
            try house.drop(try Photos.unique(0), as: "0.jpg")
            try await daemon.line(holding: "filed inbox/0.jpg")
            // What lies elsewhere is known there.
            try house.drop(try Photos.unique(2), as: "2.jpg")
            try await daemon.line(holding: "duplicate inbox/2.jpg")
            try await daemon.stop()
        }

        @Test("A run that is stopped goes on where it was")
        func resumed() async throws {
            let (house, _) = try await filled()
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox"), "verify", "--rate", "1K", "--json", "--state", house.path("st")])
            try await program.line(holding: "\"photos\":1,")
            program.signal(SIGINT)
            #expect(try await program.ending() == .status(3))
            let answer = try await ask(house, "verify")
            #expect(answer.status == 0 && answer.output.contains("going on after photo"), "\(answer.output)")
            #expect(!answer.output.contains("4 photos"))
            #expect(try await ask(house, "verify").output.contains("4 photos"))
        }

        @Test("An old library is adopted in place: nothing of it is filed twice")
        func adopted() async throws {
            let house = try House()
            try makeDirectory("\(house.library)/old")
            for number in 0..<3 { try write(try Photos.unique(number), to: "\(house.library)/old/\(number).jpg") }
            try write(try Photos.unique(0), to: "\(house.library)/old/same.jpg")
            try write(Data("no photo".utf8), to: "\(house.library)/old/readme.txt")
            var daemon = try await house.start()
            try await daemon.stop()
            var answer = try await ask(house, "adopt", "--dry-run", house.library)
            #expect(answer.status == 0 && answer.output.contains("would record  old/2.jpg"), "\(answer.output)")
            daemon = try await house.start()
            answer = try await ask(house, "adopt", house.library)
            #expect(answer.status == 0 && answer.output.contains("3 photos"), "\(answer.output)")
            #expect(answer.output.contains("old/same.jpg  (the same bytes as old/0.jpg)"))
            answer = try await ask(house, "adopt", "\(house.library)/old")
            #expect(answer.output.contains("0 photos") && answer.output.contains("3 known already"), "\(answer.output)")
            try house.drop(try Photos.unique(1), as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            #expect(try await ask(house, "adopt", house.outside).status == 64)
            try await daemon.stop()
        }

        @Test("A catalogue is made anew by hand, never beside a daemon; the old one is kept")
        func rebuilt() async throws {
            let (house, _) = try await filled()
            let daemon = try await house.start()
            #expect(try await ask(house, "rebuild", "--library", house.library).status == 75)
            try await daemon.stop()
            let answer = try await ask(house, "rebuild", "--library", house.library)
            #expect(answer.status == 0 && answer.output.contains("4 photos"), "\(answer.output)")
            let kept = house.files(in: house.path("st")).keys.filter { $0.contains("before-rebuild") }
            #expect(kept.contains { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
            #expect(try await ask(house, "verify").output.contains("4 photos"))
            let again = try await house.start()
            try house.drop(try Photos.unique(3), as: "again.jpg")
            try await again.line(holding: "duplicate inbox/again.jpg")
            try await again.stop()
        }

        @Test("A damaged catalogue is set aside, and made anew from the library before anything is filed")
        func damaged() async throws {
            let (house, _) = try await filled()
            for ending in ["-wal", "-shm"] { unlink(house.path("st/catalogue.sqlite\(ending)")) }
            try Data(repeating: 7, count: 10_000).write(to: URL(filePath: house.path("st/catalogue.sqlite")))
            try house.drop(try Photos.unique(2), as: "again.jpg")
            let daemon = try await house.start(telling: ["the catalogue is made anew: 4 photos"])
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            #expect(house.files(in: house.library).count == 4)
            let state = try await house.state(of: daemon)
            #expect(state.problems.isEmpty)
            try await daemon.stop()
            #expect(house.files(in: house.path("st")).keys.contains { $0.contains(".damaged-") })
        }
    }
}
