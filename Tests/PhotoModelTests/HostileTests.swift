import FileValues
import Glibc
import PhotoFormats
import PhotoModel
import TestSupport
import Testing

@Suite("The reader with hostile files")
struct HostileTests {
    /// How often the reader may read the whole file: directories that point back and forth move the window.
    private func check(_ bytes: [UInt8], _ what: @autoclosure () -> String) throws {
        exerciseReader(bytes)
        var source = WatchedSource(bytes)
        let report = try PhotoReader.read(&source, name: "a.nef")
        #expect(source.reads < 400 + bytes.count, "\(what())")
        #expect(report.dates.count <= 64)
    }

    @Test(
        "Seeded mutations of every fixture neither trap nor cause unlimited reading", arguments: Fixtures.names
    )
    func mutations(name: String) throws {
        let whole = try Fixtures.bytes(name)
        let rounds = whole.count > 20_000 ? 20 : 150
        for seed in 0..<UInt64(rounds) {
            var generator = SeededGenerator(seed: seed)
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                // Structure is at the front and the back; the middle is pixels.
                let near = Int.random(in: 0..<min(bytes.count, 1_024), using: &generator)
                let place = Bool.random(using: &generator) ? near : bytes.count - 1 - near
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2: for index in place..<min(place + 4, bytes.count) { bytes[index] = 0xFF }
                case 3: for index in place..<min(place + 4, bytes.count) { bytes[index] = 0 }
                default: bytes.removeSubrange(place..<min(place + 3, bytes.count))
                }
                if bytes.isEmpty { bytes = [0] }
            }
            try check(bytes, "\(name), seed \(seed)")
        }
    }

    /// Blocks of metadata in the forms in which files have them.
    private static let blocks: [[UInt8]] = [
        Array(
            """
            <?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF
            xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about=''
            xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmp:Rating='4'
            xmlns:lr='http://ns.adobe.com/lightroom/1.0/' xmlns:exif='http://ns.adobe.com/exif/1.0/'
            xmlns:r='http://www.metadataworkinggroup.com/schemas/regions/' exif:GPSLatitude='54,19.2N'
            exif:GPSLongitude='10,8.4E'><dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Sea &amp; sun</rdf:li>
            </rdf:Alt></dc:title><dc:subject><rdf:Bag><rdf:li>gull</rdf:li><rdf:li>boat</rdf:li></rdf:Bag>
            </dc:subject><lr:hierarchicalSubject><rdf:Bag><rdf:li>Place|Kiel</rdf:li></rdf:Bag>
            </lr:hierarchicalSubject><r:Regions rdf:parseType='Resource'><r:RegionList><rdf:Bag><rdf:li>
            <rdf:Description r:Name='Ada' r:Type='Face'/></rdf:li></rdf:Bag></r:RegionList></r:Regions>
            </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>
            """.utf8),
        // IPTC by itself, and within an image resource.
        [0x1C, 1, 90, 0, 3, 0x1B, 0x25, 0x47, 0x1C, 2, 5, 0, 3, 0x53, 0x65, 0x61, 0x1C, 2, 25, 0, 1, 0x61],
        Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, 8, 0x1C, 2, 5, 0, 3, 0x53, 0x65, 0x61],
        Array(
            """
            {"title": "IMG_1.jpg", "description": "Sea \\u00e9", "people": [{"name": "Ada"}], "geoData": {"latitude": 54.3,
            "longitude": 10.1, "altitude": 1e2}, "photoTakenTime": {"timestamp": "1706700000"}}
            """.utf8),
        // "Sea" 20 times by zlib.
        [0x78, 0x9C, 0x0B, 0x4E, 0x4D, 0x0C, 0x26, 0x17, 0x01, 0x00, 0x9C, 0xD4, 0x15, 0xF5],
        exif,
    ]

    private static var exif: [UInt8] {
        let bytes = (try? Fixtures.bytes("exif.jpg")) ?? []
        let start = bytes.indices.first { bytes[$0...].starts(with: Array("Exif\0\0".utf8)) } ?? 0
        return Array(bytes[start...].prefix(2_000))
    }

    /// More with PHOTOINBOX_MUTANTS, as in the campaign.
    @Test("Mutated blocks of metadata neither trap nor grow", .timeLimit(.minutes(60)), arguments: blocks.indices)
    func metadata(block: Int) throws {
        let count = getenv("PHOTOINBOX_MUTANTS").flatMap { Int(String(cString: $0)) } ?? 5_000
        let tokens = [
            "<", "</", "/>", "'", "&#x", ";", "<![CDATA[", "]]>", "<!--", "rdf:li", "{", "[", "\\u", "\u{0}", "1e9",
        ]
        for seed in 0..<UInt64(count / Self.blocks.count) {
            var generator = SeededGenerator(seed: seed &* 31 &+ UInt64(block))
            var bytes = Self.blocks[block]
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let place = Int.random(in: 0...bytes.count, using: &generator)
                let length = min(bytes.count - place, Int.random(in: 1...64, using: &generator))
                switch Int.random(in: 0..<7, using: &generator) {
                case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2: bytes.removeSubrange(place..<place + length)
                case 3: bytes.insert(contentsOf: Array(bytes[place..<place + length]), at: place)
                case 4: bytes.insert(contentsOf: tokens.randomElement(using: &generator)?.utf8 ?? "".utf8, at: place)
                case 5:
                    // A slice many times: depth, and numbers of items.
                    let slice = Array(bytes[place..<place + min(length, 12)])
                    bytes.insert(contentsOf: Array(repeating: slice, count: 300).joined(), at: place)
                default: bytes.insert(contentsOf: Self.blocks.randomElement(using: &generator) ?? [], at: place)
                }
            }
            exerciseMetadata(bytes)
        }
    }

    @Test("Repeated and compressed texts cost bounded time", .timeLimit(.minutes(60)))
    func repeatedTexts() throws {
        let plain = try Fixtures.bytes("plain.png")
        func chunk(_ content: [UInt8]) -> [UInt8] {
            let length = (0..<4).map { UInt8(truncatingIfNeeded: content.count >> (24 - 8 * $0)) }
            return length + Array("tEXt".utf8) + content + [0, 0, 0, 0]
        }
        let text = Array("Description\0".utf8) + [UInt8](repeating: 0x61, count: 500_000)
        let png = plain[..<33] + Array(repeating: chunk(text), count: 40).joined() + plain[33...]
        #expect(try report(Array(png)).metadata[.png]?.caption != nil)
        // Empty parts of image resources behind a large one.
        let jpeg = try Fixtures.bytes("exif.jpg")
        func part(_ content: [UInt8]) -> [UInt8] {
            let length = content.count + 16
            return [0xFF, 0xED, UInt8(length >> 8), UInt8(length & 0xFF)] + Array("Photoshop 3.0\0".utf8) + content
        }
        let parts = Array(repeating: part([UInt8](repeating: 0x1C, count: 60_000)), count: 16).joined()
        let file = jpeg[..<2] + parts + Array(repeating: part([]), count: 20_000).joined() + jpeg[2...]
        #expect(try report(Array(file)).completeness.isWhole)
        // Names in hundreds of namespaces.
        let names = (0..<500).map { "xmlns:n\($0)='u\($0)'" }.joined(separator: " ")
        exerciseMetadata(Array("<a \(names)>\(String(repeating: "<n1:b n2:c=''/>", count: 20_000))</a>".utf8))
    }

    @Test("Random bytes after valid signatures are read")
    func noise() throws {
        for seed in 0..<UInt64(300) {
            var generator = SeededGenerator(seed: seed &+ 1_000_000)
            let starts: [[UInt8]] = [
                [0xFF, 0xD8, 0xFF], [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0], Array("GIF89a".utf8),
                [0, 0, 0, 16] + Array("ftypheic".utf8) + [0, 0, 0, 0], [],
            ]
            let count = Int.random(in: 0...2_000, using: &generator)
            let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try check(starts[Int(seed % 5)] + noise, "noise \(seed)")
        }
    }

    @Test("Directories that point to themselves end")
    func directoryLoops() throws {
        // One entry, a sub-directory at 8, and the next directory at 8 too.
        let loop: [UInt8] =
            [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0, 0x4A, 0x01, 4, 0, 1, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0]
        #expect(try report(loop).completeness.code == "malformed")
        // The EXIF pointer leads back to its own directory.
        var exif = loop
        exif[10...11] = [0x69, 0x87]
        #expect(try report(exif).completeness.code == "malformed")
    }

    @Test("Lengths that overflow are refused")
    func overflow() throws {
        let ftyp: [UInt8] = [0, 0, 0, 16] + Array("ftypqt  ".utf8) + [0, 0, 0, 0]
        let huge: [UInt8] = [0, 0, 0, 1] + Array("mdat".utf8) + [UInt8](repeating: 0xFF, count: 8)
        #expect(try report(ftyp + huge).completeness.code == "cut-short")
        // BigTIFF with a directory at the end of the number space.
        let big: [UInt8] = [0x49, 0x49, 0x2B, 0, 8, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8)
        #expect(try report(big).completeness.code == "cut-short")
        // A RIFF and a PNG chunk of 4 GiB.
        #expect(
            try report(Array("RIFF".utf8) + [0xFF, 0xFF, 0xFF, 0xFF] + Array("WEBPVP8 ".utf8)).completeness.code
                == "cut-short")
        let png: [UInt8] = [
            0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x49, 0x48, 0x44, 0x52,
        ]
        #expect(try report(png).completeness.code == "malformed")
    }

    @Test("Four thousand million empty extents end at once", .timeLimit(.minutes(60)))
    func extentsOfNothing() throws {
        func box(_ type: String, _ body: [UInt8]) -> [UInt8] {
            let length = UInt32(body.count + 8)
            return (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + Array(type.utf8) + body
        }
        let item: [UInt8] = [0, 1, 0, 0, 0xFF, 0xFF]
        let places = box("iloc", [0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + Array(repeating: item, count: 65_535).joined())
        let file = box("ftyp", Array("heic".utf8) + [0, 0, 0, 0]) + box("meta", [0, 0, 0, 0] + places)
        #expect(try report(file).completeness.isWhole)
    }

    @Test("Text from a file is escaped")
    func unsafeText() throws {
        var bytes = try Fixtures.bytes("exif.jpg")
        let model = Array("Canon EOS R6".utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: model) })
        bytes[place + 1] = 0x0A
        bytes[place + 2] = 0xFF
        #expect(try report(bytes).cameraModel == "C\\n\\xffon EOS R6")
    }

    @Test("The number of dates is limited")
    func manyDates() throws {
        let plain = try Fixtures.bytes("plain.png")
        let time: [UInt8] = [0, 0, 0, 7] + Array("tIME".utf8) + [0x07, 0xE8, 1, 31, 12, 0, 0, 0, 0, 0, 0]
        let many = plain[..<33] + Array(repeating: time, count: 500).joined() + plain[33...]
        let read = try report(Array(many))
        #expect(read.completeness.isWhole)
        #expect(read.dates.count == 64)
    }
}
