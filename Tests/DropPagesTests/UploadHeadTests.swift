import FileValues
import Filing
import HTTPValues
import TestSupport
import Testing

@testable import DropPages
@testable import DropStore

func head(
    _ method: String, _ target: String = "/up", _ fields: [(String, String)] = [],
    version: RequestHead.Version = .http11
) throws -> RequestHead {
    try RequestHead(
        method: method, target: target, version: version,
        fields: [(name: "Host", value: "a")] + fields.map { (name: $0.0, value: $0.1) })
}

func digest(_ text: String) -> ContentHash {
    var hasher = ContentHasher()
    Array(text.utf8).withUnsafeBytes { hasher.update($0) }
    return hasher.hash()
}

/// Words of heads.
enum Known {
    static let number = "0123456789abcdef0123456789abcdef"
    static let tus = ("Tus-Resumable", "1.0.0")
    static let draft = ("Upload-Draft-Interop-Version", "8")
    static let bytes = ("Content-Type", "application/offset+octet-stream")
}

@Suite("Heads of uploads")
struct UploadHeadTests {
    private func parse(_ method: String, _ target: String, _ fields: [(String, String)] = []) throws -> UploadHead {
        let head = try head(method, target, fields)
        return try UploadHead(head, head.target.segments.dropFirst())
    }

    private func creation(_ head: UploadHead) throws -> UploadRequest.Creation {
        guard case .create(let creation) = head.request else { throw UploadMistake("it is no creation") }
        return creation
    }

    @Test("tus: a new upload, with all that is said of it")
    func tusCreation() throws {
        let metadata =
            "filename \(base64Encoded(Array("ä.jpg".utf8))),lastModified \(base64Encoded(Array("1700000000123".utf8))),"
            + "sha256 \(base64Encoded(Array("\(digest("a"))".utf8))),set \(base64Encoded([9, 8])),of Mg==,flag"
        let head = try parse("POST", "/up", [Known.tus, ("Upload-Length", "5"), ("Upload-Metadata", metadata)])
        #expect(head.dialect == .tus)
        var wanted = UploadRequest.Creation(path: Array("ä.jpg".utf8))
        wanted.length = 5
        wanted.modified = FileTime(seconds: 1_700_000_000, nanoseconds: 123_000_000)
        wanted.digest = digest("a")
        // A set is not: tus could not say that a file waits for it.
        #expect(head.request == .create(wanted))
        let sum = base64Encoded(digest("hello").bytes)
        let both = try parse(
            "POST", "/up",
            [
                Known.tus, ("Upload-Defer-Length", "1"),
                ("Upload-Metadata", "relativePath YS9iLmpwZw==,filename Yi5qcGc="),
                Known.bytes, ("Content-Length", "5"), ("Upload-Checksum", "sha256 \(sum)"),
            ])
        #expect(try creation(both).path == Array("a/b.jpg".utf8))
        #expect(try creation(both).bytes == UploadRequest.Bytes(digest: digest("hello")))
        #expect(try creation(both).length == nil)
    }

