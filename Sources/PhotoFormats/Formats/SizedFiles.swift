import FileValues

// Formats whose header or directory shows where the file ends.

extension SourceReader where Source: ~Copyable {
    /// The completeness of a file whose structure ends at `end`; `what` is the subject of a clause: "PSD's pixels".
    mutating func judgeEnd(
        _ end: UInt64, _ what: String, trailers: inout [Trailer]
    ) throws(WalkStop) -> Completeness {
        if end > size {
            return .cutShort(reason: "\(what) end at byte \(grouped(end)), the file at \(grouped(size))")
        }
        if end == size { return .whole(evidence: "\(what) end exactly at the end of the file") }
        let rest = try judgeRest(from: end, "\(what) end at byte \(grouped(end))", trailers: &trailers)
        // Zeros may be space for parts that are not written yet.
        if case .weak(let reason) = rest { return .lacking(reason: reason) }
        return rest
    }

    // MARK: - Photoshop

    /// Reads a PSD or PSB: five sections, the first four with a length. Adobe Photoshop File Formats Specification.
    mutating func readPSD(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let cutShort = Completeness.cutShort(reason: "PSD is cut short: \(byteCount(size))")
        guard let version = try unsigned(at: 4, width: 2), let channels = try unsigned(at: 12, width: 2),
            let height = try unsigned(at: 14, width: 4), let width = try unsigned(at: 18, width: 4),
            let depth = try unsigned(at: 22, width: 2), let colours = try unsigned(at: 26, width: 4)
        else { return cutShort }
        guard (1...56).contains(channels), [1, 8, 16, 32].contains(depth), width > 0, height > 0,
            max(width, height) <= 300_000
        else {
            return .malformed(
                reason: "PSD has \(channels) channels of \(width) × \(height) pixels with \(depth) bits")
        }
        (report.width, report.height) = (UInt32(width), UInt32(height))
        let isLarge = version == 2
        let resources = 30 + colours
        guard let resourcesLength = try unsigned(at: resources, width: 4) else { return cutShort }
        try readPSDResources(from: resources + 4, length: resourcesLength, into: &report)
        let layers = resources + 4 + resourcesLength
        guard let layersLength = try unsigned(at: layers, width: isLarge ? 8 : 4), layersLength <= 1 << 50 else {
            return cutShort
        }
        let image = layers + (isLarge ? 8 : 4) + layersLength
        guard let compression = try unsigned(at: image, width: 2) else { return cutShort }
        let lines = channels * height
        switch compression {
        case 0:
            let length = lines * ((width * depth + 7) / 8)
            return try judgeEnd(image + 2 + length, "PSD's pixels", trailers: &report.trailers)
        case 1:
            // The lengths of all lines precede them.
            let step: UInt64 = isLarge ? 4 : 2
            let data = image + 2 + lines * step
            guard data <= size else { return cutShort }
            var end = data
            for line in 0..<lines {
                guard let length = try unsigned(at: image + 2 + line * step, width: Int(step)) else { return cutShort }
                end += length
            }
            // PackBits has no long runs of zeros, and no line without bytes.
            pixels?.note(image + 2, min(end, size), .neverZeros)
            return try judgeEnd(end, "PSD's pixels", trailers: &report.trailers)
        default: return .weak(reason: "PSD's pixels are compressed by a method that does not show where they end")
        }
    }

    /// Reads IPTC, EXIF and XMP of the image resources.
    private mutating func readPSDResources(
        from start: UInt64, length: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        report.record(ImageResources(try metadataBytes(at: start, count: length)))
        let end = start + length
        var position = start
        for _ in 0..<10_000 where position + 12 <= end {
            guard try bytes(at: position, count: 4).begins(with: "8BIM"),
                let identifier = try unsigned(at: position + 4, width: 2),
                let name = try unsigned(at: position + 6, width: 1)
            else { return }
            // A Pascal string, padded to an even length together with its own length.
            let head = position + 6 + ((name + 2) & ~1)
            guard let length = try unsigned(at: head, width: 4), length <= end - min(end, head + 4) else { return }
            switch identifier {
            case 0x0422: try readExif(at: head + 4, length: length, into: &report)
            case 0x0424: report.record(try xmpPacket(at: head + 4, length: length))
            default: break
            }
            position = head + 4 + length + length % 2
        }
    }

    // MARK: - Cameras' own formats

