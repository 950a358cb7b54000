import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("Renditions of pictures are small, upright and sRGB", .timeLimit(.minutes(60)))
struct PictureTests {
    /// Debian's vips, to make pictures and to read renditions.
    private static let vips = "/usr/bin/vips"
    static let hasVips = access(vips, X_OK) == 0
    private static let exiftool = "/usr/bin/exiftool"

    @Test(arguments: [
        ("exif.jpg", 64, 96, 6), ("exif.png", 96, 64, nil), ("exif.webp", 96, 64, nil), ("exif.tiff", 96, 64, nil),
        ("exif.heic", 96, 64, nil), ("exif.avif", 64, 96, nil), ("progressive.jpg", 96, 64, nil),
        ("rocket.jpg", 427, 640, 6), ("motion.jpg", 96, 64, nil),
        ("animated.gif", 96, 64, nil), ("plain.jxl", 96, 64, nil), ("plain.jp2", 96, 64, nil),
        ("sequence.avifs", 96, 64, nil),
    ])
    func renditionHasTheRequestedSize(_ name: String, _ width: UInt32, _ height: UInt32, _ orientation: UInt8?)
        async throws
    {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make([256, 48], of: DecoderFixture.path(name))
            let picture = try #require(outcome.picture, "\(outcome)")
            #expect((picture.facts.width, picture.facts.height) == (width, height))
            if let orientation { #expect(picture.facts.orientation == orientation) }
            for part in picture.facts.parts {
                #expect(max(part.width, part.height) == min(part.size, max(width, height)))
                #expect(try picture.bytes(of: part).suffix(2) == [0xFF, 0xD9])
            }
            #expect(fixture.client.snapshot().gaps == "")
        }
    }