    @Test("tus: what continues, asks and ends")
    func tusOthers() throws {
        let id = try #require(UploadID(Known.number))
        let address = "/up/\(Known.number)"
        let bytes = UploadRequest.Bytes(offset: 7)
        #expect(
            try parse("PATCH", address, [Known.tus, Known.bytes, ("Upload-Offset", "7")]).request == .append(id, bytes))
        #expect(
            try parse(
                "POST", address, [Known.tus, Known.bytes, ("Upload-Offset", "7"), ("X-HTTP-Method-Override", "PATCH")]
            ).request == .append(id, bytes))
        #expect(try parse("HEAD", address, [Known.tus]).request == .ask(id))
        #expect(try parse("DELETE", address, [Known.tus]).request == .end(id))
        #expect(try parse("OPTIONS", "/up").request == .options)
    }

    @Test("The draft: bytes with a new upload, and what continues it")
    func draft() throws {
        let id = try #require(UploadID(Known.number))
        let address = "/up/\(Known.number)"
        let sum = ":\(base64Encoded(digest("hello").bytes)):"
        let new = try creation(
            parse(
                "POST", "/up?name=a.jpg",
                [
                    Known.draft, ("Upload-Complete", "?1"), ("Content-Length", "5"),
                    ("Repr-Digest", "md5=:AA==:, sha-256=\(sum)"),
                ]))
        #expect(new.path == Array("a.jpg".utf8) && new.length == 5 && new.digest == digest("hello"))
        #expect(new.bytes == UploadRequest.Bytes(isLast: true))
        let named = try creation(
            parse(
                "POST", "/up",
                [Known.draft, ("Upload-Complete", "?0"), ("Content-Disposition", "attachment; filename=\"x y.jpg\"")]))
        #expect(named.path == Array("x y.jpg".utf8) && named.length == nil)
        #expect(named.bytes == UploadRequest.Bytes(isLast: false))
        let more: [(String, String)] = [
            Known.draft, ("Upload-Offset", "5"), ("Upload-Complete", "?1"), ("Content-Digest", "sha-256=\(sum)"),
            ("Content-Type", "application/partial-upload"),
        ]
        #expect(
            try parse("PATCH", address, more).request
                == .append(id, UploadRequest.Bytes(offset: 5, digest: digest("hello"), isLast: true)))
        #expect(try parse("HEAD", address, [Known.draft]).request == .ask(id))
        #expect(try parse("DELETE", address, [Known.draft]).request == .end(id))
    }

    @Test("PUT of a whole file, and POST alone")
    func plain() throws {
        let id = try #require(UploadID(Known.number))
        let whole = try creation(
            parse("PUT", "/up/Trip/a%20b.jpg?modified=5001", [("Content-Length", "5"), ("X-OC-Mtime", "9")]))
        #expect(whole.path == Array("Trip/a b.jpg".utf8) && whole.length == 5)
        #expect(whole.modified == FileTime(seconds: 9, nanoseconds: 0))
        #expect(whole.bytes == UploadRequest.Bytes(isLast: true, isResumable: false))
        #expect(try creation(parse("PUT", "/up/a.jpg")).length == 0)
        #expect(try creation(parse("PUT", "/up/a.jpg", [("Transfer-Encoding", "chunked")])).length == nil)
        let new = try creation(parse("POST", "/up?name=a%2Fb.jpg&length=5&set=x&of=3&modified=5001"))
        #expect(new.path == Array("a/b.jpg".utf8) && new.length == 5 && new.bytes == nil)
        #expect(new.set == DropSet(token: Array("x".utf8), count: 3))
        #expect(new.modified == FileTime(seconds: 5, nanoseconds: 1_000_000))
        let address = "/up/\(Known.number)"
        #expect(try parse("POST", address + "?at=7").request == .append(id, UploadRequest.Bytes(offset: 7)))
        #expect(try parse("POST", address).request == .ask(id))
        #expect(try parse("POST", address + "?end=1").request == .end(id))
    }

    @Test("A whole file of another version of the draft is received without it, and a part of one is refused")
    func otherVersions() throws {
        for version in ["3", "5", "6"] {
            let other = ("Upload-Draft-Interop-Version", version)
            for more in [("Upload-Incomplete", "?0"), ("Upload-Complete", "?1")] {
                let head = try parse("PUT", "/up/a.jpg", [other, more, ("Content-Length", "5")])
                #expect(head.dialect == .put)
                #expect(try creation(head).length == 5)
            }
            #expect(try parse("POST", "/up?name=a.jpg&length=5", [other]).dialect == .post)
            for more in [("Upload-Incomplete", "?1"), ("Upload-Complete", "?0"), ("Upload-Offset", "5")] {
                #expect(throws: UploadMistake.self) { try parse("PUT", "/up/a.jpg", [other, more]) }
            }
            #expect(throws: UploadMistake.self) { try parse("HEAD", "/up/\(Known.number)", [other]) }
        }
    }

    @Test(
        "What is malformed, or of two dialects, is refused",
        arguments: [
            ("PATCH", "/up/\(Known.number)", [], 412), ("HEAD", "/up/\(Known.number)", [], 412),
            ("DELETE", "/up/\(Known.number)", [], 412),
            ("POST", "/up", [("Tus-Resumable", "0.2.2")], 412), ("POST", "/up", [Known.tus, Known.draft], 400),
            ("POST", "/up", [("Upload-Draft-Interop-Version", "6")], 400),
            ("POST", "/up", [Known.tus, ("Upload-Length", "5")], 400),
            ("POST", "/up", [Known.tus, ("Upload-Metadata", "filename YQ==")], 400),
            ("POST", "/up", [Known.tus, ("Upload-Length", "-1"), ("Upload-Metadata", "filename YQ==")], 400),
            (
                "POST", "/up",
                [
                    Known.tus, ("Upload-Length", "5"), ("Upload-Defer-Length", "1"),
                    ("Upload-Metadata", "filename YQ=="),
                ], 400
            ),
            ("POST", "/up", [Known.tus, ("Upload-Length", "5"), ("Upload-Metadata", "filename YQ=")], 400),
            (
                "POST", "/up", [Known.tus, ("Upload-Length", "5"), ("Upload-Metadata", "filename YQ==,filename YQ==")],
                400
            ),
            (
                "POST", "/up",
                [Known.tus, ("Upload-Length", "5"), ("Upload-Metadata", "filename YQ=="), ("Content-Length", "5")], 415
            ),
            ("PATCH", "/up/\(Known.number)", [Known.tus, ("Upload-Offset", "5")], 415),
            ("PATCH", "/up/\(Known.number)", [Known.tus, Known.bytes], 400),
            (
                "PATCH", "/up/\(Known.number)",
                [Known.tus, Known.bytes, ("Upload-Offset", "5"), ("Upload-Checksum", "sha1 AAAA")], 400
            ),
            (
                "PATCH", "/up/\(Known.number)",
                [Known.tus, Known.bytes, ("Upload-Offset", "5"), ("Upload-Offset", "6")], 400
            ),
            ("PATCH", "/up/\(Known.number)x", [Known.tus, Known.bytes, ("Upload-Offset", "5")], 404),
            ("PATCH", "/up/../up", [Known.tus, Known.bytes, ("Upload-Offset", "5")], 0),
            ("POST", "/up/\(Known.number)", [Known.tus, ("X-HTTP-Method-Override", "PUT")], 400),
            ("PUT", "/up/\(Known.number)", [Known.tus], 405),
            ("POST", "/up?name=a", [Known.draft], 400),
            ("POST", "/up?name=a", [Known.draft, ("Upload-Complete", "1")], 400),
            (
                "POST", "/up?name=a",
                [Known.draft, ("Upload-Complete", "?1"), ("Content-Length", "5"), ("Upload-Length", "6")], 400
            ),
            ("PATCH", "/up/\(Known.number)", [Known.draft, ("Upload-Complete", "?1"), ("Upload-Offset", "5")], 415),
            ("POST", "/up?name=a&length=5", [("Repr-Digest", "sha-256=AAAA")], 400), ("POST", "/up?name=a", [], 400),
            ("POST", "/up?length=1", [], 400), ("POST", "/up?name=a&length=5&set=x", [], 400),
            ("POST", "/up?name=a&length=5&set=x&of=1", [], 400), ("PUT", "/up", [], 400),
            ("POST", "/up/\(Known.number)?at=x", [], 400),
            ("PUT", "/up/a", [("Content-Length", "5"), ("Content-Range", "bytes 5-9/10")], 400),
            ("PUT", "/up/a", [("Content-Length", "5"), ("Content-Range", "bytes 0-4/10")], 400),
            ("PUT", "/up/a", [("Content-Length", "5"), ("Content-Range", "bytes 0-9/10")], 400),
            ("PUT", "/up/a", [("Content-Length", "5"), ("Content-Range", "bytes 0-99999999999999999999/5")], 400),
            ("PUT", "/up/a", [("Content-Length", "5"), ("Content-Encoding", "gzip")], 415),
            (
                "PATCH", "/up/\(Known.number)",
                [Known.tus, Known.bytes, ("Upload-Offset", "5"), ("Content-Encoding", "gzip")], 415
            ),
        ] as [(String, String, [(String, String)], Int)])
    func refused(method: String, target: String, fields: [(String, String)], status: Int) throws {
        // Some are no targets at all.
        guard let head = try? head(method, target, fields) else { return #expect(status == 0) }
        #expect {
            try UploadHead(head, head.target.segments.dropFirst())
        } throws: { error in
            (error as? UploadMistake)?.status.rawValue == status
        }
    }
}

