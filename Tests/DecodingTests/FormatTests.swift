import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("Pictures that libvips alone does not read", .timeLimit(.minutes(60)))
struct FormatTests {
    /// The hash of what all these pictures show.
    private func catLikeness(_ fixture: DecoderFixture) async throws -> UInt64 {
        let picture = try #require(try await fixture.make([64], of: DecoderFixture.path("plain.png")).picture)
        return try #require(picture.facts.likeness)
    }

    private func expectCat(
        _ outcome: DecoderOutcome, _ name: String, in fixture: DecoderFixture, atMost bits: Int = 6
    ) async throws {
        let picture = try #require(outcome.picture, "\(name): \(outcome)")
        let likeness = try #require(picture.facts.likeness, "\(name): too even")
        #expect((likeness ^ (try await catLikeness(fixture))).nonzeroBitCount <= bits, "\(name)")
        #expect(fixture.client.snapshot().gaps == "")
    }

    @Test(
        "GIF, JPEG XL, JPEG 2000 and AVIF sequences show what was put into them",
        arguments: [
            "animated.gif", "plain.jxl", "plain.jp2", "sequence.avifs",
        ])
    func others(_ name: String) async throws {
        try await DecoderFixture.with { (fixture) async throws in
            try await expectCat(try await fixture.make([64], of: DecoderFixture.path(name)), name, in: fixture)
        }
    }

