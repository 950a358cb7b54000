import FileValues

/// Reads a film's `moov` box: ISO/IEC 14496-12, 8.2 and 8.3; QuickTime File Format, "Metadata".
extension SourceReader where Source: ~Copyable {
    /// Adds date, size, orientation, camera and content identifier to `report`; throws if media data is beyond the end.
    mutating func readFilm(movie: Box, into report: inout PhotoReport) throws(WalkStop) {
        for box in try boxes(from: movie.body, to: movie.end).prefix(256) {
            switch box.type {
            case "mvhd": try readMovieHeader(box, into: &report)
            case "trak": try readTrack(box, into: &report)
            case "meta": try readKeys(box, into: &report)
            case "udta":
                try readUserData(box, into: &report)
                if let meta = try child("meta", of: box) { try readKeys(meta, into: &report) }
            default: break
            }
        }
    }

    /// Reads the creation time, in seconds from 1904 in UTC; 0 means that the clock was not set.
    mutating func readMovieHeader(_ box: Box, into report: inout PhotoReport) throws(WalkStop) {
        guard let version = try unsigned(at: box.body, width: 1),
            let seconds = try unsigned(at: box.body + 4, width: version == 1 ? 8 : 4), seconds <= 1 << 40
        else { return }
        let reading: RecordedDate.Reading
        let from1904to1970: Int64 = 2_082_844_800
        let instant = FileTime(seconds: Int64(seconds) - from1904to1970, nanoseconds: 0)
        let local = CivilDateTime(instant)
        reading = seconds == 0 ? .unreadable(DateText.Refusal.zero.words) : .instant(instant)
        report.record(
            RecordedDate(
                provenance: .videoHeader, text: local.map { "\($0) UTC" } ?? "\(seconds) s after 1904", reading: reading
            ))
    }

    private mutating func readTrack(_ track: Box, into report: inout PhotoReport) throws(WalkStop) {
        let children = try boxes(from: track.body, to: track.end)
        if let header = children.first(where: { $0.type == "tkhd" }) { try readTrackHeader(header, into: &report) }
        guard let media = children.first(where: { $0.type == "mdia" }), let info = try child("minf", of: media),
            let table = try child("stbl", of: info)
        else { return }
        let tables = try boxes(from: table.body, to: table.end)
        if pixels != nil { try noteChunks(of: tables) }
        for box in tables where box.type == "stco" || box.type == "co64" {
            let width = box.type == "stco" ? 4 : 8
            guard let count = try unsigned(at: box.body + 4, width: 4), count > 0 else { continue }
            // Chunks are in the order of the film, so in a file written sequentially the last one is the farthest.
            let last = box.body + 8 + (count - 1) * UInt64(width)
            guard last < box.end, let offset = try unsigned(at: last, width: width) else { continue }
            guard offset < size else {
                throw .found(
                    .cutShort(
                        reason: "\(report.format?.name ?? "film") is cut short: media data lies at byte "
                            + "\(grouped(offset)), the file ends at \(grouped(size))"))
            }
        }
    }

    /// Notes the ranges of a track's samples, if its codec produces no runs of zeros: uncompressed sound and tracks of
    /// programs may. ISO/IEC 14496-12, 8.7.
    private mutating func noteChunks(of tables: [Box]) throws(WalkStop) {
        func box(_ types: FourCC...) -> Box? { tables.first { types.contains($0.type) } }
        let codecs: [FourCC] = [
            "avc1", "avc3", "hvc1", "hev1", "dvh1", "dvhe", "vvc1", "vvi1", "av01",
        ]
        guard let description = box("stsd"), let code = try unsigned(at: description.body + 12, width: 4),
            codecs.contains(FourCC(code: UInt32(code))), let sizes = box("stsz"), let runs = box("stsc"),
            let places = box("stco", "co64"), let common = try unsigned(at: sizes.body + 4, width: 4),
            let samples = try unsigned(at: sizes.body + 8, width: 4)
        else { return }
        let starts = try column(of: places, from: 8, step: places.type == "stco" ? 4 : 8)
        // Each run: its first chunk, samples in each chunk, and the index of their description.
        let firsts = try column(of: runs, from: 8, step: 12)
        let counts = try column(of: runs, from: 12, step: 12)
        var (run, sample): (Int, UInt64) = (0, 0)
        for (index, start) in starts.enumerated() where start < size {
            while run + 1 < firsts.count, firsts[run + 1] <= UInt64(index) + 1 { run += 1 }
            guard run < counts.count else { return }
            var length: UInt64 = 0
            if common > 0 { length = min(common * counts[run], size) }
            for _ in 0..<(common > 0 ? 0 : min(counts[run], samples - sample)) {
                guard let one = try unsigned(at: sizes.body + 12 + 4 * sample, width: 4) else { return }
                length += one
                sample += 1
            }
            pixels?.note(start, start + min(length, size - start), .neverZeros)
        }
    }

    /// The first number of each record of a table, whose count precedes them; of 8 bytes if `step` is 8, otherwise of
    /// 4.
    private mutating func column(of box: Box, from offset: UInt64, step: UInt64) throws(WalkStop) -> [UInt64] {
        var values: [UInt64] = []
        let count = try unsigned(at: box.body + 4, width: 4) ?? 0
        for index in 0..<min(count, UInt64(PixelMap.most)) {
            let place = box.body + offset + index * step
            guard place + 4 <= box.end, let value = try unsigned(at: place, width: step == 8 ? 8 : 4) else { break }
            values.append(value)
        }
        return values
    }