extension UploadHeadTests {
    @Test("A range that is the whole file is no part of one")
    func wholeRange() throws {
        let fields = [("Content-Length", "10"), ("Content-Range", "bytes 0-9/10"), ("Content-Encoding", "identity")]
        #expect(try creation(parse("PUT", "/up/a", fields)).length == 10)
    }

    @Test("Whatever the fields are, a head is a request or is refused")
    func anything() throws {
        var chance = SeededGenerator(seed: 11)
        let names = [
            "Tus-Resumable", "Upload-Draft-Interop-Version", "Upload-Length", "Upload-Defer-Length", "Upload-Offset",
            "Upload-Complete", "Upload-Metadata", "Upload-Checksum", "Content-Type", "Content-Digest", "Repr-Digest",
            "Content-Disposition", "X-OC-Mtime", "X-HTTP-Method-Override", "Content-Length",
        ]
        let values = [
            "1.0.0", "8", "0", "5", "999999999999999", "9999999999999999", "-1", "?0", "?1", "", ",", "=", "filename",
            "filename YQ==", "filename YQ==,set AQ==,of Mg==", "lastModified OTk5OTk5OTk5OTk5OTk5", "sha256",
            "sha256 AAAA",
            "sha256 \(base64Encoded(digest("a").bytes))", "sha-256=:\(base64Encoded(digest("a").bytes)):", "sha-256=::",
            "sha-256=:", "application/offset+octet-stream", "application/partial-upload", "PATCH", "filename=\"",
            "filename=\"\u{E9}\"",
        ]
        let targets = [
            "/up", "/up/\(Known.number)", "/up/a/b.jpg", "/up?name=a&length=5", "/up/\(Known.number)?at=5",
            "/up?set=a&of=2",
        ]
        var (requests, refusals) = (0, 0)
        for _ in 0..<30_000 {
            let fields = (0..<Int.random(in: 0..<6, using: &chance)).map { _ in
                (names.randomElement(using: &chance) ?? "", values.randomElement(using: &chance) ?? "")
            }
            let method = HTTPMethod.allCases.randomElement(using: &chance) ?? .get
            guard let head = try? head(method.rawValue, targets.randomElement(using: &chance) ?? "", fields) else {
                continue
            }
            do {
                _ = try UploadHead(head, head.target.segments.dropFirst())
                requests += 1
            } catch { refusals += 1 }
        }
        #expect(requests > 100 && refusals > 100)
    }
}

