import FileValues
import PhotoFormats
import PhotoModel
import TestSupport
import Testing

/// Small files of the formats without a fixture, each as its specification has it.
enum Sample {
    static func big(_ number: Int, _ width: Int = 4) -> [UInt8] {
        (0..<width).map { UInt8(truncatingIfNeeded: number >> (8 * (width - 1 - $0))) }
    }

    static func little(_ number: Int, _ width: Int = 4) -> [UInt8] { big(number, width).reversed() }
    static func text(_ text: String) -> [UInt8] { Array(text.utf8) }
    static func box(_ type: String, _ body: [UInt8]) -> [UInt8] { big(body.count + 8) + text(type) + body }

    /// A TIFF block with DateTimeOriginal, of which the first directory has only the EXIF pointer.
    static let exif: [UInt8] =
        text("MM\0*") + big(8) + big(1, 2) + big(0x8769, 2) + big(4, 2) + big(1) + big(26) + big(0) + big(1, 2)
        + big(0x9003, 2) + big(2, 2) + big(20) + big(44) + big(0) + text("2024:01:31 12:34:56\0")

    /// `lines` are the lengths of compressed lines.
    static func psd(compression: Int, lines: [Int] = [3, 2, 2]) -> [UInt8] {
        let resource = text("8BIM") + big(0x0422, 2) + [0, 0] + big(exif.count) + exif
        let size = big(lines.count) + big(4) + big(8, 2) + big(1, 2)
        let header = text("8BPS") + big(1, 2) + [0, 0, 0, 0, 0, 0] + big(1, 2) + size
        let count = compression == 0 ? 4 * lines.count : lines.reduce(0, +)
        let table = compression == 0 ? [] : lines.flatMap { big($0, 2) }
        let pixels = table + [UInt8](repeating: 9, count: count)
        return header + big(0) + big(resource.count) + resource + big(0) + big(compression, 2) + pixels
    }

    static let jp2 = jp2(with: codestream)

    static func jp2(with codestream: [UInt8]) -> [UInt8] {
        box("jP  ", [0x0D, 0x0A, 0x87, 0x0A]) + box("ftyp", text("jp2 \0\0\0\0jp2 "))
            + box("jp2h", box("ihdr", big(3) + big(4) + [0, 1, 7, 7, 0, 0]))
            + box("uuid", text("JpgTiffExif->JP2") + exif)
            + box("jp2c", codestream)
    }

    /// Its codestream is in two fragments, in the order of the table; `file` is that of the second one.
    static func jpx(file: Int = 0) -> [UInt8] {
        let start =
            box("jP  ", [0x0D, 0x0A, 0x87, 0x0A]) + box("ftyp", text("jpx \0\0\0\0jpx "))
            + box("jp2h", box("ihdr", big(3) + big(4) + [0, 1, 7, 7, 0, 0]))
            + box("uuid", text("JpgTiffExif->JP2") + exif)
        // The table is as long as two entries; the end of the codestream comes first.
        let place = start.count + 8 + 8 + 2 + 28 + 8
        let half = codestream.count / 2
        let entries =
            big(place + codestream.count - half, 8) + big(half) + big(0, 2) + big(place, 8)
            + big(codestream.count - half) + big(file, 2)
        let table = box("ftbl", box("flst", big(2, 2) + entries))
        return start + table + box("mdat", codestream.suffix(codestream.count - half) + codestream.prefix(half))
    }

    /// A codestream with a main header and one tile.
    static func tiles(layers: Int, data: [UInt8]) -> [UInt8] {
        let size =
            big(47, 2) + big(0, 2) + big(4) + big(3) + big(0) + big(0) + big(4) + big(3) + big(0) + big(0) + big(3, 2)
            + [7, 1, 1, 7, 1, 1, 7, 1, 1]
        let coding = big(12, 2) + [0, 0] + big(layers, 2) + [1, 5, 4, 4, 0, 0]
        return [0xFF, 0x4F, 0xFF, 0x51] + size + [0xFF, 0x52] + coding + [0xFF, 0x90] + big(10, 2) + big(0, 2)
            + big(14 + data.count) + [0, 1, 0xFF, 0x93] + data + [0xFF, 0xD9]
    }

