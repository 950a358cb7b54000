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
        "mosaic.nef", "preview.raf",
    ]
    private static func kind(_ name: String) -> DecoderRequest.Kind {
        ["dng", "nef", "raf"].contains { name.hasSuffix($0) } ? .raw : .picture
    }

    /// Cut short anywhere, each is made small or refused, and its decoder lives.
    @Test(arguments: samples)
    func isCutShort(_ name: String) async throws {
        let whole = try DecoderHouse.read("\(DecoderHouse.fixtures)/\(name)")
        try await DecoderHouse.with { (house) async throws in
            let path = house.scratch.appending("cut")
            for step in 0..<24 {
                try DecoderHouse.write(Array(whole.prefix(whole.count * step / 24)), to: path)
                let outcome = try await house.make(of: path, kind: Self.kind(name))
                #expect(outcome.picture != nil || outcome.refusal != nil, "\(step): \(outcome)")
            }
            #expect(house.client.snapshot().started == 1)
        }
    }

    /// Mutants may kill their decoder, and nothing else: whatever comes, there is an answer, and the next whole picture
    /// is made. `PHOTOINBOX_MUTANTS` says how many of each.
    @Test(arguments: samples)
    func isMutated(_ name: String) async throws {
        let whole = try DecoderHouse.read("\(DecoderHouse.fixtures)/\(name)")
        let count = getenv("PHOTOINBOX_MUTANTS").flatMap { Int(String(cString: $0)) } ?? 60
        var random = Seeded(state: name.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
        try await DecoderHouse.with(change: { $0.deadline = .seconds(20) }) { (house) async throws in
            let path = house.scratch.appending("mutant")
            for number in 0..<count {
                var bytes = whole
                for _ in 0..<(1 + random.next() % 12) { random.mutateInPlace(&bytes) }
                try DecoderHouse.write(bytes, to: path)
                let outcome = try await house.make(of: path, kind: Self.kind(name))
                #expect(outcome.trouble == nil, "\(number): \(outcome)")
                if let fatal = outcome.fatal { print("note: mutant \(number) of \(name): \(fatal)") }
            }
            #expect(try await house.make(of: "\(DecoderHouse.fixtures)/plain.jpg").picture != nil)
        }
    }

    @Test func hugeDimensionsAreRefusedBeforeDecoding() async throws {
        try await DecoderHouse.with { (house) async throws in
            var jpeg = try DecoderHouse.read("\(DecoderHouse.fixtures)/plain.jpg")
            let frame = try #require(jpeg.indices.dropLast(9).first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
            jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
            let outcome = try await house.make(of: jpeg)
            #expect(outcome.refusal?.code == .tooLarge, "\(outcome)")
            #expect(outcome.refusal?.reason == "65500 x 65500 pixels")
            let plain = try DecoderHouse.read("\(DecoderHouse.fixtures)/plain.jpg")
            #expect(try await house.make(of: plain, limits: .init(side: 95)).refusal?.code == .tooLarge)
            #expect(try await house.make(of: plain, limits: .init(pixels: 96 * 64 - 1)).refusal?.code == .tooLarge)
            #expect(try await house.make(of: plain, limits: .init(pixels: 96 * 64, side: 96)).picture != nil)
        }
    }

    @Test func manyPassesAreRefused() async throws {
        try await DecoderHouse.with { (house) async throws in
            let path = "\(DecoderHouse.fixtures)/progressive.jpg"
            #expect(try await house.make(of: path, limits: .init(scans: 1)).refusal?.code == .tooLarge)
            let whole = try DecoderHouse.read(path)
            let scan = try #require(whole.indices.dropLast().first { whole[$0] == 0xFF && whole[$0 + 1] == 0xDA })
            let end = try #require(whole.lastIndex(of: 0xD9)) - 1
            let next = try #require(
                whole.indices[(scan + 2)..<end].first { whole[$0] == 0xFF && [0xDA, 0xC4].contains(whole[$0 + 1]) })
            let bomb = whole[..<next] + Array(repeating: whole[scan..<next], count: 200).joined() + whole[next...]
            #expect(try await house.make(of: Array(bomb)).refusal?.code == .tooLarge)
        }
    }
}

extension Seeded {
    /// Changes bytes, and now and then a run of them; the length stays.
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