    /// Reads Minolta's MRW: blocks of parameters, then the sensor's data, whose size they state. Black pixels are zeros.
    mutating func readMRW(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let isLittle = try bytes(at: 3, count: 1).begins(with: "I")
        guard let blocks = try unsigned(at: 4, width: 4, littleEndian: isLittle) else {
            return .cutShort(reason: "MRW is cut short: \(byteCount(size))")
        }
        let data = 8 + blocks
        var sensorData: UInt64?
        var position: UInt64 = 8
        for _ in 0..<64 where position + 8 <= data {
            let tag = try bytes(at: position, count: 4)
            guard let length = try unsigned(at: position + 4, width: 4, littleEndian: isLittle),
                length <= data - position - 8
            else { break }
            let content = position + 8
            if tag.begins(with: "\0PRD"),
                let height = try unsigned(at: content + 8, width: 2, littleEndian: isLittle),
                let width = try unsigned(at: content + 10, width: 2, littleEndian: isLittle),
                let storage = try unsigned(at: content + 18, width: 1)
            {
                // 0x59: two pixels in three bytes; 0x52: two bytes for each.
                sensorData = width * height * (storage == 0x59 ? 3 : 4) / 2
                report.height = try unsigned(at: content + 12, width: 2, littleEndian: isLittle).map { UInt32($0) }
                report.width = try unsigned(at: content + 14, width: 2, littleEndian: isLittle).map { UInt32($0) }
            } else if tag.begins(with: "\0TTW") {
                try readExif(at: content, length: length, into: &report)
            }
            position = content + length
        }
        guard let sensorData else {
            return data > size
                ? .cutShort(reason: "MRW is cut short in its header, at byte \(grouped(size))")
                : .malformed(reason: "MRW does not state the size of its sensor data")
        }
        return try judgeEnd(data + sensorData, "MRW's sensor data", trailers: &report.trailers)
    }

    /// Reads Canon's CRW: a heap whose directory is at its end. CIFF specification, 1.0.
    mutating func readCRW(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let cutShort = Completeness.cutShort(
            reason: "CRW is cut short: \(byteCount(size)), and no directory ends with them")
        var left = 1_024
        guard let start = try unsigned(at: 2, width: 4, littleEndian: true), start >= 14, start < size,
            let end = try readHeap(from: start, to: size, depth: 0, left: &left, into: &report)
        else { return cutShort }
        return end == size - 4 ? .whole(evidence: "CRW ends with the directory of its heap") : cutShort
    }

    /// Reads the heap in the first segment of a JPEG of an early PowerShot, which has no EXIF.
    mutating func readCIFF(at place: UInt64, length: UInt64, into report: inout PhotoReport) throws(WalkStop) {
        var left = 128
        guard let start = try unsigned(at: place + 2, width: 4, littleEndian: true), start < length else { return }
        // A JPEG in it could hold a heap again, and so on.
        _ = try readHeap(
            from: place + start, to: place + length, depth: 0, notesJPEG: false, left: &left, into: &report)
    }

    /// Reads a heap's directory; returns its end, nil if there is none. `left` bounds the entries of all heaps, which may
    /// contain each other.
    private mutating func readHeap(
        from start: UInt64, to end: UInt64, depth: Int, notesJPEG: Bool = true, left: inout Int,
        into report: inout PhotoReport
    ) throws(WalkStop) -> UInt64? {
        guard end - start >= 6, let offset = try unsigned(at: end - 4, width: 4, littleEndian: true),
            offset < end - start - 4,
            let count = try unsigned(at: start + offset, width: 2, littleEndian: true), count > 0
        else { return nil }
        let directory = start + offset + 2
        guard directory + count * 10 <= end - 4 else { return nil }
        for index in 0..<min(count, 512) {
            let entry = directory + index * 10
            left -= 1
            if left < 0 { break }
            guard let tag = try unsigned(at: entry, width: 2, littleEndian: true),
                let length = try unsigned(at: entry + 2, width: 4, littleEndian: true),
                let place = try unsigned(at: entry + 6, width: 4, littleEndian: true)
            else { return nil }
            // The two highest bits: the value is in the entry itself.
            guard tag & 0xC000 == 0 else { continue }
            guard place + length <= end - start else { return nil }
            let value = start + place
            switch tag {
            case 0x2005:
                // Its code has no long runs of zeros, but some cameras put the lowest bits of all pixels before it.
                pixels?.note(value + length / 2, min(value + length, size), .neverZeros)
            case 0x2007:
                if notesJPEG, pixels != nil { try noteJPEG(at: value) }
            case 0x080A:
                let names = try bytes(at: value, count: Int(min(length, 128))).split(separator: 0)
                report.cameraMake = report.cameraMake ?? shownText(names.first.map { Array($0) })
                report.cameraModel = report.cameraModel ?? shownText(names.dropFirst().first.map { Array($0) })
            case 0x180E:
                if let seconds = try unsigned(at: value, width: 4, littleEndian: true) { report.recordClock(seconds) }
            case 0x1810:
                report.width = try unsigned(at: value, width: 4, littleEndian: true).map { UInt32($0) }
                report.height = try unsigned(at: value + 4, width: 4, littleEndian: true).map { UInt32($0) }
                switch try unsigned(at: value + 12, width: 4, littleEndian: true) {
                case 0: report.orientation = 1
                case 90: report.orientation = 6
                case 180: report.orientation = 3
                case 270: report.orientation = 8
                default: break
                }
            case _ where tag & 0x3800 == 0x2800 || tag & 0x3800 == 0x3000:
                if depth < 4, length < end - start {
                    _ = try readHeap(
                        from: value, to: value + length, depth: depth + 1, notesJPEG: notesJPEG, left: &left,
                        into: &report)
                }
            default: break
            }
        }
        return directory + count * 10
    }

