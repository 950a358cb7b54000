/// Reads a HEIF file's items, their types, places and properties. ISO/IEC 23008-12, 14496-12.
extension SourceReader where Source: ~Copyable {
    /// Reads the items of `meta`; throws if the bytes of one are beyond the end of the file. Sets `promisesFilm` if XMP
    /// declares a motion photo's film.
    mutating func readHEIF(meta: Box, promisesFilm: inout Bool, into report: inout PhotoReport) throws(WalkStop) {
        let children = try boxes(from: meta.body + min(4, meta.end - meta.body), to: meta.end)
        func child(_ type: FourCC) -> Box? { children.first { $0.type == type } }
        guard let locations = child("iloc") else {
            throw .found(.malformed(reason: "\(report.format?.name ?? "HEIF") has no iloc box: no item has a place"))
        }
        let items = try child("iinf").map { box throws(WalkStop) in try itemTypes(box) } ?? [:]
        let primary = try child("pitm").flatMap { box throws(WalkStop) in try primaryItem(box) }
        let embedded = child("idat")
        let places = try itemPlaces(locations, of: items, embedded: embedded, name: report.format?.name ?? "HEIF")
        if let primary, let properties = child("iprp") {
            try readProperties(properties, of: primary, into: &report)
        }
        let orientation = report.orientation
        // Few items are metadata; the limit prevents repeated reading of one place.
        let metadata = items.filter { $0.value == "Exif" || $0.value == "mime" }.sorted { $0.key < $1.key }
        for (item, type) in metadata.prefix(8) {
            guard let place = places[item] else { continue }
            if type == "Exif" {
                // The item begins with the distance to the TIFF header; some programs write the header of JPEG's EXIF, or
                // nothing, in its place.
                guard let skip = try unsigned(at: place.offset, width: 4), place.length > 4 else { continue }
                let starts = [skip < place.length - 4 ? 4 + skip : 0, 0, 6]
                for start in starts where start < place.length {
                    let length = place.length - start
                    guard try tiffBlock(at: place.offset + start, length: length) != nil else { continue }
                    try readExif(at: place.offset + start, length: length, into: &report)
                    break
                }
            } else {
                // XMP is the only text that is read.
                let packet = try xmpPacket(at: place.offset, length: place.length)
                report.record(packet)
                if packet.promisesFilm { promisesFilm = true }
            }
        }
        // Viewers of HEIF rotate the picture by its own properties and ignore EXIF's orientation.
        report.orientation = orientation ?? 1
    }

    /// The type of each item, by its number.
    private mutating func itemTypes(_ box: Box) throws(WalkStop) -> [UInt64: FourCC] {
        guard let version = try unsigned(at: box.body, width: 1) else { return [:] }
        var types: [UInt64: FourCC] = [:]
        for entry in try boxes(from: box.body + min(version == 0 ? 6 : 8, box.end - box.body), to: box.end)
        where entry.type == "infe" {
            // Version 2 introduced types; version 3 has item numbers of 4 bytes.
            guard let version = try unsigned(at: entry.body, width: 1), version == 2 || version == 3,
                let item = try unsigned(at: entry.body + 4, width: version == 2 ? 2 : 4),
                let code = try unsigned(at: entry.body + (version == 2 ? 8 : 10), width: 4)
            else { continue }
            types[item] = FourCC(code: UInt32(code))
        }
        return types
    }

    private mutating func primaryItem(_ box: Box) throws(WalkStop) -> UInt64? {
        guard let version = try unsigned(at: box.body, width: 1) else { return nil }
        return try unsigned(at: box.body + 4, width: version == 0 ? 2 : 4)
    }

    private struct ItemPlace {
        let offset: UInt64
        let length: UInt64
    }

