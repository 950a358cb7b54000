import DropStore
import FileValues
import HTTPValues
import TestSupport
import Testing

@testable import DropPages

@Suite("Requests by WebDAV, and their answers")
struct DavValuesTests {
    private func head(
        _ method: String = "MOVE", _ target: String = "/dav/a.jpg", _ fields: [(name: String, value: String)] = []
    ) throws -> DavHead {
        try DavHead(
            RequestHead(method: method, target: target, version: .http11, fields: [("Host", "x")] + fields))
    }

    private func status<Value>(_ body: () throws -> Value) -> HTTPStatus? {
        do { _ = try body() } catch { return (error as? DavRefusal)?.status }
        return nil
    }

    @Test(
        "Of a Destination the path alone counts, without a prefix that a proxy has taken off",
        arguments: [
            ("/dav/b.jpg", "b.jpg"), ("https://photos.example.org/dav/b.jpg", "b.jpg"),
            ("http://10.0.0.1:8420/photos/dav/x/b%20c.jpg", "x/b c.jpg"), ("https://h/dav/dav/b.jpg", "dav/b.jpg"),
            ("https://h/dav/dav/a.jpg", "dav/a.jpg"), ("https://h/dav/b/dav/c", "b/dav/c"), ("https://h/dav/", ""),
            ("https://h/p/dav", ""), ("/dav/%C3%A4", "ä"),
        ])
    func destination(field: String, path: String) throws {
        #expect(try head("MOVE", "/dav/a.jpg", [("Destination", field)]).destination() == BytePath(path))
    }

    @Test("A folder of the root's name is told from a prefix by the request's own path")
    func destinationInFolder() throws {
        let field = [(name: "Destination", value: "https://h/dav/dav/dav/y.jpg")]
        #expect(try head("MOVE", "/dav/dav/x.jpg", field).destination() == "dav/dav/y.jpg")
        let prefixed = [(name: "Destination", value: "https://h/photos/dav/2026/y.jpg")]
        #expect(try head("MOVE", "/dav/2026/x.jpg", prefixed).destination() == "2026/y.jpg")
        // A prefix that is said; a proxy may have taken it off this field, too.
        for (prefix, text, path) in [
            ("/dav", "/dav/dav/IMG_2.jpg", "IMG_2.jpg"), ("/dav", "/dav/dav/dav/IMG_2.jpg", "dav/IMG_2.jpg"),
            ("/dav/", "/dav/IMG_2.jpg", "IMG_2.jpg"), ("/a/dav", "/a/dav/dav/dav/y.jpg", "dav/y.jpg"),
        ] {
            let fields = [(name: "Destination", value: "https://h\(text)"), ("X-Forwarded-Prefix", prefix)]
            #expect(try head("MOVE", "/dav/IMG_2.jpg", fields).destination() == BytePath(path), "\(prefix) \(text)")
        }
    }

    @Test(
        "A Destination that is no address, or elsewhere, is refused",
        arguments: [
            ("", 400), ("dav/b", 400), ("/dav/../b", 400), ("/dav/%2e%2e/b", 400), ("/dav/a%2fb", 400),
            ("/dav//b", 400),
            ("/dav/a%00", 400), ("https://h", 403), ("/other/b", 403), ("/dav/a\u{1}", 400), ("ftp://h/x/b", 403),
        ])
    func wrongDestination(field: String, expected: Int) throws {
        guard let head = try? head("MOVE", "/dav/a.jpg", [("Destination", field)]) else {
            // No server passes such a field.
            #expect(field.utf8.contains(1))
            return
        }
        #expect(status(head.destination)?.rawValue == expected)
    }

