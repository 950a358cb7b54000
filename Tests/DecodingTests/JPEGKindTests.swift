import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("JPEGs that libjpeg-turbo does not read", .timeLimit(.minutes(60)))
struct JPEGKindTests {
    private static let hasLibav = FormatTests.hasFilms

    /// Made as the daemon does: asked as a film once the decoder says so.
    private func make(_ bytes: [UInt8], in fixture: DecoderFixture) async throws -> DecoderOutcome {
        let path = fixture.scratch.appending("picture")
        try DecoderFixture.write(bytes, to: path)
        #expect(try await fixture.make([64], of: path).refusal?.code == .film)
        return try await fixture.make([64], of: path, kind: .film)
    }

    @Test(
        "Lossless ones of 8 to 16 bits, grey and in colour, have the colours that were put into them",
        .enabled(if: hasLibav && PictureTests.hasVips, "skipped: needs libavcodec and libvips-tools"),
        arguments: [1, 3], [8, 10, 12, 14, 16])
    func lossless(components: Int, bits: Int) async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await make(TestJPEG.lossless(components: components, bits: bits), in: fixture)
            try expectRamp(outcome, isGrey: components == 1, in: fixture)
        }
    }

    @Test(
        "Those of 12 bits, grey and in colour, have the colours that were put into them",
        .enabled(if: hasLibav && PictureTests.hasVips, "skipped: needs libavcodec and libvips-tools"),
        arguments: [1, 3])
    func twelveBits(components: Int) async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let outcome = try await make(TestJPEG.twelveBits(components: components), in: fixture)
            try expectRamp(outcome, isGrey: true, in: fixture)
        }
    }

    /// From black at the left to white at the right; in colour, green and blue are a quarter of white.
    private func expectRamp(_ outcome: DecoderOutcome, isGrey: Bool, in fixture: DecoderFixture) throws {
        let picture = try #require(outcome.picture, "\(outcome)")
        #expect((picture.facts.width, picture.facts.height) == (64, 32))
        let pixel = try PictureTests.pixels(of: picture, in: fixture.scratch).2
        for x in [4, 20, 36, 60] {
            let ramp = UInt8(255 * (x / 8) / 7)
            let colour = isGrey ? [ramp, ramp, ramp] : [ramp, 64, 64]
            #expect(PictureTests.isNear(pixel(x, 16), colour), "\(x): \(pixel(x, 16))")
        }
        #expect(fixture.client.snapshot().gaps == "")
    }

    @Test("The orientation in its EXIF is followed", .enabled(if: hasLibav, "skipped: needs libavcodec"))
    func orientation() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let exif =
                Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
            let whole = TestJPEG.lossless(components: 3, bits: 12)
            let bytes = whole[..<2] + [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + whole[2...]
            let facts = try #require(try await make(Array(bytes), in: fixture).picture?.facts)
            #expect((facts.width, facts.height, facts.orientation) == (32, 64, 6))
        }
    }

    @Test(
        "Too large, damaged or hostile ones are refused, by the same decoder",
        .enabled(if: hasLibav, "skipped: needs libavcodec"))
    func hostile() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("picture")
            let samples = [
                TestJPEG.lossless(components: 3, bits: 12), TestJPEG.lossless(components: 1, bits: 16),
                TestJPEG.twelveBits(components: 3),
            ]
            for whole in samples {
                var huge = whole
                let frame = try #require(
                    huge.indices.first { huge[$0] == 0xFF && [0xC1, 0xC3].contains(huge[$0 + 1]) })
                huge.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
                try DecoderFixture.write(huge, to: path)
                var colourful = whole
                colourful[frame + 9] = 4
                try DecoderFixture.write(colourful, to: path)
                let refusal = try await fixture.make(of: path).refusal
                #expect(refusal?.code == .unreadable && refusal?.reason.contains("of 4 colours") == true)
                try DecoderFixture.write(huge, to: path)
                for kind in [DecoderRequest.Kind.picture, .film] {
                    let refusal = try await fixture.make(of: path, kind: kind).refusal
                    #expect(
                        refusal?.code == .tooLarge && refusal?.reason == "65500 x 65500 pixels", "\(refusal as Any)")
                }
                var random = SeededGenerator(seed: 11)
                for number in 0..<60 {
                    var bytes = whole
                    if number % 3 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count - 40))) }
                    for _ in 0..<(number % 4) { random.mutateInPlace(&bytes) }
                    try DecoderFixture.write(bytes, to: path)
                    let outcome = try await fixture.make([64], of: path, kind: .film)
                    #expect(outcome.fatal == nil && outcome.trouble == nil, "\(number): \(outcome)")
                    if let refusal = outcome.refusal { #expect(!refusal.reason.isEmpty) }
                }
            }
            #expect(fixture.client.snapshot().started == 2)
        }
    }
}

