import FileValues

// Films that are not ISO base media files.

extension SourceReader where Source: ~Copyable {
    // MARK: - AVI

    /// Reads an AVI: RIFFs one after the other, the later ones of OpenDML's type AVIX. AVI RIFF File Reference; OpenDML
    /// AVI File Format Extensions, 1.02.
    ///
    /// A recorder that is switched off leaves the lengths of RIFF and `movi` at zero or as of its last flush, and no index;
    /// others count their own header. ffmpeg (libavformat/avidec.c), VLC and MPlayer play all of these: they follow the
    /// chunks up to the end of the file and make the index themselves. So with a wrong length the chunks decide: if the last
    /// one ends with the file, all that was recorded is there, but nothing marks its end; if not, the file is cut short, as
    /// it is if it ends long before a stated length.
    mutating func readAVI(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        var position: UInt64 = 0
        var hasFrames = false
        // What is wrong with the length of the last RIFF.
        var fault: String?
        if pixels != nil { _ = try walkAVIChunks() }
        for _ in 0..<4_096 where position + 12 <= size {
            guard try bytes(at: position, count: 4).begins(with: "RIFF"),
                try bytes(at: position + 8, count: 3).begins(with: "AVI"),
                let length = try unsigned(at: position + 4, width: 4, littleEndian: true)
            else {
                if position > 0, try isAVIChunk(at: position) {
                    fault = "AVI's RIFF ends at byte \(grouped(position)), before its last chunks"
                }
                break
            }
            let end = position + 8 + length
            // A header that is counted twice.
            guard length <= 4 || end <= size + 12 else {
                return .cutShort(
                    reason: "AVI's RIFF would end at byte \(grouped(end)), the file has \(byteCount(size))")
            }
            let isWrong = length <= 4 || end > size
            if try readAVILists(from: position + 12, to: isWrong ? max(end, size) : end, into: &report) {
                hasFrames = true
            }
            if isWrong {
                fault = length <= 4 ? "AVI states no length" : "AVI's RIFF would end at byte \(grouped(end))"
                break
            }
            position = end + length % 2
        }
        if let fault {
            let chunks = try walkAVIChunks()
            guard let end = chunks.end else {
                return .cutShort(reason: "\(fault), and the file ends within a chunk, at byte \(grouped(size))")
            }
            guard chunks.hasFrames else {
                return .cutShort(reason: "\(fault), and the file ends without a frame, at byte \(grouped(size))")
            }
            if end == size { return .lacking(reason: "\(fault); its last chunk ends with the file") }
            return .cutShort(reason: "\(fault), and what follows its last chunk, at byte \(grouped(end)), is no chunk")
        }
        guard hasFrames else { return .cutShort(reason: "AVI has no frames in its \(byteCount(size))") }
        return try judgeEnd(min(position, size), "AVI's chunks", trailers: &report.trailers)
    }

    /// Whether a chunk of a recording begins there: of a stream, an index or padding.
    private mutating func isAVIChunk(at place: UInt64) throws(WalkStop) -> Bool {
        let code = try bytes(at: place, count: 4)
        guard code.count == 4, let length = try unsigned(at: place + 4, width: 4, littleEndian: true),
            length <= size - place - 8
        else { return false }
        let kinds: [StaticString] = ["db", "dc", "wb", "tx", "pc", "sb"]
        return isDigit(code[0]) && isDigit(code[1]) && kinds.contains { code.dropFirst(2).begins(with: $0) }
            || code.begins(with: "ix") || code.begins(with: "idx1") || code.begins(with: "JUNK")
            || code.begins(with: "LIST")
    }

    /// Follows the chunks of all lists to the end of the file, whatever lengths the lists state. Returns the end of the last
    /// one, nil if that is beyond the file's, and whether there are frames. Notes the pixels on its way.
    private mutating func walkAVIChunks() throws(WalkStop) -> (end: UInt64?, hasFrames: Bool) {
        let window = usualWindow
        usualWindow = 64
        defer { usualWindow = window }
        var position: UInt64 = 0
        var hasFrames = false
        var codecs: [FourCC] = []
        var statedEnd: UInt64 = 0
        for _ in 0..<4_000_000 where position < size {
            guard size - position >= 8, let code = try unsigned(at: position, width: 4),
                let length = try unsigned(at: position + 4, width: 4, littleEndian: true)
            else { return (nil, hasFrames) }
            let type = FourCC(code: UInt32(code))
            guard type.isPlausible else {
                // No chunk has a name of zeros.
                if code == 0 { pixels?.note(position, min(statedEnd, size), .neverZeros) }
                break
            }
            let content = position + 8
            if type == "RIFF" || type == "LIST" {
                guard size - content >= 4 else { return (nil, hasFrames) }
                statedEnd = max(statedEnd, content + length)
                position = content + 4
                continue
            }
            guard length <= size - content else { return (nil, hasFrames) }
            if type == "strf" {
                codecs.append(FourCC(code: UInt32(try unsigned(at: content + 16, width: 4) ?? 0)))
            } else if try isAVIChunk(at: position), let stream = Int(type.text.prefix(2)) {
                hasFrames = hasFrames || length > 0
                if pixels != nil, type.text.hasSuffix("dc"), codecs.indices.contains(stream) {
                    try noteFrame(at: content, length, codec: codecs[stream])
                }
            }
            position = min(content + length + length % 2, size)
        }
        return (min(position, size), hasFrames)
    }