    static let codestream: [UInt8] =
        [0xFF, 0x4F, 0xFF, 0x51] + big(41, 2) + big(0, 2) + big(4) + big(3) + big(0) + big(0)
        + [UInt8](repeating: 7, count: 40) + [0xFF, 0xD9]

    /// 4 × 3 pixels: not a multiple of 8, a height of 9 bits, no ratio, a width of 9 bits.
    static let jxlHead: [UInt8] = [0xFF, 0x0A, 0x10, 0x00, 0x06, 0, 0, 0, 0, 0]

    static func jxl(parts: Bool) -> [UInt8] {
        let codestream =
            parts
            ? box("jxlp", big(0) + jxlHead) + box("jxlp", big(0x8000_0001) + [1, 2, 3]) : box("jxlc", jxlHead + [1, 2])
        return box("JXL ", [0x0D, 0x0A, 0x87, 0x0A]) + box("ftyp", text("jxl \0\0\0\0jxl "))
            + box("Exif", big(0) + exif)
            + codestream
    }

    static let crw: [UInt8] = {
        func heap(_ values: [(tag: Int, bytes: [UInt8])]) -> [UInt8] {
            var (data, entries): ([UInt8], [UInt8]) = ([], [])
            for value in values {
                entries += little(value.tag, 2) + little(value.bytes.count) + little(data.count)
                data += value.bytes
            }
            return data + little(values.count, 2) + entries + little(data.count)
        }
        let clock = little(1_706_704_496) + little(0) + little(0)
        let inner = heap([
            (0x180E, clock), (0x080A, text("Canon\0Canon EOS D60\0")),
            (0x1810, little(4) + little(3) + little(0) + little(90)),
        ])
        return text("II") + little(26) + text("HEAPCCDR") + [UInt8](repeating: 0, count: 12)
            + heap([(0x2005, [UInt8](repeating: 5, count: 50)), (0x300A, inner)])
    }()

    static let x3f: [UInt8] = {
        func utf16(_ text: String) -> [UInt8] { text.utf8.flatMap { [$0, 0] } }
        let pairs = [("TIME", "1706704496"), ("CAMMANUF", "SIGMA"), ("CAMMODEL", "SIGMA SD10")]
        var (offsets, words): ([UInt8], [UInt8]) = ([], [])
        for (name, value) in pairs {
            offsets += little(words.count / 2) + little(words.count / 2 + name.utf8.count + 1)
            words += utf16("\(name)\0\(value)\0")
        }
        let properties =
            text("SECp") + little(0) + little(pairs.count) + little(0) + little(0) + little(words.count / 2) + offsets
            + words
        let header = text("FOVb") + [UInt8](repeating: 0, count: 24) + little(4) + little(3) + little(0)
        let directory = header.count + properties.count
        return header + properties + text("SECd") + little(0) + little(1) + little(header.count)
            + little(properties.count) + text("PROP") + little(directory)
    }()

    static func mrw(isLittle: Bool) -> [UInt8] {
        func number(_ value: Int, _ width: Int = 4) -> [UInt8] {
            isLittle ? little(value, width) : big(value, width)
        }
        let size = number(3, 2) + number(4, 2)
        let sensor = text("\0PRD") + number(24) + text("27730001") + size + size + [12, 12, 0x59, 0, 0, 0, 0, 1]
        let blocks = sensor + text("\0TTW") + number(exif.count) + exif
        return text(isLittle ? "\0MRI" : "\0MRM") + number(blocks.count) + blocks + [UInt8](repeating: 6, count: 18)
    }

    static let avi = avi(codec: "MJPG", frames: [[1, 2, 3, 4]])

