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

    // MARK: Sigma's X3F

    @Test(
        "The largest JPEG of an X3F is its preview, turned by its header or by itself",
        arguments: [(0x0002_0002, 0, 1), (0x0002_0002, 270, 8), (0x0003_0000, 90, 6), (0x0004_0001, 90, 0)]
            as [(UInt32, UInt32, UInt8)])
    func sigma(version: UInt32, rotation: UInt32, orientation: UInt8) async throws {
        let small = try DecoderFixture.read("\(DecoderFixture.picturesPath)/plain.jpg")
        // Stored as 640 by 427, with the orientation 6.
        let large = try DecoderFixture.read("\(DecoderFixture.picturesPath)/rocket.jpg")
        let images = [
            Image(format: 18, width: 96, height: 64, data: small),
            Image(format: 18, width: 640, height: 427, data: large),
            Image(format: 3, width: 2_000, height: 1_000, data: .init(repeating: 9, count: 600)),
        ]
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("raw.x3f")
            try DecoderFixture.write(Self.sigma(images, version: version, rotation: rotation), to: path)
            let outcome = try await fixture.make([512, 128], of: path, kind: .raw)
            let facts = try #require(outcome.picture?.facts, "\(outcome)")
            // Without one in the header, that of the JPEG.
            let turned = rotation == 0 || version >= 0x0004_0000 ? 6 : orientation
            #expect(facts.orientation == turned)
            let size: (UInt32, UInt32) = version >= 0x0004_0000 ? (640, 427) : (2_640, 1_760)
            #expect((facts.width, facts.height) == (size.1, size.0))
            #expect(facts.parts.map { max($0.width, $0.height) } == [512, 128])
            #expect(fixture.client.snapshot().gaps == "")
        }
    }

    @Test("X3Fs without a JPEG, cut short, or with hostile places are refused, by the same decoder")
    func hostileSigma() async throws {
        let jpeg = try DecoderFixture.read("\(DecoderFixture.picturesPath)/plain.jpg")
        let whole = Self.sigma([Image(format: 18, width: 96, height: 64, data: jpeg)], version: 0x0002_0002)
        let directory = whole.count - 4 - 12 - 12
        func changed(_ place: Int, _ value: UInt32) -> [UInt8] {
            whole[..<place] + Self.bytes(value) + whole[(place + 4)...]
        }
        let most = UInt32.max
        let section = 40
        let samples =
            [
                Self.sigma([], version: 0x0002_0002),
                Self.sigma([Image(format: 3, width: 9, height: 9, data: jpeg)], version: 0x0002_0002),
                // The place of the directory, the place and length of the section, and sections that are the directory.
                changed(whole.count - 4, most), changed(whole.count - 4, UInt32(whole.count - 8)),
                changed(whole.count - 4, 0), changed(directory + 12, most), changed(directory + 16, most),
                changed(directory + 12, UInt32(directory)), changed(directory + 16, 28), changed(directory + 16, 0),
                changed(section + 16, 0), changed(section + 12, 17),
            ] + [4, 39, 50, directory, whole.count - 5, whole.count - 1].map { Array(whole.prefix($0)) }
        try await DecoderFixture.with { (fixture) async throws in
            let path = fixture.scratch.appending("raw.x3f")
            for (number, bytes) in samples.enumerated() {
                try DecoderFixture.write(bytes, to: path)
                let outcome = try await fixture.make(of: path, kind: .raw)
                #expect(outcome.refusal?.code == .noPreview, "\(number): \(outcome)")
            }
            // More entries than there are, and sizes that no JPEG has.
            for bytes in [changed(directory + 8, most), changed(section + 16, most), changed(section + 20, most)] {
                try DecoderFixture.write(bytes, to: path)
                #expect(try await fixture.make(of: path, kind: .raw).picture != nil)
            }
            #expect(fixture.client.snapshot().started == 1)
        }
    }

    private struct Image {
        let format: UInt32
        let width: UInt32
        let height: UInt32
        let data: [UInt8]
    }

    /// A header, sections of images, their directory, and its place.
    private static func sigma(_ images: [Image], version: UInt32, rotation: UInt32 = 0) -> [UInt8] {
        var file = Array("FOVb".utf8) + bytes(version) + .init(repeating: 0, count: 20)
        for value in [2_640, 1_760, rotation] { file += bytes(value) }
        var entries: [UInt8] = []
        for image in images {
            let section =
                Array("SECi".utf8)
                + [0x0002_0000, 2, image.format, image.width, image.height, 0].flatMap { bytes($0 as UInt32) }
                + image.data
            entries += bytes(UInt32(file.count)) + bytes(UInt32(section.count)) + Array("IMA2".utf8)
            file += section
        }
        let place = UInt32(file.count)
        return file + Array("SECd".utf8) + bytes(0x0002_0000 as UInt32) + bytes(UInt32(images.count)) + entries
            + bytes(place)
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
