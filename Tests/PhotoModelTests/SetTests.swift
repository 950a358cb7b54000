import FileValues
import PhotoFormats
import PhotoModel
import TestSupport
import Testing

@Suite("Sets by name")
struct SetTests {
    @Test(
        "Real names of one set have the same key",
        arguments: [
            ["DSC_0001.NEF", "DSC_0001.JPG", "dsc_0001.jpg", "DSC_0001.xmp", "DSC_0001.NEF.xmp", "DSC_0001.JPG.XMP"],
            ["IMG_0042.CR3", "IMG_0042.HIF", "IMG_0042.CR3.xmp"],
            ["IMG_0123.HEIC", "IMG_0123.MOV", "IMG_0123.AAE", "IMG_E0123.HEIC", "IMG_O0123.AAE", "IMG_E0123.JPG"],
            ["MVI_0007.MP4", "MVI_0007.THM"],
            ["P1010001.RW2", "P1010001.JPG", "P1010001.RW2.supplemental-metadata.json"],
            [
                "IMG_1.jpg", "IMG_1.jpg.json", "IMG_1.jpg.supplemental-metadata.json",
                "IMG_1.supplemental-metadata.json",
            ],
            ["IMG_1(1).jpg", "IMG_1.jpg(1).json", "IMG_1.jpg.supplemental-metadata(1).json", "IMG_1(1).jpg.json"],
            ["IMG_20250112_100426.jpg", "IMG_20250112_100426.jpg.supplemental-metad.json"],
            ["a.tar.CR2", "a.tar.xmp", "a.tar.CR2.xmp", "a.tar.jpg"],
            ["caf\u{E9}.jpg", "cafe\u{301}.CR2", "CAF\u{C9}.xmp", "Cafe\u{301}.JPG.xmp"],
        ])
    func together(names: [String]) {
        let keys = Set(names.map { SetName(BytePath("DCIM/\($0)")).key })
        #expect(
            keys.count == 1, "\(names.map { SetName(BytePath($0)).key.bytes.map { Character(Unicode.Scalar($0)) } })")
        // A different directory is a different set.
        #expect(SetName(BytePath(names[0])).key != keys.first)
    }

    @Test(
        "Similar names that do not belong together have different keys",
        arguments: [
            ("IMG_1.jpg", "IMG_10.jpg"), ("IMG_1(1).jpg", "IMG_1.jpg.json"), ("IMG_1.jpg", "IMG_1.jpg(1).json"),
            ("IMG_E01.jpg", "IMG_01.jpg"), ("IMG_1-2.jpg", "IMG_1.jpg"), ("a.jpg.xmp", "a.jpg.jpg"),
            ("stra\u{DF}e.jpg", "strasse.jpg"),
        ])
    func apart(one: String, other: String) {
        #expect(SetName(BytePath(one)).key != SetName(BytePath(other)).key)
    }

    @Test("Bytes that are not text are compared unchanged, except ASCII letters")
    func noText() {
        let one = SetName(BytePath([0x41, 0xFF, 0x2E] + Array("JPG".utf8)))
        #expect(one.key == SetName(BytePath([0x61, 0xFF, 0x2E] + Array("cr2".utf8))).key)
        #expect(one.key != SetName(BytePath([0x61, 0xFE, 0x2E] + Array("cr2".utf8))).key)
    }

    @Test(
        "Takeout cuts the part before .json to 46 characters, but not the number",
        arguments: [
            // The photo's own name reaches the limit.
            ("Urlaub in Knaufspesch in der Schneifel (38).JPG", "Urlaub in Knaufspesch in der Schneifel (38).JP.json"),
            (
                "123456789_123456789_123456789_123456789_1234567.jpg",
                "123456789_123456789_123456789_123456789_123456.json"
            ),
            (
                "123456789_123456789_123456789_123456789_1234567(2).jpg",
                "123456789_123456789_123456789_123456789_123456(2).json"
            ),
            // Letters with more than one byte.
            (
                "ä23456789_ä23456789_ä23456789_ä23456789_ä234567.jpg",
                "ä23456789_ä23456789_ä23456789_ä23456789_ä23456.json"
            ),
        ])
    func cut(photo: String, sidecar: String) {
        let one = SetName(BytePath(photo))
        let other = SetName(BytePath(sidecar))
        #expect(other.role == .sidecar(.takeout))
        #expect(one.keys.contains { other.keys.contains($0) })
        #expect(SetRules.likelyCompanions(of: one).contains(BytePath(sidecar)))
    }

    @Test(
        "Likely companions have the names that devices and programs write",
        arguments: [
            ("IMG_1.CR3", ["IMG_1.JPG", "IMG_1.jpg", "IMG_1.heic", "IMG_1.xmp", "IMG_1.CR3.xmp", "IMG_1.CR3.json"]),
            ("IMG_1.HEIC", ["IMG_1.MOV", "IMG_1.AAE", "IMG_1.DNG", "IMG_1.HEIC.supplemental-metadata.json"]),
            ("IMG_1(1).jpg", ["IMG_1.jpg(1).json", "IMG_1.jpg.supplemental-metadata(1).json", "IMG_1(1).jpg.json"]),
            ("MVI_1.MP4", ["MVI_1.THM", "MVI_1.jpg"]), ("IMG_1.xmp", ["IMG_1.CR3", "IMG_1.jpg"]),
            ("IMG_1.RAF.xmp", ["IMG_1.RAF", "IMG_1.JPG"]), ("notes.txt", []),
        ] as [(String, [String])])
    func companions(name: String, expected: [String]) {
        let found = SetRules.likelyCompanions(of: SetName(BytePath(name)))
        for companion in expected { #expect(found.contains(BytePath(companion)), "\(companion)") }
        #expect(!found.contains(BytePath(name)))
        #expect(found.count <= 64, "each is a look into the directory")
        let key = SetName(BytePath(name)).keys
        for companion in found { #expect(SetName(companion).keys.contains { key.contains($0) }, "\(companion)") }
    }

    @Test("Of listed names those count that a file system may treat as a likely one")
    func listedCompanions() {
        let likely = SetRules.likelyCompanions(of: SetName("Ä_1.CR3"))
        for listed: BytePath in ["Ä_1.JPG", "Ä_1.Jpg", "ä_1.jpg", "A\u{308}_1.jpg"] {
            #expect(SetRules.likely(likely, among: [listed, "Ä_1.CR3"]) == ["Ä_1.jpg", "Ä_1.JPG"], "\(listed)")
        }
        #expect(SetRules.likely(likely, among: ["Ä_2.JPG", "Ä_1.CR3", "notes.txt"]) == [])
    }

    @Test("Content identifiers decide if both files have one, otherwise names do")
    func contentIdentifiers() {
        func traits(_ name: String, _ identifier: String?) -> SetTraits {
            let parsed = SetName(BytePath(name))
            return SetTraits(role: parsed.role ?? .picture, keys: parsed.keys, contentIdentifier: identifier)
        }
        #expect(SetRules.belong(traits("a.jpg", "X"), traits("b.mov", "X")))
        #expect(!SetRules.belong(traits("a.jpg", "X"), traits("a.mov", "Y")))
        #expect(SetRules.belong(traits("a.jpg", nil), traits("a.mov", "Y")))
        #expect(!SetRules.belong(traits("a.jpg", nil), traits("b.mov", "Y")))
    }

    @Test("A Live Photo's picture and film have the same identifier")
    func livePhoto() throws {
        let picture = try report(try Fixtures.bytes("live.jpg"), name: "live.jpg")
        let film = try report(try Fixtures.bytes("live.mov"), name: "live.mov")
        #expect(picture.contentIdentifier != nil)
        #expect(picture.contentIdentifier == film.contentIdentifier)
    }
}

@Suite("Library names of a set's files")
struct SetNamingTests {
    private func names(_ photos: [String], _ sidecars: [String], filed: [(BytePath, BytePath)] = []) -> [String] {
        var naming = SetNaming(filed: filed.map { (original: $0.0, library: $0.1) })
        let first = photos.map { naming.name(photo: SetName(BytePath($0))) }
        let names = first + sidecars.map { naming.name(sidecar: SetName(BytePath($0))) }
        return names.map { name in
            let bytes = name.name.bytes
            return "\(BytePath(bytes[..<name.stem]).escaped)|\(BytePath(bytes[name.stem...]).escaped)"
        }
    }

    @Test("Photos keep their names, and sidecars follow")
    func names() {
        #expect(
            names(["IMG_1.CR3", "img_1.jpg"], ["IMG_1.xmp", "IMG_1.CR3.xmp", "img_1.JPG.xmp", "IMG_1.AAE"])
                == ["IMG_1|.CR3", "IMG_1|.jpg", "IMG_1|.xmp", "IMG_1|.CR3.xmp", "IMG_1|.jpg.xmp", "IMG_1|.AAE"])
        #expect(
            names(["IMG_1(1).jpg"], ["IMG_1.jpg(1).json", "IMG_1.jpg.supplemental-metadata(1).json"])
                == ["IMG_1(1)|.jpg", "IMG_1(1)|.jpg.json", "IMG_1(1)|.jpg.supplemental-metadata.json"])
        #expect(
            names(
                ["123456789_123456789_123456789_123456789_1234567.jpg"],
                ["123456789_123456789_123456789_123456789_123456.json"])[1]
                == "123456789_123456789_123456789_123456789_1234567|.jpg.json")
        #expect(names(["a.heic", "b.mov"], []) == ["a|.heic", "b|.mov"], "bound by their content alone")
    }

    @Test("Later files follow the filed ones")
    func lateFiles() {
        let filed: [(BytePath, BytePath)] = [("IMG_1.CR3", "IMG_1-2.CR3")]
        #expect(
            names(["IMG_1.JPG"], ["IMG_1.xmp", "img_1.cr3.xmp", "IMG_1.JPG.json"], filed: filed)
                == ["IMG_1-2|.JPG", "IMG_1-2|.xmp", "IMG_1-2.CR3|.xmp", "IMG_1-2|.JPG.json"])
        #expect(names([], ["IMG_1.HEIC.json"], filed: filed) == ["IMG_1-2|.HEIC.json"])
        #expect(names([], ["other.xmp"], filed: filed) == ["other|.xmp"])
    }

    @Test("A second sidecar of a filed photo is not named like that of a photo with a number")
    func secondSidecars() {
        let naming = SetNaming(filed: [(original: "a.nef", library: "a.nef")])
        for (name, taken, expected) in [
            ("a.nef.xmp", ["a.nef.xmp"], "a.nef-2.xmp"), ("a.xmp", ["a.xmp"], "a.nef.xmp"), ("a.xmp", [], "a.xmp"),
            ("a.xmp", ["a.xmp", "a.nef.xmp"], "a.nef-2.xmp"), ("a.nef-2.xmp", [], "a.nef-2.xmp"),
            ("a.nef-2.xmp", ["a.nef.xmp", "a.nef-2.xmp"], "a.nef-3.xmp"),
            ("a.nef-3.xmp", ["a.nef-3.xmp"], "a.nef-2.xmp"),
            ("a.nef-2.xmp", ["a.nef-2.xmp"], "a.nef-3.xmp"),
        ] as [(BytePath, [BytePath], BytePath)] {
            #expect(naming.name(sidecar: SetName(name), isTaken: taken.contains).name == expected)
        }
        let both = SetNaming(filed: [(original: "a.jpg", library: "a.jpg"), (original: "a.nef", library: "a.nef")])
        #expect(both.name(sidecar: SetName("a.xmp"), isTaken: { $0 == "a.xmp" }).name == "a.nef.xmp")
        #expect(both.name(sidecar: SetName("a.xmp")).name == "a.xmp")
        let second = SetName("a.nef-2.xmp")
        #expect(second.photo == "a.nef" && second.keys == SetName("a.nef").keys && second.belongs(to: "a.nef"))
        for name in ["a.nef-12.xmp", "a.nef-2-3.xmp"] as [BytePath] { #expect(SetName(name).photo == "a.nef") }
        #expect(SetName("a.cr2-2.xmp").photo == "a.cr2")
        for name in ["a-2.nef.xmp", "a-2.xmp", "2.xmp", "-2.xmp", "a.nef-.xmp"] as [BytePath] {
            #expect(SetName(name).photo != "a.nef")
        }
    }

    @Test("Any names give one safe component")
    func anyBytes() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 1...255, using: &generator)).map { _ in
                UInt8.random(in: 1...255, using: &generator)
            }.filter { $0 != 0x2F }
            var naming = SetNaming()
            let photo = SetName(BytePath(bytes))
            _ = SetRules.likelyCompanions(of: photo)
            let names = [
                naming.name(photo: photo), naming.name(sidecar: SetName(BytePath(bytes + Array(".xmp".utf8)))),
                naming.name(sidecar: SetName(BytePath(bytes + Array(".jpg(3).json".utf8)))),
            ]
            for name in names {
                #expect(name.stem <= name.name.bytes.count && name.name.isSafeBeneath)
                #expect(name.name.components == [name.name] && name.name.bytes.first != 0x2E)
                #expect(String(validating: name.name.bytes, as: UTF8.self) != nil)
            }
        }
    }
}

