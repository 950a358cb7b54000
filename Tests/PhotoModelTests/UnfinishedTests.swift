import PhotoFormats
import TestSupport
import Testing

/// One directory of a TIFF structure of a test, little-endian.
private struct Page {
    var entries: [(tag: UInt16, value: UInt32)]
    var next: UInt32 = 0

    var bytes: [UInt8] {
        little(UInt32(entries.count), 2)
            + entries.flatMap { little(UInt32($0.tag), 2) + little(4, 2) + little(1, 4) + little($0.value, 4) }
            + little(next, 4)
    }
}

private func little(_ number: UInt32, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
}

private func big(_ number: UInt32, _ width: Int = 4) -> [UInt8] { little(number, width).reversed() }

func someBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in UInt8.random(in: 1...254, using: &generator) }
}

private func header(_ magic: [UInt8] = [0x49, 0x49, 0x2A, 0], first: UInt32) -> [UInt8] { magic + little(first, 4) }

@Suite("Files that may continue are not whole")
struct UnfinishedTests {
    /// Strips, then their directory, as libtiff writes pages; `pages` of 10,000 bytes each.
    private func tiff(pages: Int, next: UInt32? = nil) -> [UInt8] {
        let strip = 10_000
        let step = strip + 2 + 5 * 12 + 4
        var bytes = header(first: UInt32(8 + strip))
        for page in 0..<pages {
            let start = 8 + page * step
            let isLast = page == pages - 1
            let entries: [(UInt16, UInt32)] = [
                (0x100, 100), (0x101, 100), (0x103, 1), (0x111, UInt32(start)), (0x117, UInt32(strip)),
            ]
            let following = isLast ? next ?? 0 : UInt32(start + step + strip)
            bytes += someBytes(strip, seed: UInt64(page)) + Page(entries: entries, next: following).bytes
        }
        return bytes
    }

    @Test("A TIFF that may get more pages is weak, and one without its next page is lacking")
    func pages() throws {
        let whole = tiff(pages: 3)
        #expect(try report(whole).completeness.code == "weak")
        #expect(try report(tiff(pages: 1)).completeness.code == "weak")
        let step = 10_066
        for length in 1..<whole.count {
            let code = try report(Array(whole.prefix(length))).completeness.code
            // The next page is missing, or the pointer to it is invalid.
            let isBetween = (length - 8).isMultiple(of: step) || (length - 9).isMultiple(of: step)
            #expect(code == (isBetween && length > 9 ? "lacking" : "cut-short"), "\(length)")
        }
    }

    @Test(
        "An invalid pointer to a next directory is not damage",
        arguments: [UInt32.max, 0x7F00_0000, 3, 100, 5_001, 10_075, 20_000])
    func strayPointers(next: UInt32) throws {
        #expect(try report(tiff(pages: 1, next: next)).completeness.code == "lacking")
    }

    @Test("A directory without its pointer to the next is cut short")
    func missingPointer() throws {
        let whole = tiff(pages: 1)
        for missing in 1...4 {
            #expect(try report(Array(whole.dropLast(missing))).completeness.code == "cut-short")
        }
    }

    @Test("Strips without a length prove nothing", arguments: [[UInt32(0)], []])
    func stripsWithoutLength(lengths: [UInt32]) throws {
        var entries: [(UInt16, UInt32)] = [(0x100, 1_728), (0x101, 2_200), (0x103, 4), (0x111, UInt32(8 + 66))]
        entries += lengths.map { (0x117, $0) }
        var bytes = header(first: 8) + Page(entries: entries).bytes
        bytes += [UInt8](repeating: 1, count: 74 - bytes.count) + someBytes(20_000)
        for length in [bytes.count, 15_000, 80] {
            #expect(try report(Array(bytes.prefix(length))).completeness.code == "lacking")
        }
    }

    private func panasonic(length: UInt32?) -> [UInt8] {
        var entries: [(UInt16, UInt32)] = [(4, 0), (5, 0), (6, 3_000), (7, 4_000), (0x111, .max)]
        if let length { entries.append((0x117, length)) }
        entries.append((0x118, 2_048))
        let head = header([0x49, 0x49, 0x55, 0], first: 24)
        let directory = [UInt8](repeating: 0, count: 24 - head.count) + Page(entries: entries).bytes
        let front = head + directory
        return front + [UInt8](repeating: 0, count: 2_048 - front.count) + someBytes(100_000)
    }