@Suite("Answers to uploads")
struct UploadAnswerTests {
    static let id = UploadID(Known.number)

    @Test("200, 201 and 204 for the last bytes say that the file has its name, and 202 that it waits")
    func successes() throws {
        let id = try #require(Self.id)
        var new = NewUpload(.person("ana"), try DropName(Array("a.jpg".utf8), of: .person("ana")), length: 10)
        new.set = DropSet(token: [1], count: 2)
        func record(_ phase: UploadRecord.Phase, _ offset: UInt64) -> UploadRecord {
            var record = UploadRecord(new: new, began: 0, length: 10, changed: 0)
            (record.phase, record.offset) = (phase, offset)
            return record
        }
        let records = [
            record(.receiving, 5), record(.whole(digest("a")), 10), record(.placed(digest("a"), "ana/a.jpg"), 10),
        ]
        // tus knows two statuses alone; it has no word for a file that waits for others.
        let statuses: [UploadDialect: [[Int]]] = [
            .tus: [[201, 201, 201], [204, 204, 204]], .draft: [[201, 202, 200], [204, 202, 200]],
            .put: [[202, 202, 201], [202, 202, 201]], .post: [[201, 202, 200], [200, 202, 200]],
        ]
        for (dialect, expected) in statuses {
            for (wasCreated, row) in zip([true, false], expected) {
                for (record, status) in zip(records, row) {
                    let answer = UploadAnswer(
                        .upload(id, record, wasCreated: wasCreated), dialect, base: "/up/", expiry: "then")
                    func value(_ name: String) -> String? { answer.fields.first { $0.name == name }?.value }
                    #expect(answer.status.rawValue == status, "\(dialect) \(record.phase)")
                    let isComplete = record.phase != .receiving
                    #expect((value("Location") == nil) == (dialect == .put || !wasCreated))
                    #expect((value("Upload-Expires") == nil) == (dialect != .tus || isComplete))
                    #expect(value("Upload-Complete") == (dialect == .draft ? isComplete ? "?1" : "?0" : nil))
                    #expect(value("Upload-Offset") == (dialect == .put ? nil : "\(record.offset)"))
                }
            }
        }
    }