    /// Reads Sigma's X3F: sections, and at the end their directory and its place.
    mutating func readX3F(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        let cutShort = Completeness.cutShort(
            reason: "X3F is cut short: \(byteCount(size)), and no directory ends with them")
        // From version 4 on the header has other fields there.
        if let version = try unsigned(at: 4, width: 4, littleEndian: true), version < 0x0004_0000 {
            report.width = try unsigned(at: 28, width: 4, littleEndian: true).map { UInt32($0) }
            report.height = try unsigned(at: 32, width: 4, littleEndian: true).map { UInt32($0) }
        }
        var hasPreview = false
        guard size > 40, let directory = try unsigned(at: size - 4, width: 4, littleEndian: true), directory < size - 4,
            try bytes(at: directory, count: 4).begins(with: "SECd"),
            let count = try unsigned(at: directory + 8, width: 4, littleEndian: true),
            directory + 12 + count * 12 == size - 4
        else { return cutShort }
        for index in 0..<min(count, 256) {
            let entry = directory + 12 + index * 12
            guard let place = try unsigned(at: entry, width: 4, littleEndian: true),
                let length = try unsigned(at: entry + 4, width: 4, littleEndian: true), place + length <= directory
            else { return .malformed(reason: "X3F has a section outside of the file") }
            let type = try bytes(at: entry + 8, count: 4)
            if type.begins(with: "PROP") {
                try readX3FProperties(at: place, length: length, into: &report)
            } else if !hasPreview, type.begins(with: "IMA"),
                try unsigned(at: place + 12, width: 4, littleEndian: true) == 0x12
            {
                hasPreview = true
                // A preview as JPEG, with EXIF. A damaged one does not make the file damaged. Uniform parts of the sensor's
                // data may be zeros.
                var walk = JPEGWalk()
                do { try walkJPEG(from: place + 28, &walk, fields: &report) } catch {
                    if case .failed = error { throw error }
                }
            }
        }
        return .whole(evidence: "X3F ends with the directory of its sections")
    }

    /// Reads properties: pairs of names and values, as offsets into UTF-16 text.
    private mutating func readX3FProperties(
        at place: UInt64, length: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        guard let count = try unsigned(at: place + 8, width: 4, littleEndian: true), count <= 1_024,
            24 + count * 8 <= length
        else { return }
        let text = try bytes(at: place + 24 + count * 8, count: Int(min(length - 24 - count * 8, 65_536)))
        func string(at offset: UInt64?) -> [UInt8] {
            guard let offset, offset < UInt64(text.count) / 2 else { return [] }
            var value: [UInt8] = []
            for place in stride(from: Int(offset) * 2, to: text.count - 1, by: 2) where value.count < 128 {
                if text[place] == 0, text[place + 1] == 0 { break }
                // ASCII in practice; other characters are replaced.
                value.append(text[place + 1] == 0 && text[place] < 0x80 ? text[place] : UInt8(ascii: "?"))
            }
            return value
        }
        for index in 0..<count {
            let name = string(at: try unsigned(at: place + 24 + index * 8, width: 4, littleEndian: true))
            let value = string(at: try unsigned(at: place + 28 + index * 8, width: 4, littleEndian: true))
            if name.elementsEqual("TIME".utf8), let seconds = UInt64(String(decoding: value, as: UTF8.self)) {
                report.recordClock(seconds)
            } else if name.elementsEqual("CAMMANUF".utf8) {
                report.cameraMake = report.cameraMake ?? shownText(value)
            } else if name.elementsEqual("CAMMODEL".utf8) {
                report.cameraModel = report.cameraModel ?? shownText(value)
            }
        }
    }
}

extension PhotoReport {
    /// Adds a date of a camera that counts seconds from 1970 by its local clock.
    fileprivate mutating func recordClock(_ seconds: UInt64) {
        guard seconds > 0, seconds < 1 << 33,
            let local = CivilDateTime(FileTime(seconds: Int64(seconds), nanoseconds: 0))
        else { return }
        record(
            RecordedDate(
                provenance: .camera, text: "\(local)", reading: .local(local, offset: nil, hasTime: true)))
    }
}
