/// The result of reading a JPEG from start-of-image to end-of-image. ITU-T T.81, annex B.
struct JPEGWalk {
    /// The end of the picture, right after its end-of-image marker.
    var end: UInt64 = 0
    var width: UInt32?
    var height: UInt32?
    /// The multi-picture index (CIPA DC-007), if any.
    var multiPicture: (place: UInt64, length: UInt64)?
    /// Whether XMP declares a film after the picture.
    var promisesFilm = false
    /// Whether a heap of Canon's was read.
    fileprivate var hasHeap = false
    fileprivate var xmp = XMPProperties()
    /// The parts of extended XMP, each with the identifier of the packet that it belongs to.
    fileprivate var extended: [(identifier: [UInt8], offset: UInt64, place: UInt64, length: UInt64)] = []
    /// Photoshop's image resources, which may take several segments.
    fileprivate var resources: [UInt8] = []
    /// The symbol that zero bits encode in each Huffman table, by the table's class and number: that of its shortest
    /// code, since a table's first code is all zeros.
    fileprivate var zeroBitsSymbols: [UInt8: UInt8] = [:]
    /// The frame's marker, which shows the coding.
    fileprivate var frame: UInt8 = 0xC0
}

extension SourceReader where Source: ~Copyable {
    /// Reads a JPEG file: the picture, then its trailers.
    mutating func readJPEG(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        var walk = JPEGWalk()
        defer { (report.width, report.height) = (walk.width, walk.height) }
        try walkJPEG(from: 0, &walk, fields: &report)
        if stopsAtPixels { return .weak(reason: "JPEG was read up to its pixels") }
        return try readTrailers(of: walk, into: &report.trailers)
    }

    /// Reads one JPEG from its start-of-image; adds the fields of EXIF and XMP to `fields`.
    mutating func walkJPEG(
        from start: UInt64, _ walk: inout JPEGWalk, fields: inout PhotoReport
    ) throws(WalkStop) {
        var position = start + 2
        var hasFrame = false
        var hasScan = false
        var zerosMayBePixels = true
        while true {
            // Fill bytes are allowed between segments, and some writers leave other bytes; decoders skip both.
            let marker = try offsetOfMarker(from: position)
            if !zerosMayBePixels { pixels?.note(position, marker ?? size, .neverZeros) }
            zerosMayBePixels = true
            guard let marker else { throw .found(cutShortJPEG) }
            let code = UInt8(truncatingIfNeeded: try unsigned(at: marker + 1, width: 1) ?? 0)
            position = marker + 2
            switch code {
            case 0xD9:
                guard hasFrame, hasScan else {
                    throw .found(.malformed(reason: "JPEG ends at byte \(grouped(position)) without a picture in it"))
                }
                walk.end = position
                return try readExtendedXMP(of: walk, into: &fields)
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
                walk.frame = code
                if walk.width == nil {
                    walk.height = try unsigned(at: position + 3, width: 2).map { UInt32($0) }
                    walk.width = try unsigned(at: position + 5, width: 2).map { UInt32($0) }
                }
            case 0xC4 where pixels != nil: try readHuffmanTables(from: position + 2, to: end, &walk)
            case 0xDA:
                if !hasScan, !walk.resources.isEmpty { fields.record(ImageResources(walk.resources)) }
                hasScan = true
                if stopsAtPixels { return try readExtendedXMP(of: walk, into: &fields) }
                if pixels != nil { zerosMayBePixels = try mayHoldZeros(scan: position + 2, walk) }
            case 0xE0, 0xE1, 0xE2, 0xED:
                try readApplicationSegment(code, at: position + 2, length: length - 2, &walk, fields: &fields)
            default: break
            }
            position = end
        }
    }

    /// Notes the scans of a JPEG within another file, if one begins at `start`. The limit prevents repeated reading of
    /// overlapping ones.
    mutating func noteJPEG(at start: UInt64) throws(WalkStop) {
        guard bytesRead / 4 <= size, try bytes(at: start, count: 3) == [0xFF, 0xD8, 0xFF] else { return }
        var walk = JPEGWalk()
        var ignored = PhotoReport(format: .jpeg, completeness: .empty)
        do { try walkJPEG(from: start, &walk, fields: &ignored) } catch {
            if case .failed = error { throw error }
        }
    }

