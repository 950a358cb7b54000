import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Damaged photos and catalogues")
    struct Damage {
        @Test("Damage found by verify is in the daemon's status, also after restarts, until the photo is intact again")
        func damageLasts() async throws {
            let (house, places) = try await House.filled()
            var daemon = try await house.start()
            let whole = try Data(contentsOf: URL(filePath: places[0]))
            // One bit, with size and time unchanged.
            let date = try FileManager.default.attributesOfItem(atPath: places[0])[.modificationDate] as? Date
            let time = [FileAttributeKey.modificationDate: try #require(date)]
            var bytes = whole
            bytes[bytes.count / 2] ^= 1
            try overwrite(places[0], with: bytes)
            try FileManager.default.setAttributes(time, ofItemAtPath: places[0])
            #expect(try await house.state(of: daemon).problems.isEmpty)
            #expect(try await house.askByState("verify").status == 3)
            try await daemon.line(holding: "PI-407", "\(Photos.day)/0.jpg")
            var answer = try await house.askByState("status")
            #expect(answer.status == 3 && answer.output.contains("PI-407"), "\(answer.output)")
            #expect(answer.output.contains("verified  completely "), "\(answer.output)")
            for command in ["show", "explain"] {
                answer = try await house.askByState(command, places[0])
                #expect(answer.output.contains("damage  missing, or not what was filed, found"), "\(answer.output)")
            }
            try await daemon.stop()
            // Known at once, before anything is read.
            daemon = try await house.start()
            #expect(try await house.state(of: daemon).problems.map(\.code) == ["PI-407"])
            #expect(try await house.askByState("metrics").output.contains("photoinbox_damaged_photos 1"))
            // Restored from a backup, with its time.
            try overwrite(places[0], with: whole)
            try FileManager.default.setAttributes(time, ofItemAtPath: places[0])
            try await daemon.line(holding: "PI-407 is over")
            try await daemon.stop()
            daemon = try await house.start()
            #expect(try await house.state(of: daemon).problems.isEmpty)
            // Or the original arrives again: filed in place of a missing photo, and beside a damaged one.
            unlink(places[1])
            try overwrite(places[2], with: Data("damaged".utf8))
            #expect(try await house.askByState("verify").status == 3)
            try await daemon.lines(holding: ["library: \(Photos.day)/1.jpg", "library: \(Photos.day)/2.jpg"])
            try house.drop(try Photos.unique(1), as: "again.jpg")
            try await daemon.line(holding: "filed inbox/again.jpg")
            try house.drop(try Photos.unique(2), as: "2.jpg")
            try await daemon.lines(holding: ["filed inbox/2.jpg as \(Photos.day)/2-2.jpg", "PI-407 is over"])
            for isStartedAnew in [false, true] {
                if isStartedAnew {
                    try await daemon.stop()
                    daemon = try await house.start()
                }
                #expect(try await house.state(of: daemon).problems.isEmpty)
                #expect(try await house.askByState("metrics").output.contains("photoinbox_damaged_photos 0"))
            }
            try await daemon.stop()
        }

        @Test("All damage that verify reported is read again, whatever its size")
        func reportedMuch() async throws {
            let (house, _) = try await House.filled()
            // Together more than the daemon reads per tick.
            try runProgram([
                "/usr/bin/sqlite3", house.path("st/catalogue.sqlite"), "UPDATE photo SET size = 200000000",
            ])
            let daemon = try await house.start()
            #expect(try await house.askByState("verify").status == 3)
            try await daemon.lines(holding: (0..<4).map { "damage in the library: \(Photos.day)/\($0).jpg" })
            try await daemon.stop()
        }

        @Test("A verify of another library does not affect the one in use")
        func verifiedElsewhere() async throws {
            let house = try House()
            try makeDirectory(house.path("old"))
            var daemon = try await house.start(
                configuration: House.oneCard.replacingOccurrences(of: "@library", with: "@old"))
            try house.drop(try Photos.unique(1), as: "1.jpg")
            try await daemon.line(holding: "filed card/1.jpg")
            try await daemon.stop()
            daemon = try await house.start(configuration: House.oneCard)
            try house.drop(try Photos.unique(2), as: "2.jpg")
            try await daemon.line(holding: "filed card/2.jpg")
            #expect(try await house.ask("verify", "--library", house.path("old")).status == 0)
            #expect(try await house.state(of: daemon).libraryVerified == nil)
            #expect(try await house.ask("verify").status == 0)
            _ = try await house.state(of: daemon) { $0.libraryVerified?.whole != nil }
            try await daemon.stop()
        }

        @Test("The progress of the daemon's verification is kept and reported")
        func verifiedUntil() async throws {
            let house = try House()
            let configuration = House.oneCard + "\n[signals]\nSIGQUIT = \"verify-slice\"\n"
            var daemon = try await house.start(configuration: configuration)
            try house.drop(try Photos.unique(1), as: "1.jpg")
            try await daemon.line(holding: "filed card/1.jpg")
            daemon.signal(SIGQUIT)
            try await daemon.line(holding: "verified 1 photo,")
            let first = try #require(try await house.state(of: daemon).libraryVerified)
            #expect(first.whole != nil)
            try await daemon.stop()
            daemon = try await house.start(configuration: configuration)
            #expect(try await house.state(of: daemon).libraryVerified?.last == first.last)
            #expect(try await house.askByState("status").output.contains("verified  completely "))
            try await daemon.stop()
            // Findings while no daemon runs are known to the next.
            unlink("\(house.library)/\(Photos.day)/1.jpg")
            #expect(try await house.ask("verify").status == 3)
            daemon = try await house.start(configuration: configuration)
            #expect(try await house.state(of: daemon).problems.map(\.code) == ["PI-407"])
            try await daemon.stop()
        }

        @Test("A damaged catalogue is set aside and rebuilt from the library before anything is filed")
        func damaged() async throws {
            let (house, _) = try await House.filled()
            for ending in ["-wal", "-shm"] { unlink(house.path("st/catalogue.sqlite\(ending)")) }
            try overwrite(house.path("st/catalogue.sqlite"), with: Data(repeating: 7, count: 10_000))
            try house.drop(try Photos.unique(2), as: "again.jpg")
            let daemon = try await house.start(
                reporting: ["the catalogue is made anew: 4 photos", "duplicate inbox/again.jpg"])
            #expect(house.files(in: house.library).count == 4)
            let state = try await house.state(of: daemon)
            #expect(state.problems.isEmpty)
            try await daemon.stop()
            #expect(house.files(in: house.path("st")).keys.contains { $0.contains(".damaged-") })
        }

        @Test(
            "A large catalogue is checked after start-up; damage ends the daemon, and the next start sets it aside"
        )
        func largeAndDamaged() async throws {
            let (house, places) = try await House.filled()
            let path = house.path("st/catalogue.sqlite")
            let row = "\(Photos.day)/1.jpg,Harbour,,,,"
            try write(Data("path,title,keywords,rating,taken,place\n\(row)\n".utf8), to: house.path("table.csv"))
            #expect(try await house.askByState("import-csv", house.path("table.csv")).status == 0)
            let filler = "CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(70000000))"
            try runProgram(["/usr/bin/sqlite3", path, filler])
            var daemon = try await house.start()
            try house.drop(try Photos.unique(5), as: "5.jpg")
            try await daemon.line(holding: "filed inbox/5.jpg")
            try await daemon.stop()
            // A page that only a check reads.
            let sqlite = try RunningProgram([
                "/usr/bin/sqlite3", path,
                "PRAGMA wal_checkpoint(TRUNCATE); SELECT rootpage FROM sqlite_master WHERE name = 'filler'",
            ])
            #expect(try await sqlite.ending() == .status(0))
            let number = try #require(sqlite.lines.last.flatMap { UInt64($0) })
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            try file.seek(toOffset: (number - 1) * 4096)
            try file.write(contentsOf: Data(repeating: 7, count: 4096))
            try file.close()
            daemon = try await house.start(reporting: ["the next start sets it aside"])
            #expect(try await daemon.ending() == .status(74))
            unlink(places[3])
            var whole = try Data(contentsOf: URL(filePath: places[2]))
            let kept = whole
            whole[whole.count / 2] ^= 1
            try overwrite(places[2], with: whole)
            daemon = try await house.start(reporting: [
                "3.jpg is missing; it stays recorded", "2.jpg is not what was filed",
                "the catalogue is made anew: 3 photos", "PI-407",
            ])
            try overwrite(places[2], with: kept)
            #expect(try await house.askByState("search", "harbour").output.contains("1.jpg"))
            try write(try Photos.unique(3), to: places[3])
            try await daemon.line(holding: "PI-407 is over")
            try house.drop(try Photos.unique(2), as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            #expect(try await house.state(of: daemon).problems.isEmpty)
            try await daemon.stop()
            let names = house.files(in: house.path("st")).keys
            #expect(names.contains { $0.contains(".damaged-") } && !names.contains { $0.hasSuffix(".damage-found") })
        }
    }
}
