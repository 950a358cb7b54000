import FileValues
import Foundation
import PhotoFormats
import TestSupport
import Testing

@Suite("The reader with real files")
struct PhotoReaderTests {
    @Test("Format, size, orientation, camera, identifier and dates agree with exiftool", arguments: Fixtures.names)
    func agreesWithExiftool(name: String) throws {
        let said = try #require(try Fixtures.exiftool()[name])
        try expect(try report(try Fixtures.bytes(name), name: name), toAgreeWith: said, name)
    }

    /// With the installed exiftool; `PHOTOINBOX_PHOTOS` names a directory of more pictures.
    @Test(
        "The same with the installed exiftool, also for other pictures",
        .enabled(if: Exiftool.isInstalled, "skipped: needs libimage-exiftool-perl"))
    func agreesWithInstalledExiftool() async throws {
        var paths = Fixtures.names.map(Fixtures.path)
        if let more = ProcessInfo.processInfo.environment["PHOTOINBOX_PHOTOS"] {
            paths += try FileManager.default.contentsOfDirectory(atPath: more).sorted().map { "\(more)/\($0)" }
        }
        let asked = paths
        let answer = try await aside { try Exiftool.answer(of: asked) }
        let answers = try Exiftool.rows(in: answer)
        #expect(answers.count == paths.count)
        var compared = 0
        for said in answers {
            let path = try #require(said["SourceFile"] as? String)
            // Texts and other files without a picture.
            guard said.keys.contains(where: { $0.hasSuffix(":ImageWidth") }) else { continue }
            let name = String(path.split(separator: "/").last ?? "")
            let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
            try expect(try report(bytes, name: name), toAgreeWith: said, name)
            compared += 1
        }
        #expect(compared >= Fixtures.names.count)
    }

    private func expect(_ report: PhotoReport, toAgreeWith said: [String: Any], _ name: String) throws {
        func text(_ keys: String...) -> String? {
            keys.compactMap { said[$0] as? String }.first
        }
        func number(_ suffix: String) -> Int? {
            said.filter { $0.key.hasSuffix(":\(suffix)") }.values.compactMap { $0 as? Int }.first
        }
        let type = try #require(text("File:FileType")).split(separator: " ").last.map { $0.lowercased() }
        #expect(report.format?.rawValue == type, "\(name)")
        if name != "preview.raf" {
            // For a RAF exiftool reports the size of the JPEG inside.
            #expect(report.width.map { Int($0) } == number("ImageWidth"))
            #expect(report.height.map { Int($0) } == number("ImageHeight"))
        }
        let isBoxes = ["heic", "avif", "mp4", "mov"].contains(report.format?.rawValue)
        if !isBoxes { #expect(report.orientation.map { Int($0) } == number("Orientation")) }
        #expect(report.cameraMake == text("IFD0:Make", "Keys:Make"))
        #expect(report.cameraModel == text("IFD0:Model", "Keys:Model"))
        #expect(report.contentIdentifier == text("Apple:MediaGroupUUID", "Keys:ContentIdentifier"))

        func dates(_ provenance: DateProvenance) -> [RecordedDate] {
            report.dates.filter { $0.provenance == provenance }
        }
        func same(_ provenance: DateProvenance, _ key: String) {
            #expect(dates(provenance).first.map { digits($0.text) } == text(key).map(digits))
        }
        same(.exifOriginal, "ExifIFD:DateTimeOriginal")
        same(.exifDigitized, "ExifIFD:CreateDate")
        same(.exifModified, "IFD0:ModifyDate")
        same(.pngText, "PNG:CreationTime")
        same(.pngTime, "PNG:ModifyDate")
        same(.videoCreation, "Keys:CreationDate")
        #expect(
            dates(.xmp).first.map { digits($0.text) }
                == (text("XMP-photoshop:DateCreated", "XMP-xmp:CreateDate")).map(digits))
        let gps = text("GPS:GPSDateStamp").map { digits("\($0) \(text("GPS:GPSTimeStamp") ?? "")") }
        #expect(dates(.gps).first.map { digits($0.text) } == gps)
        if let header = text("QuickTime:CreateDate"), !header.hasPrefix("0000") {
            same(.videoHeader, "QuickTime:CreateDate")
        }
        if let original = dates(.exifOriginal).first, let offset = text("ExifIFD:OffsetTimeOriginal") {
            guard case .local(let local, let read, true) = original.reading else {
                Issue.record("\(name): \(original)")
                return
            }
            #expect(read.map(offsetText) == offset)
            #expect(local.nanosecond == (said["ExifIFD:SubSecTimeOriginal"] as? Int).map { $0 * 10_000_000 } ?? 0)
        }
    }

    private func digits(_ text: String) -> String { text.filter { $0.isNumber } }