    /// Reads an application segment of a JPEG, by its name.
    private mutating func readApplicationSegment(
        _ code: UInt8, at place: UInt64, length: UInt64, _ walk: inout JPEGWalk, fields: inout PhotoReport
    ) throws(WalkStop) {
        let name = try bytes(at: place, count: Int(min(length, 35)))
        if code == 0xE1, name.begins(with: "Exif\0"), length >= 6 {
            try readExif(at: place + 6, length: length - 6, into: &fields)
        } else if code == 0xE1, name.begins(with: "http://ns.adobe.com/xap/1.0/\0") {
            walk.xmp = try xmpPacket(at: place + 29, length: length - 29)
            fields.record(walk.xmp)
            if walk.xmp.promisesFilm { walk.promisesFilm = true }
        } else if code == 0xE1, name.begins(with: "http://ns.adobe.com/xmp/extension/\0"), length > 75,
            walk.extended.count < 64, let offset = try unsigned(at: place + 71, width: 4)
        {
            walk.extended.append((try bytes(at: place + 35, count: 32), offset, place + 75, length - 75))
        } else if code == 0xED, name.begins(with: "Photoshop 3.0\0"),
            walk.resources.count + Int(length) < XMPProperties.longest
        {
            walk.resources += try bytes(at: place + 14, count: Int(length - 14))
        } else if code == 0xE0, !walk.hasHeap, name.dropFirst(6).begins(with: "HEAPJPGM") {
            walk.hasHeap = true
            try readCIFF(at: place, length: length, into: &fields)
        } else if code == 0xE2, name.begins(with: "MPF\0"), walk.multiPicture == nil {
            walk.multiPicture = (place + 4, length - 4)
        }
    }

    /// Adds the extended XMP of a packet, unless it is incomplete or, as depth maps are, larger than is read. XMP
    /// Specification, part 3, 1.1.3.1.
    private mutating func readExtendedXMP(of walk: JPEGWalk, into fields: inout PhotoReport) throws(WalkStop) {
        guard let identifier = walk.xmp.extendedIdentifier else { return }
        var packet: [UInt8] = []
        for part in walk.extended.filter({ $0.identifier.elementsEqual(identifier.utf8) }).sorted(by: {
            $0.offset < $1.offset
        })
        where part.offset == packet.count {
            guard packet.count + Int(part.length) <= XMPProperties.longest else { return }
            packet += try bytes(at: part.place, count: Int(part.length))
        }
        guard !packet.isEmpty else { return }
        var xmp = walk.xmp
        xmp.add(packet)
        fields.record(xmp)
    }

    /// Notes the symbol of zero bits in the tables of one segment. T.81, B.2.4.2.
    private mutating func readHuffmanTables(from start: UInt64, to end: UInt64, _ walk: inout JPEGWalk) throws(WalkStop)
    {
        var position = start
        while position + 17 <= end {
            let head = try bytes(at: position, count: 18)
            guard head.count >= 17 else { return }
            let symbols = head[1...16].reduce(UInt64(0)) { $0 + UInt64($1) }
            if symbols > 0, head.count == 18 { walk.zeroBitsSymbols[head[0]] = head[17] }
            position += 17 + symbols
        }
    }

    /// Whether a run of zeros can be pixels in the scan whose header is at `place`.
    ///
    /// Uniform parts of a picture are, if its tables give the shortest codes to "unchanged" and "end of block"; those
    /// of the standard and of most cameras do not. T.81, B.2.3.
    private mutating func mayHoldZeros(scan place: UInt64, _ walk: JPEGWalk) throws(WalkStop) -> Bool {
        // Arithmetic coding has no codes.
        guard walk.frame <= 0xC7, let count = try unsigned(at: place, width: 1), (1...4).contains(count),
            let first = try unsigned(at: place + 1 + 2 * count, width: 1),
            let last = try unsigned(at: place + 2 + 2 * count, width: 1),
            let bits = try unsigned(at: place + 3 + 2 * count, width: 1)
        else { return true }
        let isLossless = walk.frame & 3 == 3
        for component in 0..<count {
            guard let tables = try unsigned(at: place + 2 + 2 * component, width: 1) else { return true }
            let (dc, ac) = (UInt8(tables >> 4), UInt8(tables & 15) | 0x10)
            // A refining scan contains the bits themselves.
            let isRefined = bits >> 4 > 0 && !isLossless
            if isLossless || first == 0, !isRefined, walk.zeroBitsSymbols[dc] != 0 { return false }
            if !isLossless, last > 0 {
                guard let symbol = walk.zeroBitsSymbols[ac], symbol & 15 == 0, symbol != 0xF0 else { return false }
            }
        }
        return true
    }

    private var cutShortJPEG: Completeness { .cutShort(reason: "JPEG is cut short: \(byteCount(size)), no end marker") }
}