    static func avi(codec: String, frames: [[UInt8]], hasIndex: Bool = false) -> [UInt8] {
        func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
            text(type) + little(body.count) + body + [UInt8](repeating: 0, count: body.count % 2)
        }
        let header = chunk("avih", [UInt8](repeating: 0, count: 32) + little(4) + little(3) + little(0))
        let format = chunk("strf", [UInt8](repeating: 0, count: 16) + text(codec) + [UInt8](repeating: 0, count: 20))
        let stream = chunk("LIST", text("strl") + chunk("strh", text("vids") + text(codec)) + format)
        let body =
            chunk("LIST", text("hdrl") + header + stream) + chunk("IDIT", text("Wed Jan 31 12:34:56 2024\n\0"))
            + chunk("LIST", text("movi") + frames.map { chunk("00dc", $0) }.joined())
        let index =
            hasIndex
            ? chunk("idx1", Array(repeating: text("00dc") + little(16, 12), count: frames.count).flatMap(\.self)) : []
        return chunk("RIFF", text("AVI ") + body + index)
    }

    static func mts(step: Int) -> [UInt8] {
        let packet = [UInt8](repeating: 0, count: step - 188) + [0x47] + [UInt8](repeating: 0xFF, count: 187)
        var first = packet
        let date = text("MDPM") + [2, 0x18, 0x82, 0x20, 0x24, 0x01, 0x19, 0x31, 0x12, 0x34, 0x56]
        first.replaceSubrange(100..<(100 + date.count), with: date)
        return first + packet + packet
    }

    static func mkv(isOpen: Bool, codec: String? = nil, frame: [UInt8] = []) -> [UInt8] {
        func element(_ identifier: [UInt8], _ body: [UInt8]) -> [UInt8] {
            identifier + [0x40 | UInt8(body.count >> 8), UInt8(truncatingIfNeeded: body.count)] + body
        }
        // 2024-01-31 12:34:56 is 728,397,296 s after 2001.
        var track = element([0xE0], element([0xB0], [4]) + element([0xBA], [3]))
        if let codec { track = element([0xD7], [1]) + element([0x86], text(codec)) + track }
        let block: [UInt8] = codec == nil ? [1, 2, 3] : element([0xA3], [0x81, 0, 0, 0x80] + frame)
        let body =
            element([0x15, 0x49, 0xA9, 0x66], element([0x44, 0x61], big(728_397_296 * 1_000_000_000, 8)))
            + element([0x16, 0x54, 0xAE, 0x6B], element([0xAE], track)) + element([0x1F, 0x43, 0xB6, 0x75], block)
        let length =
            isOpen
            ? [0x01] + [UInt8](repeating: 0xFF, count: 7)
            : [0x40 | UInt8(body.count >> 8), UInt8(truncatingIfNeeded: body.count)]
        return element([0x1A, 0x45, 0xDF, 0xA3], element([0x42, 0x82], text("webm"))) + [0x18, 0x53, 0x80, 0x67]
            + length + body
    }
}

@Suite("Formats of other cameras, scanners and programs")
struct OtherFormatsTests {
    private struct Expected {
        let name: BytePath
        let bytes: [UInt8]
        let format: PhotoFormat
        var completeness = "whole"
        var date: String? = "2024-01-31 12:34:56"
        var camera: String?
        var size: [UInt32]? = [4, 3]
    }