    @Test(
        "Every fixture is whole, except TIFF and RAW, whose structure does not prove the end", arguments: Fixtures.names
    )
    func completeness(name: String) throws {
        let report = try report(try Fixtures.bytes(name), name: name)
        let format = try #require(report.format)
        let isOpen = format.family == .raw || format == .tiff
        #expect(report.completeness.code == (isOpen ? "weak" : "whole"), "\(report.completeness)")
        #expect(report.format?.agrees(withExtension: BytePath(name).lowercasedExtension) == true)
    }

    @Test("HEIF and films have their own orientation")
    func orientation() throws {
        // avifenc rotates the picture by a property, heif-enc leaves it to EXIF, which viewers of HEIF ignore.
        #expect(try report(try Fixtures.bytes("exif.avif")).orientation == 6)
        #expect(try report(try Fixtures.bytes("exif.heic")).orientation == 1)
        #expect(try report(try Fixtures.bytes("live.mov")).orientation == 6)
    }

    @Test("The size of a RAF is that of its sensor data")
    func sizeOfRAF() throws {
        let report = try report(try Fixtures.bytes("preview.raf"))
        #expect(report.width == 3_664)
        #expect(report.height == 2_432)
    }

    @Test("Data after a picture is recorded")
    func trailers() throws {
        #expect(try report(try Fixtures.bytes("multi-picture.jpg")).trailers.map(\.kind) == [.picture])
        #expect(try report(try Fixtures.bytes("motion.jpg")).trailers.map(\.kind) == [.film])
        #expect(try report(try Fixtures.bytes("samsung.jpg")).trailers.map(\.kind) == [.samsung])
        let plain = try Fixtures.bytes("plain.jpg")
        let odd = try report(plain + Array("anything at all that no one knows".utf8))
        #expect(odd.completeness.code == "lacking")
        #expect(odd.trailers == [Trailer(kind: .unknown, offset: UInt64(plain.count), length: 33)])
        // Zeros are padding, or the start of more data.
        #expect(try report(plain + [0, 0, 0]).completeness.code == "weak")
    }

    @Test(
        "Unknown data after a picture does not prove the end",
        arguments: ["plain.png", "animated.gif", "plain.webp", "plain.jpg", "exif.heic"])
    func unknownTrailers(name: String) throws {
        let whole = try Fixtures.bytes(name)
        let trailer = someBytes(50_000)
        for length in [2, 11, 12, 13, 1_000, 50_000] where length > 8 || name != "exif.heic" {
            #expect(try report(whole + trailer.prefix(length)).completeness.code == "lacking", "\(length)")
        }
        #expect(try report(whole + [UInt8](repeating: 0, count: 5_000)).completeness.code == "weak")
    }

    @Test("Declared parts that are missing are reported as lacking")
    func missingParts() throws {
        // An editor that drops the further picture often keeps its index, so the file may be complete.
        let pictures = try Fixtures.bytes("multi-picture.jpg")
        let plain = try Fixtures.bytes("plain.jpg")
        #expect(try report(Array(pictures.dropLast(plain.count))).completeness.code == "lacking")
        let motion = try Fixtures.bytes("motion.jpg")
        let film = try Fixtures.bytes("faststart.mp4")
        #expect(try report(Array(motion.dropLast(film.count))).completeness.code == "lacking")
        // The second picture itself is cut.
        #expect(try report(Array(pictures.dropLast(5))).completeness.code == "cut-short")
        // An index that an editor kept points into the picture that it made longer.
        let place = try #require(pictures.indices.first { pictures[$0...].starts(with: Array("MPF\0".utf8)) })
        var stale = Array(pictures.dropLast(plain.count + 2))
        stale += [UInt8](repeating: 0x55, count: 300) + [0xFF, 0xD9]
        #expect(place < stale.count)
        #expect(try report(stale).completeness.code == "lacking")
    }

    @Test(
        "Other files get a reason",
        arguments: [
            ("", "empty"), ("hello, this is no photo at all\n", "not-a-photo"), ("%PDF-1.4 \u{1}\u{2}", "not-a-photo"),
            ("RIFF\u{4}\0\0\0WAVEfmt ", "not-a-photo"), ("GIF", "cut-short"), ("RIFF", "cut-short"),
            (String(repeating: "\0", count: 5_000), "cut-short"),
            ("\0\0\0\u{18}ftypM4A \0\0\0\0M4A mp42", "not-a-photo"),
        ])
    func others(content: String, code: String) throws {
        #expect(try report(Array(content.utf8), name: "IMG_1.jpg").completeness.code == code)
    }

    @Test("Reasons contain numbers")
    func reasons() throws {
        let whole = try Fixtures.bytes("rocket.jpg")
        let cut = try report(Array(whole.prefix(65_536)))
        #expect(cut.completeness == .cutShort(reason: "JPEG is cut short: 65,536 bytes, no end marker"))
        // Fields read before the cut are kept.
        #expect(cut.cameraModel == "Canon EOS R6")
        #expect(cut.width == 640)
    }

