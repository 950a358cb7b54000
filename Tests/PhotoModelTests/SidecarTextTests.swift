import FileValues
import Testing

@testable import PhotoFormats
@testable import PhotoModel

@Suite("Sidecars say what people say of a photo, and keep whatever others have written")
struct SidecarTextTests {
    private static let hash = Array(repeating: UInt8(0xAB), count: 32)

    private func said(
        title: String? = nil, keywords: [String] = [], rating: Int? = nil, taken: String? = nil, place: String? = nil
    ) -> SidecarText.Statement {
        SidecarText.Statement(
            of: Self.hash, in: "f00d", title: title, keywords: keywords, rating: rating, taken: taken, place: place)
    }

    private var whole: SidecarText.Statement {
        said(
            title: "Möwen <am> \"Hafen\" & 'so'", keywords: ["gull", "two words", "a&b"], rating: 4,
            taken: "2026-11-21T14:07:31+01:00", place: "Kiel, Förde")
    }

    /// As Exiv2 writes them, with names and quotes of its own, and much that is unknown.
    private static let foreign = """
        \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
        <!-- kept -->
        <x:xmpmeta xmlns:x='adobe:ns:meta/' x:xmptk="XMP Core 4.4.0-Exiv2">
         <r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
          <r:Description r:about='' xmlns:X="http://ns.adobe.com/xap/1.0/" X:Rating = '2'
           xmlns:darktable="http://darktable.sf.net/" darktable:history_end="3&#10;4"
           xmlns:d="http://purl.org/dc/elements/1.1/"   xmlns:p="http://ns.adobe.com/photoshop/1.0/">
           <darktable:mask><r:Seq><r:li  darktable:num="0">gz02<![CDATA[<d:title>]]></r:li></r:Seq></darktable:mask>
           <d:title><r:Alt><r:li xml:lang="x-default">Old</r:li><r:li xml:lang="fr">Vieux &amp; bon</r:li></r:Alt></d:title>
           <d:subject><r:Bag>
            <r:li>harbour</r:li>
           </r:Bag></d:subject>
           <p:City>Kiel</p:City><p:DateCreated>2020</p:DateCreated>
          </r:Description>
         </r:RDF>
        </x:xmpmeta>

        """

    private func edited(_ said: SidecarText.Statement, _ text: String) throws -> String {
        String(decoding: try SidecarText.text(said, in: Array(text.utf8)), as: UTF8.self)
    }

    private func read(_ text: String) throws -> PhotoMetadata {
        try #require(SidecarMetadata(Array(text.utf8), kind: .xmp)).metadata
    }

    /// Whether all of `part` stands in `text`, in its order.
    private func isWithin(_ part: some Sequence<UInt8>, _ text: some Sequence<UInt8>) -> Bool {
        var rest = text.makeIterator()
        return part.allSatisfy { byte in
            while let next = rest.next() { if next == byte { return true } }
            return false
        }
    }

    @Test("What is written is read again, with all characters that XML can hold, and is written once")
    func written() throws {
        for said in [whole, said(title: " a\tb\nc\r"), said(rating: 0), said()] {
            let text = try SidecarText.text(said, in: nil)
            let read = try #require(SidecarText.Statement(text))
            #expect(read == said && read.canonical == said.canonical && read.odd.isEmpty)
            #expect(try SidecarText.text(said, in: text) == text)
            #expect(try #require(SidecarMetadata(text, kind: .xmp)).metadata.keywords == said.keywords)
        }
        let text = try SidecarText.text(said(title: "a\u{1}\u{FFFF}b"), in: nil)
        #expect(SidecarText.Statement(text)?.title == "ab")
        #expect(SidecarText.Statement(Array(Self.foreign.utf8)) == nil)
    }

    @Test("Two statements have the same bytes only if they are the same, and are told apart by their properties")
    func canonical() {
        let all = [
            whole, said(), said(title: "a"), said(place: "a"), said(keywords: ["a"]), said(keywords: ["a", "b"]),
            said(keywords: ["a\nKeywords 1 b"]), said(rating: 1), said(taken: "1"),
            SidecarText.Statement(of: Self.hash, in: "other"),
        ]
        #expect(Set(all.map(\.canonical)).count == all.count)
        #expect(said(title: "a", rating: 1).differences(from: said(title: "b", place: "c")) == "Title, Rating, Place")
    }

