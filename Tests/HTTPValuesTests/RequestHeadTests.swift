import HTTPValues
import TestSupport
import Testing

@Suite("Heads of requests")
struct RequestHeadTests {
    static let host = (name: "Host", value: "photos.example")

    static func head(
        _ method: String = "GET", _ target: String = "/", version: RequestHead.Version = .http11,
        _ fields: [(name: String, value: String)] = []
    ) throws(HeadRefusal) -> RequestHead {
        try RequestHead(method: method, target: target, version: version, fields: [host] + fields)
    }

    static func status(
        _ method: String = "GET", _ target: String = "/", version: RequestHead.Version = .http11,
        _ fields: [(name: String, value: String)] = []
    ) -> HTTPStatus? {
        do {
            _ = try head(method, target, version: version, fields)
            return nil
        } catch { return error.status }
    }

    @Test("A usual head is accepted")
    func usual() throws {
        let head = try Self.head("POST", "/api/do", [("Content-Length", "12"), ("X-A", " b\t")])
        #expect(head.method == .post)
        #expect(head.target.segments == ["api", "do"])
        #expect(head.body == .length(12))
        #expect(head.fields["x-a"] == "b")
        #expect(try Self.head("POST", "/", [("Transfer-Encoding", "Chunked")]).body == .chunked)
        #expect(try Self.head("DELETE", "/", [("Content-Length", "0")]).body == .none)
        #expect(try RequestHead(method: "GET", target: "/", version: .http10, fields: []).body == .none)
    }

