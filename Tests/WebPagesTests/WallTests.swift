import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import PhotoFormats
import PhotoModel
import Reporting
import SystemPackage
import TestSupport
import Testing
import WebAccounts
import WebServing

@testable import WebPages

@Suite("The timeline")
struct WallTests {
    /// A library of some photos with a catalogue, and a server that shows it to vera.
    final class World: Sendable {
        let people: PageServerTests.World
        let server: PageServer
        let library: BytePath
        let state: BytePath
        let catalogue: CatalogueFile

        init() throws {
            people = try PageServerTests.World()
            state = people.scratch.bytePath
            library = state.appending("library")
            for name in ["library", "pictures"] { mkdir(people.scratch.appending(name), 0o755) }
            catalogue = try CatalogueFile.openForWriting("\(state)/catalogue.sqlite", now: .now)
            let pictures = state.appending("pictures")
            let views = PhotoViews { hash, picture throws(SystemCallError) in
                try openDirectory(pictures).openBeneath(BytePath("\(hash[0])-\(picture)"), .read)
            } tell: { photo, _, _ throws(CatalogueError) in
                PhotoViews.Account(
                    record: .object([JSONField("filed", .array([.object([JSONField("origin", "https://x/?key")])]))]),
                    why: .string("\(photo.id)"),
                    renditions: [
                        .init(.hash, state: "made", reason: nil), .init(.googly, state: "failed", reason: "no eyes"),
                    ])
            }
            server = PageServer(
                try Places(PlaceOptions(config: nil, state: RawArgument(path: state)), remarks: false),
                accounts: people.accounts, options: .init(), views: views)
        }

        /// Files a photo whose hash is this number 32 times, and returns its key.
        @discardableResult
        func file(
            _ number: UInt8, at captured: String? = "2026-11-21T14:07:31", role: String? = nil, name: BytePath? = nil,
            camera: String? = nil, content: String = "content", into set: SetPlace? = nil, supersedes: [Int64] = []
        ) throws -> PhotoKey {
            let name = name ?? BytePath("\(number).jpg")
            let path = BytePath("\(number)-\(name.name)")
            try openDirectory(library).put(Array(content.utf8), as: path)
            let photo = Self.photo(
                number, in: library, path, name: name, captured: captured, role: role, camera: camera,
                size: UInt64(content.utf8.count))
            return try file(photo, into: set, supersedes: supersedes)
        }

        func file(_ photo: PhotoRecord, into set: SetPlace? = nil, supersedes: [Int64] = []) throws -> PhotoKey {
            let token = "\(photo.sha256[0])-\(supersedes)"
            let new = NewIntent(
                token: token, temporary: ".part", photo: photo, since: .now, supersedes: supersedes.first)
            let intent = try catalogue.beginIntents([new])[0]
            let filing = FilingCommit(
                intent: intent, photo: photo, filedAt: .now, reason: "", supersedes: supersedes)
            let id = try catalogue.commitFilings([filing], set: set)[0].photo
            return PhotoKey(id: UInt32(id), hash: photo.sha256)
        }

        static func photo(
            _ number: UInt8, in library: BytePath, _ path: BytePath, name: BytePath, captured: String?,
            role: String? = nil, camera: String? = nil, size: UInt64, provenance: String = "EXIF"
        ) -> PhotoRecord {
            let date = captured.map { RecordedCaptureDate(local: $0, provenance: provenance) }
            let identity = FileIdentity(
                inode: UInt64(number), size: size, modified: FileTime(seconds: 1, nanoseconds: 0),
                changed: FileTime(seconds: 1, nanoseconds: 0))
            return PhotoRecord(
                sha256: Array(repeating: number, count: 32), size: size, library: library, libraryPath: path,
                inbox: "card", sourcePath: name, originalName: name, format: "jpeg", captured: date, camera: camera,
                proof: "", sourceIdentity: identity, part: SetPart(role: role))
        }