    @Test(arguments: ["make-fixtures.py", "README.md", "exiftool.json"])
    func fileThatIsNotAPictureIsRefused(_ name: String) async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await fixture.make(of: "\(DecoderFixture.picturesPath)/\(name)")
            #expect(outcome.refusal?.code == .unreadable, "\(outcome)")
            #expect(outcome.refusal?.reason.isEmpty == false)
        }
    }

    /// Compares with Debian's exiftool. `PHOTOINBOX_PHOTOS` names a directory of more pictures. HEIF is left out, since
    /// exiftool reports its EXIF orientation, which viewers ignore.
    @Test(.enabled(if: access(exiftool, X_OK) == 0, "skipped: needs libimage-exiftool-perl"))
    func sizeAndOrientationAgreeWithExiftool() async throws {
        let endings = ["jpg", "png", "webp", "tiff"]
        let more = getenv("PHOTOINBOX_PHOTOS").map { [String(cString: $0)] } ?? []
        let exiftool = try RunningProgram(
            [
                Self.exiftool, "-q", "-m", "-n", "-f", "-p",
                "$ImageWidth $ImageHeight $IFD0:Orientation $Directory/$FileName",
            ]
                + endings.flatMap { ["-ext", $0] } + [DecoderFixture.picturesPath] + more)
        #expect(try await exiftool.ending() == .status(0))
        try await DecoderFixture.with { (fixture) async throws in
            var compared = 0
            for line in exiftool.lines {
                let words = line.split(separator: " ", maxSplits: 3).map(String.init)
                let (wide, high) = (try #require(UInt32(words[0])), try #require(UInt32(words[1])))
                let orientation = UInt8(words[2]) ?? 1
                let outcome = try await fixture.make([256, 64], of: words[3])
                let picture = try #require(outcome.picture, "\(line): \(outcome)")
                #expect(max(1, picture.facts.orientation) == orientation, "\(line)")
                let shown = orientation < 5 ? (wide, high) : (high, wide)
                #expect((picture.facts.width, picture.facts.height) == shown, "\(line)")
                compared += 1
            }
            #expect(compared >= 16)
        }
    }

    /// Uses a picture with four different quarters, stored in each orientation.
    @Test(.enabled(if: hasVips, "skipped: needs libvips-tools"))
    func allOrientationsAreTurnedUpright() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            for orientation in 1...8 as ClosedRange<UInt8> {
                let path = fixture.scratch.appending("turned-\(orientation).jpg")
                try DecoderFixture.write(try Self.quarters(orientation, in: fixture.scratch), to: path)
                let outcome = try await fixture.make([64], of: path)
                let picture = try #require(outcome.picture, "\(outcome)")
                #expect(picture.facts.orientation == orientation)
                let (width, height, pixel) = try Self.pixels(of: picture, in: fixture.scratch)
                #expect((width, height) == (64, 32), "orientation \(orientation)")
                for (quarter, at) in [(16, 8), (48, 8), (16, 24), (48, 24)].enumerated() {
                    #expect(
                        Self.isNear(pixel(at.0, at.1), Self.colours[quarter]), "orientation \(orientation) \(quarter)")
                }
            }
        }
    }

    /// Red has other values in a file of wide gamut, and 255, 0, 0 in sRGB.
    @Test(.enabled(if: hasVips, "skipped: needs libvips-tools"))
    func wideGamutIsConvertedToSRGB() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let (plain, wide) = (fixture.scratch.appending("red.ppm"), fixture.scratch.appending("red.jpg"))
            try DecoderFixture.write(Self.ppm(64, 64) { _, _ in [255, 0, 0] }, to: plain)
            try await aside {
                try runProgram([
                    Self.vips, "icc_transform", plain, "\(wide)[Q=100]", "p3", "--input-profile", "srgb",
                ])
            }
            let stored = try Self.pixels(at: wide, in: fixture.scratch).2(32, 32)
            #expect(!Self.isNear(stored, [255, 0, 0]), "\(stored)")
            let picture = try #require(try await fixture.make([32], of: wide).picture)
            #expect(!picture.facts.ignoresProfile)
            let shown = try Self.pixels(of: picture, in: fixture.scratch).2(16, 16)
            #expect(Self.isNear(shown, [255, 0, 0]), "\(shown)")
        }
    }

    private static let colours: [[UInt8]] = [[200, 40, 40], [40, 200, 40], [40, 40, 200], [210, 210, 210]]

    static func isNear(_ colour: [UInt8], _ wanted: [UInt8]) -> Bool {
        zip(colour, wanted).allSatisfy { abs(Int($0) - Int($1)) <= 12 }
    }

    static func ppm(_ width: Int, _ height: Int, _ colour: (Int, Int) -> [UInt8]) -> [UInt8] {
        var bytes = Array("P6\n\(width) \(height)\n255\n".utf8)
        for y in 0..<height { for x in 0..<width { bytes += colour(x, y) } }
        return bytes
    }

    /// 128 by 64 when shown.
    private static func quarters(_ orientation: UInt8, in scratch: ScratchDirectory) throws -> [UInt8] {
        let (width, height) = orientation < 5 ? (128, 64) : (64, 128)
        let stored = ppm(width, height) { x, y in
            let (right, down) = (width - 1 - x, height - 1 - y)
            let shown =
                switch orientation {
                case 1: (x, y)
                case 2: (right, y)
                case 3: (right, down)
                case 4: (x, down)
                case 5: (y, x)
                case 6: (down, x)
                case 7: (down, right)
                default: (y, right)
                }
            return colours[(shown.0 < 64 ? 0 : 1) + (shown.1 < 32 ? 0 : 2)]
        }
        let (plain, jpeg) = (scratch.appending("quarters.ppm"), scratch.appending("quarters.jpg"))
        try DecoderFixture.write(stored, to: plain)
        try runProgram([vips, "jpegsave", plain, jpeg, "--Q", "95", "--strip"])
        let bytes = try DecoderFixture.read(jpeg)
        // One entry of Exif: the orientation.
        let tiff: [UInt8] =
            Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]
            + [0, 0, 0, 0]
        return [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(tiff.count + 2)] + tiff + bytes.dropFirst(2)
    }

    static func pixels(
        of picture: DecodedPicture, in scratch: ScratchDirectory
    ) throws -> (Int, Int, (Int, Int) -> [UInt8]) {
        let path = scratch.appending("small.jpg")
        try DecoderFixture.write(try picture.bytes(of: picture.facts.parts[0]), to: path)
        return try pixels(at: path, in: scratch)
    }

    /// Returns the stored pixels, without applying a profile or orientation.
    private static func pixels(
        at path: String, in scratch: ScratchDirectory
    ) throws -> (Int, Int, (Int, Int) -> [UInt8]) {
        let plain = scratch.appending("looked-at.ppm")
        try runProgram([vips, "copy", path, plain])
        let bytes = try DecoderFixture.read(plain)
        var fields: [Int] = []
        var position = 0
        while fields.count < 4 {
            let end = bytes[position...].firstIndex { $0 == 0x0A || $0 == 0x20 } ?? bytes.count
            let word = String(decoding: bytes[position..<end], as: UTF8.self)
            position = end + 1
            if word.hasPrefix("#") {
                position = (bytes[position...].firstIndex(of: 0x0A) ?? bytes.count) + 1
            } else {
                fields.append(Int(word) ?? 0)
            }
        }
        let (width, start) = (fields[1], position)
        return (width, fields[2], { x, y in Array(bytes[(start + 3 * (y * width + x))...].prefix(3)) })
    }
}
