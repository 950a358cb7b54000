import FileValues

/// The numbers of the EXIF fields that are read. EXIF 2.32, from table 4 on.
private enum ExifTag {
    static let make: UInt16 = 0x010F
    static let model: UInt16 = 0x0110
    static let orientation: UInt16 = 0x0112
    static let dateTime: UInt16 = 0x0132
    static let exifDirectory: UInt16 = 0x8769
    static let gpsDirectory: UInt16 = 0x8825
    static let original: UInt16 = 0x9003
    static let digitized: UInt16 = 0x9004
    static let offset: UInt16 = 0x9010
    static let offsetOriginal: UInt16 = 0x9011
    static let offsetDigitized: UInt16 = 0x9012
    static let makerNote: UInt16 = 0x927C
    static let fraction: UInt16 = 0x9290
    static let fractionOriginal: UInt16 = 0x9291
    static let fractionDigitized: UInt16 = 0x9292
    static let gpsTime: UInt16 = 0x0007
    static let gpsDate: UInt16 = 0x001D
    /// In Apple's maker note: the common UUID of a Live Photo's picture and film.
    static let appleContentIdentifier: UInt16 = 0x0011
}

extension SourceReader where Source: ~Copyable {
    /// Adds the fields of an EXIF block at `base` to `report`; a malformed block adds nothing.
    mutating func readExif(at base: UInt64, length: UInt64, into report: inout PhotoReport) throws(WalkStop) {
        guard let block = try tiffBlock(at: base, length: length),
            let main = try directory(of: block, at: block.firstDirectory)
        else { return }
        try readExif(main: main, of: block, into: &report)
    }

    /// Adds the fields of the main directory of `block` and its sub-directories to `report`.
    mutating func readExif(
        main: TIFFDirectory, of block: TIFFBlock, into report: inout PhotoReport
    ) throws(WalkStop) {
        if report.cameraMake == nil {
            report.cameraMake = shownText(try text(main.entry(ExifTag.make), in: block))
        }
        if report.cameraModel == nil {
            report.cameraModel = shownText(try text(main.entry(ExifTag.model), in: block))
        }
        if report.orientation == nil, let entry = main.entry(ExifTag.orientation),
            let value = try number(entry, in: block), (1...8).contains(value)
        {
            report.orientation = UInt8(value)
        }
        try readMetadata(main: main, of: block, into: &report.metadata)
        var exif: TIFFDirectory?
        if let pointer = main.entry(ExifTag.exifDirectory), let offset = try number(pointer, in: block) {
            exif = try directory(of: block, at: offset)
        }
        if let exif { try readExifDirectory(exif, of: block, into: &report) }
        // TIFF/EP, and so DNG, has the date of taking in the main directory. ISO 12234-2, 5.2.
        if exif?.entry(ExifTag.original) == nil, let bytes = try text(main.entry(ExifTag.original), in: block) {
            report.record(RecordedDate(provenance: .exifOriginal, bytes: bytes))
        }
        // The last change is in the main directory, its fraction and offset in the EXIF directory.
        if let bytes = try text(main.entry(ExifTag.dateTime), in: block) {
            report.record(
                RecordedDate(
                    provenance: .exifModified, bytes: bytes,
                    fraction: try text(exif?.entry(ExifTag.fraction), in: block),
                    offset: try text(exif?.entry(ExifTag.offset), in: block)))
        }
        if let pointer = main.entry(ExifTag.gpsDirectory), let offset = try number(pointer, in: block),
            let gps = try directory(of: block, at: offset)
        {
            try readGPS(gps, of: block, into: &report)
        }
    }

    /// Adds the dates of an EXIF directory, and Apple's content identifier.
    mutating func readExifDirectory(
        _ exif: TIFFDirectory, of block: TIFFBlock, into report: inout PhotoReport
    ) throws(WalkStop) {
        for (provenance, date, fraction, offset) in [
            (DateProvenance.exifOriginal, ExifTag.original, ExifTag.fractionOriginal, ExifTag.offsetOriginal),
            (DateProvenance.exifDigitized, ExifTag.digitized, ExifTag.fractionDigitized, ExifTag.offsetDigitized),
        ] {
            guard let bytes = try text(exif.entry(date), in: block) else { continue }
            report.record(
                RecordedDate(
                    provenance: provenance, bytes: bytes, fraction: try text(exif.entry(fraction), in: block),
                    offset: try text(exif.entry(offset), in: block)))
        }
        try readMetadata(exif: exif, of: block, into: &report.metadata)
        if let note = exif.entry(ExifTag.makerNote), let place = block.place(note.valueOffset, count: note.byteCount) {
            try readAppleMakerNote(at: place, length: note.byteCount, into: &report)
            try readReconyxMakerNote(at: place, length: note.byteCount, into: &report)
        }
    }