/// Pictures of 64 by 32 pixels, black at the left and white at the right in 8 steps.
private enum TestJPEG {
    /// Predicted from the left, ISO/IEC 10918-1, annex H. Red is the ramp; green and blue are even.
    static func lossless(components: Int, bits: Int) -> [UInt8] {
        let most = 1 << bits - 1
        var code = Coder()
        var above: [Int] = .init(repeating: 1 << (bits - 1), count: components)
        for _ in 0..<32 {
            var left = above
            for x in 0..<64 {
                for component in 0..<components {
                    let value = component == 0 ? most * (x / 8) / 7 : most / 4
                    code.put(difference: value - left[component])
                    left[component] = value
                    if x == 0 { above[component] = value }
                }
            }
        }
        return head(frame: 0xC3, bits: bits, components) + scan(components, [1, 0, 0]) + code.ended
    }

    /// Even blocks, so that only the first coefficient of each is not zero.
    static func twelveBits(components: Int) -> [UInt8] {
        var code = Coder()
        var last = [0, 0, 0]
        for block in 0..<32 {
            for component in 0..<components {
                // Its sum over 8 by 8 pixels by 8, in units of 16; colours are even.
                let value = component == 0 ? (4_095 * (block % 8) / 7 - 2_048) / 2 : 0
                code.put(difference: value - last[component])
                last[component] = value
                // No other coefficient: the one code of the second table.
                code.put(0, 1)
            }
        }
        let quantization: [UInt8] = [0xFF, 0xDB, 0, 67, 0] + .init(repeating: 16, count: 64)
        let table: [UInt8] = [0xFF, 0xC4, 0, 20, 0x10, 1] + .init(repeating: 0, count: 16)
        return head(frame: 0xC1, bits: 12, components, quantization + table) + scan(components, [0, 63, 0]) + code.ended
    }

    private static func head(frame: UInt8, bits: Int, _ components: Int, _ tables: [UInt8] = []) -> [UInt8] {
        let numbers: [[UInt8]] = (1...components).map { [UInt8($0), 0x11, 0] }
        // All categories of differences have codes of five bits.
        let lengths: [UInt8] = [0, 0, 0, 0, 17] + [UInt8](repeating: 0, count: 11)
        let size: [UInt8] = [0, UInt8(8 + 3 * components), UInt8(bits), 0, 32, 0, 64, UInt8(components)]
        let codes: [UInt8] = [0xFF, 0xC4, 0, 36, 0] + lengths + Array(0...16)
        return [0xFF, 0xD8] + tables + [0xFF, frame] + size + numbers.flatMap(\.self) + codes
    }

    private static func scan(_ components: Int, _ end: [UInt8]) -> [UInt8] {
        let numbers: [[UInt8]] = (1...components).map { [UInt8($0), 0] }
        let size: [UInt8] = [0, UInt8(6 + 2 * components), UInt8(components)]
        return [0xFF, 0xDA] + size + numbers.flatMap(\.self) + end
    }

    private struct Coder {
        private var bytes: [UInt8] = []
        private var rest = 0
        private var count = 0

        mutating func put(_ value: Int, _ bits: Int) {
            for bit in (0..<bits).reversed() {
                rest = rest << 1 | value >> bit & 1
                count += 1
                guard count == 8 else { continue }
                bytes.append(UInt8(rest))
                if rest == 0xFF { bytes.append(0) }
                (rest, count) = (0, 0)
            }
        }

        mutating func put(difference: Int) {
            let category = Int.bitWidth - difference.magnitude.leadingZeroBitCount
            put(category, 5)
            put(difference > 0 ? difference : difference + 1 << category - 1, category)
        }

        var ended: [UInt8] {
            var padded = self
            while padded.count > 0 { padded.put(1, 1) }
            return padded.bytes + [0xFF, 0xD9]
        }
    }
}