    @Test(
        "A body whose length two programs could read differently is refused",
        arguments: [
            [("Content-Length", "5"), ("Content-Length", "5")], [("Content-Length", "5"), ("Content-Length", "6")],
            [("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
            [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")], [("Content-Length", "5, 5")],
            [("Content-Length", "+5")], [("Content-Length", "-1")], [("Content-Length", "0x5")],
            [("Content-Length", "5 5")], [("Content-Length", "")], [("Content-Length", "9999999999999999")],
            [("Content-Length", "٥")],
        ] as [[(String, String)]])
    func framing(fields: [(String, String)]) {
        #expect(Self.status("POST", "/", fields.map { (name: $0.0, value: $0.1) }) == .badRequest)
    }

    @Test(
        "Other transfer codings are refused",
        arguments: ["gzip, chunked", "chunked, chunked", "identity", "chunked;a", "", "xchunked"])
    func codings(coding: String) {
        #expect(Self.status("POST", "/", [("Transfer-Encoding", coding)]) == .notImplemented)
        #expect(Self.status("POST", "/", version: .http10, [("Transfer-Encoding", "chunked")]) == .notImplemented)
    }

    @Test("GET and HEAD have no body")
    func bodies() {
        for method in ["GET", "HEAD"] {
            #expect(Self.status(method, "/", [("Content-Length", "1")]) == .badRequest)
            #expect(Self.status(method, "/", [("Transfer-Encoding", "chunked")]) == .badRequest)
            #expect(Self.status(method, "/", [("Content-Length", "0")]) == nil)
        }
    }

    @Test("There is one Host, without a path")
    func hosts() {
        func refused(_ hosts: [String], _ version: RequestHead.Version = .http11) -> Bool {
            (try? RequestHead(method: "GET", target: "/", version: version, fields: hosts.map { ("Host", $0) })) == nil
        }
        #expect(refused([]))
        #expect(refused(["a", "b"]))
        #expect(refused(["a", "a"], .http10))
        for host in ["a/b", "a@b", "a b", "a?", "a#", "a\\b", "ä", "a,b"] { #expect(refused([host]), "\(host)") }
        for host in ["a", "a:80", "[::1]:8420", "127.0.0.1:8420", ""] { #expect(!refused([host]), "\(host)") }
    }

    @Test("Limits are exact")
    func limits() {
        let size = "GET".utf8.count + "/".utf8.count + "Host".utf8.count + Self.host.value.utf8.count + 4
        let room = RequestHead.limit - size - "a".utf8.count - 4
        #expect(Self.status("GET", "/", [("a", String(repeating: "b", count: room))]) == nil)
        #expect(Self.status("GET", "/", [("a", String(repeating: "b", count: room + 1))]) == .fieldsTooLarge)
        func fields(_ count: Int) -> [(name: String, value: String)] { (0..<count).map { ("f\($0)", "") } }
        #expect(Self.status("GET", "/", fields(HeaderFields.limit - 1)) == nil)
        #expect(Self.status("GET", "/", fields(HeaderFields.limit)) == .fieldsTooLarge)
        func path(_ count: Int) -> String { "/" + String(repeating: "a", count: count - 1) }
        #expect(Self.status("GET", path(RequestTarget.limit)) == nil)
        #expect(Self.status("GET", path(RequestTarget.limit + 1)) == .targetTooLong)
    }

    @Test("Unknown methods, versions and expectations are refused")
    func unknown() {
        for method in ["BREW", "get", "CONNECT", "TRACE", ""] {
            #expect(Self.status(method) == .notImplemented, "\(method)")
        }
        for method in HTTPMethod.allCases { #expect(Self.status(method.rawValue) == nil) }
        for (major, minor) in [(0, 9), (1, 2), (2, 0), (3, 0)] {
            #expect(Self.status(version: RequestHead.Version(major: major, minor: minor)) == .versionNotSupported)
        }
        #expect(Self.status("POST", "/", [("Expect", "200-ok")]) == .expectationFailed)
        #expect(
            Self.status("POST", "/", [("Expect", "100-continue"), ("Expect", "100-continue")]) == .expectationFailed)
    }

    @Test("A client that waits for 100 is one of HTTP/1.1 with a body")
    func expectation() throws {
        func expects(_ version: RequestHead.Version, _ length: String) throws -> Bool {
            try RequestHead(
                method: "PUT", target: "/", version: version,
                fields: [("Host", "a"), ("Expect", "100-Continue"), ("Content-Length", length)]
            ).expectsContinue
        }
        #expect(try expects(.http11, "1"))
        #expect(try !expects(.http11, "0"))
        #expect(try !expects(.http10, "1"))
    }

    @Test("Names of fields are tokens, and values have no control characters")
    func fields() {
        for name in ["a b", "", "a:", "a\r\n", "ä", "a\0", "(a)"] {
            #expect(Self.status("GET", "/", [(name, "x")]) == .badRequest, "\(name)")
        }
        for value in ["a\rb", "a\nb", "a\r\nb: c", "a\0b", "\u{7F}", "\u{1}"] {
            #expect(Self.status("GET", "/", [("a", value)]) == .badRequest, "\(value)")
        }
        #expect(Self.status("GET", "/", [("a", "ä\tb")]) == nil)
    }

    @Test("Whatever the fields, an accepted head has one length, one Host, and a body only where one may be")
    func mutants() {
        var random = SeededGenerator(seed: 9112)
        let names = [
            "Content-Length", "content-length", "Transfer-Encoding", "TRANSFER-ENCODING", "Host", "host", "Expect", "X",
        ]
        let values = [
            "0", "1", "5", "05", "", " 5", "5 ", "5,5", "-1", "chunked", "Chunked", "gzip", "chunked,chunked", "a",
            "a b",
        ]
        var accepted: [BodyFraming: Int] = [:]
        for _ in 0..<50_000 {
            let fields = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                (name: names.randomElement(using: &random) ?? "", value: values.randomElement(using: &random) ?? "")
            }
            let method = HTTPMethod.allCases.randomElement(using: &random) ?? .get
            guard let head = try? RequestHead(method: method.rawValue, target: "/", version: .http11, fields: fields)
            else {
                continue
            }
            accepted[head.body, default: 0] += 1
            func count(_ name: String) -> Int { fields.count { $0.name.lowercased() == name } }
            #expect(count("host") == 1 && count("expect") == 0)
            #expect(count("content-length") + count("transfer-encoding") <= 1)
            #expect(head.body == .none || method != .get && method != .head)
            #expect((head.body == .chunked) == (count("transfer-encoding") == 1))
        }
        #expect(Set(accepted.keys) == [.none, .chunked, .length(1), .length(5)])
    }

    @Test("A field that occurs twice has no value")
    func twice() throws {
        let head = try Self.head("GET", "/", [("A", "1"), ("a", "2"), ("B", "3")])
        #expect(head.fields["a"] == nil)
        #expect(head.fields.values(of: "a") == ["1", "2"])
        #expect(head.fields["b"] == "3")
        #expect(head.fields["c"] == nil)
    }
}

@Suite("Targets of requests")
struct RequestTargetTests {
    @Test(
        "Paths are decoded by segments",
        arguments: [
            ("/", [], true), ("/a", ["a"], false), ("/a/", ["a"], true), ("/a%20b/c", ["a b", "c"], false),
            ("/%41%c3%a4", ["Aä"], false), ("/...", ["..."], false), ("/a;b=c", ["a;b=c"], false),
            ("/%252e%252e", ["%2e%2e"], false), ("/a+b", ["a+b"], false), ("/a?b/../c", ["a"], false),
        ] as [(String, [String], Bool)])
    func accepted(text: String, segments: [String], isDirectory: Bool) throws {
        let target = try #require(RequestTarget(text))
        #expect(target.segments == segments)
        #expect(target.isDirectory == isDirectory)
        #expect(RequestTarget(target.text) == target)
    }

    @Test(
        "What could lead elsewhere is refused",
        arguments: [
            "", "a", "*", "http://h/", "//", "//a", "/a//b", "/.", "/..", "/a/../b", "/%2e%2e/a", "/.%2E", "/%2e",
            "/a%2fb", "/a%5cb", "/a\\b", "/%00", "/a%0a", "/%7f", "/%", "/%4", "/%4g", "/%c3", "/%c0%ae", "/%ff",
            "/%ed%a0%80", "/a#b", "/a b", "/ä", "/a\tb", "/?a=%00", "/?%c3=a", "/a/./", "/%2E/", "/%80",
        ])
    func refused(text: String) { #expect(RequestTarget(text) == nil) }

    @Test("Parameters are decoded, and count only once")
    func parameters() throws {
        let target = try #require(RequestTarget("/a?b=1&c=x%26y+z&d&e=1&e=2&&f=a=b"))
        #expect(target["b"] == "1")
        #expect(target["c"] == "x&y z")
        #expect(target["d"] == "")
        #expect(target["e"] == nil)
        #expect(target["f"] == "a=b")
        #expect(target["g"] == nil)
        #expect(target.text == "/a?b=1&c=x%26y%20z&d=&e=1&e=2&f=a%3Db")
    }

    @Test("No decoded segment has what would lead elsewhere, whatever the target")
    func mutants() {
        var random = SeededGenerator(seed: 8420)
        let pieces = [
            "/", ".", "..", "%2e", "%2F", "%5c", "\\", "%00", "a", "%c3%a4", "%c0%af", "?", "&", "=", "+", "%", "#",
        ]
        var accepted = 0
        for _ in 0..<100_000 {
            let text =
                "/"
                + (0..<Int.random(in: 0..<8, using: &random)).map { _ in
                    pieces.randomElement(using: &random) ?? ""
                }.joined()
            guard let target = RequestTarget(text) else { continue }
            accepted += 1
            #expect(RequestTarget(target.text) == target, "\(text)")
            for segment in target.segments {
                let isPlain =
                    !["", ".", ".."].contains(segment)
                    && segment.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !"/\\".utf8.contains($0) }
                #expect(isPlain, "\(text)")
            }
        }
        #expect(accepted > 1_000)
    }
}