    @Test("A failed read is thrown")
    func failedRead() throws {
        var source = WatchedSource(try Fixtures.bytes("exif.heic"), failingRead: 1)
        #expect(throws: ByteSourceError(code: 5, description: "Input/output error")) {
            try PhotoReader.read(&source)
        }
        // The source is returned, and can be read again.
        #expect(try PhotoReader.read(&source).completeness.isWhole)
        #expect(source.reads > 1)
    }

    @Test("A file that shrinks during reading is cut short")
    func shrinkingFile() throws {
        let bytes = try Fixtures.bytes("rocket.jpg")
        var source = WatchedSource(Array(bytes.prefix(50_000)))
        source.size = UInt64(bytes.count)
        #expect(try PhotoReader.read(&source).completeness.code == "cut-short")
    }

    @Test("A long film is read by its offsets")
    func longFilm() throws {
        // Of 8 MiB of media data between the header and the end, hardly any is read.
        let film = try Fixtures.bytes("film.mp4")
        let free: [UInt8] = [0, 0x80, 0, 0] + Array("free".utf8) + [UInt8](repeating: 7, count: 8 * 1_048_576 - 8)
        let read = try report(film + free)
        #expect(read.completeness.isWhole)
        #expect(read.bytesRead < 64 * 1_024)
    }

    @Test("Markers that span two windows are found")
    func markersAcrossWindows() throws {
        // The end marker is moved byte by byte over a boundary of the window of a scan.
        let plain = try Fixtures.bytes("plain.jpg")
        for length in (262_144 - 3)...(262_144 + 3) {
            let filler = [UInt8](repeating: 0x55, count: length)
            let picture = Array(plain.dropLast(2)) + filler + [0xFF, 0xD9]
            #expect(try report(picture).completeness == .whole(evidence: "JPEG ends with its end marker"))
            #expect(try report(Array(picture.prefix(picture.count - 1))).completeness.code == "cut-short")
        }
    }
}

@Suite("Files that are not filed are named")
struct OtherKindTests {
    private static func zip(_ name: String) -> [UInt8] {
        Array("PK\u{3}\u{4}".utf8) + [UInt8](repeating: 1, count: 22) + [8, 0, 0, 0] + Array(name.utf8) + [0xF0, 1, 2]
    }

    private static func at(_ offset: Int, _ text: String) -> [UInt8] {
        [1] + [UInt8](repeating: 2, count: offset - 1) + Array(text.utf8) + [UInt8](repeating: 3, count: 600)
    }

    private static let kinds: [(bytes: [UInt8], name: String)] = [
        (Array("%PDF-1.7\n%".utf8) + [0xE2, 0xE3, 0xCF, 0xD3, 0x0A], "a PDF document"), (zip("a.bin"), "a ZIP archive"),
        (zip("[Content_Types].xml"), "a Microsoft Office document"), (zip("word/document.xml"), "a Word document"),
        (zip("mimetypeapplication/vnd.oasis.opendocument.text"), "an OpenDocument document"),
        ([0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1, 0, 0], "a Microsoft Office document"),
        ([0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0], "an ELF executable"),
        ([0x4D, 0x5A, 0x90, 0, 3], "a Windows executable"),
        (Array("MZ is a town".utf8), "text"), (Array("#!/bin/sh\n".utf8), "a script"),
        (Array(" <!DOCTYPE HTML>".utf8), "an HTML page"), (Array("<?xml version='1.0'?><svg/>".utf8), "an SVG drawing"),
        ([0x1F, 0x8B, 8, 0], "a gzip archive"), (at(257, "ustar"), "a tar archive"),
        (at(32_769, "CD001"), "an ISO 9660 disk image"), (Array("SQLite format 3\0".utf8), "a SQLite database"),
        (Array("BM".utf8) + [0x36, 0, 0x10, 0, 0, 0, 0, 0], "a BMP picture"), (Array("ID3\u{4}\0".utf8), "MP3 sound"),
        (Array("notes".utf8), "text"),
    ]

    @Test("By their content", arguments: kinds.indices)
    func kind(index: Int) throws {
        let (bytes, name) = Self.kinds[index]
        #expect(try report(bytes, name: "a.dat").completeness == .notAPhoto(reason: "it is \(name)"))
    }

    @Test("By their first bytes if they are unknown")
    func unknown() throws {
        let found = try report([0xAB, 1, 2, 3] + [UInt8](repeating: 4, count: 700)).completeness
        #expect(found == .notAPhoto(reason: "its first bytes, AB 01 02 03, are of no format that is filed"))
    }
}