    @Test("A JPEG 2000 is decoded at the resolution that is needed, and no smaller one")
    func resolution() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            for size in [96, 40, 20] as [UInt32] {
                let outcome = try await fixture.make([size], of: DecoderFixture.path("plain.jp2"))
                let part = try #require(outcome.picture?.facts.parts.first, "\(outcome)")
                #expect(part.width == size, "\(size)")
            }
        }
    }

    @Test(
        "TIFFs with planes in tiles, or with subsampled colours",
        .enabled(if: PictureTests.hasVips, "skipped: needs libvips-tools"))
    func tiff() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            for orientation in [1, 6] as [UInt16] {
                let outcome = try await fixture.make([64], of: Self.planarTiles(orientation: orientation))
                let picture = try #require(outcome.picture, "\(outcome)")
                let (width, height, pixel) = try PictureTests.pixels(of: picture, in: fixture.scratch)
                #expect((width, height) == (orientation == 1 ? (64, 32) : (32, 64)))
                // The upper left quarter of what is shown.
                let colour = Self.colours[orientation == 1 ? 0 : 2]
                #expect(PictureTests.isNear(pixel(8, 8), colour), "\(pixel(8, 8))")
            }
            let outcome = try await fixture.make([64], of: Self.subsampled())
            let pixel = try PictureTests.pixels(of: try #require(outcome.picture, "\(outcome)"), in: fixture.scratch).2
            for (quarter, at) in [(8, 8), (48, 8), (8, 24), (48, 24)].enumerated() {
                #expect(PictureTests.isNear(pixel(at.0, at.1), Self.colours[quarter]), "\(quarter)")
            }
        }
    }

    @Test("A TIFF that needs another way is held against the same limits, and must be whole")
    func tiffLimits() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let whole = Self.planarTiles(orientation: 1)
            #expect(try await fixture.make(of: whole, limits: .init(pixels: 64 * 32 - 1)).refusal?.code == .tooLarge)
            // Its tiles are before its directory, so the directory refers to one beyond the end.
            var bytes = whole
            let offset = try #require(bytes.indices.dropLast(4).first { Array(bytes[$0..<$0 + 4]) == [8, 23, 0, 0] })
            bytes.replaceSubrange(offset..<offset + 4, with: [0, 0, 1, 0])
            #expect(try await fixture.make(of: bytes).refusal?.code == .unreadable)
        }
    }

    @Test("A damaged TIFF is not decoded a second time: the reason is of the first")
    func damagedTIFF() async throws {
        let pixels = [UInt8](repeating: 90, count: 64 * 32 * 3)
        let bytes = Self.tiff(
            pixels,
            [
                RawTests.Entry(262, shorts: [2]), RawTests.Entry(273, longs: [1 << 20]),
                RawTests.Entry(278, longs: [32]), RawTests.Entry(279, longs: [UInt32(pixels.count)]),
            ])
        try await DecoderFixture.with { (fixture) async throws in
            let refusal = try #require(try await fixture.make(of: bytes).refusal)
            #expect(refusal.code == .unreadable && refusal.reason.contains("tiff2vips"), "\(refusal)")
            let lines = refusal.reason.split(separator: "; ")
            #expect(Set(lines).count == lines.count)
        }
    }

    @Test("A HEIF is read whose metadata belongs to several pictures, or that is called a sequence")
    func heif() async throws {
        let plain = try DecoderFixture.read(DecoderFixture.path("exif.heic"))
        var samples = try [
            ("metadata of several pictures", Self.sharedMetadata()),
            ("a gain map of several", Self.sharedMetadata("auxl")),
        ]
        for brand in ["hevc", "msf1"] {
            var bytes = plain
            bytes.replaceSubrange(8..<12, with: Array(brand.utf8))
            bytes.replaceSubrange(16..<28, with: Array("msf1hevciso8".utf8))
            samples.append((brand, bytes))
        }
        try await DecoderFixture.with { (fixture) async throws in
            let wanted = try #require(try await fixture.make([64], of: plain).picture?.facts)
            for (name, bytes) in samples {
                let outcome = try await fixture.make([64], of: bytes)
                let facts = try #require(outcome.picture?.facts, "\(name): \(outcome)")
                #expect((facts.width, facts.height, facts.likeness) == (wanted.width, wanted.height, wanted.likeness))
            }
        }
    }

    @Test("A PSD shows its own thumbnail; without one it is refused")
    func psd() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make([512, 64], of: Self.photoshop())
            try await expectCat(outcome, "PSD", in: fixture)
            let facts = try #require(outcome.picture?.facts)
            #expect((facts.width, facts.height) == (960, 640))
            #expect(facts.parts.map(\.width) == [96, 64])
            let none = try await fixture.make(of: Self.photoshop(resource: 1_037))
            #expect(none.refusal?.code == .unreadable && none.refusal?.reason.isEmpty == false, "\(none)")
        }
    }

    @Test("A colour profile that cannot be used is ignored, and that is reported")
    func profile() async throws {
        let plain = try DecoderFixture.read(DecoderFixture.path("plain.jpg"))
        var grey = [UInt8](repeating: 0, count: 132)
        grey.replaceSubrange(12..<16, with: Array("mntr".utf8))
        grey.replaceSubrange(16..<20, with: Array("GRAY".utf8))
        grey.replaceSubrange(36..<40, with: Array("acsp".utf8))
        try await DecoderFixture.with { (fixture) async throws in
            for profile in [Array("no profile at all".utf8), grey] {
                let segment = Array("ICC_PROFILE\0\u{1}\u{1}".utf8) + profile
                let bytes = plain[..<2] + [0xFF, 0xE2, 0, UInt8(segment.count + 2)] + segment + plain[2...]
                let outcome = try await fixture.make([64], of: Array(bytes))
                try await expectCat(outcome, "profile", in: fixture)
                #expect(outcome.picture?.facts.ignoresProfile == true)
            }
            #expect(try await fixture.make([64], of: plain).picture?.facts.ignoresProfile == false)
        }
    }

    // MARK: Films

    static let hasFilms: Bool = {
        var found = glob_t()
        defer { globfree(&found) }
        return glob("/usr/lib/*/libavformat.so.*", 0, nil, &found) == 0
    }()

    @Test(
        "A film shows its first frame that is not nearly black", .enabled(if: hasFilms, "skipped: needs libavformat"),
        arguments: ["film.mp4", "fragmented.mp4", "dark.mp4", "dark.mov", "dark.mkv", "dark.avi", "dark.mts"])
    func film(_ name: String) async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make([512, 64], of: DecoderFixture.path(name), kind: .film)
            try await expectCat(outcome, name, in: fixture)
            let facts = try #require(outcome.picture?.facts)
            #expect((facts.width, facts.height) == (96, 64))
            #expect(facts.parts.map(\.width) == [96, 64])
        }
    }

    @Test("A film is turned upright", .enabled(if: hasFilms, "skipped: needs libavformat"))
    func turnedFilm() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make([64], of: DecoderFixture.path("live.mov"), kind: .film)
            let facts = try #require(outcome.picture?.facts, "\(outcome)")
            #expect((facts.width, facts.height, facts.orientation) == (64, 96, 6))
        }
    }

    @Test(
        "A decoder loads what reads films when the first film comes, and decodes pictures as well",
        .enabled(if: hasFilms, "skipped: needs libavformat"))
    func oneDecoder() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let (picture, film) = (DecoderFixture.path("plain.jpg"), DecoderFixture.path("film.mp4"))
            for (path, started) in [(picture, 1), (film, 2), (picture, 2), (film, 2)] {
                let kind = DecoderFixture.kind(path)
                #expect(try await fixture.make([64], of: path, kind: kind).picture != nil, "\(path)")
                #expect(fixture.client.snapshot().started == started, "\(path)")
            }
            #expect(fixture.client.snapshot().lost == 0)
        }
    }

    @Test(
        "A HEIF that holds a film alone is to be asked for as such",
        .enabled(if: hasFilms, "skipped: needs libavformat"))
    func sequenceAlone() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("film.heics")
            try DecoderFixture.write(try Self.filmInHEIF(), to: path)
            #expect(try await fixture.make([64], of: path).refusal?.code == .film)
            try await expectCat(try await fixture.make([64], of: path, kind: .film), "film.heics", in: fixture)
        }
    }

    @Test(
        "Hostile films are refused with a reason, by the same decoder",
        .enabled(if: hasFilms, "skipped: needs libavformat"))
    func hostileFilms() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("film")
            func refusal(of bytes: [UInt8], size: off_t? = nil) async throws -> DecoderRefusal {
                try DecoderFixture.write(bytes, to: path)
                if let size { try systemCall("truncate") { truncate(path, size) } }
                let outcome = try await fixture.make(of: path, kind: .film, limits: .init(bytes: 1 << 50))
                let refusal = try #require(outcome.refusal, "\(outcome)")
                #expect(!refusal.reason.isEmpty)
                return refusal
            }
            // Other things than films, which no other demuxer may read.
            for name in ["animated.gif", "plain.jpg", "make-fixtures.py", "exif.heic"] {
                let bytes = try DecoderFixture.read(DecoderFixture.path(name))
                #expect(try await refusal(of: bytes).code == .unreadable, "\(name)")
            }
            #expect(
                try await refusal(of: Array("#EXTM3U\n/etc/passwd\n".utf8) + .init(repeating: 10, count: 400)).code
                    == .unreadable)

            // Frames that are larger than the index says, and an index of huge frames.
            var avi = try DecoderFixture.read(DecoderFixture.path("dark.avi"))
            for place in avi.indices.dropLast(9) where avi[place] == 0xFF && avi[place + 1] == 0xC0 {
                avi.replaceSubrange(place + 5..<place + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
            }
            #expect(try await refusal(of: avi).code == .unreadable)
            let size: [UInt8] = [96, 0, 0, 0, 64, 0, 0, 0]
            let places = avi.indices.dropLast(8).filter { Array(avi[$0..<$0 + 8]) == size }
            #expect(!places.isEmpty)
            for place in places { avi.replaceSubrange(place..<place + 8, with: [0, 255, 0, 0, 0, 255, 0, 0]) }
            let huge = try await refusal(of: avi)
            #expect(huge.code == .tooLarge && huge.reason == "65280 x 65280 pixels", "\(huge)")

            // A tebibyte of nothing.
            let stream = try DecoderFixture.read(DecoderFixture.path("dark.mts"))
            #expect(try await refusal(of: Array(stream.prefix(376)), size: 1 << 40).code == .unreadable)
            #expect(fixture.client.snapshot().started == 1)
            #expect(try await fixture.make(of: DecoderFixture.path("film.mp4"), kind: .film).picture != nil)
        }
    }

    @Test(
        "A film that would use up its processor time shows the best frame so far, by the same decoder",
        .enabled(if: hasFilms, "skipped: needs libavformat"))
    func slowFilm() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("slow.avi")
            // 48 frames that are searched for a bright one, which takes almost three seconds. The search may use 1.4 of two; what
            // follows it, about 0.2, has to fit into the rest on a slow machine, too.
            try DecoderFixture.write(Self.blackFilm(side: 8_192, frames: 48), to: path)
            let outcome = try await fixture.make([64], of: path, kind: .film, limits: .init(processorSeconds: 2))
            let facts = try #require(outcome.picture?.facts, "\(outcome)")
            #expect((facts.width, facts.height) == (8_192, 8_192))
            #expect(fixture.client.snapshot().lost == 0)
        }
    }

    // MARK: Samples

    /// Motion JPEG: a square of blocks that are as dark as the first one, which a bit each says.
    private static func blackFilm(side: UInt16, frames: UInt32) -> [UInt8] {
        func little(_ values: UInt32...) -> [UInt8] { values.flatMap { RawTests.bytes($0) } }
        func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
            Array(type.utf8) + little(UInt32(content.count)) + content + (content.count % 2 == 0 ? [] : [0])
        }
        let none = [UInt8](repeating: 0, count: 14)
        let size = [UInt8(side >> 8), UInt8(side & 0xFF)]
        // Tables of two and one codes: a difference of 0 or of 11 bits, and the end of a block. Then −1,024, and zeros.
        let head: [UInt8] = [0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64)
        let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8] + size + size + [1, 1, 0x11, 0]
        let tables: [UInt8] =
            [0xFF, 0xC4, 0, 21, 0, 1, 1] + none + [0, 11, 0xFF, 0xC4, 0, 20, 0x10, 1, 0] + none + [0]
        let scan: [UInt8] = [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x9F, 0xFC]
        let blocks = Int(side / 8) * Int(side / 8)
        let picture = head + frame + tables + scan + [UInt8](repeating: 0, count: blocks / 4) + [0xFF, 0xD9]
        let square = little(UInt32(side), UInt32(side))
        let header = chunk("avih", little(200_000, 0, 0, 0, frames, 0, 1, 0) + square + little(0, 0, 0, 0))
        let stream =
            chunk("strh", Array("vidsMJPG".utf8) + little(0, 0, 0, 1, 5, 0, frames, 0, 0, 0, 0, 0))
            + chunk("strf", little(40) + square + little(1 | 24 << 16) + Array("MJPG".utf8) + little(0, 0, 0, 0, 0))
        let one = chunk("00dc", picture)
        var film: [UInt8] = []
        for _ in 0..<frames { film += one }
        return chunk(
            "RIFF",
            Array("AVI ".utf8) + chunk("LIST", Array("hdrl".utf8) + header + chunk("LIST", Array("strl".utf8) + stream))
                + chunk("LIST", Array("movi".utf8) + film))
    }

    private static let colours: [[UInt8]] = [[200, 40, 40], [40, 200, 40], [40, 40, 200], [210, 210, 210]]

    private static func colour(_ x: Int, _ y: Int) -> [UInt8] { colours[(x < 32 ? 0 : 1) + (y < 16 ? 0 : 2)] }

    private static func tiff(_ data: [UInt8], _ entries: [RawTests.Entry]) -> [UInt8] {
        let all =
            [
                RawTests.Entry(256, longs: [64]), RawTests.Entry(257, longs: [32]),
                RawTests.Entry(258, shorts: [8, 8, 8]), RawTests.Entry(259, shorts: [1]),
                RawTests.Entry(277, shorts: [3]),
            ] + entries
        let place = 8 + data.count
        return Array("II*\0".utf8) + RawTests.bytes(UInt32(place)) + data + RawTests.directory(all, at: place)
    }

    /// Red, green and blue in tiles of their own, 16 by 16.
    static func planarTiles(orientation: UInt16) -> [UInt8] {
        var data: [UInt8] = []
        for plane in 0..<3 {
            for tile in 0..<8 {
                for y in 0..<16 { for x in 0..<16 { data.append(colour(tile % 4 * 16 + x, tile / 4 * 16 + y)[plane]) } }
            }
        }
        return tiff(
            data,
            [
                RawTests.Entry(262, shorts: [2]), RawTests.Entry(274, shorts: [orientation]),
                RawTests.Entry(284, shorts: [2]), RawTests.Entry(322, shorts: [16]), RawTests.Entry(323, shorts: [16]),
                RawTests.Entry(324, longs: (0..<24).map { UInt32(8 + 256 * $0) }),
                RawTests.Entry(325, longs: .init(repeating: 256, count: 24)),
            ])
    }

    /// YCbCr with a quarter of the colours, uncompressed.
    static func subsampled() -> [UInt8] {
        func converted(_ colour: [UInt8]) -> [UInt8] {
            let (red, green, blue) = (Double(colour[0]), Double(colour[1]), Double(colour[2]))
            let grey = 0.299 * red + 0.587 * green + 0.114 * blue
            return [grey, 128 + (blue - grey) / 1.772, 128 + (red - grey) / 1.402].map { UInt8($0.rounded()) }
        }
        var data: [UInt8] = []
        for y in stride(from: 0, to: 32, by: 2) {
            for x in stride(from: 0, to: 64, by: 2) {
                let values = converted(colour(x, y))
                data += [values[0], values[0], values[0], values[0], values[1], values[2]]
            }
        }
        return tiff(
            data,
            [
                RawTests.Entry(262, shorts: [6]), RawTests.Entry(273, longs: [8]), RawTests.Entry(278, longs: [32]),
                RawTests.Entry(279, longs: [UInt32(data.count)]), RawTests.Entry(530, shorts: [2, 2]),
            ])
    }

    /// 960 by 640 pixels, of which there are none; with the cat as its thumbnail.
    static func photoshop(resource: UInt16 = 1_036) throws -> [UInt8] {
        func big(_ value: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
            withUnsafeBytes(of: value.bigEndian) { Array($0) }
        }
        func part(_ id: UInt16, _ data: [UInt8]) -> [UInt8] {
            Array("8BIM".utf8) + big(id) + [0, 0] + big(UInt32(data.count)) + data
                + (data.count % 2 == 0 ? [] : [0])
        }
        let jpeg = try DecoderFixture.read(DecoderFixture.path("plain.jpg"))
        let head =
            [1, 96, 64, 288, 288 * 64, UInt32(jpeg.count)].flatMap { big($0) } + big(UInt16(24)) + big(UInt16(1))
        let resources = part(1_005, .init(repeating: 7, count: 15)) + part(resource, head + jpeg)
        return Array("8BPS".utf8) + [0, 1, 0, 0, 0, 0, 0, 0, 0, 3] + big(UInt32(640)) + big(UInt32(960)) + [0, 8, 0, 3]
            + big(UInt32(0)) + big(UInt32(resources.count)) + resources + big(UInt32(0)) + [0, 0]
    }

    /// Its Exif, or another part, refers to several pictures, as those of iPhones do since iOS 18: the two references of the fixture become
    /// one of the same length.
    static func sharedMetadata(_ kind: String = "cdsc") throws -> [UInt8] {
        var bytes = try DecoderFixture.read(DecoderFixture.path("exif.heic"))
        let place =
            try #require(bytes.indices.dropLast(4).first { Array(bytes[$0..<$0 + 4]) == Array("cdsc".utf8) }) - 4
        let from: [UInt8] = kind == "cdsc" ? [0, 2] : [0, 1]
        let reference =
            [0, 0, 0, 28] + Array(kind.utf8) + from + [0, 8] + Array(repeating: [0, 1], count: 8).joined()
        bytes.replaceSubrange(place..<place + 28, with: reference)
        return bytes
    }

    /// A sequence of HEVC with no picture beside it.
    static func filmInHEIF() throws -> [UInt8] {
        var bytes = try DecoderFixture.read(DecoderFixture.path("dark.mov"))
        for (old, new) in [("ftypqt  ", "ftyphevc"), ("vide", "pict")] {
            let found = bytes.indices.dropLast(8).filter { Array(bytes[$0..<$0 + old.utf8.count]) == Array(old.utf8) }
            #expect(!found.isEmpty)
            for place in found { bytes.replaceSubrange(place..<place + old.utf8.count, with: Array(new.utf8)) }
        }
        return bytes
    }
}