    @Test("The state of an upload is told in each dialect, and nothing of one that ended")
    func states() throws {
        let id = try #require(Self.id)
        let name = try DropName(Array("a.jpg".utf8), of: .person("ana"))
        var record = UploadRecord(new: NewUpload(.person("ana"), name, length: nil), began: 0, length: nil, changed: 0)
        record.offset = 7
        for (dialect, status) in [(UploadDialect.tus, 200), (.draft, 204), (.post, 204)] {
            let answer = UploadAnswer(.state(id, record), dialect, base: "/", expiry: nil)
            #expect(answer.status.rawValue == status)
            #expect(answer.fields.contains(UploadAnswer.Field(name: "Upload-Offset", value: "7")))
            #expect(answer.fields.contains(UploadAnswer.Field(name: "Cache-Control", value: "no-store")))
            record.phase = .ended(.expired)
            #expect(UploadAnswer(.state(id, record), dialect, base: "/", expiry: nil).status == .gone)
            record.phase = .receiving
        }
    }

    /// The status of each result in each dialect: tus, the draft, PUT, POST.
    @Test(
        "Each failure has its status in each dialect",
        arguments: [
            (.notFound, [404, 404, 404, 404]), (.ended(.expired), [410, 410, 410, 410]),
            (.placed, [409, 400, 409, 409]),
            (.superseded, [409, 409, 409, 409]), (.wrongOffset(5), [409, 409, 409, 409]),
            (.wrongLength, [400, 400, 400, 400]), (.tooLong(limit: 5), [413, 413, 413, 413]),
            (.tooManyOpen, [429, 429, 429, 429]), (.overTotal, [507, 507, 507, 507]), (.empty, [422, 422, 422, 422]),
            (.wrongDigest, [460, 400, 400, 400]), (.noRoom, [507, 507, 507, 507]),
        ] as [(DropError, [Int])])
    func failures(error: DropError, statuses: [Int]) {
        for (dialect, status) in zip([UploadDialect.tus, .draft, .put, .post], statuses) {
            let answer = UploadAnswer(.failed(error, Self.id), dialect, base: "/up/", expiry: nil)
            #expect(answer.status.rawValue == status, "\(dialect) \(error)")
            #expect(answer.message != nil)
            if case .wrongOffset(let offset) = error {
                #expect(answer.fields.contains(UploadAnswer.Field(name: "Upload-Offset", value: "\(offset)")))
            }
        }
    }
}
