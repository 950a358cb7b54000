/// A JPEG, from its start-of-image to its end-of-image. ITU-T T.81, annex B.
struct JPEGWalk {
    /// Where the picture ends, right after its end-of-image marker.
    var end: UInt64 = 0
    var width: UInt32?
    var height: UInt32?
    /// The CIPA multi-picture index (CIPA DC-007), if there is one.
    var multiPicture: (place: UInt64, length: UInt64)?
    /// Whether XMP says that a film follows.
    var promisesFilm = false
}

extension SourceReader where Source: ~Copyable {
    /// Reads a JPEG file: the picture, then whatever follows it.
    mutating func readJPEG(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        var walk = JPEGWalk()
        defer { (report.width, report.height) = (walk.width, walk.height) }
        try walkJPEG(from: 0, &walk, fields: &report)
        return try readTrailers(of: walk, into: &report.trailers)
    }

    /// Walks one JPEG from its start-of-image. `fields` receives what EXIF and XMP say.
    mutating func walkJPEG(
        from start: UInt64, _ walk: inout JPEGWalk, fields: inout PhotoReport
    ) throws(WalkStop) {
        var position = start + 2
        var hasFrame = false
        var hasScan = false
        while true {
            // Between segments there may be fill bytes, and some writers leave other bytes too; decoders skip both.
            guard let marker = try offsetOfMarker(from: position) else { throw .found(cutShortJPEG) }
            let code = UInt8(truncatingIfNeeded: try unsigned(at: marker + 1, width: 1) ?? 0)
            position = marker + 2
            switch code {
            case 0xD9:
                guard hasFrame, hasScan else {
                    throw .found(.malformed(reason: "JPEG ends at byte \(grouped(position)) without a picture in it"))
                }
                walk.end = position
                return
            case 0xD8:
                throw .found(
                    .malformed(reason: "JPEG has another start of image at byte \(grouped(marker)), before its end"))
            case 0x01: continue
            default: break
            }
            guard let length = try unsigned(at: position, width: 2) else { throw .found(cutShortJPEG) }
            guard length >= 2 else {
                throw .found(
                    .malformed(reason: "JPEG segment at byte \(grouped(marker)) has the impossible length \(length)"))
            }
            let end = position + length
            guard end <= size else { throw .found(cutShortJPEG) }
            switch code {
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                hasFrame = true
                if walk.width == nil {
                    walk.height = try unsigned(at: position + 3, width: 2).map { UInt32($0) }
                    walk.width = try unsigned(at: position + 5, width: 2).map { UInt32($0) }
                }
            case 0xDA: hasScan = true
            case 0xE1, 0xE2:
                try readApplicationSegment(code, at: position + 2, length: length - 2, &walk, fields: &fields)
            default: break
            }
            position = end
        }
    }

    /// Reads what an application segment of a JPEG holds, by the name it begins with.
    private mutating func readApplicationSegment(
        _ code: UInt8, at place: UInt64, length: UInt64, _ walk: inout JPEGWalk, fields: inout PhotoReport
    ) throws(WalkStop) {
        let name = try bytes(at: place, count: Int(min(length, 29)))
        if code == 0xE1, name.begins(with: "Exif\0"), length >= 6 {
            try readExif(at: place + 6, length: length - 6, into: &fields)
        } else if code == 0xE1, name.begins(with: "http://ns.adobe.com/xap/1.0/\0") {
            let packet = try xmpPacket(at: place + 29, length: length - 29)
            if let date = packet.date { fields.record(date) }
            if packet.promisesFilm { walk.promisesFilm = true }
        } else if code == 0xE2, name.begins(with: "MPF\0"), walk.multiPicture == nil {
            walk.multiPicture = (place + 4, length - 4)
        }
    }

    private var cutShortJPEG: Completeness { .cutShort(reason: "JPEG is cut short: \(byteCount(size)), no end marker") }
}