    @Test("Depth and Overwrite have the values of RFC 4918 alone")
    func fields() throws {
        #expect(try head("PROPFIND", "/dav/").depth() == .infinity)
        for (field, depth) in [("0", DavHead.Depth.zero), ("1", .one), ("1,noroot", .one), ("Infinity", .infinity)] {
            #expect(try head("PROPFIND", "/dav", [("Depth", field)]).depth() == depth)
        }
        for wrong in ["", "2", "-1", "0, 1"] {
            #expect(status(try head("PROPFIND", "/dav", [("Depth", wrong)]).depth) == .badRequest)
        }
        #expect(try head().overwrites() && head("MOVE", "/dav/a", [("Overwrite", "T")]).overwrites())
        #expect(try !head("MOVE", "/dav/a", [("Overwrite", "f")]).overwrites())
        #expect(status(try head("MOVE", "/dav/a", [("Overwrite", "x")]).overwrites) == .badRequest)
        let token = "urn:uuid:01234567-89ab-cdef-0123-456789abcdef"
        #expect(try head("LOCK", "/dav/a", [("If", "</dav/a> (<\(token)> [\"e\"])")]).lock == token)
        for wrong in ["(<urn:uuid:x>)", "(<\(token)0>)", "(<urn:uuid:<b>4567-89ab-cdef-0123-456789abcdef>)", ""] {
            #expect(try head("LOCK", "/dav/a", [("If", wrong)]).lock == nil)
        }
    }

