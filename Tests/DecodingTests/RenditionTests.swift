import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("Renditions are made by the confined decoder", .timeLimit(.minutes(60)))
struct RenditionTests {
    private static let rocket = "\(DecoderHouse.fixtures)/rocket.jpg"

    private func likeness(_ sizes: [UInt32], _ path: String, in house: DecoderHouse) async throws -> UInt64? {
        let outcome = try await house.make(sizes, of: path)
        return try #require(outcome.picture, "\(path): \(outcome)").facts.likeness
    }

    @Test("Copies in other sizes and formats look alike, other pictures do not")
    func likeness() async throws {
        try await DecoderHouse.with { (house) async throws in
            let rocket = try #require(try await likeness([512], Self.rocket, in: house))
            let small = try #require(try await likeness([512, 96], Self.rocket, in: house))
            #expect((rocket ^ small).nonzeroBitCount <= 4)
            // The thumbnail itself, as a picture of its own, upright by now.
            let made = try #require(try await house.make([200], of: Self.rocket).picture)
            let path = house.scratch.appending("thumbnail.jpg")
            try DecoderHouse.write(try made.bytes(of: made.facts.parts[0]), to: path)
            let copy = try #require(try await likeness([64], path, in: house))
            #expect((rocket ^ copy).nonzeroBitCount <= 4)
            let names = ["exif.png", "exif.webp", "plain.jpg", "progressive.jpg"]
            let jpeg = try #require(try await likeness([512], "\(DecoderHouse.fixtures)/plain.png", in: house))
            for name in names {
                let other = try #require(try await likeness([512], "\(DecoderHouse.fixtures)/\(name)", in: house))
                #expect((rocket ^ other).nonzeroBitCount > 12, "\(name)")
                #expect((jpeg ^ other).nonzeroBitCount <= 4, "\(name)")
            }
        }
    }

    @Test(
        "What is even looks like nothing", .enabled(if: PictureTests.hasVips, "skipped: needs libvips-tools"),
        arguments: ["jpg", "png"])
    func even(_ ending: String) async throws {
        try await DecoderHouse.with { (house) async throws in
            let (plain, picture) = (house.scratch.appending("grey.ppm"), house.scratch.appending("grey.\(ending)"))
            try DecoderHouse.write(PictureTests.ppm(64, 64) { x, _ in [128, 128, x % 2 == 0 ? 128 : 130] }, to: plain)
            try await aside { try runProgram(["/usr/bin/vips", "copy", plain, picture]) }
            let made = try #require(try await house.make([64], of: picture).picture)
            #expect(made.facts.likeness == nil)
        }
    }

    @Test("Tilt-shift leaves a band sharp, and blurs above and below")
    func tiltShift() async throws {
        try await DecoderHouse.with { (house) async throws in
            let outcome = try await house.make([320], of: Self.rocket, kind: .tiltShift)
            let picture = try #require(outcome.picture, "\(outcome)")
            // Its orientation is applied: it is one of our own, which says none, or any picture.
            #expect((picture.facts.parts[0].width, picture.facts.parts[0].height) == (214, 320))
            guard PictureTests.hasVips else { return print("skipped: needs libvips-tools to look at it") }
            let (plain, board) = (house.scratch.appending("board.ppm"), house.scratch.appending("board.jpg"))
            try DecoderHouse.write(
                PictureTests.ppm(400, 400) { x, y in (x / 4 + y / 4) % 2 == 0 ? [0, 0, 0] : [255, 255, 255] }, to: plain
            )
            try await aside { try runProgram(["/usr/bin/vips", "jpegsave", plain, board, "--Q", "95"]) }
            let tilted = try #require(try await house.make([400], of: board, kind: .tiltShift).picture)
            let pixel = try PictureTests.pixels(of: tilted, in: house.scratch).2
            func contrast(_ row: Int) -> Int {
                let values = (100..<140).map { Int(pixel($0, row)[0]) }
                return (values.max() ?? 0) - (values.min() ?? 0)
            }
            #expect(contrast(222) > 200 && contrast(10) < 60 && contrast(390) < 60)
        }
    }

    @Test("Where there is no face, or this build finds none, that is said")
    func noFace() async throws {
        try await DecoderHouse.with { (house) async throws in
            let outcome = try await house.make([320], of: Self.rocket, kind: .googly)
            #expect([.unsupported, .nothingFound].contains(outcome.refusal?.code), "\(outcome)")
            #expect(house.client.snapshot().gaps == "")
        }
    }

