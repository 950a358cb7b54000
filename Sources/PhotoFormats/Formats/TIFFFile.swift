/// The findings about a TIFF structure: TIFF itself and most RAW formats.
private struct TIFFSurvey {
    /// The end of the farthest directory, value or picture data.
    var farthest: UInt64 = 0
    /// Its name for people.
    var what = "header"
    var directories = 0
    var hasPicture = false
    var hasMosaic = false
    var isDNG = false
    var largest: (width: UInt32, height: UInt32)?
    /// The strips and tiles that may still be followed; more than any file has, to bound the time.
    var partsLeft: UInt64 = 262_144
    /// The end of the farthest strip, tile or sensor data; nil if none was found.
    var pixelEnd: UInt64?
    /// Why the findings do not show the file's end.
    var lack: String?
    /// A pointer to a next directory that leads beyond the end of the file.
    var nextBeyondEnd: UInt64?

    mutating func lacks(_ what: String) { lack = lack ?? what }

    mutating func reachPixels(_ offset: UInt64, _ count: UInt64, _ what: @autoclosure () -> String) {
        reach(offset, count, what())
        let (end, overflow) = offset.addingReportingOverflow(count)
        pixelEnd = max(pixelEnd ?? 0, overflow ? .max : end)
    }

    mutating func reach(_ offset: UInt64, _ count: UInt64, _ what: @autoclosure () -> String) {
        let (end, overflow) = offset.addingReportingOverflow(count)
        let reached = overflow ? UInt64.max : end
        if reached > farthest {
            farthest = reached
            self.what = what()
        }
    }
}

extension SourceReader where Source: ~Copyable {
    /// Reads a TIFF-based file. `ending` is its extension in lower case, which decides between TIFF and a maker's RAW
    /// format if the header does not.
    mutating func readTIFF(
        _ container: Container, ending: [UInt8], into report: inout PhotoReport
    ) throws(WalkStop) -> Completeness {
        report.format = .tiff
        guard let block = try tiffBlock(at: 0, length: size) else {
            return .cutShort(reason: "TIFF is cut short in its header: \(byteCount(size))")
        }
        guard block.firstDirectory != 0 else {
            return .cutShort(reason: "TIFF has no directory yet: writers put it in at the end")
        }
        var survey = TIFFSurvey()
        try surveyDirectories(of: block, container, &survey, into: &report)
        report.format = Self.format(container, make: report.cameraMake ?? "", ending: ending, survey)
        if let largest = survey.largest { (report.width, report.height) = largest }
        let name = report.format?.name ?? "TIFF"
        guard survey.farthest <= size else {
            return .cutShort(
                reason: "\(name) is cut short: its \(survey.what) ends at byte \(grouped(survey.farthest)), "
                    + "the file at \(grouped(size))")
        }
        let isRAW = report.format?.family == .raw
        guard survey.directories > 0, survey.hasPicture || isRAW else {
            return .malformed(reason: "\(name) has no picture in its \(survey.directories) directories")
        }
        if let next = survey.nextBeyondEnd {
            let words =
                "its directory \(survey.directories + 1) would begin at byte \(grouped(next)), the file ends at "
                + grouped(size)
            // Bytes that nothing else points to are the beginning of what the directory would describe; a pointer far
            // beyond them is invalid.
            if size - survey.farthest > 1, next / 64 <= size {
                return .cutShort(reason: "\(name) is cut short: \(words)")
            }
            survey.lacks(words)
        }
        if isRAW {
            if survey.pixelEnd == nil { survey.lacks("no data of a sensor were found in it") }
            if survey.farthest < size / 2 {
                survey.lacks(
                    "all it points to lies before byte \(grouped(survey.farthest)) of \(grouped(size)), which is far before "
                        + "its end")
            }
        }
        if let lack = survey.lack { return .lacking(reason: "\(name) has no end marker, and \(lack)") }
        // Pages can be added at any time, and a RAW format's private data may follow all known data.
        return .weak(
            reason: "\(name) has no end marker; all it points to lies before byte \(grouped(survey.farthest)) of "
                + grouped(size))
    }