        func ask(
            _ path: String, method: String = "GET", _ fields: [(name: String, value: String)] = [],
            as person: String = "vera"
        ) async throws -> Answer {
            let session = try await people.session(of: person)
            let head = try RequestHead(
                method: method, target: path, version: .http11,
                fields: [("Host", "x"), ("Cookie", "photoinbox=\(session.text)")] + fields)
            return await Answer(await server.answer(to: WebRequest(head: head)))
        }
    }

    struct Answer {
        let status: HTTPStatus
        let fields: [String: String]
        var bytes: [UInt8] = []

        init(_ response: WebResponse) async {
            status = response.status
            fields = Dictionary(response.fields.map { ($0.name, $0.value) }) { first, _ in first }
            switch response.body {
            case .bytes(let all): bytes = all
            case .stream(_, let pieces): for await piece in pieces { bytes += piece }
            }
        }

        var text: String { String(decoding: bytes, as: UTF8.self) }

        var days: [UInt32] { daysOfTimeline(bytes) }
        /// Little-endian numbers of four bytes.
        var numbers: [UInt32] {
            stride(from: 0, to: bytes.count - 3, by: 4).map { start in
                (0..<4).reduce(0) { $0 | UInt32(bytes[start + $1]) << (8 * UInt32($1)) }
            }
        }
    }

    private static let day: UInt32 = 20_778
    private static let noDay = UInt32(Int32.max)

    @Test("Days are counted, the newest first and those without a date last, and sent again only when they changed")
    func days() async throws {
        let world = try World()
        #expect(try await world.ask("/days").bytes.isEmpty)
        try world.file(1)
        try world.file(2, at: nil)
        try world.file(3, at: "1969-12-30")
        try world.file(4)
        let answer = try await world.ask("/days")
        #expect(answer.days == [Self.day, 2, UInt32(bitPattern: -2), 1, Self.noDay, 1])
        #expect(answer.fields["Cache-Control"] == "private, no-cache")
        #expect(answer.fields["Content-Type"] == "application/vnd.photo-inbox.days")
        let tag = try #require(answer.fields["ETag"])
        #expect(try await world.ask("/days", [("If-None-Match", tag)]).status == .notModified)
        try world.file(5)
        #expect(try await world.ask("/days", [("If-None-Match", tag)]).days.prefix(2) == [Self.day, 3])
        #expect(try await world.ask("/days?x=1").status == .badRequest)
    }