@Suite("The completeness of sidecars")
struct SidecarReaderTests {
    @Test(
        "Texts by their beginning and end",
        arguments: [
            (.xmp, "<x:xmpmeta xmlns:x='adobe:ns:meta/'></x:xmpmeta>\n", "whole"),
            (.xmp, "\u{FEFF}<?xpacket begin='' ?><x:xmpmeta/>   \n<?xpacket end='w'?>", "whole"),
            (.xmp, "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:R", "weak"), (.xmp, "", "empty"),
            (.xmp, "\0\0\0\0", "cut-short"), (.aae, "<?xml?><plist></plist>\n", "whole"), (.aae, "bplist00xyz", "weak"),
            (.takeout, "{\"title\": \"IMG_1.jpg\"}\n", "whole"), (.takeout, "{\"title\": ", "weak"),
            (.takeout, "no json", "weak"), (.thm, "no jpeg", "weak"),
        ] as [(SidecarKind, String, String)])
    func texts(kind: SidecarKind, text: String, code: String) throws {
        var source = MemoryByteSource(Array(text.utf8))
        #expect(try SidecarReader.read(&source, kind: kind).completeness.code == code)
    }

    @Test("A THM is read as a JPEG")
    func thumbnail() throws {
        let bytes = try Fixtures.bytes("plain.jpg")
        var whole = MemoryByteSource(bytes)
        #expect(try SidecarReader.read(&whole, kind: .thm).completeness.isWhole)
        var cut = MemoryByteSource(Array(bytes.prefix(bytes.count / 2)))
        #expect(try SidecarReader.read(&cut, kind: .thm).completeness.code == "cut-short")
    }
}