    /// Follows the chain of directories and their sub-directories, up to a limit.
    private mutating func surveyDirectories(
        of block: TIFFBlock, _ container: Container, _ survey: inout TIFFSurvey, into report: inout PhotoReport
    ) throws(WalkStop) {
        let pointer: UInt64 = block.isBig ? 8 : 4
        var waiting: [(offset: UInt64, isPage: Bool)] = [(block.firstDirectory, true)]
        var seen: Set<UInt64> = []
        while let (offset, isPage) = waiting.popLast() {
            guard seen.insert(offset).inserted else { continue }
            guard survey.directories < 128 else { return }
            let what = "directory \(survey.directories + 1)"
            if isPage, survey.directories > 0, try !mayBeDirectory(of: block, at: offset) {
                if block.place(offset, count: 2) == nil {
                    survey.nextBeyondEnd = offset
                } else {
                    survey.lacks("there is no directory at byte \(grouped(offset)), where a next one is said to be")
                }
                continue
            }
            guard let directory = try directory(of: block, at: offset) else {
                survey.reach(offset, 2, what)
                // It begins inside the file but cannot be read: it continues beyond the end, or is not a directory.
                if let count = try unsigned(at: offset, width: block.isBig ? 8 : 2, littleEndian: block.littleEndian) {
                    let (entries, overflow) = count.multipliedReportingOverflow(by: block.isBig ? 20 : 12)
                    let around: UInt64 = (block.isBig ? 8 : 2) + (isPage ? pointer : 0)
                    survey.reach(offset, overflow || entries > size ? .max : around + entries, what)
                }
                continue
            }
            survey.directories += 1
            survey.reach(0, directory.end + (isPage ? pointer : 0), what)
            if !directory.isClosed { survey.lacks("its last directory lacks the pointer to a next one") }
            if survey.directories == 1 {
                try readExif(main: directory, of: block, into: &report)
                if let packet = directory.entry(0x02BC),
                    let place = block.place(packet.valueOffset, count: packet.byteCount)
                {
                    report.record(try xmpPacket(at: place, length: packet.byteCount))
                }
                try readIPTC(of: directory, in: block, into: &report)
                if container == .rw2 { try readPreviewExif(of: directory, in: block, into: &report) }
            }
            try note(directory, of: block, container, &survey)
            if directory.next != 0 { waiting.append((directory.next, isPage)) }
            for tag: UInt16 in [0x014A, 0x8769, 0x8825] {
                guard let entry = directory.entry(tag) else { continue }
                for index in 0..<min(entry.count, 32) {
                    if let pointer = try number(entry, index, in: block), pointer != 0 {
                        waiting.append((pointer, false))
                    }
                }
            }
        }
    }

    /// Adds the EXIF of Panasonic's preview, which has fields that the RAW's own directories lack.
    private mutating func readPreviewExif(
        of directory: TIFFDirectory, in block: TIFFBlock, into report: inout PhotoReport
    ) throws(WalkStop) {
        // A JPEG whose first segment is EXIF.
        guard let preview = directory.entry(0x002E),
            let place = block.place(preview.valueOffset, count: preview.byteCount), preview.byteCount > 12,
            try bytes(at: place + 2, count: 2) == [0xFF, 0xE1], let length = try unsigned(at: place + 4, width: 2),
            length > 8, try bytes(at: place + 6, count: 6).begins(with: "Exif\0\0")
        else { return }
        try readExif(at: place + 12, length: length - 8, into: &report)
    }

