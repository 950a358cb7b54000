import FileValues
import PhotoModel
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

    @Test("Seeded mutations of every fixture neither trap nor cause unlimited reading", arguments: Fixtures.names)
    func mutations(name: String) throws {
        let whole = try Fixtures.bytes(name)
        let rounds = whole.count > 20_000 ? 20 : 150
        for seed in 0..<UInt64(rounds) {
            var generator = SeededGenerator(state: seed)
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

    @Test("Random bytes after valid signatures are read")
    func noise() throws {
        for seed in 0..<UInt64(300) {
            var generator = SeededGenerator(state: seed &+ 1_000_000)
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