    /// Notes the pixels of a frame whose codec produces no long runs of zeros. Some recorders fill chunks up with them, so
    /// the end of one shows nothing.
    private mutating func noteFrame(at content: UInt64, _ length: UInt64, codec: FourCC) throws(WalkStop) {
        switch codec {
        case "MJPG", "mjpg": try noteJPEG(at: content)
        case "XVID", "xvid", "DIVX", "divx", "DX50", "FMP4", "MP4V", "mp4v", "H264", "h264", "X264", "avc1", "HEVC":
            pixels?.note(content, content + length / 2, .neverZeros)
        default: break
        }
    }

    /// Reads the chunks of a RIFF or list; returns whether there are frames.
    private mutating func readAVILists(
        from start: UInt64, to end: UInt64, depth: Int = 0, into report: inout PhotoReport
    ) throws(WalkStop) -> Bool {
        var hasFrames = false
        var position = start
        for _ in 0..<4_096 where position + 8 <= end {
            guard let code = try unsigned(at: position, width: 4),
                let length = try unsigned(at: position + 4, width: 4, littleEndian: true),
                length <= end - position - 8
            else { break }
            let content = position + 8
            switch FourCC(code: UInt32(code)) {
            case "LIST":
                let type = try bytes(at: content, count: 4)
                if type.begins(with: "movi") {
                    hasFrames = length > 4
                } else if depth < 3 {
                    _ = try readAVILists(from: content + 4, to: content + length, depth: depth + 1, into: &report)
                }
            case "avih" where report.width == nil:
                report.width = try unsigned(at: content + 32, width: 4, littleEndian: true).map { UInt32($0) }
                report.height = try unsigned(at: content + 36, width: 4, littleEndian: true).map { UInt32($0) }
            case "indx": try checkAVIIndex(at: content, length: length)
            case "IDIT", "ICRD":
                report.recordAVIDate(try bytes(at: content, count: Int(min(length, 64))))
            case "_PMX": report.record(try xmpPacket(at: content, length: length))
            default: break
            }
            position = content + length + length % 2
        }
        return hasFrames
    }

    /// Checks that all parts of an OpenDML super index are there: those of later RIFFs show that one is missing.
    private mutating func checkAVIIndex(at place: UInt64, length: UInt64) throws(WalkStop) {
        guard try unsigned(at: place, width: 2, littleEndian: true) == 4, try unsigned(at: place + 3, width: 1) == 0,
            let count = try unsigned(at: place + 4, width: 4, littleEndian: true)
        else { return }
        for index in 0..<min(count, 4_096) where 24 + (index + 1) * 16 <= length {
            guard let offset = try unsigned(at: place + 24 + index * 16, width: 8, littleEndian: true),
                let bytes = try unsigned(at: place + 32 + index * 16, width: 4, littleEndian: true)
            else { return }
            let (end, overflow) = offset.addingReportingOverflow(bytes)
            if overflow || end > size {
                throw .found(
                    .cutShort(
                        reason:
                            "AVI is cut short: a part of its index lies at byte \(grouped(offset)), the file ends at "
                            + grouped(size)))
            }
        }
    }

    // MARK: - MPEG transport streams

    /// Reads a transport stream of packets of 188 bytes, or of 192 with a time before each, as AVCHD has it. It has no
    /// end marker. ISO/IEC 13818-1, 2.4.3.
    mutating func readTransportStream(step: UInt64, into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let first: UInt64 = step - 188
        let count = size / step
        for index in [0, 1, 2, 3, count / 2, count - 1] where index < count {
            if try unsigned(at: first + index * step, width: 1) == 0x47 { continue }
            if try bytes(at: index * step, count: Int(step)).allSatisfy({ $0 == 0 }) {
                return .cutShort(reason: "transport stream has zeros at byte \(grouped(index * step)): not written yet")
            }
            return .notAPhoto(reason: "its packets are no transport stream")
        }
        try readRecordingDate(step: step, into: &report)
        // Every packet begins with 0x47.
        pixels?.note(0, size, .neverZeros)
        guard size % step == 0 else {
            return .cutShort(reason: "transport stream is cut short in a packet, at byte \(grouped(size))")
        }
        return .lacking(reason: "transport stream of \(grouped(count)) packets has no end marker")
    }

