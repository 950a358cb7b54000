import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("Hashes, effects and contact sheets of the confined decoder", .timeLimit(.minutes(60)))
struct RenditionTests {
    private static let rocket = "\(DecoderFixture.picturesPath)/rocket.jpg"

    private func likeness(_ sizes: [UInt32], _ path: String, in fixture: DecoderFixture) async throws -> UInt64? {
        let outcome = try await fixture.make(sizes, of: path)
        return try #require(outcome.picture, "\(path): \(outcome)").facts.likeness
    }

    @Test("Copies in other sizes and formats have similar hashes, other pictures do not")
    func likeness() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let rocket = try #require(try await likeness([512], Self.rocket, in: fixture))
            let small = try #require(try await likeness([512, 96], Self.rocket, in: fixture))
            #expect((rocket ^ small).nonzeroBitCount <= 4)
            // The upright thumbnail as a picture.
            let made = try #require(try await fixture.make([200], of: Self.rocket).picture)
            let path = fixture.scratch.appending("thumbnail.jpg")
            try DecoderFixture.write(try made.bytes(of: made.facts.parts[0]), to: path)
            let copy = try #require(try await likeness([64], path, in: fixture))
            #expect((rocket ^ copy).nonzeroBitCount <= 4)
            let names = ["exif.png", "exif.webp", "plain.jpg", "progressive.jpg"]
            let jpeg = try #require(try await likeness([512], "\(DecoderFixture.picturesPath)/plain.png", in: fixture))
            for name in names {
                let other = try #require(
                    try await likeness([512], "\(DecoderFixture.picturesPath)/\(name)", in: fixture))
                #expect((rocket ^ other).nonzeroBitCount > 12, "\(name)")
                #expect((jpeg ^ other).nonzeroBitCount <= 4, "\(name)")
            }
        }
    }

    @Test(
        "A uniform picture has no hash", .enabled(if: PictureTests.hasVips, "skipped: needs libvips-tools"),
        arguments: ["jpg", "png"])
    func even(_ ending: String) async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let (plain, picture) = (fixture.scratch.appending("grey.ppm"), fixture.scratch.appending("grey.\(ending)"))
            try DecoderFixture.write(
                PictureTests.ppm(64, 64) { x, _ in [128, 128, x % 2 == 0 ? 128 : 130] }, to: plain)
            try await aside { try runProgram(["/usr/bin/vips", "copy", plain, picture]) }
            let made = try #require(try await fixture.make([64], of: picture).picture)
            #expect(made.facts.likeness == nil)
        }
    }

    @Test("Tilt-shift keeps a band sharp, and blurs the picture above and below")
    func tiltShift() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make([320], of: Self.rocket, kind: .tiltShift)
            let picture = try #require(outcome.picture, "\(outcome)")
            // Its orientation is applied. Renditions have none, but any picture may be the input.
            #expect((picture.facts.parts[0].width, picture.facts.parts[0].height) == (214, 320))
            guard PictureTests.hasVips else { return print("skipped: needs libvips-tools to look at it") }
            let (plain, board) = (fixture.scratch.appending("board.ppm"), fixture.scratch.appending("board.jpg"))
            try DecoderFixture.write(
                PictureTests.ppm(400, 400) { x, y in (x / 4 + y / 4) % 2 == 0 ? [0, 0, 0] : [255, 255, 255] }, to: plain
            )
            try await aside { try runProgram(["/usr/bin/vips", "jpegsave", plain, board, "--Q", "95"]) }
            let tilted = try #require(try await fixture.make([400], of: board, kind: .tiltShift).picture)
            let pixel = try PictureTests.pixels(of: tilted, in: fixture.scratch).2
            func contrast(_ row: Int) -> Int {
                let values = (100..<140).map { Int(pixel($0, row)[0]) }
                return (values.max() ?? 0) - (values.min() ?? 0)
            }
            #expect(contrast(222) > 200 && contrast(10) < 60 && contrast(390) < 60)
        }
    }

    @Test("A picture without a face, or a build without face detection, is refused with that code")
    func noFace() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make([320], of: Self.rocket, kind: .googly)
            #expect([.unsupported, .nothingFound].contains(outcome.refusal?.code), "\(outcome)")
            #expect(fixture.client.snapshot().gaps == "")
        }
    }

    /// `PHOTOINBOX_PHOTOS` names a directory of more pictures.
    private static let astronaut: String? = {
        guard let photos = getenv("PHOTOINBOX_PHOTOS") else { return nil }
        let path = "\(String(cString: photos))/astronaut.png"
        return access(path, R_OK) == 0 ? path : nil
    }()

    @Test(
        "A picture with a face gets googly eyes, if this build detects faces",
        .enabled(if: astronaut != nil, "skipped: PHOTOINBOX_PHOTOS names no directory with astronaut.png"))
    func googly() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make([512], of: try #require(Self.astronaut), kind: .googly)
            if outcome.refusal?.code == .unsupported { return print("skipped: needs a build with FACES=1") }
            let picture = try #require(outcome.picture, "\(outcome)")
            #expect((picture.facts.parts[0].width, picture.facts.parts[0].height) == (512, 512))
            #expect(fixture.client.snapshot().gaps == "")
        }
    }

    private func makeSheet(_ bytes: [UInt8], side: Int, _ fixture: DecoderFixture) async throws -> DecoderOutcome {
        let path = fixture.scratch.appending("sheet")
        try DecoderFixture.write(bytes, to: path)
        return await fixture.client.make(
            [UInt32(side)], of: HeldDescriptor(try DecoderFixture.open(path)), kind: .sheet)
    }

    private func sheet() throws -> SheetSource {
        let rocket = try DecoderFixture.read(Self.rocket)
        let names = ["IMG_1.JPG", String(repeating: "W", count: 2_000), "\u{202E}\u{1}\u{10FFFF}é Ж 写真"]
        let pictures = [rocket, [], Array(rocket.prefix(rocket.count / 2)), Array("no picture".utf8)]
        return SheetSource(
            title: "A title", columns: 3, side: 96,
            tiles: (0..<7).map {
                SheetSource.Tile(name: names[$0 % 3], time: "2026-11-21 14:07", picture: pictures[$0 % 4])
            })
    }

    @Test("A contact sheet with hostile names and unreadable pictures is made")
    func contactSheet() async throws {
        let sheet = try sheet()
        let layout = try #require(sheet.layout)
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await makeSheet(sheet.encoded, side: layout.longerSide, fixture)
            let picture = try #require(outcome.picture, "\(outcome)")
            let part = picture.facts.parts[0]
            #expect((Int(part.width), Int(part.height)) == (layout.width, layout.height))
            #expect(try picture.bytes(of: part).suffix(2) == [0xFF, 0xD9])
            #expect(fixture.client.snapshot().started == 1)
            let smaller = try await makeSheet(sheet.encoded, side: layout.longerSide - 1, fixture)
            #expect(smaller.refusal?.code == .tooLarge, "\(smaller)")
        }
    }

    @Test("A sheet is read as it was written, and its mutants are sheets or errors, also in the decoder")
    func hostileSheets() async throws {
        var sheet = try sheet()
        sheet.tiles[1].name = String(sheet.tiles[1].name.prefix(SheetSource.longestText))
        sheet.tiles[4].name = sheet.tiles[1].name
        let whole = sheet.encoded
        #expect(try SheetSource(encoded: whole) == sheet)
        var random = SeededGenerator(seed: 5)
        for length in stride(from: 0, to: whole.count, by: 97) {
            #expect(throws: WireError.self) { try SheetSource(encoded: Array(whole.prefix(length))) }
        }
        for _ in 0..<400 {
            var bytes = whole
            for _ in 0..<(1 + random.next() % 6) { random.mutateInPlace(&bytes) }
            if let read = try? SheetSource(encoded: bytes) { #expect(read.layout != nil) }
        }
        try await DecoderFixture.with(change: { $0.deadline = .seconds(20) }) { (fixture) async throws in
            for number in 0..<60 {
                var bytes = whole
                // Every second mutation is in the head, which contains the numbers.
                if number % 2 == 0 { bytes[Int(random.next() % 40)] = UInt8(truncatingIfNeeded: random.next()) }
                random.mutateInPlace(&bytes)
                let outcome = try await makeSheet(bytes, side: 2_000, fixture)
                #expect(outcome.trouble == nil && outcome.fatal == nil, "\(number): \(outcome)")
            }
        }
    }

    @Test func tilesOfASheetDoNotOverlap() throws {
        for tiles in [1, 2, 5, 12, 100] {
            let layout = try #require(
                SheetLayout(tiles: tiles, columns: SheetLayout.columns(for: tiles), side: 100))
            var taken: Set<[Int]> = []
            for tile in 0..<tiles {
                let (x, y) = layout.place(of: tile)
                #expect(x + layout.side <= layout.width - SheetLayout.margin && y + layout.side < layout.height)
                #expect(taken.insert([x, y]).inserted)
            }
        }
        #expect(SheetLayout(tiles: 0, columns: 1, side: 100) == nil)
        #expect(SheetLayout(tiles: 10_000, columns: 1, side: 1_024) == nil)
    }
}