    private static let samples: [Expected] = [
        Expected(name: "a.psd", bytes: Sample.psd(compression: 0), format: .psd),
        Expected(name: "b.psd", bytes: Sample.psd(compression: 1), format: .psd),
        Expected(name: "a.jp2", bytes: Sample.jp2, format: .jp2),
        Expected(name: "a.jpx", bytes: Sample.jpx(), format: .jp2),
        Expected(name: "a.j2c", bytes: Sample.codestream, format: .jp2, date: nil),
        Expected(name: "a.jxl", bytes: Sample.jxl(parts: false), format: .jxl),
        Expected(name: "b.jxl", bytes: Sample.jxl(parts: true), format: .jxl),
        Expected(name: "c.jxl", bytes: Sample.jxlHead, format: .jxl, completeness: "weak", date: nil),
        Expected(name: "a.crw", bytes: Sample.crw, format: .crw, camera: "Canon EOS D60"),
        Expected(name: "a.x3f", bytes: Sample.x3f, format: .x3f, camera: "SIGMA SD10"),
        Expected(name: "a.mrw", bytes: Sample.mrw(isLittle: false), format: .mrw),
        Expected(name: "b.mrw", bytes: Sample.mrw(isLittle: true), format: .mrw),
        Expected(name: "a.avi", bytes: Sample.avi, format: .avi),
        Expected(name: "a.mts", bytes: Sample.mts(step: 192), format: .mts, completeness: "lacking", size: nil),
        Expected(name: "a.m2t", bytes: Sample.mts(step: 188), format: .mts, completeness: "lacking", size: nil),
        Expected(name: "a.mkv", bytes: Sample.mkv(isOpen: false), format: .mkv),
        Expected(name: "b.webm", bytes: Sample.mkv(isOpen: true), format: .mkv, completeness: "lacking"),
    ]

    private func read(_ sample: Expected, prefix: Int? = nil) throws -> PhotoReport {
        var source = MemoryByteSource(Array(sample.bytes.prefix(prefix ?? .max)))
        return try PhotoReader.read(&source, name: sample.name)
    }

