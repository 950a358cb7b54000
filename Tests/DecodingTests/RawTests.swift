import FileValues
import TestSupport
import Testing

@testable import Decoding

@Suite("Renditions of raw files are made from the camera's preview", .timeLimit(.minutes(60)))
struct RawTests {
    @Test(arguments: [(1, 512), (3, 512), (6, 342), (8, 342)] as [(UInt16, UInt32)])
    func previewGetsTheOrientationOfTheRawFile(_ orientation: UInt16, _ width: UInt32) async throws {
        // Stored as 640 by 427, with an orientation that the raw file's overrides.
        let preview = try DecoderFixture.read("\(DecoderFixture.picturesPath)/rocket.jpg")
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("raw.dng")
            try DecoderFixture.write(Self.negative(preview: preview, orientation: orientation), to: path)
            let outcome = try await fixture.make([512, 128], of: path, kind: .raw)
            let picture = try #require(outcome.picture, "\(outcome)")
            #expect(picture.facts.orientation == UInt8(orientation))
            #expect((picture.facts.width, picture.facts.height) == (orientation < 5 ? (640, 480) : (480, 640)))
            #expect(picture.facts.parts[0].width == width)
            #expect(picture.facts.parts.map { max($0.width, $0.height) } == [512, 128])
            for part in picture.facts.parts { #expect(try picture.bytes(of: part).suffix(2) == [0xFF, 0xD9]) }
        }
    }

    @Test func rawFileWithoutAPreviewIsRefused() async throws {
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("raw.dng")
            try DecoderFixture.write(Self.negative(preview: [0, 0, 0, 0], orientation: 1), to: path)
            let outcome = try await fixture.make(of: path, kind: .raw)
            #expect([.noPreview, .unreadable].contains(outcome.refusal?.code), "\(outcome)")
        }
    }

    struct Entry {
        let tag: UInt16
        let kind: UInt16
        let count: Int
        var data: [UInt8]

        init(_ tag: UInt16, bytes: [UInt8], kind: UInt16 = 1) {
            (self.tag, self.kind, count, data) = (tag, kind, bytes.count, bytes)
        }

        init(_ tag: UInt16, shorts: [UInt16]) {
            (self.tag, kind, count, data) = (tag, 3, shorts.count, shorts.flatMap { RawTests.bytes($0) })
        }

        init(_ tag: UInt16, longs: [UInt32]) {
            (self.tag, kind, count, data) = (tag, 4, longs.count, longs.flatMap { RawTests.bytes($0) })
        }
    }

    static func bytes(_ value: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    /// A TIFF directory at `offset`, followed by the values that do not fit into its entries.
    static func directory(_ entries: [Entry], at offset: Int) -> [UInt8] {
        let sorted = entries.sorted { $0.tag < $1.tag }
        var table = bytes(UInt16(sorted.count))
        var rest: [UInt8] = []
        let start = offset + 2 + 12 * sorted.count + 4
        for entry in sorted {
            table += bytes(entry.tag) + bytes(entry.kind) + bytes(UInt32(entry.count))
            if entry.data.count <= 4 {
                table += entry.data + [UInt8](repeating: 0, count: 4 - entry.data.count)
            } else {
                table += bytes(UInt32(start + rest.count))
                rest += entry.data + (entry.data.count % 2 == 0 ? [] : [0])
            }
        }
        return table + bytes(UInt32(0)) + rest
    }

    /// A small digital negative with a preview and 640 by 480 sensor pixels.
    private static func negative(preview: [UInt8], orientation: UInt16) -> [UInt8] {
        let (width, height) = (640, 480)
        let sensor = (0..<width * height).flatMap { bytes(UInt16($0 * 7 % 4_096)) }
        let camera = Array("Canon EOS 5D\0".utf8)
        func first(_ second: Int, _ preview: [UInt8], at place: Int) -> [Entry] {
            [
                Entry(254, longs: [1]), Entry(256, longs: [640]), Entry(257, longs: [427]),
                Entry(258, shorts: [8, 8, 8]), Entry(259, shorts: [7]), Entry(262, shorts: [6]),
                Entry(271, bytes: Array("Canon\0".utf8), kind: 2), Entry(272, bytes: camera, kind: 2),
                Entry(273, longs: [UInt32(place)]), Entry(274, shorts: [orientation]), Entry(277, shorts: [3]),
                Entry(278, longs: [427]), Entry(279, longs: [UInt32(preview.count)]),
                Entry(330, longs: [UInt32(second)]), Entry(50_706, bytes: [1, 4, 0, 0]),
                Entry(50_707, bytes: [1, 1, 0, 0]), Entry(50_708, bytes: camera, kind: 2),
                Entry(50_778, shorts: [21]),
            ]
        }
        func second(at place: Int) -> [Entry] {
            [
                Entry(254, longs: [0]), Entry(256, longs: [UInt32(width)]), Entry(257, longs: [UInt32(height)]),
                Entry(258, shorts: [16]), Entry(259, shorts: [1]), Entry(262, shorts: [32_803]),
                Entry(273, longs: [UInt32(place)]), Entry(277, shorts: [1]), Entry(278, longs: [UInt32(height)]),
                Entry(279, longs: [UInt32(sensor.count)]), Entry(33_421, shorts: [2, 2]),
                Entry(33_422, bytes: [0, 1, 1, 2]), Entry(50_717, longs: [4_095]),
            ]
        }
        let secondAt = 8 + directory(first(0, preview, at: 0), at: 8).count
        let previewAt = secondAt + directory(second(at: 0), at: secondAt).count
        let sensorAt = previewAt + preview.count + preview.count % 2
        return Array("II*\0".utf8) + bytes(UInt32(8)) + directory(first(secondAt, preview, at: previewAt), at: 8)
            + directory(second(at: sensorAt), at: secondAt) + preview + (preview.count % 2 == 0 ? [] : [0]) + sensor
    }
}