    /// Reads width and height, numbers of 16.16 bits, of the first track that has them; sound has none.
    private mutating func readTrackHeader(_ box: Box, into report: inout PhotoReport) throws(WalkStop) {
        guard report.width == nil, let version = try unsigned(at: box.body, width: 1) else { return }
        let matrix = box.body + (version == 1 ? 52 : 40)
        guard matrix + 44 <= box.end, let width = try unsigned(at: matrix + 36, width: 4),
            let height = try unsigned(at: matrix + 40, width: 4), width >> 16 > 0, height >> 16 > 0,
            let a = try unsigned(at: matrix, width: 4), let b = try unsigned(at: matrix + 4, width: 4)
        else { return }
        (report.width, report.height) = (UInt32(width >> 16), UInt32(height >> 16))
        let one: UInt64 = 0x0001_0000
        let minusOne: UInt64 = 0xFFFF_0000
        switch (a, b) {
        case (one, 0): report.orientation = 1
        case (0, one): report.orientation = 6
        case (minusOne, 0): report.orientation = 3
        case (0, minusOne): report.orientation = 8
        default: break
        }
    }

    /// Reads QuickTime's keys: `keys` lists their names, `ilst` has their values by number, from 1.
    private mutating func readKeys(_ meta: Box, into report: inout PhotoReport) throws(WalkStop) {
        // In MP4 `meta` has a version before its children, in QuickTime it has none.
        let skip: UInt64 = try unsigned(at: meta.body, width: 4) == 0 ? 4 : 0
        guard let list = try child("ilst", of: meta, skipping: skip) else { return }
        guard let keys = try child("keys", of: meta, skipping: skip) else {
            return try readItems(of: list, into: &report)
        }
        var names: [[UInt8]] = []
        for key in try boxes(from: keys.body + min(8, keys.end - keys.body), to: keys.end).prefix(1_024) {
            names.append(try bytes(at: key.body, count: Int(min(key.end - key.body, 64))))
        }
        // The items' types are numbers, not text, so the check of boxes does not apply.
        var values: [(name: [UInt8], value: [UInt8])] = []
        var position = list.body
        for _ in 0..<1_024 where list.end - position >= 8 {
            guard let length = try unsigned(at: position, width: 4), let key = try unsigned(at: position + 4, width: 4),
                length >= 8, length <= list.end - position
            else { break }
            if key >= 1, key <= UInt64(names.count), length >= 24 {
                values.append(
                    (names[Int(key - 1)], try bytes(at: position + 24, count: Int(min(length - 24, 8_000)))))
            }
            position += length
        }
        // The position first: telephones put its accuracy before it.
        let place = Array("com.apple.quicktime.location.ISO6709".utf8)
        for isPlace in [true, false] {
            for item in values where (item.name == place) == isPlace {
                record(item.value, of: item.name, into: &report)
            }
        }
    }

    private func record(_ value: [UInt8], of key: [UInt8], into report: inout PhotoReport) {
        guard key.begins(with: "com.apple.quicktime.") else { return }
        let name = key.dropFirst(20)
        if name.equals("creationdate") {
            report.record(RecordedDate(provenance: .videoCreation, bytes: value))
        } else if name.equals("content.identifier") {
            report.contentIdentifier = report.contentIdentifier ?? shownText(value)
        } else if name.equals("make") {
            report.cameraMake = report.cameraMake ?? shownText(value)
        } else if name.equals("model") {
            report.cameraModel = report.cameraModel ?? shownText(value)
        } else {
            report.recordFilm(value, of: String(decoding: name, as: UTF8.self))
        }
    }

    /// Reads Canon's box: CMT1, CMT2 and CMT4 are EXIF's main, EXIF and GPS directories, each a TIFF block.
    mutating func readCR3(movie: Box, into report: inout PhotoReport) throws(WalkStop) {
        let canon: [UInt8] = [
            0x85, 0xC0, 0xB6, 0x87, 0x82, 0x0F, 0x11, 0xE0, 0x81, 0x11, 0xF4, 0xCE, 0x46, 0x2B, 0x6A, 0x48,
        ]
        for box in try boxes(from: movie.body, to: movie.end).prefix(256) {
            if box.type == "trak" {
                try readTrack(box, into: &report)
                continue
            }
            guard box.type == "uuid", try bytes(at: box.body, count: 16) == canon else { continue }
            for part in try boxes(from: box.body + 16, to: box.end) {
                let length = part.end - part.body
                guard ["CMT1", "CMT2", "CMT4"].contains(part.type),
                    let block = try tiffBlock(at: part.body, length: length),
                    let directory = try directory(of: block, at: block.firstDirectory)
                else { continue }
                switch part.type {
                case "CMT1":
                    try readExif(main: directory, of: block, into: &report)
                    if let width = directory.entry(0x0100), let height = directory.entry(0x0101) {
                        report.width = try number(width, in: block).flatMap { UInt32(exactly: $0) }
                        report.height = try number(height, in: block).flatMap { UInt32(exactly: $0) }
                    }
                case "CMT2": try readExifDirectory(directory, of: block, into: &report)
                default: try readGPS(directory, of: block, into: &report)
                }
            }
        }
    }
}