    @Test("Paths are bounded, and addresses in answers have the prefix that a proxy says, if it is one")
    func addresses() throws {
        #expect(
            try head("PUT", "/dav/" + Array(repeating: "a", count: 32).joined(separator: "/")).path.components.count
                == 32)
        for long in [Array(repeating: "a", count: 33).joined(separator: "/"), String(repeating: "a", count: 1_025)] {
            #expect(status { try head("PUT", "/dav/\(long)") } == .targetTooLong)
        }
        func address(_ prefix: String) throws -> String {
            try head("PROPFIND", "/dav/", [("X-Forwarded-Prefix", prefix)]).address(of: "ä b/<x>&.jpg", isFolder: false)
        }
        let plain = "/dav/%C3%A4%20b/%3Cx%3E%26.jpg"
        #expect(try address("/photos") == "/photos" + plain)
        #expect(try address("/a/b%3Cc/") == "/a/b%3Cc" + plain)
        for hostile in [
            "", "photos", "/..", "//x", "/<script>", "http://x", "/a?b", "/" + String(repeating: "a", count: 256),
        ] {
            let found = try address(hostile)
            #expect(found == plain || found == "/%3Cscript%3E" + plain, "\(hostile)")
        }
        #expect(try head("PROPFIND", "/dav").address(of: "", isFolder: true) == "/dav/")
    }

    @Test(
        "What becomes of a file is decided by its name",
        arguments: [
            ("a.jpg", "photo"), ("x/IMG_1.HEIC", "photo"), ("a.jpg.tacitpart", "held"), ("x/a.part", "held"),
            (".goutputstream-AB", "held"), (".a.jpg.AbCdEf", "held"), ("._a.jpg", "litter"), (".DS_Store", "litter"),
            ("x/Thumbs.db", "litter"), ("DESKTOP.INI", "litter"), (".a.jpg", "403"), (".nomedia", "403"),
            ("a.url", "403"), (".hidden/a.jpg", "403"), ("@eaDir/a.jpg.part", "403"), ("a.links.part", "403"),
            (".hN.jpg.tacitpart", "403"), (".nomedia.tacitpart", "403"), ("a.jpg.part.tacitpart", "held"),
        ])
    func files(path: String, expected: String) throws {
        let found: String
        do throws(DavRefusal) {
            switch try DavFile(BytePath(path), of: .device("phone", of: "ana")) {
            case .photo(let name):
                #expect(!name.isHeld)
                found = "photo"
            case .held(let name):
                #expect(name.isHeld)
                found = "held"
            case .litter: found = "litter"
            }
        } catch { found = "\(error.status.rawValue)" }
        #expect(found == expected)
    }

    @Test("The structure of a document is read with its namespaces")
    func documents() throws {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="utf-8" ?><!-- <a> -->
            <propfind xmlns='DAV:' a="x > y"><prop ><x:b xmlns:x = "urn:a&amp;b" /><![CDATA[ <c> ]]> text &#65;
            <none xmlns=""/></prop></propfind >
            """
        let root = try #require(XMLElement(Array(text.utf8)))
        #expect(root.name == XMLName("propfind"))
        #expect(root["prop"]?.children.map(\.name) == [XMLName("b", in: "urn:a&b"), XMLName("none", in: "")])
        #expect(XMLName("b", in: "urn:a&b").text == "<x:b xmlns:x=\"urn:a&amp;b\"/>")
        #expect(XMLName("none", in: "").text == "<none/>" && XMLName("prop").text(around: "a") == "<D:prop>a</D:prop>")
    }

    @Test(
        "What is no document of an element, or could be read in two ways, is refused",
        arguments: [
            "", " ", "x", "<a", "<a>", "<a></b>", "<a/><b/>", "<a/>x", "<a><b></a></b>", "<a b=c/>", "<a b='<'/>",
            "<a b/>",
            "<p:a/>", "<p:a xmlns:p=''/>", "<:a/>", "<a:/>", "<a:b:c xmlns:a='x'/>", "<!DOCTYPE a><a/>",
            "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>", "<a><!x></a>", "<a>]]><![CDATA[</a>",
            "<!--", "<?x",
            "<1/>", "< a/>", "<a x='1'y='2'/>", "<a/", "</a>",
        ])
    func noDocuments(text: String) { #expect(XMLElement(Array(text.utf8)) == nil) }

    @Test("A document that is deep, large or no UTF-8 is refused, and no bytes crash the reader")
    func hostileDocuments() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)).utf8)
        }
        #expect(XMLElement(nested(16)) != nil && XMLElement(nested(17)) == nil)
        let many = "<a>" + String(repeating: "<b/>", count: 1_024) + "</a>"
        #expect(XMLElement(Array(many.utf8)) == nil)
        #expect(XMLElement([0xFF, 0xFE, 0x3C, 0x00]) == nil)
        var chance = SeededGenerator(seed: 3)
        let pieces = [
            "<", ">", "/", "a", "xmlns", ":", "=", "'", "\"", "<a>", "</a>", "<!--", "-->", "<?", "?>", "&", " ",
            "\u{0}", "é",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1..<12, using: &chance)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &chance)]
            }.joined()
            _ = XMLElement(Array(text.utf8))
        }
    }

    @Test("Properties are answered as they are asked for: all, their names, or some, with those that there are not")
    func properties() throws {
        let row = ListingRow(.sent, size: 5, modified: 1_700_000_000, number: 31)
        func answer(_ body: String, _ row: ListingRow? = row) throws -> String {
            try DavQuestion(Array(body.utf8)).answer(row, at: "/dav/%26", name: "&\u{FFFE}", room: 7)
        }
        let all = try answer("")
        #expect(try all == answer("<propfind xmlns='DAV:'><allprop/></propfind>"))
        for part in [
            "<D:href>/dav/%26</D:href>", "<D:displayname>&amp;\u{FFFD}</D:displayname>",
            "<D:getcontentlength>5</D:getcontentlength>", "<D:resourcetype/>",
            "<D:getetag>&quot;1f-5&quot;</D:getetag>",
            "<D:getlastmodified>Tue, 14 Nov 2023 22:13:20 GMT</D:getlastmodified>",
            "<D:status>HTTP/1.1 200 OK</D:status>",
        ] { #expect(all.contains(part), "\(part) in \(all)") }
        #expect(!all.contains("quota") && !all.contains("404"))
        let root = try answer("", nil)
        #expect(
            root.contains("<D:collection/>") && root.contains("<D:quota-available-bytes>7</D:quota-available-bytes>"))
        #expect(!root.contains("getcontentlength"))
        let names = try answer("<propfind xmlns='DAV:'><propname/></propfind>")
        #expect(names.contains("<D:getcontentlength/>") && !names.contains("5</"))
        let some = try answer(
            "<p xmlns='DAV:'/>".replacing("<p", with: "<propfind").replacing(
                "/>", with: "><prop><getetag/><x xmlns='urn:\"&lt;'/></prop></propfind>"))
        #expect(some.contains("<D:prop><D:getetag>&quot;1f-5&quot;</D:getetag></D:prop><D:status>HTTP/1.1 200 OK"))
        #expect(some.contains("<D:prop><x:x xmlns:x=\"urn:&quot;&lt;\"/></D:prop><D:status>HTTP/1.1 404 Not Found"))
        for wrong in [
            "x", "<propfind/>", "<propfind xmlns='DAV:'/>", "<prop xmlns='DAV:'/>",
            "<propfind xmlns='DAV:'><prop/><allprop/></propfind>",
        ] { #expect(status { try DavQuestion(Array(wrong.utf8)) } == .badRequest, "\(wrong)") }
        let many = "<propfind xmlns='DAV:'><prop>" + String(repeating: "<a/>", count: 129) + "</prop></propfind>"
        #expect(status { try DavQuestion(Array(many.utf8)) } == .contentTooLarge)
        // What is asked twice is said once.
        let twice = try answer("<propfind xmlns='DAV:'><prop><getetag/><getetag/></prop></propfind>")
        #expect(twice.ranges(of: "<D:getetag>").count == 1)
    }

    @Test("Names that are not known are in every row, so they are bounded")
    func longNames() throws {
        func names(_ count: Int, _ namespace: String) -> String {
            let names = (0..<count).map { "<a\($0)/>" }.joined()
            return "<D:propfind xmlns:D=\"DAV:\" xmlns='\(namespace)'><D:prop>\(names)</D:prop></D:propfind>"
        }
        let usual = try DavQuestion(Array(names(128, "http://owncloud.org/ns").utf8))
        #expect(usual.answer(nil, at: "/dav/", name: "", room: nil).utf8.count < 16 << 10)
        for (count, size) in [(128, 8_000), (1, 60_000), (128, 40)] {
            let body = names(count, String(repeating: "\"", count: size))
            #expect(status { try DavQuestion(Array(body.utf8)) } == .contentTooLarge)
            let patch = body.replacing("D:propfind", with: "D:propertyupdate").replacing(
                "<D:prop>", with: "<D:set><D:prop>"
            ).replacing("</D:prop>", with: "</D:prop></D:set>")
            #expect(status { try DavPatch(Array(patch.utf8)) } == .contentTooLarge)
        }
    }

    @Test("Times as Windows sets them are accepted, and nothing else, or nothing of both")
    func patches() throws {
        let times = "<z:Win32CreationTime>x</z:Win32CreationTime><z:Win32FileAttributes>20</z:Win32FileAttributes>"
        func answer(_ properties: String) throws -> String {
            let body =
                "<D:propertyupdate xmlns:D='DAV:' xmlns:z='urn:schemas-microsoft-com:'><D:set><D:prop>\(properties)</D:prop>"
                + "</D:set></D:propertyupdate>"
            return try DavPatch(Array(body.utf8)).answer(at: "/dav/a")
        }
        #expect(try answer(times).contains("200 OK") && !answer(times).contains("403"))
        let both = try answer(times + "<D:displayname>x</D:displayname>")
        #expect(
            both.contains("424 Failed Dependency") && both.contains("<D:displayname/></D:prop><D:status>HTTP/1.1 403"))
        #expect(!both.contains("200 OK"))
        #expect(status { try DavPatch(Array("<D:set xmlns:D='DAV:'/>".utf8)) } == .badRequest)
    }
}