    @Test("The end of Panasonic's sensor data is checked")
    func panasonic() throws {
        let whole = panasonic(length: 100_000)
        #expect(try report(whole, name: "a.rw2").format == .rw2)
        #expect(try report(whole, name: "a.rw2").completeness.code == "weak")
        for length in [1_000, 2_048] {
            #expect(try report(Array(whole.prefix(length)), name: "a.rw2").completeness.code == "cut-short")
        }
        // Some cameras record the length before compression, so these may be complete.
        for length in [2_049, 20_000, 50_000, 100_000, 102_047] {
            #expect(try report(Array(whole.prefix(length)), name: "a.rw2").completeness.code == "lacking", "\(length)")
        }
        // Newer cameras record their start, but not their end.
        #expect(try report(panasonic(length: nil), name: "a.rw2").completeness.code == "lacking")
        #expect(try report(panasonic(length: 0), name: "a.rw2").completeness.code == "lacking")
    }

    @Test("An unknown RAW structure proves nothing")
    func unknownRAW() throws {
        let mosaic = try Fixtures.bytes("mosaic.nef")
        #expect(try report(mosaic, name: "a.nef").completeness.code == "weak")
        #expect(try report(mosaic + someBytes(10_000), name: "a.nef").completeness.code == "lacking")
        let preview = try Fixtures.bytes("preview.raf")
        #expect(try report(preview + someBytes(10_000), name: "a.raf").completeness.code == "lacking")
        let blind = header([0x49, 0x49, 0x52, 0x4F], first: 8) + Page(entries: [(0x100, 1), (0x101, 1)]).bytes
        #expect(try report(blind, name: "a.orf").completeness.code == "lacking")
    }
}

/// An XMP packet with these attributes.
private func xmp(_ attributes: String) -> [UInt8] {
    Array(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description \(attributes)/></rdf:RDF>"
            .utf8)
}

@Suite("Files that viewers open are accepted")
struct FalseRefusalTests {
    private func box(_ type: String, _ body: [UInt8]) -> [UInt8] {
        big(UInt32(body.count + 8)) + Array(type.utf8) + body
    }

    @Test(
        "Image sequences are films, and some contain only a film",
        arguments: [
            ("msf1", "hevc", PhotoFormat.heic), ("hevc", "msf1", .heic), ("avis", "msf1", .avif),
            ("msf1", "iso8", .heif),
        ])
    func sequences(major: String, compatible: String, format: PhotoFormat) throws {
        let film = try Fixtures.bytes("faststart.mp4")
        let old = Int(film[3])
        let file = box("ftyp", Array(major.utf8) + [0, 0, 0, 0] + Array(compatible.utf8)) + film[old...]
        let read = try report(file)
        #expect(read.format == format)
        #expect(read.completeness.isWhole, "\(read.completeness)")
        #expect(read.width != nil)
        for length in [file.count - 1, file.count / 2, 100] {
            #expect(try !report(Array(file.prefix(length))).completeness.isWhole)
        }
    }

    @Test(
        "A low-overhead image file has a single box",
        arguments: [("avif", PhotoFormat.avif), ("heic", .heic), ("vvic", .heif)])
    func minimised(codec: String, format: PhotoFormat) throws {
        let file = box("ftyp", Array("mif3".utf8) + Array(codec.utf8)) + box("mini", someBytes(3_000))
        let read = try report(file)
        #expect(read.format == format)
        #expect(read.completeness.isWhole, "\(read.completeness)")
        #expect(try report(Array(file.dropLast(1))).completeness.code == "cut-short")
    }

    @Test("An image with an unknown codec is not a film", arguments: ["j2ki", "avci", "jpeg", "vvic", "none"])
    func codecs(brand: String) throws {
        let place = box("iloc", [0, 0, 0, 0, 0x44, 0, 0, 0])
        let file =
            box("ftyp", Array(brand.utf8) + [0, 0, 0, 0] + Array("mif1".utf8)) + box("meta", [0, 0, 0, 0] + place)
        let read = try report(file)
        #expect(read.format == .heif)
        #expect(read.completeness.isWhole, "\(read.completeness)")
    }