    /// Reads the date that AVCHD cameras put among the user data of frames: "MDPM", a number of entries, each a tag and
    /// four bytes; 0x18 has the time zone, year and month, 0x19 day and time, in decimal digits.
    private mutating func readRecordingDate(step: UInt64, into report: inout PhotoReport) throws(WalkStop) {
        let start = try bytes(at: 0, count: 256 * 1024)
        let name = Array("MDPM".utf8)
        guard let place = start.indices.first(where: { start[$0] == name[0] && start[$0...].starts(with: name) }),
            place + 5 < start.count
        else { return }
        let entries = start[(place + 5)...].prefix(5 * Int(min(start[place + 4], 32)))
        // One that goes on in the next packet is not read.
        guard UInt64(place) / step == UInt64(entries.endIndex) / step else { return }
        var fields: [UInt8: [UInt8]] = [:]
        for entry in stride(from: entries.startIndex, to: entries.endIndex - 4, by: 5) {
            fields[entries[entry]] = Array(entries[(entry + 1)...(entry + 4)])
        }
        guard let month = fields[0x18], let day = fields[0x19] else { return }
        func two(_ byte: UInt8) -> String { "\(byte >> 4)\(byte & 15)" }
        report.record(
            RecordedDate(
                provenance: .camera,
                bytes: Array(
                    "\(two(month[1]))\(two(month[2])):\(two(month[3])):\(two(day[0])) \(two(day[1])):\(two(day[2])):\(two(day[3]))"
                        .utf8)))
    }

    // MARK: - Matroska

    /// Reads a Matroska or WebM film: RFC 8794, RFC 9559.
    mutating func readMatroska(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let cutShort = Completeness.cutShort(reason: "Matroska is cut short: \(byteCount(size))")
        guard let header = try element(at: 0), let segment = try element(at: header.end ?? .max) else {
            return cutShort
        }
        guard segment.identifier == 0x1853_8067 else {
            return .malformed(reason: "Matroska has no segment after its header")
        }
        guard try isMatroska(from: header.body, to: header.end ?? 0) else {
            return .notAPhoto(reason: "EBML of another kind than Matroska")
        }
        var hasCluster = false
        var position = segment.body
        let end = min(segment.end ?? size, size)
        for _ in 0..<64 where position < end {
            guard let part = try element(at: position) else { break }
            if part.identifier == 0x1F43_B675 { hasCluster = true }
            guard let next = part.end else { break }
            switch part.identifier {
            case 0x1549_A966: try readMatroskaInfo(from: part.body, to: next, into: &report)
            case 0x1654_AE6B: try readMatroskaTracks(from: part.body, to: next, depth: 0, into: &report)
            default: break
            }
            position = next
        }
        if pixels != nil { try noteBlocks(from: segment.body, to: end) }
        guard hasCluster else { return .cutShort(reason: "Matroska has no frames in its \(byteCount(size))") }
        guard report.width != nil else { return .notAPhoto(reason: "sound without a picture") }
        guard let stated = segment.end else {
            return .lacking(reason: "Matroska's segment states no length: nothing marks its end")
        }
        return try judgeEnd(stated, "Matroska's clusters", trailers: &report.trailers)
    }

    /// Notes the frames of a segment whose codec produces no runs of zeros. RFC 9559, 10.
    private mutating func noteBlocks(from start: UInt64, to end: UInt64) throws(WalkStop) {
        var tracks: Set<UInt64> = []
        var track: (number: UInt64?, isCompact: Bool) = (nil, false)
        var position = start
        for _ in 0..<4_000_000 where position < end {
            guard let part = try element(at: position) else {
                // No element begins with a zero.
                if try unsigned(at: position, width: 1) == 0 { pixels?.note(position, end, .neverZeros) }
                return
            }
            guard part.body <= end else { return }
            let next = part.end.map { min($0, end) }
            switch part.identifier {
            // Clusters, groups of blocks, tracks, and a track: their parts follow.
            case 0x1F43_B675, 0xA0, 0x1654_AE6B:
                position = part.body
                continue
            case 0xAE:
                track = (nil, false)
                position = part.body
                continue
            case 0xD7:
                guard let next, next - part.body <= 8 else { return }
                track.number = try unsigned(at: part.body, width: Int(next - part.body))
            case 0x86:
                guard let next else { return }
                let codec = try bytes(at: part.body, count: Int(min(next - part.body, 32)))
                track.isCompact =
                    codec.begins(with: "V_MPEG4/ISO/AVC") || codec.begins(with: "V_MPEGH/ISO/HEVC")
                    || codec.begins(with: "V_AV1")
            case 0xA1, 0xA3:
                // The track's number with its marker bit, two bytes of time, flags, then the frame.
                if let next, next > part.body + 4, let number = try unsigned(at: part.body, width: 1), number > 0x80,
                    tracks.contains(number & 0x7F)
                {
                    pixels?.note(part.body + 4, next, .neverZeros)
                }
            default: break
            }
            if track.isCompact, let number = track.number { tracks.insert(number) }
            guard let next else {
                position = part.body
                continue
            }
            position = next
        }
    }

