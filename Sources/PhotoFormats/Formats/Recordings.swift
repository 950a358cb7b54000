import FileValues

// Films that are neither ISO base media files nor AVIs.

extension SourceReader where Source: ~Copyable {
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