    @Test("A WebP whose XMP chunk's name ends with a zero is read")
    func zeroInChunkName() throws {
        let packet = xmp("xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmp:CreateDate='2024-01-31T12:34:56+01:00'")
        for name: [UInt8] in [Array("XMP ".utf8), Array("XMP\0".utf8)] {
            var file = try Fixtures.bytes("exif.webp")
            file += name + little(UInt32(packet.count), 4) + packet + [UInt8](repeating: 0, count: packet.count % 2)
            file.replaceSubrange(4..<8, with: little(UInt32(file.count - 8), 4))
            let read = try report(file)
            #expect(read.completeness.isWhole, "\(read.completeness)")
            #expect(read.dates.contains { $0.provenance == .xmp })
        }
    }

    @Test("A motion photo in HEIF declares its film")
    func motionPhotoInHEIF() throws {
        let xmp = xmp("xmlns:GCamera='http://ns.google.com/photos/1.0/camera/' GCamera:MotionPhoto='1'")
        let places = box("iloc", [0, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 0, 0, 1] + big(8) + big(UInt32(xmp.count)))
        let entry = box("infe", [2, 0, 0, 0, 0, 1, 0, 0] + Array("mime".utf8) + [0])
        let meta = box("meta", [0, 0, 0, 0] + box("iinf", [0, 0, 0, 0, 0, 1] + entry) + places)
        func file(_ brand: String) -> [UInt8] {
            // The packet is in the box after `ftyp`, which is as long as both headers.
            let type = box("ftyp", Array(brand.utf8) + [0, 0, 0, 0])
            var meta = meta
            let place = meta.count - 8
            meta.replaceSubrange(place..<(place + 4), with: big(UInt32(type.count + meta.count + 8)))
            return type + meta + box("mdat", xmp)
        }
        #expect(try report(file("heic")).completeness.code == "lacking")
        #expect(try report(file("heic") + box("mpvd", someBytes(100))).completeness.isWhole)
    }
}

@Suite("Ranges of pixels")
struct PixelRangeTests {
    private func ranges(_ bytes: [UInt8]) throws -> [PixelRange] {
        var source = MemoryByteSource(bytes)
        return try PhotoReader.pixelRanges(of: &source)
    }

    @Test(
        "Fixtures have the ranges of their format",
        arguments: [
            "plain.jpg", "progressive.jpg", "motion.jpg", "multi-picture.jpg", "rocket.jpg", "plain.png",
            "animated.gif",
            "lossless.webp", "exif.heic", "exif.avif", "film.mp4", "faststart.mp4", "exif.tiff",
        ])
    func fixtures(name: String) throws {
        let bytes = try Fixtures.bytes(name)
        let found = try ranges(bytes)
        let covered = found.reduce(0) { $0 + $1.bytes.count }
        #expect(found.allSatisfy { $0.bytes.upperBound <= UInt64(bytes.count) })
        // A large part of such small pictures is headers.
        #expect(covered > bytes.count / 6, "\(covered) of \(bytes.count)")
        // A whole file has no zeros there.
        for range in found where range.rule == .neverZeros {
            let part = bytes[Int(range.bytes.lowerBound)..<Int(range.bytes.upperBound)]
            var (longest, run) = (0, 0)
            for byte in part {
                run = byte == 0 ? run + 1 : 0
                longest = max(longest, run)
            }
            #expect(longest < 16, "\(longest)")
        }
        for range in found where range.rule == .checked {
            var source = MemoryByteSource(bytes)
            #expect(try PhotoReader.isSound(range, of: &source))
            var broken = bytes
            broken[Int(range.bytes.lowerBound) + 5] ^= 1
            source = MemoryByteSource(broken)
            #expect(try !PhotoReader.isSound(range, of: &source))
        }
    }

    @Test("The number of ranges is limited")
    func bound() throws {
        let chunk: [UInt8] = big(0) + Array("IDAT".utf8) + [0, 0, 0, 0]
        let plain = try Fixtures.bytes("plain.png")
        let many = plain[..<33] + Array(repeating: chunk, count: 100_000).joined() + plain[33...]
        #expect(try ranges(Array(many)).count == 65_536)
    }
}
