import FileValues

extension SourceReader where Source: ~Copyable {
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
        return code[0].isASCIIDigit && code[1].isASCIIDigit && kinds.contains { code.dropFirst(2).begins(with: $0) }
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