    @Test("Format, end, date, camera and size are read", arguments: samples.indices)
    func fields(index: Int) throws {
        let sample = Self.samples[index]
        let report = try read(sample)
        #expect(report.format == sample.format, "\(sample.name)")
        #expect(report.completeness.code == sample.completeness, "\(sample.name): \(report.completeness)")
        #expect(report.camera == sample.camera, "\(sample.name)")
        if let size = sample.size { #expect([report.width, report.height] == size, "\(sample.name)") }
        let decision = CaptureDateDecision(
            recorded: report.dates, name: sample.name, modified: FileTime(seconds: 0, nanoseconds: 0),
            now: FileTime(seconds: 1_800_000_000, nanoseconds: 0), zone: { _ in 0 })
        if let date = sample.date {
            let chosen = try #require(decision.chosen, "\(sample.name): \(report.dates)")
            #expect("\(chosen.local.date) \(chosen.local.clock)" == date, "\(sample.name)")
        }
    }

    @Test("Of a file that is cut anywhere nothing says that it is whole", arguments: samples.indices)
    func cuts(index: Int) throws {
        let sample = Self.samples[index]
        guard sample.completeness == "whole" else { return }
        for length in 1..<sample.bytes.count {
            let report = try read(sample, prefix: length)
            #expect(!report.completeness.isWhole, "\(sample.name) at \(length): \(report.completeness)")
        }
    }

    @Test("A transport stream that is cut in a packet is cut short")
    func packets() throws {
        let sample = try #require(Self.samples.first { $0.format == .mts })
        #expect(try read(sample, prefix: sample.bytes.count - 1).completeness.code == "cut-short")
        #expect(try read(sample, prefix: 400).completeness.code == "cut-short")
    }

    @Test("A short signature alone is no evidence without the usual name")
    func names() throws {
        for bytes in [Sample.jxlHead, Sample.mts(step: 188)] {
            var source = MemoryByteSource(bytes)
            #expect(try PhotoReader.read(&source, name: "a.bin").completeness.code == "not-a-photo")
        }
    }

    @Test("A box that is too short for its identifier is not read beyond its end")
    func shortBox() throws {
        // The identifier of XMP goes on in the next box.
        let identifier: [UInt8] = [0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94]
        let rest: [UInt8] = [0x91, 0xE3, 0xAF, 0xAC]
        for start in [Sample.box("ftyp", Sample.text("qt  \0\0\0\0qt  ")), Sample.jp2.prefix(32) + []] {
            exerciseReader(start + Sample.box("uuid", identifier) + rest + Sample.text("free"))
        }
    }

    @Test("Heaps that contain each other, and previews at one place, cost bounded time", .timeLimit(.minutes(60)))
    func loops() throws {
        // Each of 500 entries is the whole heap.
        let count = 500
        let length = 2 + 10 * count + 4
        let entry = Sample.little(0x300A, 2) + Sample.little(length) + Sample.little(0)
        let heap =
            Sample.little(count, 2) + Array(repeating: entry, count: count).joined() + Sample.little(0)
        exerciseReader(
            Sample.text("II") + Sample.little(26) + Sample.text("HEAPCCDR") + Array(repeating: 0, count: 12) + heap)
    }

    @Test("An AVI whose index names a part that is not there is cut short")
    func openDML() throws {
        let place = try #require(Sample.avi.indices.first { Sample.avi[$0...].starts(with: Sample.text("IDIT")) })
        let index =
            Sample.text("indx") + Sample.little(40) + Sample.little(4, 2) + [0, 0] + Sample.little(1)
            + [UInt8](repeating: 0, count: 16) + Sample.little(1 << 30, 8) + Sample.little(100) + Sample.little(1)
        var bytes = Sample.avi
        bytes.insert(contentsOf: index, at: place)
        bytes.replaceSubrange(4..<8, with: Sample.little(bytes.count - 8))
        var source = MemoryByteSource(bytes)
        #expect(try PhotoReader.read(&source, name: "a.avi").completeness.code == "cut-short")
    }

    @Test(
        "With a wrong length, the chunks of an AVI show whether all of it is there",
        arguments: [-22, -10, 1, 8, 1_000, 1 << 30, nil] as [Int?])
    func wrongLengths(difference: Int?) throws {
        let whole = Sample.avi(codec: "MJPG", frames: [[1, 2, 3, 4], [5, 6, 7], [8]])
        var bytes = whole
        // Nil: the recorder did not come to write any.
        bytes.replaceSubrange(4..<8, with: Sample.little(difference.map { whole.count - 8 + $0 } ?? 0))
        let movie = try #require(whole.indices.first { whole[$0...].starts(with: Sample.text("movi")) })
        if ![1, 8].contains(difference) {
            let list = difference.map { 38 + $0 } ?? 0
            bytes.replaceSubrange((movie - 4)..<movie, with: Sample.little(list))
        }
        let read = try report(bytes)
        // Much more than a header is missing.
        let isCut = difference ?? 0 >= 1_000
        #expect(read.completeness.code == (isCut ? "cut-short" : "lacking"), "\(read.completeness)")
        if isCut { return }
        #expect(read.dates.first?.text == "2024:01:31 12:34:56")
        #expect(read.width == 4)
        // Of a length that is right or too large, even a cut between chunks shows.
        guard difference ?? 0 >= 0 else { return }
        for cut in 1..<34 {
            let code = try report(Array(bytes.dropLast(cut))).completeness.code
            // Between the chunks, and before the padding of the last two.
            let isWhole = [1, 10, 11, 22].contains(cut) && (difference.map { cut + $0 <= 12 } ?? true)
            #expect(code == (isWhole ? "lacking" : "cut-short"), "\(cut)")
        }
        guard difference == nil else { return }
        #expect(try report(bytes + [UInt8](repeating: 0, count: 100)).completeness.code == "cut-short")
        let followed = try report(whole + Sample.text("2026/11/26 12:00 parking")).completeness.code
        #expect(followed == "lacking", "a text behind the chunks")
    }

    @Test("Heaps of Canon's within JPEGs within heaps are read once")
    func nestedHeaps() {
        var jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xD9]
        for _ in 0..<40 {
            let entry = Sample.little(0x2007, 2) + Sample.little(0) + Sample.little(0)
            let heap = jpeg + Sample.little(2, 2) + entry + entry + Sample.little(jpeg.count)
            let segment = Sample.text("II") + Sample.little(14) + Sample.text("HEAPJPGM") + heap
            jpeg =
                [0xFF, 0xD8, 0xFF, 0xE0, UInt8((segment.count + 2) >> 8), UInt8((segment.count + 2) & 0xFF)] + segment
                + [0xFF, 0xD9]
        }
        // Zeros are looked for in the scans of a file that has some.
        jpeg.insert(contentsOf: [0xFF, 0xFE, 0x20, 0] + [UInt8](repeating: 0, count: 0x1FFE), at: 2)
        exerciseReader(jpeg)
    }

