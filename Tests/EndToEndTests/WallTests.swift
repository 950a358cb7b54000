import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd.Web {
    private func json(_ bytes: Data) throws -> [String: Any] {
        try #require(Self.shown(try JSONSerialization.jsonObject(with: bytes)) as? [String: Any])
    }

    /// Without addresses of downloads, which viewers do not see.
    private static func shown(_ value: Any) -> Any {
        if let values = value as? [Any] { return values.map(shown) }
        guard let fields = value as? [String: Any] else { return value }
        return fields.filter { $0.key != "origin" }.mapValues(shown)
    }

    /// Little-endian numbers of four bytes.
    private func numbers(_ bytes: Data) -> [UInt32] {
        let bytes = Array(bytes)
        return stride(from: 0, to: bytes.count - 3, by: 4).map { start in
            (0..<4).reduce(0) { $0 | UInt32(bytes[start + $1]) << (8 * UInt32($1)) }
        }
    }

    @Test(
        "The timeline follows what is filed, joined and taken back; its photos are those of the library, and known as the commands say",
        .enabled(
            if: access("/usr/bin/systemd-socket-activate", X_OK) == 0,
            "skipped: systemd-socket-activate is not installed"))
    func timeline() async throws {
        let house = try House()
        let daemon = try await house.start(configuration: House.oneCard + "\n[pictures]\nenabled = \"yes\"\n")
        let (picture, film) = (try Photos.named("live.jpg"), try Photos.named("live.mov"))
        try house.drop(picture, as: "IMG_1.JPG")
        try await daemon.lines(holding: ["filed card/IMG_1.JPG", "IMG_1.JPG made"])
        let vera = Client(base: "http://x/", socket: try await house.pagesForOthers())
        try await vera.setPassword(by: try await house.link(for: "vera"))
        let days = daysOfTimeline(Array(try await vera.content("days").bytes))
        #expect(days.count == 2 && days.last == 1)
        func tile() async throws -> (key: String, kind: UInt32) {
            let day = Int32(bitPattern: try #require(daysOfTimeline(Array(try await vera.content("days").bytes)).first))
            let bytes = try await vera.content("tiles?day=\(day)&from=0&count=500").bytes
            let found = numbers(bytes)
            try #require(found.count == 3)
            let mark = bytes[4..<8].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            return ("\(found[0])-\(mark)", found[2] >> 24)
        }
        let (key, kind) = try await tile()
        #expect(kind == 0)

        let small = try await vera.content("t/\(key)").bytes
        let large = try await vera.content("p/\(key)").bytes
        #expect(small.starts(with: [0xFF, 0xD8, 0xFF]) && large.starts(with: [0xFF, 0xD8, 0xFF]))
        #expect(try await vera.content("r/\(key)/thumbnail").bytes == small)
        // Of a photo that was filed before tiles were made.
        let tiles = house.files(in: house.path("st/thumbnails")).keys.filter { $0.hasSuffix("-320.jpg") }
        #expect(!tiles.isEmpty)
        for tile in tiles { unlink(house.path("st/thumbnails/\(tile)")) }
        #expect(try await vera.content("t/\(key)").bytes == small)
        #expect(try await vera.content("r/\(key)/preview").bytes == large)
        #expect(try await vera.content("r/\(key)/googly").status == 404)
        #expect(try await vera.content("t/\(key.dropLast())x").status == 404)
        let original = try await vera.content("o/\(key)")
        #expect(original.status == 200 && original.bytes == picture)
        let part = try await vera.content("o/\(key)", range: "bytes=100-199")
        #expect(part.status == 206 && part.bytes == picture[100..<200])
        #expect(try await vera.content("f/\(key)").status == 404)
        #expect(try await vera.content("search?name=img_1").bytes.count == 16)
        #expect(try await vera.content("search?camera=none").bytes.isEmpty)
        #expect(try await vera.content("search?kamera=none").status == 400)

        try house.drop(film, as: "IMG_1.MOV")
        try await daemon.lines(holding: ["filed card/IMG_1.MOV", "IMG_1.MOV made"])
        let joined = try await tile()
        #expect(joined.key == key && joined.kind == 2)
        let members = try #require(
            try json(try await vera.content("photo/\(key)").bytes)["members"] as? [[String: Any]])
        #expect(members.map { $0["role"] as? String } == ["picture", "film"])
        let filmKey = try #require(members.last?["key"] as? String)
        #expect(try await vera.content("f/\(filmKey)").bytes == film)
        #expect(try await vera.content("t/\(filmKey)").status == 200)
        // What files say is read a little after they are filed, perhaps between two questions.
        func differences() async throws -> (fields: [String], record: [String: Any], why: NSDictionary) {
            let photo = try json(try await vera.content("photo/\(key)").bytes)
            let number = key.prefix { $0 != "-" }
            let shown = try json(Data(try await house.ask("show", "--json", "photo:\(number)").text.utf8))
            let record = try #require(photo["record"] as? [String: Any])
            var fields = ["photo", "history", "set", "renditions", "requests"].filter {
                record[$0] as? NSObject != shown[$0] as? NSObject
            }
            let path = try #require((record["photo"] as? [String: Any])?["path"] as? String)
            let explained = try json(
                Data(try await house.ask("explain", "--json", house.library + "/" + path).text.utf8))
            let why = try #require(photo["why"] as? NSDictionary)
            if (explained["files"] as? [NSDictionary])?.first != why { fields.append("why") }
            return (fields, record, why)
        }
        let (_, record, why) = try await poll({ try await differences() }, until: { $0.fields.isEmpty })
        #expect(why["verdict"] as? String == "in-library")

        // Dropped again and again, its history is bounded.
        let copies = try RunningProgram([
            "/usr/bin/sqlite3", house.path("st/catalogue.sqlite"),
            """
            CREATE TEMP TABLE copy AS SELECT * FROM outcome WHERE photo_id = \(key.prefix { $0 != "-" });
            UPDATE copy SET id = NULL, outcome = 'duplicate';
            INSERT INTO outcome SELECT copy.* FROM copy, generate_series(1, 300);
            """,
        ])
        #expect(try await copies.ending() == .status(0), "\(copies.lines)")
        let often = try #require(
            try json(try await vera.content("photo/\(key)").bytes)["record"] as? [String: Any])
        let outcomes = (often["history"] as? [[String: Any]])?.compactMap { $0["outcome"] as? String }
        #expect(outcomes?.count == 51 && outcomes?.last == "filed")
        #expect(often["history_omitted"] as? Int == 250)

        // With its set.
        let number = try #require((record["set"] as? [[String: Any]])?.first?["operation"] as? Int)
        #expect(try await house.ask("undo", "\(number)").status == 0)
        #expect(try await vera.content("days").bytes.isEmpty)
        for gone in [key, filmKey] { #expect(try await vera.content("o/\(gone)").status == 404) }
        // Somebody puts another file in the place of one.
        try house.drop(try Photos.named("exif.jpg"), as: "b.jpg")
        try await daemon.line(holding: "filed card/b.jpg")
        let another = try await tile().key
        let place = house.library + "/" + (try #require(house.files(in: house.library).keys.first))
        #expect(try await vera.content("o/\(another)").status == 200)
        try FileManager.default.removeItem(atPath: place)
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: house.path("photoinbox.toml"))
        #expect(try await vera.content("o/\(another)").status == 410)
        try await daemon.stop()
    }
}
