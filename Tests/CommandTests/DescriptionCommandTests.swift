import Catalogue
import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Describing

/// `import-csv`, `export-csv`, `export-json` and `search`, driven as programs.
@Suite(.timeLimit(.minutes(60))) struct DescriptionCommandTests {
    let house: RecordedHouse

    init() throws { house = try RecordedHouse() }

    /// The hash of the recorded photo with this number.
    private func hash(_ number: UInt8) -> String { hexadecimal(Array(repeating: number, count: 32)) }

    private func write(_ text: String, _ name: String = "table.csv") throws {
        try Data(text.utf8).write(to: URL(filePath: house.directory.appending(name)))
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try bytes(of: house.directory.appending(name)), as: UTF8.self)
    }

    /// What the catalogue has, in an order of its own.
    private func described() throws -> [String] {
        let rows = try Sqlite.rows(
            "SELECT hex(sha256), title, keywords, rating, taken, place FROM description ORDER BY sha256",
            in: house.directory.appending("state/catalogue.sqlite"))
        return rows.map { $0.map { $0 ?? "-" }.joined(separator: "|") }
    }

    @Test func importsATable() async throws {
        try write(
            """
            Title,SHA256,Path,Key words,Rating,Date Taken,Location,Comment
            "Boats, ""red""\nand blue",\(hash(1)),,"boat; sea;boat",4,2026:08:21 14:07:31+02:00,Kiel,x
            ,,2026/11/odd,,,,,y
            Harbour,,2026/11/IMG_1.jpg,,5,,,

            """)
        let result = try await house.run(["import-csv", "table.csv"])
        #expect(result.status == 3, "\(result)")
        #expect(
            result.text.contains("imported  2 rows")
                && result.text.contains("rejected  1 row; see table.csv.rejects.csv"))
        #expect(result.errors.contains("ignored columns: Comment"))
        // The second row of the same photo, by its path, says two things anew and leaves the rest.
        #expect(
            try described() == [
                "\(hash(1).uppercased())|Harbour|boat\nsea|5|2026-08-21T14:07:31+02:00|Kiel"
            ])
        #expect(
            try text("table.csv.rejects.csv")
                == "line,column,reason,row\r\n"
                + "4,3,no photo in the library has or had this path,\",,2026/11/odd,,,,,y\"\r\n")
        let shown = try await house.run(["search", "harb", "--rating", "5", "--keyword", "boat"])
        #expect(shown.status == 0 && shown.text.contains("IMG_1.jpg") && !shown.text.contains("odd"))
        let all = try await house.run(["show", "photo:1"])
        for row in [
            "title  Harbour", "keywords  boat; sea", "rating  5 of 5",
            "dated  2026-08-21T14:07:31+02:00, as imported", "location  Kiel",
        ] { #expect(all.text.contains(" \(row)\n"), "\(row): \(all.text)") }
    }

    @Test func reportsLineAndColumnOfRejectedRows() async throws {
        try write(
            """
            sha256,rating,taken,title
            \(hash(1)),six,,
            \(hash(1)),,2026-02-30,
            abc,,,
            ,,,
            "\(hash(1))"x,,,
            \(hash(2)),0,2026-02-28T10:00,"'=safe"

            """)
        let dry = try await house.run(["import-csv", "--dry-run", "--json", "table.csv"])
        #expect(dry.status == 3)
        let told = dry.text.split(separator: "\n").filter { $0.contains("\"reject\"") }
        #expect(told.count == 5)
        #expect(try described().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: house.directory.appending("table.csv.rejects.csv")))
        #expect(try await house.run(["import-csv", "table.csv"]).status == 3)
        let rejects = try text("table.csv.rejects.csv").split(separator: "\r\n").map(String.init)
        #expect(rejects.count == 6)
        #expect(rejects[1] == "2,2,\"\"\"six\"\" is not a rating from 0 to 5\",\"\(hash(1)),six,,\"")
        #expect(rejects[2].hasPrefix("3,3,\"\"\"2026-02-30\"\" is not a date like"))
        #expect(rejects[3].hasPrefix("4,1,a SHA-256 has 64 hexadecimal digits"))
        #expect(rejects[4].hasPrefix("5,1,it does not identify a photo"))
        #expect(rejects[5].hasPrefix("6,1,there is text after the closing quote"))
        #expect(try described() == ["\(hash(2).uppercased())|=safe|-|0|2026-02-28T10:00:00|-"])
    }

    @Test func countsUnknownPathsInADryRun() async throws {
        try write("path,title\nnobody/knows.jpg,x\n2026/11/IMG_1.jpg,y\n")
        let dry = try await house.run(["import-csv", "--dry-run", "table.csv"])
        #expect(dry.status == 3 && dry.text.contains("line 2, column 1: no photo in the library has or had this path"))
        #expect(dry.text.contains("would import  1 row") && dry.text.contains("rejected  1 row"))
    }

    @Test func refusesTablesThatIdentifyNoPhoto() async throws {
        try write("title,rating\nx,1\n")
        let nameless = try await house.run(["import-csv", "table.csv"])
        #expect(
            nameless.status == 1 && nameless.errors.contains("the first row has no column that identifies the photo"))
        try write("sha256,hash\n")
        #expect(
            try await house.run(["import-csv", "table.csv"]).errors.contains("columns 1 and 2 both have the sha256"))
        try write("")
        #expect(try await house.run(["import-csv", "table.csv"]).errors.contains("is empty"))
        #expect(try await house.run(["import-csv", "inbox"]).status == 1)
        #expect(try await house.run(["import-csv", "--batch", "0", "table.csv"]).status == 64)
        // Somebody's own file of that name is not replaced.
        try write("sha256\n\(hash(1))\n")
        try write("mine", "table.csv.rejects.csv")
        #expect(try await house.run(["import-csv", "table.csv"]).status == 1)
        #expect(try text("table.csv.rejects.csv") == "mine")
    }

    @Test func importsItsOwnExport() async throws {
        try write(
            "sha256;title;keywords;rating;taken;place\n\(hash(2));\"=cmd|' /C calc'!A0\";a,b;3;2026-11-20;@home\n")
        #expect(try await house.run(["import-csv", "table.csv"]).status == 0)
        let before = try described()
        let exported = try await house.run(["export-csv"])
        #expect(exported.status == 0)
        // No cell begins as a formula does.
        #expect(!exported.text.contains(",=") && !exported.text.contains("\"=") && !exported.text.contains(",@"))
        #expect(exported.text.hasPrefix("sha256,path,title,keywords,rating,taken,place,captured,camera,"))
        try Data(exported.output).write(to: URL(filePath: house.directory.appending("back.csv")))
        try Sqlite.execute("DELETE FROM description", in: house.directory.appending("state/catalogue.sqlite"))
        #expect(try await house.run(["import-csv", "back.csv"]).status == 0)
        #expect(try described().contains(before[0]))
        let json = try await house.run(["export-json"]).json()
        let photos = try #require(json["photos"] as? [[String: Any]])
        #expect(photos.count == 2)
        let said = try #require(photos[1]["description"] as? [String: Any])
        #expect(said["title"] as? String == "=cmd|' /C calc'!A0" && said["rating"] as? Int == 3)
    }

    @Test("Paths are taken as our output shows them; a terminal obeys nothing of what is exported; no date is made up")
    func exportsPlainly() async throws {
        let names = try await house.run(["list", "--json"]).json()
        let photo = try #require((names["photos"] as? [[String: Any]])?.last)
        let source = try #require(photo["source"] as? String)
        let inbox = try #require(photo["inbox"] as? String)
        try write("path,title\n\(inbox)/\(source),\"\u{1B}]0;x\u{07}Boat\u{202E}gpj\"\n")
        let result = try await house.run(["import-csv", "table.csv"])
        #expect(result.status == 0, "\(result)")
        let exported = try await house.run(["export-csv"])
        #expect(exported.text.contains(",]0;xBoatgpj,"), "\(exported.text)")
        #expect(!exported.output.contains(0x1B) && !exported.text.unicodeScalars.contains("\u{202E}"))
        try Data(exported.output).write(to: URL(filePath: house.directory.appending("back.csv")))
        #expect(try await house.run(["import-csv", "back.csv"]).status == 0)
        let dates = try Sqlite.rows(
            "SELECT count(*) FROM description WHERE taken IS NOT NULL",
            in: house.directory.appending("state/catalogue.sqlite"))
        #expect(dates == [["0"]])
    }

    @Test func searchesByEveryCondition() async throws {
        try write("sha256,title,place,keywords\n\(hash(1)),Sunset,Köln am Rhein,bridge\n")
        #expect(try await house.run(["import-csv", "table.csv"]).status == 0)
        for arguments in [
            ["koln"], ["sun", "rhein"], ["--place", "koln am"], ["--title", "sunset"], ["--keyword", "bridge"],
            ["--camera", "ACME", "sunset"], ["--name", "img_1"],
            ["--from", "2025-11", "--until", "2025-11-21", "sunset"],
        ] {
            let found = try await house.run(["search"] + arguments)
            #expect(found.status == 0 && found.text.contains("IMG_1.jpg"), "\(arguments): \(found)")
        }
        for arguments in [
            ["moon"], ["--keyword", "sunset"], ["--from", "2025-12", "sunset"], ["--until", "2025-10"],
            ["--inbox", "other"], ["--rating", "1"], ["\" OR rowid > 0 --"],
        ] {
            #expect(try await house.run(["search"] + arguments).status == 4, "\(arguments)")
        }
        let outcome = try await house.run(["search", "--outcome", "quarantined", "--name", "CUT"])
        #expect(outcome.text.contains("card/cut.jpg"))
        #expect(try await house.run(["search", "--json", "sunset"]).json()["photos"] is [Any])
        #expect(try await house.run(["search", "--from", "yesterday"]).status == 64)
        #expect(try await house.run(["search", "--from", "2026-13"]).status == 64)
        #expect(try await house.run(["search", "--until", "2026-12-32"]).status == 64)
    }

    /// Stopped by a signal at random moments, it goes on behind the last batch; the end is that of one that was not.
    @Test(arguments: [SIGINT, SIGKILL]) func continuesAStoppedImport(_ number: Int32) async throws {
        let rows = 20_000
        var table = "path,sha256,title,rating\n"
        for row in 0..<rows {
            let hash = String(repeating: "0", count: 56) + String(format: "%08x", row)
            table +=
                row.isMultiple(of: 97) ? "nobody/\(row).jpg,,x,1\n" : ",\(hash),\"Row \(row)\nof many\",\(row % 7)\n"
        }
        try write(table)
        let whole = try await house.run(["import-csv", "table.csv"])
        #expect(whole.status == 3)
        let (wanted, rejected) = (try described(), try text("table.csv.rejects.csv"))
        try Sqlite.execute("DELETE FROM description", in: house.directory.appending("state/catalogue.sqlite"))
        var (stops, numbers) = (0, SystemRandomNumberGenerator())
        let most = ProcessInfo.processInfo.environment["PHOTOINBOX_CANCELLATIONS"].flatMap(Int.init) ?? 5
        while true {
            let program = try RunningProgram([
                "/bin/bash", "-c",
                "cd '\(house.directory.path)' && exec '\(BuiltPrograms.path("photoinbox"))' import-csv --config "
                    + "photoinbox.toml --batch 50 --json table.csv 2>&1 </dev/null",
            ])
            let isStopped = stops < most
            if isStopped {
                // Somewhere on the way: after so many rows, as it tells them, on a terminal or not.
                let after = Int.random(in: 0...8, using: &numbers)
                stops += 1
                for _ in 0..<after { program.signal(SIGUSR1) }
                if after > 4 { _ = try? await program.line(holding: "progress") }
                program.signal(number)
            }
            let ending = try await program.ending()
            if !isStopped {
                #expect(ending == .status(3))
                break
            }
        }
        #expect(try described() == wanted)
        #expect(try text("table.csv.rejects.csv") == rejected)
    }

    @Test func othersReadWhileItWrites() async throws {
        var table = "sha256,title\n"
        for row in 0..<30_000 {
            table += String(repeating: "0", count: 56) + String(format: "%08x", row) + ",Row \(row)\n"
        }
        try write(table)
        let path = house.directory.appending("state/catalogue.sqlite")
        let program = try RunningProgram([
            "/bin/bash", "-c",
            "cd '\(house.directory.path)' && exec '\(BuiltPrograms.path("photoinbox"))' import-csv --config "
                + "photoinbox.toml --batch 100 table.csv 2>&1 </dev/null",
        ])
        var seen: [Int] = []
        while !program.hasEnded {
            let count = try Sqlite.rows("SELECT count(*) FROM description", in: path).first?.first.flatMap { $0 }
            seen.append(count.flatMap(Int.init) ?? -1)
        }
        #expect(try await program.ending() == .status(0))
        // Whole batches, ever more of them; and some of them before the end.
        #expect(seen == seen.sorted() && seen.allSatisfy { $0 >= 0 && $0.isMultiple(of: 100) })
        #expect(seen.contains { $0 > 0 && $0 < 30_000 })
    }
}