    /// The place of each item's first extent; throws if any extent of any item is beyond the end of the file.
    private mutating func itemPlaces(
        _ box: Box, of items: [UInt64: FourCC], embedded: Box?, name: String
    ) throws(WalkStop) -> [UInt64: ItemPlace] {
        var fields = BoxFields(position: box.body, end: box.end)
        guard let version = try next(1, &fields), try next(3, &fields) != nil, version <= 2,
            let widths = try next(2, &fields), let count = try next(version < 2 ? 2 : 4, &fields)
        else { throw .found(.malformed(reason: "\(name)'s iloc box is damaged")) }
        let offsetWidth = Int(widths >> 12 & 15)
        let lengthWidth = Int(widths >> 8 & 15)
        let baseWidth = Int(widths >> 4 & 15)
        let indexWidth = version == 0 ? 0 : Int(widths & 15)
        var places: [UInt64: ItemPlace] = [:]
        let extentWidth = offsetWidth + lengthWidth + indexWidth
        for _ in 0..<min(count, 65_536) {
            guard let item = try next(version < 2 ? 2 : 4, &fields),
                let method = version == 0 ? 0 : try next(2, &fields), let source = try next(2, &fields),
                let base = try next(baseWidth, &fields), let extents = try next(2, &fields)
            else { throw .found(.malformed(reason: "\(name)'s iloc box is damaged")) }
            // Extents without bytes are all equal, and their number is not limited by the file's size.
            for number in 0..<(extentWidth == 0 ? min(extents, 1) : extents) {
                guard try next(indexWidth, &fields) != nil, let offset = try next(offsetWidth, &fields),
                    let length = try next(lengthWidth, &fields)
                else { throw .found(.malformed(reason: "\(name)'s iloc box is damaged")) }
                // Bytes in other files, or derived from other items, have no place in this one.
                guard source == 0, method & 15 <= 1 else { continue }
                let start: UInt64? = method & 15 == 0 ? 0 : embedded?.body
                guard let start, let place = sum(start, base, offset), let end = sum(place, length, 0), end <= size
                else {
                    throw .found(
                        .cutShort(
                            reason: "\(name) is cut short: item \(item) needs \(byteCount(length)) from byte "
                                + "\(grouped(base &+ offset)), the file ends at \(grouped(size))"))
                }
                // Codecs that prevent start codes in their data produce no runs of zeros; nor does AV1.
                if let type = items[item], ["hvc1", "avc1", "vvc1", "lhv1", "av01"].contains(type) {
                    pixels?.note(place, end, .neverZeros)
                }
                if number == 0 { places[item] = ItemPlace(offset: place, length: length == 0 ? size - place : length) }
            }
        }
        return places
    }

    /// Reads size and orientation of the primary item from its associated properties.
    private mutating func readProperties(
        _ box: Box, of primary: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        let groups = try boxes(from: box.body, to: box.end)
        guard let container = groups.first(where: { $0.type == "ipco" }) else { return }
        let properties = try boxes(from: container.body, to: container.end)
        var quarterTurns = 0
        var mirror: UInt64?
        for group in groups where group.type == "ipma" {
            for index in try associations(group, of: primary) where index >= 1 && index <= UInt64(properties.count) {
                let property = properties[Int(index - 1)]
                switch property.type {
                case "ispe":
                    report.width = try unsigned(at: property.body + 4, width: 4).map { UInt32($0) }
                    report.height = try unsigned(at: property.body + 8, width: 4).map { UInt32($0) }
                case "irot": quarterTurns = Int(try unsigned(at: property.body, width: 1) ?? 0) & 3
                case "imir": mirror = (try unsigned(at: property.body, width: 1) ?? 0) & 1
                default: break
                }
            }
        }
        report.orientation = Self.orientation(quarterTurns: quarterTurns, mirror: mirror)
    }

    /// The numbers (from 1) of the properties of `item`.
    private mutating func associations(_ box: Box, of item: UInt64) throws(WalkStop) -> [UInt64] {
        var fields = BoxFields(position: box.body, end: box.end)
        guard let version = try next(1, &fields), let flags = try next(3, &fields), let count = try next(4, &fields)
        else { return [] }
        let width = flags & 1 == 0 ? 1 : 2
        for _ in 0..<min(count, 65_536) {
            guard let number = try next(version == 0 ? 2 : 4, &fields), let entries = try next(1, &fields) else {
                return []
            }
            var indices: [UInt64] = []
            for _ in 0..<entries {
                guard let entry = try next(width, &fields) else { return [] }
                indices.append(entry & (width == 1 ? 0x7F : 0x7FFF))
            }
            if number == item { return indices }
        }
        return []
    }

    /// EXIF's orientation for a counterclockwise rotation by quarter turns, then mirroring about the vertical (0) or
    /// horizontal (1) axis, in the order of HEIF writers.
    private static func orientation(quarterTurns: Int, mirror: UInt64?) -> UInt8 {
        switch (mirror, quarterTurns) {
        case (nil, 1): 8
        case (nil, 2): 3
        case (nil, 3): 6
        case (nil, _): 1
        case (0, 0), (1, 2): 2
        case (0, 1), (1, 3): 7
        case (0, 2), (1, 0): 4
        case (0, _), (1, _): 5
        default: 1
        }
    }

    private func sum(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64? {
        let (partial, overflow) = first.addingReportingOverflow(second)
        let (total, beyond) = partial.addingReportingOverflow(third)
        return overflow || beyond ? nil : total
    }

    /// Reads the next field of `width` bytes; 0 if `width` is 0, nil at the end of the box.
    private mutating func next(_ width: Int, _ fields: inout BoxFields) throws(WalkStop) -> UInt64? {
        guard width > 0 else { return 0 }
        guard fields.position <= fields.end, fields.end - fields.position >= UInt64(width), width <= 8,
            let value = try unsigned(at: fields.position, width: width)
        else { return nil }
        fields.position += UInt64(width)
        return value
    }
}

/// The position in a box while its fields are read in order.
private struct BoxFields {
    var position: UInt64
    let end: UInt64
}