    @Test("Texts that only look the same are not the same")
    func equivalent() throws {
        let forms = ["Fo\u{308}rde", "F\u{F6}rde"].map { said(title: $0, keywords: [$0], place: $0) }
        for (old, new) in [(forms[0], forms[1]), (forms[1], forms[0])] {
            #expect(old != new)
            let text = try SidecarText.text(new, in: SidecarText.text(old, in: nil))
            #expect(try text == SidecarText.text(new, in: nil))
            #expect(SidecarText.Statement(text)?.canonical == new.canonical)
        }
    }

    @Test("To another program's sidecar, what is missing is added; each of its bytes stays, in its order")
    func merged() throws {
        let said = said(title: "New", keywords: ["gull", "harbour"], rating: 4, taken: "2026-11-21", place: "Förde")
        let text = try edited(said, Self.foreign)
        let begin = try #require(text.range(of: "\n  <rdf:Description xmlns:rdf="))
        let end = try #require(text.range(of: "</rdf:Description>"))
        #expect(
            text.replacingCharacters(begin.lowerBound..<end.upperBound)
                == Self.foreign.replacing("</r:Bag>", with: "<r:li>gull</r:li></r:Bag>"))
        #expect(SidecarText.Statement(Array(text.utf8)) == said)
        let read = try read(text)
        #expect(read.title == "Old" && read.rating == 2 && read.place.location == "Förde")
        #expect(read.keywords == ["harbour", "gull"])
        #expect(try edited(said, text) == text)
    }

    @Test("A common property follows its own one until somebody else changes it, which nothing takes back")
    func followed() throws {
        let first = said(title: "One", keywords: ["gull", "boat"], rating: 3, taken: "2025", place: "Kiel")
        var text = String(decoding: try SidecarText.text(first, in: nil), as: UTF8.self)
        text = try edited(
            said(title: "Two", keywords: ["gull", "boat"], rating: 4, taken: "2026", place: "Kiel"), text)
        #expect(
            text
                == String(decoding: try SidecarText.text(first, in: nil), as: UTF8.self)
                .replacing("One", with: "Two").replacing(">3<", with: ">4<").replacing(">2025<", with: ">2026<"))
        // Somebody rates it, gives it another title, takes a date and a keyword away, and adds a keyword.
        for (old, new) in [
            ("xap/1.0/\">4<", "xap/1.0/\">5<"), ("x-default\">Two<", "x-default\">Theirs<"),
            ("\">2026</photoshop:DateCreated>", "\"></photoshop:DateCreated>"),
            ("<rdf:li>boat</rdf:li></rdf:Bag></dc:subject>", "<rdf:li>mine</rdf:li></rdf:Bag></dc:subject>"),
        ] {
            #expect(text.count(of: old) == 1, "\(old)")
            text = text.replacing(old, with: new)
        }
        for place in ["Kiel", "Laboe"] {
            let later = said(
                title: "Three", keywords: ["boat", "gull", "pier"], rating: 1, taken: "2027", place: place)
            text = try edited(later, text)
            #expect(SidecarText.Statement(Array(text.utf8)) == later)
            let now = try read(text)
            #expect(now.title == "Theirs" && now.rating == 5 && now.keywords == ["gull", "mine", "pier"])
            #expect(text.contains("\"></photoshop:DateCreated>") && now.place.location == place)
        }
        text = try edited(said(keywords: ["pier"]), text)
        #expect(try read(text).keywords == ["mine", "pier"] && read(text).title == "Theirs")
    }

    @Test(
        "Of a common property in a form that is not edited, nothing changes, and all else is said",
        arguments: [
            foreign.replacing("<d:title>", with: "<d:title r:parseType='Resource'>"),
            foreign.replacing("<r:li>harbour</r:li>", with: "<r:li r:parseType='Resource'><r:value>a</r:value></r:li>"),
            foreign.replacing("<p:City>", with: "<d:subject>text</d:subject><p:City>"),
            foreign.replacing("<r:li>harbour</r:li>", with: "<r:em>harbour</r:em>"),
            foreign.replacing("<r:Bag>", with: "<r:Bag><r:li>a</r:li></r:Bag><r:Bag>"),
            foreign.replacing("r:Bag>", with: "r:Alt>"), foreign.replacing(">2020<", with: ">20<!-- kept -->20<"),
            foreign.replacing("<d:title>", with: "<!-- --><p:Mine/><d:title><!-- kept --></d:title><d:title>"),
        ])
    func unedited(text: String) throws {
        let new = try edited(whole, text)
        #expect(SidecarText.Statement(Array(new.utf8)) == whole)
        #expect(isWithin(text.utf8, new.utf8))
        let later = try edited(said(title: "b", keywords: ["c"], rating: 5, taken: "2027", place: "d"), new)
        #expect(isWithin(text.utf8, later.utf8) && later.contains(">d</Iptc4xmpCore:Location>"))
    }

    @Test(
        "A keyword that is said no longer leaves both lists; those of others stay, and what they rewrite is understood")
    func keywords() throws {
        var text = try edited(said(keywords: ["gull", "boat"]), Self.foreign)
        // As the toolkit of Adobe writes simple properties: as attributes of one node.
        let hash = hexadecimal(Self.hash)
        text = text.replacing(
            "<photoinbox:Photo xmlns:photoinbox=\"photo-inbox:ns:1.0/\">\(hash)</photoinbox:Photo>", with: ""
        )
        .replacing("X:Rating", with: "xmlns:photoinbox='photo-inbox:ns:1.0/' photoinbox:Photo='\(hash)' X:Rating")
        for keywords in [["boat"], ["boat", "pier"], ["pier", "boat"], ["harbour"]] {
            let said = said(title: keywords.joined(), keywords: keywords)
            text = try edited(said, text)
            #expect(SidecarText.Statement(Array(text.utf8)) == said)
            let read = try self.read(text).keywords
            #expect(Set(read) == Set(keywords + ["harbour"]) && read.count == Set(read).count)
        }
        #expect(text.count(of: "photoinbox:Photo=") == 1)
    }

    @Test("Values that nobody can have said are passed over, and named", arguments: ["-1", "6", "4.5", "a"])
    func odd(rating: String) throws {
        let text = String(decoding: try SidecarText.text(whole, in: nil), as: UTF8.self)
            .replacing(">4<", with: ">\(rating)<").replacing(">2026", with: ">x2026")
        let read = try #require(SidecarText.Statement(Array(text.utf8)))
        #expect(read.odd == ["Rating", "Taken"] && read.rating == nil && read.taken == nil)
        #expect(read.title == whole.title && read.keywords == whole.keywords)
    }

    @Test(
        "What is not understood as a whole is refused",
        arguments: [
            "", "no XML", "<x:xmpmeta xmlns:x='adobe:ns:meta/'/>", String(foreign.dropLast(30)),
            foreign.replacing("<!-- kept -->", with: "<!DOCTYPE x [<!ENTITY a \"b\">]>"),
            foreign.replacing("UTF-8", with: "ISO-8859-1"), foreign.replacing("kept", with: "\0"),
            foreign.replacing(
                " <r:RDF", with: " <r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'></r:RDF><r:RDF"),
            "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>",
            foreign.replacing("<p:City>", with: "<b:Title xmlns:b='photo-inbox:ns:1.0/'>of no photo</b:Title><p:City>"),
            foreign.replacing("X:Rating", with: (0..<256).map { "X:a\($0)='' " }.joined() + "X:Rating"),
        ])
    func refused(text: String) {
        #expect(throws: SidecarText.Refusal.self) { try edited(whole, text) }
    }

    @Test("Nothing is said in another photo's, and an own property in an unknown form is not replaced")
    func refusedOwn() throws {
        let text = try SidecarText.text(whole, in: nil)
        #expect(throws: SidecarText.Refusal("it belongs to another photo")) {
            try SidecarText.text(SidecarText.Statement(of: Self.hash.reversed() + [1], in: "f00d"), in: text)
        }
        let odd = String(decoding: text, as: UTF8.self).replacing(">4</photoinbox", with: "><!-- -->4</photoinbox")
        #expect(throws: SidecarText.Refusal.self) { try edited(said(rating: 5), odd) }
    }

    @Test func refusedEncodings() throws {
        let latin = Array("<a>".utf8) + [0xE9] + Array("</a>".utf8)
        let wide = Self.foreign.dropFirst().utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        for bytes in [latin, wide, [0xFF, 0xFE] + wide] {
            #expect(throws: SidecarText.Refusal.self) { try SidecarText.text(whole, in: bytes) }
        }
    }

    @Test("Empty values get their text; other languages, lists without items and nodes without a subject are kept")
    func unusual() throws {
        for (old, new) in [("<r:li>harbour</r:li>", ""), ("<r:li xml:lang=\"x-default\">Old</r:li>", "")] {
            let text = try edited(whole, Self.foreign.replacing(old, with: new))
            #expect(try #require(SidecarMetadata(Array(text.utf8), kind: .xmp)).metadata.keywords.contains("gull"))
        }
        for (begin, end) in [
            ("<r:Seq>", "</r:Seq>"), ("<r:Bag><!-- mine -->", "<?mine?></r:Bag>"),
            ("<Bag xmlns='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:mine='urn:x'>", "</Bag>"),
            ("<q:Bag  xmlns:q='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>", "</q:Bag>"),
        ] {
            let prefix = begin.dropFirst().prefix { $0 != "B" && $0 != "S" }
            let item = "<\(prefix)li>harbour</\(prefix)li>"
            let list = Self.foreign.replacing(
                #/<r:Bag>[^§]*<\/r:Bag>/#, with: "\(begin)\(item)\n\(end)")
            let text = try edited(whole, list)
            let gull = ["gull", "two words", "a&#38;b"].map { "<\(prefix)li>\($0)</\(prefix)li>" }.joined()
            #expect(text.contains("\(begin)\(item)\n\(end.replacing("</", with: "\(gull)</"))"))
            let last = try edited(said(keywords: ["two words"]), text)
            #expect(
                try #require(SidecarMetadata(Array(last.utf8), kind: .xmp)).metadata.keywords == [
                    "harbour", "two words",
                ])
        }
        let empty = Self.foreign.replacing("<p:DateCreated>2020</p:DateCreated>", with: "<p:DateCreated/>")
        #expect(SidecarText.Statement(Array(try edited(whole, empty).utf8))?.taken == whole.taken)
        let subject = try edited(whole, Self.foreign.replacing("r:about=''", with: "r:about='uuid:a&amp;\"b'"))
        #expect(subject.contains(" rdf:about=\"uuid:a&amp;&quot;b\">\n"))
    }

    @Test("Of a thousand damaged ones, each is refused, or says what it should beside all that it said")
    func damaged() throws {
        var state: UInt64 = 42
        func random(below count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        let good = Array(Self.foreign.utf8)
        var edits = 0
        for _ in 0..<1_000 {
            var bytes = good
            for _ in 0...random(below: 3) {
                let place = random(below: bytes.count - 40)
                switch random(below: 3) {
                case 0: bytes[place] = Array("<>\"'/ &:a=!".utf8)[random(below: 11)]
                case 1: bytes.removeSubrange(place..<(place + random(below: 30)))
                default:
                    bytes.insert(contentsOf: bytes[place..<(place + random(below: 30))], at: random(below: bytes.count))
                }
            }
            do throws(SidecarText.Refusal) {
                let text = try SidecarText.text(whole, in: bytes)
                edits += 1
                #expect(SidecarText.Statement(text) == whole)
                #expect(isWithin(bytes, text))
            } catch { continue }
        }
        #expect(edits > 50)
    }
}

extension String {
    fileprivate func range(of text: String) -> Range<String.Index>? { firstRange(of: text) }

    fileprivate func replacingCharacters(_ range: Range<String.Index>) -> String {
        var text = self
        text.removeSubrange(range)
        return text
    }

    fileprivate func count(of text: String) -> Int { ranges(of: text).count }
}