@Suite struct DescriptionTextTests {
    @Test(arguments: [
        ("2026-11-21", "2026-11-21"), ("2026:11:21 14:07:31", "2026-11-21T14:07:31"),
        ("2026/11/21T14:07", "2026-11-21T14:07:00"), ("2026-11-21T14:07:31.123Z", "2026-11-21T14:07:31Z"),
        ("2026-11-21 14:07:31+0100", "2026-11-21T14:07:31+01:00"), ("2024-02-29", "2024-02-29"),
        ("2026-06-30 23:59:60-00:30", "2026-06-30T23:59:59-00:30"), ("0001-01-01", "0001-01-01"), ("0000-01-01", nil),
        ("2026-04-31", nil),
        ("2023-02-29", nil), ("2026-13-01", nil), ("2026-11-21T25:00", nil), ("2026-11/21", nil), ("today", nil),
        ("2026-11-21x", nil), ("2026-11-21T14", nil), ("", nil),
    ]) func times(_ text: String, _ wanted: String?) {
        #expect(TakenText(Array(text.utf8)).map { String(decoding: $0.bytes, as: UTF8.self) } == wanted)
    }

    @Test func keywords() {
        for (cell, wanted) in [
            ("a; b;a ;; c", "a\nb\nc"), ("a, b", "a\nb"), ("a|b", "a\nb"), ("a, b; c", "a, b\nc"), ("one", "one"),
            ("", ""),
        ] {
            #expect(String(decoding: KeywordList(Array(cell.utf8)[...]).lines, as: UTF8.self) == wanted)
        }
    }
}
