import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("Hostile pictures", .timeLimit(.minutes(60)))
struct HostilePictureTests {
    private static let samples = [
        "exif.jpg", "progressive.jpg", "exif.png", "exif.webp", "exif.tiff", "exif.heic", "exif.avif", "mosaic.dng",
        "mosaic.nef", "preview.raf", "animated.gif", "plain.jxl", "plain.jp2", "sequence.avifs", "film.mp4", "dark.mov",
        "dark.mkv", "dark.avi", "dark.mts",
    ]

    @Test(arguments: samples)
    func pictureCutShortIsDecodedOrRefusedByTheSameDecoder(_ name: String) async throws {
        let whole = try DecoderFixture.read(DecoderFixture.path(name))
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("cut")
            for step in 0..<24 {
                try DecoderFixture.write(Array(whole.prefix(whole.count * step / 24)), to: path)
                let outcome = try await fixture.make(of: path, kind: DecoderFixture.kind(name))
                #expect(outcome.picture != nil || outcome.refusal != nil, "\(step): \(outcome)")
            }
            #expect(fixture.client.snapshot().started == 1)
        }
    }

    /// A mutant may end its decoder, but must get an answer, and the next intact picture must be decoded.
    /// `PHOTOINBOX_MUTANTS` sets the number of mutants of each sample.
    @Test(arguments: samples)
    func mutantEndsAtMostItsDecoder(_ name: String) async throws {
        let whole = try DecoderFixture.read(DecoderFixture.path(name))
        let count = getenv("PHOTOINBOX_MUTANTS").flatMap { Int(String(cString: $0)) } ?? 60
        var random = SeededGenerator(seed: name.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
        try await DecoderFixture.with(change: { $0.deadline = .seconds(20) }) { (fixture) async throws in
            let path = fixture.scratch.appending("mutant")
            for number in 0..<count {
                var bytes = whole
                for _ in 0..<(1 + random.next() % 12) { random.mutateInPlace(&bytes) }
                try DecoderFixture.write(bytes, to: path)
                let outcome = try await fixture.make(of: path, kind: DecoderFixture.kind(name))
                #expect(outcome.trouble == nil, "\(number): \(outcome)")
                if let fatal = outcome.fatal { print("note: mutant \(number) of \(name): \(fatal)") }
            }
            #expect(try await fixture.make(of: "\(DecoderFixture.picturesPath)/plain.jpg").picture != nil)
        }
    }

    /// Those that libvips cannot read, and are read in another way: small ones, so every byte is changed.
    @Test func mutantsOfOtherFormatsEndAtMostTheirDecoder() async throws {
        let samples = try [
            FormatTests.planarTiles(orientation: 6), FormatTests.subsampled(), FormatTests.photoshop(),
            FormatTests.sharedMetadata(), FormatTests.filmInHEIF(),
        ]
        try await DecoderFixture.with(change: { $0.deadline = .seconds(20) }) { (fixture) async throws in
            for (number, whole) in samples.enumerated() {
                for place in stride(from: 0, to: min(whole.count, 1_200), by: 5) {
                    var bytes = whole
                    bytes[place] ^= place % 2 == 0 ? 0xFF : 0x01
                    let outcome = try await fixture.make([64], of: bytes)
                    #expect(outcome.trouble == nil, "\(number), \(place): \(outcome)")
                    if let fatal = outcome.fatal { print("note: byte \(place) of \(number): \(fatal)") }
                }
            }
            #expect(try await fixture.make(of: "\(DecoderFixture.picturesPath)/plain.jpg").picture != nil)
        }
    }

    @Test func hugeDimensionsAreRefusedBeforeDecoding() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            var jpeg = try DecoderFixture.read("\(DecoderFixture.picturesPath)/plain.jpg")
            let frame = try #require(jpeg.indices.dropLast(9).first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
            jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
            let outcome = try await fixture.make(of: jpeg)
            #expect(outcome.refusal?.code == .tooLarge, "\(outcome)")
            #expect(outcome.refusal?.reason == "65500 x 65500 pixels")
            let plain = try DecoderFixture.read("\(DecoderFixture.picturesPath)/plain.jpg")
            #expect(try await fixture.make(of: plain, limits: .init(side: 95)).refusal?.code == .tooLarge)
            #expect(try await fixture.make(of: plain, limits: .init(pixels: 96 * 64 - 1)).refusal?.code == .tooLarge)
            #expect(try await fixture.make(of: plain, limits: .init(pixels: 96 * 64, side: 96)).picture != nil)
        }
    }

    @Test func tooManyScansAreRefused() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let path = "\(DecoderFixture.picturesPath)/progressive.jpg"
            #expect(try await fixture.make(of: path, limits: .init(scans: 1)).refusal?.code == .tooLarge)
            let whole = try DecoderFixture.read(path)
            let scan = try #require(whole.indices.dropLast().first { whole[$0] == 0xFF && whole[$0 + 1] == 0xDA })
            let end = try #require(whole.lastIndex(of: 0xD9)) - 1
            let next = try #require(
                whole.indices[(scan + 2)..<end].first { whole[$0] == 0xFF && [0xDA, 0xC4].contains(whole[$0 + 1]) })
            let bomb = whole[..<next] + Array(repeating: whole[scan..<next], count: 200).joined() + whole[next...]
            #expect(try await fixture.make(of: Array(bomb)).refusal?.code == .tooLarge)
        }
    }
}

extension SeededGenerator {
    /// Changes one byte or a run of bytes, but not the length.
    mutating func mutateInPlace(_ bytes: inout [UInt8]) {
        let place = Int(next() % UInt64(bytes.count))
        switch next() % 4 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: next())
        case 1: bytes[place] ^= 1 << UInt8(next() % 8)
        case 2: bytes[place] = next() % 2 == 0 ? 0xFF : 0
        default:
            for index in place..<min(bytes.count, place + 8) { bytes[index] = UInt8(truncatingIfNeeded: next()) }
        }
    }
}