    @Test("A fragment that is not there, or in another file, is missing")
    func fragments() throws {
        #expect(try report(Sample.jpx(file: 1)).completeness.code == "lacking")
        for cut in [1, 20, 40] {
            #expect(try report(Array(Sample.jpx().dropLast(cut))).completeness.code == "cut-short")
        }
    }

    @Test("A Matroska without frames is cut short, and one of sound is no film")
    func matroska() throws {
        let header = Sample.mkv(isOpen: false).prefix(14)
        var empty = MemoryByteSource(header + [0x18, 0x53, 0x80, 0x67, 0x80])
        #expect(try PhotoReader.read(&empty, name: "a.mkv").completeness.code == "cut-short")
        var sound = MemoryByteSource(
            header + [0x18, 0x53, 0x80, 0x67, 0x86, 0x1F, 0x43, 0xB6, 0x75, 0x81, 0])
        #expect(try PhotoReader.read(&sound, name: "a.mka").completeness.code == "not-a-photo")
    }

    @Test("A transport stream whose rest is zeros is not written yet")
    func zeros() throws {
        var source = MemoryByteSource(Sample.mts(step: 192) + [UInt8](repeating: 0, count: 192 * 4))
        #expect(try PhotoReader.read(&source, name: "a.mts").completeness.code == "cut-short")
    }

    @Test("The accuracy of a film's position is read before and after it")
    func accuracy() throws {
        let names = ["location.accuracy.horizontal", "location.ISO6709"].map { "com.apple.quicktime.\($0)" }
        let keys = names.map { Sample.box("mdta", Sample.text($0)) }.joined()
        func item(_ number: Int, _ value: String) -> [UInt8] {
            let data = Sample.box("data", Sample.big(1) + Sample.big(0) + Sample.text(value))
            return Sample.big(data.count + 8) + Sample.big(number) + data
        }
        let items = [item(1, "4.5"), item(2, "+54.3200+010.1340+010.000/")]
        for list in [items, items.reversed()] {
            let meta = Sample.box(
                "meta",
                Sample.box("keys", Sample.big(0) + Sample.big(2) + keys) + Sample.box("ilst", Array(list.joined())))
            let file =
                Sample.box("ftyp", Sample.text("qt  \0\0\0\0qt  ")) + Sample.box("moov", meta) + Sample.box("mdat", [1])
            var source = MemoryByteSource(file)
            let position = try #require(try PhotoReader.read(&source, name: "a.mov").metadata[.film]?.position)
            #expect(position.accuracy == 4.5 && position.altitude == 10)
        }
    }

    @Test("A recording that was not finished has no length, and ends within a chunk")
    func unfinished() throws {
        var bytes = Sample.avi
        bytes.replaceSubrange(4..<8, with: [0, 0, 0, 0])
        bytes.removeLast()
        var source = MemoryByteSource(bytes)
        #expect(try PhotoReader.read(&source, name: "a.avi").completeness.code == "cut-short")
    }

    // MARK: - Ranges of pixels

    private static let frame = someBytes(3_000)