    /// Adds the IPTC of a directory, which stands alone (often as numbers of 4 bytes) or within image resources.
    private mutating func readIPTC(
        of directory: TIFFDirectory, in block: TIFFBlock, into report: inout PhotoReport
    ) throws(WalkStop) {
        var resources = ImageResources([])
        for tag: UInt16 in [0x8649, 0x83BB] {
            guard let entry = directory.entry(tag), let place = block.place(entry.valueOffset, count: entry.byteCount)
            else { continue }
            let content = try metadataBytes(at: place, count: entry.byteCount)
            if tag == 0x8649 {
                resources = ImageResources(content)
                report.record(resources)
            } else {
                report.record(content, digest: resources.digest)
            }
        }
    }

    /// Notes the ends of one directory's values and picture data.
    private mutating func note(
        _ directory: TIFFDirectory, of block: TIFFBlock, _ container: Container, _ survey: inout TIFFSurvey
    ) throws(WalkStop) {
        for entry in directory.entries where entry.byteCount > (block.isBig ? 8 : 4) {
            survey.reach(entry.valueOffset, entry.byteCount, "tag 0x\(String(entry.tag, radix: 16))")
        }
        if directory.entry(0xC612) != nil { survey.isDNG = true }
        if let kind = directory.entry(0x0106), try number(kind, in: block) == 32_803 { survey.hasMosaic = true }
        // Strips, tiles, and the embedded JPEG of older directories: tags of places and lengths.
        let pairs: [(UInt16, UInt16, String)] = [
            (0x0111, 0x0117, "strip"), (0x0144, 0x0145, "tile"), (0x0201, 0x0202, "preview"),
        ]
        for (places, lengths, what) in pairs {
            let isPreview = places == 0x0201
            guard let offsets = directory.entry(places) else { continue }
            guard let counts = directory.entry(lengths), isPreview || counts.count >= offsets.count else {
                // Panasonic's newer cameras record the start of sensor data, but not their length.
                if !isPreview {
                    survey.hasPicture = true
                    survey.lacks("nothing says how long its \(what)s are")
                }
                continue
            }
            survey.hasPicture = true
            let count = min(offsets.count, counts.count)
            let followed = min(count, survey.partsLeft)
            if followed < count { survey.lacks("it has more strips and tiles than were followed") }
            survey.partsLeft -= followed
            // One list after the other: alternating reads would move the window back and forth.
            let starts = try numbers(offsets, followed, in: block)
            let sizes = try numbers(counts, followed, in: block)
            for (index, (start, size)) in zip(starts, sizes).enumerated() {
                // Panasonic writes all ones for "see the other tag".
                if container == .rw2, start == 0xFFFF_FFFF { continue }
                if isPreview {
                    survey.reach(start, size, what)
                } else if container == .rw2 {
                    noteSensorData(from: start, size, &survey)
                } else {
                    survey.reachPixels(start, size, "\(what) \(index + 1)")
                    // Old scanners wrote this; a tile without bytes and place is empty.
                    if size == 0, start != 0 { survey.lacks("its \(what) \(index + 1) has no length") }
                }
                try notePixels(from: start, size, of: directory, isJPEG: isPreview, in: block)
            }
        }
        if container == .rw2, let start = try value(0x0118, of: directory, in: block) {
            noteSensorData(from: UInt64(start), UInt64(try value(0x0117, of: directory, in: block) ?? 0), &survey)
        }
        try noteSize(directory, of: block, container, &survey)
    }

    /// Notes the end of Panasonic's sensor data. Some cameras record the length before compression, some none, so an
    /// end beyond the file's does not prove that data is missing.
    private func noteSensorData(from start: UInt64, _ length: UInt64, _ survey: inout TIFFSurvey) {
        let (end, overflow) = start.addingReportingOverflow(length)
        if length > 0, !overflow, end <= size {
            survey.reachPixels(start, length, "sensor data")
            return
        }
        survey.reachPixels(start, 1, "sensor data")
        survey.lacks(
            length == 0
                ? "nothing says how long its sensor data are"
                : "its sensor data would end at byte \(grouped(overflow ? .max : end)), the file ends at \(grouped(size))"
        )
    }