    /// Adds the position of a GPS directory and its instant, stored in UTC as a day and three fractions.
    mutating func readGPS(
        _ gps: TIFFDirectory, of block: TIFFBlock, into report: inout PhotoReport
    ) throws(WalkStop) {
        try readPosition(gps, of: block, into: &report.metadata)
        guard let day = try text(gps.entry(ExifTag.gpsDate), in: block) else { return }
        let shown = escapeForDisplay(day.prefix(64))
        var parts: [UInt64] = []
        if let time = gps.entry(ExifTag.gpsTime) {
            for index in 0..<UInt64(3) {
                guard let part = try billionths(time, index, in: block) else { break }
                parts.append(part)
            }
        }
        guard parts.count == 3 else {
            report.record(
                RecordedDate(provenance: .gps, text: shown, reading: .unreadable("has no time of day")))
            return
        }
        do throws(DateText.Refusal) {
            let date = try DateText.parse(day).local.date
            let billion: UInt64 = 1_000_000_000
            guard parts[0] < 24 * billion, parts[1] < 60 * billion, parts[2] <= 60 * billion,
                let local = CivilDateTime(
                    date, hour: Int(parts[0] / billion), minute: Int(parts[1] / billion),
                    second: Int(parts[2] / billion), nanosecond: Int(parts[2] % billion))
            else { throw .noSuchTime }
            report.record(
                RecordedDate(provenance: .gps, text: "\(local) UTC", reading: .instant(local.instant(offset: 0))))
        } catch {
            report.record(RecordedDate(provenance: .gps, text: shown, reading: .unreadable(error.words)))
        }
    }

    /// Reads the content identifier from an Apple maker note: "Apple iOS", version, byte order, then one directory
    /// with offsets from the note's start.
    private mutating func readAppleMakerNote(
        at place: UInt64, length: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        let header = try bytes(at: place, count: 14)
        guard report.contentIdentifier == nil, header.count == 14, header.begins(with: "Apple iOS\0") else { return }
        let note = TIFFBlock(
            base: place, length: length, littleEndian: header[12] == 0x49, isBig: false, firstDirectory: 14)
        guard let directory = try directory(of: note, at: note.firstDirectory) else { return }
        report.contentIdentifier = shownText(
            try text(directory.entry(ExifTag.appleContentIdentifier), in: note))
    }

    /// Reads the date of a trail camera by Reconyx, which records none in EXIF: numbers of two bytes, the twelfth to the
    /// seventeenth of which are second, minute, hour, month, day and year.
    private mutating func readReconyxMakerNote(
        at place: UInt64, length: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        let note = try bytes(at: place, count: 34)
        guard length >= 34, note.count == 34, note.starts(with: [0x01, 0xF1]), [2, 3].contains(note[2]), note[3] == 0
        else { return }
        let numbers = stride(from: 22, to: 34, by: 2).map { Int(note[$0]) | Int(note[$0 + 1]) << 8 }
        guard let date = CivilDate(year: numbers[5], month: numbers[3], day: numbers[4]),
            let local = CivilDateTime(date, hour: numbers[2], minute: numbers[1], second: numbers[0])
        else { return }
        report.record(
            RecordedDate(
                provenance: .camera, text: "\(local)", reading: .local(local, offset: nil, hasTime: true)))
    }
}

/// Text of a file, trimmed and escaped for display; nil if empty.
func shownText(_ bytes: [UInt8]?) -> String? {
    guard let bytes else { return nil }
    let space = UInt8(ascii: " ")
    let trimmed = bytes.prefix { $0 != 0 }.drop { $0 == space }
    guard let last = trimmed.lastIndex(where: { $0 != space }) else { return nil }
    return escapeForDisplay(trimmed[...last])
}