    /// `PHOTOINBOX_PHOTOS` names a directory of more pictures.
    private static let astronaut: String? = {
        guard let photos = getenv("PHOTOINBOX_PHOTOS") else { return nil }
        let path = "\(String(cString: photos))/astronaut.png"
        return access(path, R_OK) == 0 ? path : nil
    }()

    @Test(
        "Eyes get googly eyes, where this build finds faces",
        .enabled(if: astronaut != nil, "skipped: PHOTOINBOX_PHOTOS names no directory with astronaut.png"))
    func googly() async throws {
        try await DecoderHouse.with { (house) async throws in
            let outcome = try await house.make([512], of: try #require(Self.astronaut), kind: .googly)
            if outcome.refusal?.code == .unsupported { return print("skipped: needs a build with FACES=1") }
            let picture = try #require(outcome.picture, "\(outcome)")
            #expect((picture.facts.parts[0].width, picture.facts.parts[0].height) == (512, 512))
            #expect(house.client.snapshot().gaps == "")
        }
    }

    private func lay(_ bytes: [UInt8], side: Int, _ house: DecoderHouse) async throws -> DecoderOutcome {
        let path = house.scratch.appending("sheet")
        try DecoderHouse.write(bytes, to: path)
        return await house.client.make([UInt32(side)], of: HeldDescriptor(try DecoderHouse.open(path)), kind: .sheet)
    }

    private func sheet() throws -> SheetSource {
        let rocket = try DecoderHouse.read(Self.rocket)
        let names = ["IMG_1.JPG", String(repeating: "W", count: 2_000), "\u{202E}\u{1}\u{10FFFF}é Ж 写真"]
        let pictures = [rocket, [], Array(rocket.prefix(rocket.count / 2)), Array("no picture".utf8)]
        return SheetSource(
            title: "A title", columns: 3, side: 96,
            tiles: (0..<7).map {
                SheetSource.Tile(name: names[$0 % 3], time: "2026-11-21 14:07", picture: pictures[$0 % 4])
            })
    }

    @Test("A contact sheet is laid out, whatever names and pictures it has")
    func contactSheet() async throws {
        let sheet = try sheet()
        let layout = try #require(sheet.layout)
        try await DecoderHouse.with { (house) async throws in
            let outcome = try await lay(sheet.encoded, side: layout.longerSide, house)
            let picture = try #require(outcome.picture, "\(outcome)")
            let part = picture.facts.parts[0]
            #expect((Int(part.width), Int(part.height)) == (layout.width, layout.height))
            #expect(try picture.bytes(of: part).suffix(2) == [0xFF, 0xD9])
            #expect(house.client.snapshot().started == 1)
            let smaller = try await lay(sheet.encoded, side: layout.longerSide - 1, house)
            #expect(smaller.refusal?.code == .tooLarge, "\(smaller)")
        }
    }

    @Test("A sheet is read as it was written, and mutants of it are sheets or errors, in the decoder too")
    func hostileSheets() async throws {
        var sheet = try sheet()
        sheet.tiles[1].name = String(sheet.tiles[1].name.prefix(SheetSource.longestText))
        sheet.tiles[4].name = sheet.tiles[1].name
        let whole = sheet.encoded
        #expect(try SheetSource(encoded: whole) == sheet)
        var random = Seeded(state: 5)
        for length in stride(from: 0, to: whole.count, by: 97) {
            #expect(throws: WireError.self) { try SheetSource(encoded: Array(whole.prefix(length))) }
        }
        for _ in 0..<400 {
            var bytes = whole
            for _ in 0..<(1 + random.next() % 6) { random.mutateInPlace(&bytes) }
            if let read = try? SheetSource(encoded: bytes) { #expect(read.layout != nil) }
        }
        try await DecoderHouse.with(change: { $0.deadline = .seconds(20) }) { (house) async throws in
            for number in 0..<60 {
                var bytes = whole
                // Mostly in the head, where numbers are.
                if number % 2 == 0 { bytes[Int(random.next() % 40)] = UInt8(truncatingIfNeeded: random.next()) }
                random.mutateInPlace(&bytes)
                let outcome = try await lay(bytes, side: 2_000, house)
                #expect(outcome.trouble == nil && outcome.fatal == nil, "\(number): \(outcome)")
            }
        }
    }

    @Test func fieldsOfASheetLieBesideEachOther() throws {
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