    /// Notes the meaning of zeros in a strip, tile or preview, by its compression. Deflate encodes uniform pictures as
    /// runs of zeros, and makers' own codes are unknown.
    private mutating func notePixels(
        from start: UInt64, _ length: UInt64, of directory: TIFFDirectory, isJPEG: Bool, in block: TIFFBlock
    ) throws(WalkStop) {
        guard pixels != nil, start < size else { return }
        switch isJPEG ? 7 : try value(0x0103, of: directory, in: block) {
        case 4, 5, 32_773: pixels?.note(start, start + min(length, size - start), .neverZeros)
        case 6, 7, 34_892:
            // Its tables are in the strip, unless the directory has them for all.
            if directory.entry(0x015B) == nil { try noteJPEG(at: start) }
        default: return
        }
    }

    /// Notes the size of a directory's picture, if it is the largest so far and not a preview.
    private mutating func noteSize(
        _ directory: TIFFDirectory, of block: TIFFBlock, _ container: Container, _ survey: inout TIFFSurvey
    ) throws(WalkStop) {
        if container == .rw2, survey.largest == nil {
            // Panasonic records the picture's borders on the sensor: top, left, bottom, right.
            guard let top = try value(4, of: directory, in: block), let left = try value(5, of: directory, in: block),
                let bottom = try value(6, of: directory, in: block), bottom > top,
                let right = try value(7, of: directory, in: block), right > left
            else { return }
            survey.largest = (right - left, bottom - top)
            survey.hasPicture = true
        }
        // Size in the main directory, or EXIF's: in some RAW formats the former is a preview's.
        for (across, down) in [(0x0100, 0x0101), (0xA002, 0xA003)] as [(UInt16, UInt16)] {
            guard let width = try value(across, of: directory, in: block),
                let height = try value(down, of: directory, in: block)
            else { continue }
            let isReduced = (try value(0x00FE, of: directory, in: block) ?? 0) & 1 == 1
            guard !isReduced || survey.largest == nil else { continue }
            let area = survey.largest.map { UInt64($0.width) * UInt64($0.height) } ?? 0
            if UInt64(width) * UInt64(height) > area { survey.largest = (width, height) }
        }
    }

    /// The first element of the entry `tag`, if it fits.
    private mutating func value(
        _ tag: UInt16, of directory: TIFFDirectory, in block: TIFFBlock
    ) throws(WalkStop) -> UInt32? {
        guard let entry = directory.entry(tag) else { return nil }
        return try number(entry, in: block).flatMap { UInt32(exactly: $0) }
    }

    /// Up to `count` elements of an entry, as far as they can be read.
    private mutating func numbers(
        _ entry: TIFFEntry, _ count: UInt64, in block: TIFFBlock
    ) throws(WalkStop) -> [UInt64] {
        var values: [UInt64] = []
        for index in 0..<count {
            guard let value = try number(entry, index, in: block) else { break }
            values.append(value)
        }
        return values
    }

    /// The format: DNG by its tag, makers' formats by the maker's name and a sensor mosaic or the extension.
    private static func format(
        _ container: Container, make: String, ending: [UInt8], _ survey: TIFFSurvey
    ) -> PhotoFormat {
        switch container {
        case .cr2: return .cr2
        case .orf: return .orf
        case .rw2: return .rw2
        default: break
        }
        if survey.isDNG { return .dng }
        let makers: [(String, PhotoFormat)] = [
            ("NIKON", .nef), ("SONY", .arw), ("PENTAX", .pef), ("RICOH", .pef), ("SAMSUNG", .srw), ("Canon", .cr2),
        ]
        let maker = makers.first { make.utf8.starts(with: $0.0.utf8) }?.1
        if let maker, survey.hasMosaic || maker.agrees(withExtension: ending) { return maker }
        return .tiff
    }
}