    /// Whether an EBML header names the document type of Matroska or WebM.
    private mutating func isMatroska(from start: UInt64, to end: UInt64) throws(WalkStop) -> Bool {
        var position = start
        for _ in 0..<16 where position < end {
            guard let part = try element(at: position), let next = part.end, next <= end else { return false }
            if part.identifier == 0x4282 {
                let type = try bytes(at: part.body, count: Int(min(next - part.body, 16)))
                return type.begins(with: "matroska") || type.begins(with: "webm")
            }
            position = next
        }
        return false
    }

    private struct Element {
        let identifier: UInt64
        let body: UInt64
        /// Nil if its length is unknown.
        let end: UInt64?
    }

    /// Reads the head of an element: its identifier with the marker bits, and its length without them.
    private mutating func element(at offset: UInt64) throws(WalkStop) -> Element? {
        guard offset < size, let first = try unsigned(at: offset, width: 1), first > 0 else { return nil }
        let width = UInt8(first).leadingZeroBitCount + 1
        guard width <= 4, let identifier = try unsigned(at: offset, width: width),
            let start = try unsigned(at: offset + UInt64(width), width: 1), start > 0
        else { return nil }
        let length = UInt8(start).leadingZeroBitCount + 1
        guard let coded = try unsigned(at: offset + UInt64(width), width: length) else { return nil }
        let most: UInt64 = (1 << UInt64(7 * length)) - 1
        let body = offset + UInt64(width + length)
        let value = coded & most
        return Element(identifier: identifier, body: body, end: value == most ? nil : body + value)
    }

    /// Reads the date: nanoseconds from 2001 in UTC.
    private mutating func readMatroskaInfo(
        from start: UInt64, to end: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        var position = start
        for _ in 0..<64 where position < end {
            guard let part = try element(at: position), let next = part.end, next <= end else { return }
            if part.identifier == 0x4461, next - part.body == 8, let raw = try unsigned(at: part.body, width: 8) {
                let value = Int64(bitPattern: raw)
                let instant = FileTime(seconds: value / 1_000_000_000 + 978_307_200, nanoseconds: 0)
                report.record(
                    RecordedDate(
                        provenance: .videoHeader, text: CivilDateTime(instant).map { "\($0) UTC" } ?? "\(value)",
                        reading: value == 0 ? .unreadable(DateText.Refusal.zero.words) : .instant(instant)))
            }
            position = next
        }
    }

    /// Reads the size of the first track with a picture.
    private mutating func readMatroskaTracks(
        from start: UInt64, to end: UInt64, depth: Int, into report: inout PhotoReport
    ) throws(WalkStop) {
        var position = start
        for _ in 0..<256 where position < end {
            guard let part = try element(at: position), let next = part.end, next <= end else { return }
            let width = Int(min(next - part.body, 8))
            switch part.identifier {
            case 0xAE where depth == 0, 0xE0 where depth == 1:
                try readMatroskaTracks(from: part.body, to: next, depth: depth + 1, into: &report)
            case 0xB0 where depth == 2 && report.width == nil:
                report.width = try unsigned(at: part.body, width: width).flatMap { UInt32(exactly: $0) }
            case 0xBA where depth == 2 && report.height == nil:
                report.height = try unsigned(at: part.body, width: width).flatMap { UInt32(exactly: $0) }
            default: break
            }
            position = next
        }
    }
}

extension PhotoReport {
    /// Adds a date of an AVI: `Mon Mar 10 15:04:43 2003`, `2003-03-10 15:04:43`, `2009:10:27 12:14:00`.
    fileprivate mutating func recordAVIDate(_ bytes: [UInt8]) {
        let text = String(decoding: bytes.prefix { $0 != 0 && $0 != 0x0A }, as: UTF8.self)
        let words = text.split(separator: " ")
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        if words.count == 5, let month = months.firstIndex(of: words[1].lowercased()), let day = Int(words[2]) {
            let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
            let date = "\(words[4]):\(two(month + 1)):\(two(day)) \(words[3])"
            return record(RecordedDate(provenance: .camera, bytes: Array(date.utf8)))
        }
        record(RecordedDate(provenance: .camera, bytes: Array(text.utf8)))
    }
}