    @Test("The days are compressed for whoever can decompress them, with a tag of their own")
    func compressedDays() async throws {
        let world = try World()
        for number in 1...200 { try world.file(UInt8(number), at: "\(1800 + number)-10-10") }
        let gzip = [(name: "Accept-Encoding", value: "br, gzip")]
        let plain = try await world.ask("/days")
        #expect(plain.bytes.count > 512 && plain.fields["Content-Encoding"] == nil)
        #expect(plain.fields["Vary"] == "Accept-Encoding")
        let answer = try await world.ask("/days", gzip)
        #expect(answer.fields["Content-Encoding"] == "gzip" && answer.fields["Vary"] == "Accept-Encoding")
        #expect(answer.bytes.count < plain.bytes.count)
        #expect(decompressed(answer.bytes) == plain.bytes)
        let (tag, plainTag) = (try #require(answer.fields["ETag"]), try #require(plain.fields["ETag"]))
        #expect(tag != plainTag)
        let known = try await world.ask("/days", gzip + [("If-None-Match", tag)])
        #expect(known.status == .notModified && known.fields["ETag"] == tag)
        #expect(known.fields["Vary"] == "Accept-Encoding" && known.fields["Content-Encoding"] == nil)
        #expect(try await world.ask("/days", gzip + [("If-None-Match", plainTag)]).status == .ok)
        #expect(try await world.ask("/days", [("If-None-Match", tag)]).bytes == plain.bytes)
    }

    @Test("Photos of a day, the newest first, as one row for each set; malformed questions are refused")
    func tiles() async throws {
        let world = try World()
        let picture = try world.file(1, role: "picture")
        try world.file(2, role: "raw", into: .joining(photo: Int64(picture.id)))
        try world.file(3, at: "2026-11-21T23:59:59", role: "film")
        try world.file(4, at: "2026-11-21")
        let answer = try await world.ask("/tiles?day=20778&from=0&count=500")
        #expect(
            answer.numbers == [3, 0x0303_0303, 86_399 | 4 << 24, 1, 0x0101_0101, 50_851 | 1 << 24, 4, 0x0404_0404, 0])
        #expect(answer.fields["X-Day-Photos"] == "3" && answer.fields["Cache-Control"] == "no-store")
        #expect(try await world.ask("/tiles?day=20778&from=1&count=1").numbers == Array(answer.numbers[3..<6]))
        let none = try await world.ask("/tiles?day=-719528&from=4294967295&count=1")
        #expect(none.status == .ok && none.bytes.isEmpty && none.fields["X-Day-Photos"] == "0")
        for query in [
            "", "?day=20778", "?day=20778&from=0&count=0", "?day=20778&from=0&count=501", "?day=20778&from=-1&count=1",
            "?day=x&from=0&count=1", "?day=+1&from=0&count=1", "?day=01&from=0&count=1", "?day=1&day=2&from=0&count=1",
            "?day=2147483648&from=0&count=1", "?day=1&from=4294967296&count=1", "?day=1&from=0&count=1&other=1",
            "?day=1&from=0&count=99999999999999999999", "?day=&from=0&count=1",
        ] { #expect(try await world.ask("/tiles\(query)").status == .badRequest, "\(query)") }
    }

    @Test("What something else wrote into the catalogue hides no photo: days that are none, numbers that are too large")
    func outlandish() async throws {
        let world = try World()
        for number in 1...7 { try world.file(UInt8(number)) }
        let sql = """
            UPDATE tile SET day = 9999999999 WHERE photo_id = 1;
            UPDATE tile SET day = -9999999999 WHERE photo_id = 2;
            UPDATE tile SET day = \(Int32.max) WHERE photo_id = 3;
            UPDATE tile SET day = 10237029 WHERE photo_id = 4;
            UPDATE tile SET photo_id = 4294967301 WHERE photo_id = 5;
            UPDATE photo SET id = 4294967301 WHERE id = 5;
            UPDATE tile SET second = -5, kind = 300, mark = x'06' WHERE photo_id = 6;
            UPDATE tile SET second = 1 << 40 WHERE photo_id = 7;
            DELETE FROM tile_day;
            INSERT INTO tile_day SELECT day, count(*) FROM tile GROUP BY day;
            """
        let edit = try RunningProgram(["/usr/bin/sqlite3", "\(world.state)/catalogue.sqlite", sql])
        #expect(try await edit.ending() == .status(0), "\(edit.lines)")
        let far: UInt32 = 10_237_029
        #expect(try await world.ask("/days").days == [far, 1, Self.day, 3, Self.noDay, 3])
        let undated = try await world.ask("/tiles?day=\(Int32.max)&from=0&count=500")
        #expect(stride(from: 0, to: undated.numbers.count, by: 3).map { undated.numbers[$0] } == [3, 2, 1])
        #expect(undated.fields["X-Day-Photos"] == "3")
        #expect(try await world.ask("/tiles?day=\(Int32.max)&from=2&count=1").numbers.first == 1)
        #expect(try await world.ask("/tiles?day=\(far)&from=0&count=1").numbers.first == 4)
        let tiles = try await world.ask("/tiles?day=\(Self.day)&from=0&count=500")
        #expect(
            tiles.numbers == [7, 0x0707_0707, 0xFF_FFFF, .max, 0x0505_0505, 50_851, 6, 0x06, 255 << 24])
        let found = try await world.ask("/search?inbox=card").numbers
        #expect(
            stride(from: 0, to: found.count, by: 4).map { found[$0] }
                == [far, Self.day, Self.day, Self.day, Self.noDay, Self.noDay, Self.noDay])
        for path in ["photo", "t", "o"] {
            #expect(try await world.ask("/\(path)/4294967295-05050505").status == .notFound)
        }
    }

    @Test(
        "Small pictures are found by number and hash, not for another's hash, nor for what is not in the library any more"
    )
    func pictures() async throws {
        let world = try World()
        let key = try world.file(7)
        for picture: Picture in [.tile, .largest, .rendition(.googly)] {
            try openDirectory(world.state.appending("pictures")).put(
                Array("\(picture)".utf8), as: BytePath("7-\(picture)"))
        }
        for (path, picture) in [
            ("t/\(key)", Picture.tile), ("p/\(key)", .largest), ("r/\(key)/googly", .rendition(.googly)),
        ] {
            let answer = try await world.ask("/\(path)")
            #expect(answer.status == .ok && answer.text == "\(picture)", "\(path)")
            #expect(answer.fields["Cache-Control"] == "private, max-age=86400")
            #expect(answer.fields["Content-Type"] == "image/jpeg")
            let tag = try #require(answer.fields["ETag"])
            #expect(try await world.ask("/\(path)", [("If-None-Match", tag)]).status == .notModified)
        }
        for path in ["r/\(key)/tilt-shift", "t/1-07070708", "t/2-07070707", "r/\(key)/hash", "r/\(key)", "t/\(key)/x"] {
            let answer = try await world.ask("/\(path)")
            #expect(answer.status == .notFound && answer.fields["Cache-Control"] == "no-store", "\(path)")
        }
        let unreadable = try world.file(8)
        symlink("7-tile", "\(world.state)/pictures/8-tile")
        #expect(try await world.ask("/t/\(unreadable)").status == .failed)
        let next = try world.file(7, name: "again.jpg", supersedes: [Int64(key.id)])
        for path in ["t", "p", "o", "photo"] {
            #expect(try await world.ask("/\(path)/\(key)").status == .notFound, "\(path)")
            #expect(try await world.ask("/\(path)/\(next)").status == .ok, "\(path)")
        }
    }

    @Test(
        "Several small pictures come in one answer, in their order, none as no bytes; malformed lists are refused")
    func severalPictures() async throws {
        let world = try World()
        let keys = try [7, 8, 9].map { try world.file(UInt8($0)) }
        let pictures = try openDirectory(world.state.appending("pictures"))
        try pictures.put(Array("seven".utf8), as: "7-tile")
        try pictures.put(Array("larger".utf8), as: "7-rendition(PhotoModel.RenditionKind.thumbnail)")
        try pictures.put(Array(repeating: 0xFF, count: 256 << 10), as: "8-tile")
        try pictures.put(Array(repeating: 0xFF, count: 256 << 10 + 1), as: "9-tile")
        func parts(_ query: String, areAllThere: Bool = true) async throws -> [[UInt8]] {
            let answer = try await world.ask("/t?of=\(query)")
            #expect(answer.status == .ok && answer.fields["Content-Type"] == "application/octet-stream", "\(query)")
            // One that is missing may be made at any moment.
            let caching = areAllThere ? "private, max-age=86400" : "no-store"
            #expect(answer.fields["Cache-Control"] == caching, "\(query)")
            var (rest, parts): ([UInt8], [[UInt8]]) = (answer.bytes, [])
            while rest.count >= 4 {
                let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                parts.append(Array(rest.dropFirst(4).prefix(length)))
                rest.removeFirst(min(rest.count, 4 + length))
            }
            #expect(rest.isEmpty, "\(query)")
            return parts
        }
        let found = try await parts(
            "\(keys[1]),\(keys[0]),\(keys[2]),1-08080808,99-07070707,\(keys[0])", areAllThere: false)
        #expect(found.map(\.count) == [256 << 10, 5, 0, 0, 0, 5])
        #expect(found[1] == Array("seven".utf8) && found[0].allSatisfy { $0 == 0xFF })
        #expect(try await parts("\(keys[0])&rendition=thumbnail") == [Array("larger".utf8)])
        #expect(try await parts("\(keys[1])&rendition=thumbnail", areAllThere: false) == [[]])
        #expect(try await parts(Array(repeating: "\(keys[0])", count: 64).joined(separator: ",")).count == 64)
        for query in [
            "", "?of=", "?of=\(keys[0]),", "?of=,\(keys[0])", "?of=7", "?of=\(keys[0])&of=\(keys[1])",
            "?rendition=thumbnail", "?of=\(keys[0])&rendition=hash", "?of=\(keys[0])&rendition=x",
            "?of=\(keys[0])&size=1", "?of=" + Array(repeating: "\(keys[0])", count: 65).joined(separator: ","),
        ] { #expect(try await world.ask("/t\(query)").status == .badRequest, "\(query)") }
    }

    @Test("A catalogue that is put in the place of the open one is read at once, and its numbers are other photos")
    func replacedCatalogue() async throws {
        let world = try World()
        let key = try world.file(1)
        #expect(try await world.ask("/days").days == [Self.day, 1])
        #expect(try await world.ask("/o/\(key)").status == .ok)
        let other = try World()
        try other.file(9, at: "2001-01-01")
        try other.catalogue.closeWhole()
        world.catalogue.close()
        let path = "\(world.state)/catalogue.sqlite"
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        #expect(rename("\(other.state)/catalogue.sqlite", path) == 0)
        #expect(try await world.ask("/days").days == [11_323, 1])
        #expect(try await world.ask("/o/\(key)").status == .notFound)
        #expect(try await world.ask("/search?from=1990").numbers.count == 4)
        unlink(path)
        #expect(try await world.ask("/days").status == .unavailable)
        #expect(try await world.ask("/search?from=1990").status == .unavailable)
    }

    @Test("An original is sent whole or in part, with its hash, as a file of its name")
    func originals() async throws {
        let world = try World()
        let key = try world.file(1, name: "Straße & <b>.jpg", content: "0123456789")
        let whole = try await world.ask("/o/\(key)")
        #expect(whole.text == "0123456789" && whole.status == .ok)
        let hash = String(repeating: "01", count: 32)
        #expect(whole.fields["ETag"] == "\"\(hash)\"")
        #expect(whole.fields["Repr-Digest"] == "sha-256=:\(base64Encoded(Array(repeating: UInt8(1), count: 32))):")
        #expect(
            whole.fields["Content-Disposition"] == "attachment; filename*=UTF-8''Stra%C3%9Fe%20%26%20%3Cb%3E.jpg")
        #expect(whole.fields["Content-Security-Policy"]?.hasPrefix("sandbox") == true)
        #expect(whole.fields["Accept-Ranges"] == "bytes" && whole.fields["Content-Type"] == "image/jpeg")
        let part = try await world.ask("/o/\(key)", [("Range", "bytes=2-4")])
        #expect(part.status == .partialContent && part.text == "234" && part.fields["Content-Range"] == "bytes 2-4/10")
        #expect(try await world.ask("/o/\(key)", [("Range", "bytes=-3"), ("If-Range", "\"\(hash)\"")]).text == "789")
        #expect(try await world.ask("/o/\(key)", [("Range", "bytes=-3"), ("If-Range", "\"x\"")]).text == "0123456789")
        #expect(try await world.ask("/o/\(key)", [("Range", "bytes=10-")]).status == .rangeNotSatisfiable)
        #expect(try await world.ask("/f/\(key)").status == .notFound)
        let page = try world.file(2, name: "x.html", content: "<script>")
        #expect(try await world.ask("/o/\(page)").fields["Content-Type"] == "application/octet-stream")
        let film = try world.file(3, role: "film", name: "x.MOV", content: "moov")
        let played = try await world.ask("/f/\(film)", [("Range", "bytes=0-")])
        #expect(played.status == .partialContent && played.text == "moov")
        #expect(played.fields["Content-Type"] == "video/quicktime" && played.fields["Content-Disposition"] == nil)
    }

    @Test("What is not the recorded file is not sent: other sizes, links, pipes, directories, paths out of the library")
    func alteredOriginals() async throws {
        let world = try World()
        let scratch = world.people.scratch
        try openDirectory(world.state).put(Array("content".utf8), as: "secret")
        let key = try world.file(1)
        let path = "\(world.library)/1-1.jpg"
        func expectGone(_ what: Comment, _ key: PhotoKey = key) async throws {
            let answer = try await world.ask("/o/\(key)")
            #expect(answer.status == .gone && answer.text.contains("photoinbox verify"), what)
        }
        try openDirectory(world.library).put(Array("contents".utf8), as: "1-1.jpg")
        try await expectGone("another size")
        unlink(path)
        try await expectGone("missing")
        symlink(scratch.appending("secret"), path)
        try await expectGone("a link")
        unlink(path)
        mkfifo(path, 0o600)
        try await expectGone("a pipe")
        unlink(path)
        mkdir(path, 0o700)
        try await expectGone("a directory")
        rmdir(path)
        symlink(scratch.appending("library"), "\(world.library)/link")
        try openDirectory(world.library).put(Array("content".utf8), as: "x.jpg")
        for (number, forged) in [(UInt8(2), "../secret"), (3, "link/x.jpg"), (4, "/etc/passwd"), (5, ""), (6, "a/./b")]
        {
            let photo = World.photo(
                number, in: world.library, BytePath(forged), name: "x.jpg", captured: nil, size: 7)
            try await expectGone("\(forged)", try world.file(photo))
        }
        if geteuid() != 0 {
            let secret = try world.file(9)
            chmod("\(world.library)/9-9.jpg", 0)
            let answer = try await world.ask("/o/\(secret)")
            #expect(answer.status == .forbidden && answer.text.contains("read the library"))
        }
    }

    @Test("At most so many files are downloaded at once, and a place is free again when its reader has left")
    func downloads() async throws {
        let world = try World()
        let key = try world.file(1)
        let session = try await world.people.session(of: "vera")
        let head = try RequestHead(
            method: "GET", target: "/o/\(key)", version: .http11,
            fields: [("Host", "x"), ("Cookie", "photoinbox=\(session.text)")])
        var open: [WebResponse] = []
        for _ in 0..<Downloads.limit { open.append(await world.server.answer(to: WebRequest(head: head))) }
        #expect(open.allSatisfy { $0.status == .ok })
        let refused = try await world.ask("/o/\(key)")
        #expect(refused.status == .unavailable && refused.fields["Retry-After"] == "5")
        #expect(try await world.ask("/t/\(key)").status == .notFound)
        open.removeAll()
        #expect(try await world.ask("/o/\(key)").status == .ok)
        let read = try await world.ask("/o/\(key)")
        #expect(read.text == "content")
    }

    @Test("A search finds sets by any member, in the order of the timeline; conditions are those of the command")
    func search() async throws {
        let world = try World()
        let picture = try world.file(1, role: "picture", camera: "Canon EOS R5")
        try world.file(
            2, role: "raw", name: "IMG_1.CR3", camera: "Canon EOS R5", into: .joining(photo: Int64(picture.id)))
        try world.file(3, at: nil, camera: "Canon EOS R6")
        let later = try world.file(4, at: "2026-11-22T08:00:00", camera: "canon a-1")
        let gone = try world.file(5, camera: "Canon")
        try world.file(6, at: "2026-12-01", camera: "Nikon", supersedes: [Int64(gone.id)])
        var batch = MetadataBatch()
        for due in try world.catalogue.photosToRead(in: world.library, after: 0, limit: 100) {
            var metadata = PhotoMetadata()
            if due.stored.id == Int64(later.id) {
                metadata.title = "Harbour at night"
                metadata.keywords = ["boat"]
                metadata.people = ["Ada"]
                metadata.rating = 4
                metadata.position = PhotoMetadata.Position(latitude: 54.32, longitude: 10.12)
            }
            batch.add(MetadataDecision([.xmp: metadata]), of: due)
        }
        try world.catalogue.record(batch)
        func found(_ query: String) async throws -> [UInt32] {
            let answer = try await world.ask("/search?\(query)")
            #expect(answer.status == .ok && answer.bytes.count.isMultiple(of: 16), "\(query): \(answer.text)")
            #expect(answer.fields["X-Photos-Left-Out"] == nil)
            return stride(from: 1, to: answer.numbers.count, by: 4).map { answer.numbers[$0] }
        }
        let all = try await world.ask("/search?camera=canon").numbers
        #expect(
            all == [
                20_779, 4, 0x0404_0404, 28_800, Self.day, 1, 0x0101_0101, 50_851 | 1 << 24, Self.noDay, 3, 0x0303_0303,
                0,
            ])
        #expect(try await found("name=img_1") == [1])
        for query in [
            "words=harb+night", "words=boat", "keyword=boat", "person=ada", "title=harbour", "rating=4&inbox=card",
            "near=54.3,10.1,5km", "bbox=10,54,11,55", "from=2026-11-22&until=2026-11", "camera=a-1",
            "keyword=boat&words=harbour&bbox=179,-90,11,90",
        ] { #expect(try await found(query) == [4], "\(query)") }
        #expect(try await found("until=2026-11-21") == [1])
        for query in ["rating=5", "words=nothing", "inbox=other"] { #expect(try await found(query) == [], "\(query)") }
        for query in [
            "", "x=1", "camera=", "camera=a&camera=b", "rating=6", "rating=4.5", "rating=four", "from=26",
            "from=2026-13",
            "near=1,2,3", "near=91,0,1km", "near=nan,0,1km", "bbox=1,2,3", "bbox=0,9,1,8", "bbox=0,0,1,1&near=0,0,1m",
            "limit=5", "outcome=filed", "words=%20", "words=" + String(repeating: "a+", count: 33),
        ] { #expect(try await world.ask("/search?\(query)").status == .badRequest, "\(query)") }
        // What is a query of the index of texts is no query here.
        for text in ["\"", "*", "NEAR(", "title:x", "a OR b", "-", "'; DROP TABLE tile"] {
            let words = percentEncoded(text.utf8)
            #expect(try await world.ask("/search?words=\(words)").status == .ok, "\(text)")
        }
        let places = try await world.ask("/places?bbox=-180,-90,180,90&width=1&height=1")
        let text = String(decoding: places.bytes, as: UTF8.self)
        #expect(
            places.status == .ok && text.contains(#""photos":1,"cells":[{"photos":1,"key":"4-04040404""#), "\(text)")
        let elsewhere = try await world.ask("/places?bbox=-180,-90,9,90&width=1&height=1")
        #expect(String(decoding: elsewhere.bytes, as: UTF8.self) == #"{"photos":0,"cells":[],"more":false}"#)
        for query in [
            "", "x=1", "bbox=0,0,1,1", "bbox=0,0,1,1&width=1&height=0", "bbox=0,0,1,1&width=nan&height=1",
            "bbox=0,0,1,1&width=-1&height=1", "bbox=0,0,1,1&width=1e-9&height=1", "bbox=0,0,1,1&width=361&height=1",
            "bbox=0,9,1,8&width=1&height=1", "bbox=0,0,1,1&width=1&height=1&limit=9",
        ] { #expect(try await world.ask("/places?\(query)").status == .badRequest, "\(query)") }
    }

    @Test("A search ends with its client and after its time; nine are taken at once, and the next are served")
    func searchLimits() async throws {
        let world = try World()
        try world.file(1, camera: "Canon")
        let places = try Places(PlaceOptions(config: nil, state: RawArgument(path: world.state)), remarks: false)
        var query = SearchQuery()
        query.camera = "canon"
        let late = WallSearches(places, patience: .zero)
        do throws(Refusal) {
            _ = try await late.photos(matching: query) { false }
            Issue.record("it had no time")
        } catch { #expect(await Answer(error.answer).text.contains("the search took too long")) }

        let searches = WallSearches(places, patience: .seconds(600))
        do throws(Refusal) {
            _ = try await searches.photos(matching: query) { true }
            Issue.record("its client had left")
        } catch { #expect(error.answer.status == .unavailable) }
        #expect(try await searches.photos(matching: query) { false }.bytes.count == 16)

        // One works as long as the gate is closed, eight wait, and the others are refused at once.
        let gate = try Gate()
        let asked = query
        let statuses = try await withThrowingTaskGroup(of: HTTPStatus.self) { tasks in
            var statuses: [HTTPStatus] = []
            func ask(_ hasLeft: @escaping WallSearches.HasLeft) {
                tasks.addTask {
                    do throws(Refusal) {
                        _ = try await searches.photos(matching: asked, unless: hasLeft)
                        return .ok
                    } catch { return error.answer.status }
                }
            }
            let calls = Locked(0)
            ask {
                // The second question comes from the search.
                if calls.withLock({
                    $0 += 1; return $0
                }) == 2 {
                    gate.pass()
                }
                return false
            }
            try await aside { gate.waitForOne() }
            for _ in 0..<(WallSearches.places + 3) { ask { false } }
            for _ in 0..<3 { statuses.append(try await tasks.next() ?? .failed) }
            gate.open()
            for try await status in tasks { statuses.append(status) }
            return statuses
        }
        #expect(statuses == Array(repeating: .unavailable, count: 3) + Array(repeating: .ok, count: 9))
        #expect(try await searches.photos(matching: query) { false }.bytes.count == 16)
    }

    /// Holds a thread until it is opened, and tells that one has come.
    private final class Gate: Sendable {
        private let (came, opened): (Pipe, Pipe)

        private typealias Pipe = (reading: Int32, writing: Int32)

        init() throws { (came, opened) = (try makePipe(), try makePipe()) }

        func pass() {
            _ = write(came.writing, "x", 1)
            var byte: UInt8 = 0
            _ = read(opened.reading, &byte, 1)
        }

        func waitForOne() {
            var byte: UInt8 = 0
            _ = read(came.reading, &byte, 1)
        }

        func open() { close(opened.writing) }

        deinit { for end in [came.reading, came.writing, opened.reading] { close(end) } }
    }

    @Test("What is known of a photo, with the members of its set and the renditions that it could have")
    func photo() async throws {
        let world = try World()
        let picture = try world.file(1, role: "picture")
        let sidecar = try world.file(
            2, role: "sidecar", name: BytePath([0xFF, 0x2E, 0x78]), into: .joining(photo: Int64(picture.id)))
        let answer = try await world.ask("/photo/\(picture)")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [String: Any])
        #expect(Set(json.keys) == ["key", "record", "why", "dated_by", "members", "renditions"])
        // By the words of the command line.
        let guessed = try world.file(
            World.photo(
                3, in: world.library, "3.jpg", name: "3.jpg", captured: "2026-11-21T14:07:31", size: 7,
                provenance: "mtime"))
        let other = try await world.ask("/photo/\(guessed)").text
        #expect(other.contains(#""dated_by":"the file's modification time""#), "\(other)")
        #expect(!answer.text.contains("origin"))
        #expect(try await world.ask("/photo/\(picture)", as: "ana").text.contains(#""origin":"https://x/?key""#))
        #expect(json["key"] as? String == "1-01010101" && json["why"] as? String == "1")
        let members = try #require(json["members"] as? [[String: Any]])
        #expect(members.map { $0["key"] as? String } == ["\(picture)", "\(sidecar)"])
        #expect(members.map { $0["role"] as? String } == ["picture", "sidecar"])
        #expect(members.map { $0["size"] as? Int } == [7, 7] && members[0]["name"] as? String == "1.jpg")
        #expect(members[1]["name_base64"] as? String == "/y54")
        let renditions = try #require(json["renditions"] as? [[String: Any]])
        #expect(renditions.map { $0["name"] as? String } == ["googly"])
        #expect(renditions.map { $0["reason"] as? String } == ["no eyes"])
        #expect(try await world.ask("/photo/1-02020202").status == .notFound)
    }
}