    private static let written: [(name: String, bytes: [UInt8])] = [
        ("a.psd", Sample.psd(compression: 1, lines: Array(repeating: 90, count: 30))),
        ("a.j2c", Sample.tiles(layers: 1, data: frame)),
        ("a.jp2", Sample.jp2(with: Sample.tiles(layers: 1, data: frame))), ("a.crw", Sample.crw),
        ("a.mts", Sample.mts(step: 192)),
        ("a.avi", Sample.avi(codec: "H264", frames: Array(repeating: frame, count: 5), hasIndex: true)),
        ("a.mkv", Sample.mkv(isOpen: false, codec: "V_MPEG4/ISO/AVC", frame: frame)),
        ("b.mkv", Sample.mkv(isOpen: true, codec: "V_MPEGH/ISO/HEVC", frame: frame)),
    ]

    private func covered(_ bytes: [UInt8], name: String) throws -> [PixelRange] {
        var source = MemoryByteSource(bytes)
        return try PhotoReader.pixelRanges(of: &source, name: BytePath(name))
    }

    @Test("Formats that never contain long runs of zeros have ranges of pixels", arguments: written.indices)
    func ranges(index: Int) throws {
        let (name, bytes) = Self.written[index]
        let found = try covered(bytes, name: name)
        #expect(!found.isEmpty && found.allSatisfy { $0.rule == .neverZeros }, "\(name)")
        #expect(found.allSatisfy { $0.bytes.upperBound <= UInt64(bytes.count) })
    }

    @Test(
        "Of a copy whose rest is not written yet, a range lies in the rest, or nothing says that it is whole",
        arguments: written.indices, [60, 80, 95])
    func preallocated(index: Int, percent: Int) throws {
        let (name, whole) = Self.written[index]
        let start = whole.count * percent / 100
        let bytes = whole.prefix(start) + [UInt8](repeating: 0, count: whole.count - start)
        let isSeen = try covered(Array(bytes), name: name).contains {
            $0.bytes.upperBound > UInt64(start) && $0.bytes.clamped(to: UInt64(start)..<UInt64(whole.count)).count > 1
        }
        let code = try report(Array(bytes), name: name).completeness.code
        #expect(isSeen || code == "cut-short", "\(name): \(code)")
    }

    @Test("Codes in which zeros may be pixels have no ranges")
    func noRanges() throws {
        let others: [(String, [UInt8])] = [
            ("a.psd", Sample.psd(compression: 0)), ("a.jxl", Sample.jxl(parts: true)),
            ("a.mrw", Sample.mrw(isLittle: false)), ("a.x3f", Sample.x3f),
            // Empty contributions to further layers are zeros.
            ("a.j2c", Sample.tiles(layers: 20, data: Self.frame)),
            // Uncompressed, and by arithmetic codes of any length.
            ("a.avi", Sample.avi(codec: "DIB ", frames: [Self.frame])),
            ("a.mkv", Sample.mkv(isOpen: false, codec: "V_VP8", frame: Self.frame)),
        ]
        for (name, bytes) in others { #expect(try covered(bytes, name: name).isEmpty, "\(name)") }
    }

    @Test("Frames that are JPEGs are followed")
    func motionJPEG() throws {
        let picture = try Fixtures.bytes("plain.jpg")
        let film = Sample.avi(codec: "MJPG", frames: [picture, picture])
        #expect(try covered(film, name: "a.avi").count >= 2)
    }

    @Test("Mutations neither trap nor cause unlimited reading", arguments: samples.indices)
    func mutations(index: Int) throws {
        let whole = Self.samples[index].bytes
        for seed in 0..<UInt64(300) {
            var generator = SeededGenerator(seed: seed &* 17 &+ UInt64(index))
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: for offset in place..<min(place + 4, bytes.count) { bytes[offset] = 0xFF }
                default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                }
            }
            exerciseReader(bytes)
            var source = MemoryByteSource(bytes)
            _ = try PhotoReader.read(&source, name: Self.samples[index].name)
        }
    }
}
