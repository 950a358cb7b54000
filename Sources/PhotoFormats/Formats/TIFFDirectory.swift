/// A TIFF structure inside a file: a whole TIFF or RAW file, or the EXIF block of another. TIFF 6.0; EXIF 2.32, 4.5.
struct TIFFBlock {
    /// The block's start in the file, from which its offsets count.
    let base: UInt64
    /// Its length in bytes.
    let length: UInt64
    let littleEndian: Bool
    /// BigTIFF: counts and offsets of 8 bytes.
    let isBig: Bool
    /// The offset of the first directory from `base`.
    let firstDirectory: UInt64

    /// The place in the file of `offset`, if `count` bytes from there are inside the block.
    func place(_ offset: UInt64, count: UInt64) -> UInt64? {
        let (end, overflow) = offset.addingReportingOverflow(count)
        guard !overflow, end <= length else { return nil }
        let (place, beyond) = base.addingReportingOverflow(offset)
        return beyond ? nil : place
    }

    /// The same block with another first directory.
    func starting(at directory: UInt64) -> TIFFBlock {
        TIFFBlock(base: base, length: length, littleEndian: littleEndian, isBig: isBig, firstDirectory: directory)
    }
}

/// One entry of a directory.
struct TIFFEntry {
    let tag: UInt16
    let type: UInt16
    let count: UInt64
    /// The value's offset from the block's base: in the entry itself if it fits there.
    let valueOffset: UInt64
    /// The value's size in bytes; `UInt64.max` on overflow.
    let byteCount: UInt64

    /// Bytes of one element of `type`; 1 for unknown types.
    static func elementSize(_ type: UInt16) -> UInt64 {
        switch type {
        case 3, 8: 2
        case 4, 9, 11, 13: 4
        case 5, 10, 12, 16, 17, 18: 8
        default: 1
        }
    }
}

/// One directory of a TIFF structure.
struct TIFFDirectory {
    let entries: [TIFFEntry]
    /// The offset of the next directory from the base; 0 for none.
    let next: UInt64
    /// The offset of the end of its entries from the base, where the pointer to the next directory begins.
    let end: UInt64
    /// Whether that pointer exists. EXIF blocks often end right after the last entry.
    let isClosed: Bool

    func entry(_ tag: UInt16) -> TIFFEntry? { entries.first { $0.tag == tag } }
}

extension SourceReader where Source: ~Copyable {
    /// The TIFF block at `base`; nil if there is none. `length` limits its offsets.
    mutating func tiffBlock(at base: UInt64, length: UInt64) throws(WalkStop) -> TIFFBlock? {
        let header = try bytes(at: base, count: Int(min(length, 16)))
        guard header.count >= 8, header[0] == header[1], header[0] == 0x49 || header[0] == 0x4D else { return nil }
        let little = header[0] == 0x49
        let magic = UInt16(header[little ? 3 : 2]) << 8 | UInt16(header[little ? 2 : 3])
        let isBig = magic == 43
        let first = try unsigned(at: base + (isBig ? 8 : 4), width: isBig ? 8 : 4, littleEndian: little)
        guard let first else { return nil }
        return TIFFBlock(base: base, length: length, littleEndian: little, isBig: isBig, firstDirectory: first)
    }

    /// The directory at `offset` of `block`; nil if it is not inside, or has more entries than any program writes.
    mutating func directory(
        of block: TIFFBlock, at offset: UInt64
    ) throws(WalkStop) -> TIFFDirectory? {
        let countWidth = block.isBig ? 8 : 2
        let word = block.isBig ? 8 : 4
        let entrySize = block.isBig ? 20 : 12
        guard let place = block.place(offset, count: UInt64(countWidth)),
            let count = try unsigned(at: place, width: countWidth, littleEndian: block.littleEndian), count <= 4_096
        else { return nil }
        let start = offset + UInt64(countWidth)
        let size = count * UInt64(entrySize)
        guard let entriesPlace = block.place(start, count: size) else { return nil }
        var entries: [TIFFEntry] = []
        entries.reserveCapacity(Int(count))
        for index in 0..<count {
            let at = entriesPlace + index * UInt64(entrySize)
            guard let tag = try unsigned(at: at, width: 2, littleEndian: block.littleEndian),
                let type = try unsigned(at: at + 2, width: 2, littleEndian: block.littleEndian),
                let number = try unsigned(at: at + 4, width: word, littleEndian: block.littleEndian)
            else { return nil }
            let field = at + 4 + UInt64(word)
            let (bytes, overflow) = number.multipliedReportingOverflow(by: TIFFEntry.elementSize(UInt16(type)))
            var value = field - block.base
            if overflow || bytes > UInt64(word) {
                guard let pointer = try unsigned(at: field, width: word, littleEndian: block.littleEndian) else {
                    return nil
                }
                value = pointer
            }
            entries.append(
                TIFFEntry(
                    tag: UInt16(tag), type: UInt16(type), count: number, valueOffset: value,
                    byteCount: overflow ? .max : bytes))
        }
        var next: UInt64?
        if let nextPlace = block.place(start + size, count: UInt64(word)) {
            next = try unsigned(at: nextPlace, width: word, littleEndian: block.littleEndian)
        }
        return TIFFDirectory(entries: entries, next: next ?? 0, end: start + size, isClosed: next != nil)
    }

    /// Whether a directory may begin at `offset`, by its number of entries and the types of the first ones, as far as
    /// they are in the file: some programs do not initialise the pointer to the next directory.
    mutating func mayBeDirectory(of block: TIFFBlock, at offset: UInt64) throws(WalkStop) -> Bool {
        let countWidth: UInt64 = block.isBig ? 8 : 2
        guard let place = block.place(offset, count: countWidth),
            let count = try unsigned(at: place, width: Int(countWidth), littleEndian: block.littleEndian),
            (1...4_096).contains(count)
        else { return false }
        var last: UInt64 = 0
        for index in 0..<min(count, 4) {
            let entry = place + countWidth + index * (block.isBig ? 20 : 12)
            guard let tag = try unsigned(at: entry, width: 2, littleEndian: block.littleEndian),
                let type = try unsigned(at: entry + 2, width: 2, littleEndian: block.littleEndian)
            else { break }
            guard tag >= last, (1...13).contains(type) || (16...18).contains(type) else { return false }
            last = tag
        }
        return true
    }

    /// The element `index` of an entry of whole numbers, or nil.
    mutating func number(
        _ entry: TIFFEntry, _ index: UInt64 = 0, in block: TIFFBlock
    ) throws(WalkStop) -> UInt64? {
        guard index < entry.count, [1, 3, 4, 6, 8, 9, 13, 16, 18].contains(entry.type), entry.byteCount < .max else {
            return nil
        }
        let width = TIFFEntry.elementSize(entry.type)
        let (offset, overflow) = entry.valueOffset.addingReportingOverflow(index * width)
        guard !overflow, let place = block.place(offset, count: width) else { return nil }
        let value = try unsigned(at: place, width: Int(width), littleEndian: block.littleEndian)
        let isNegative = [6, 8, 9].contains(entry.type) && value.map { $0 >> (8 * width - 1) } == 1
        return isNegative ? nil : value
    }

    /// The text of an entry up to its first NUL, at most 255 bytes; nil if it is not text or is outside.
    mutating func text(_ entry: TIFFEntry?, in block: TIFFBlock) throws(WalkStop) -> [UInt8]? {
        guard let entry, entry.type == 2 || entry.type == 7 || entry.type == 1 || entry.type == 129,
            let place = block.place(entry.valueOffset, count: entry.byteCount)
        else { return nil }
        let value = try bytes(at: place, count: Int(min(entry.byteCount, 255)))
        return Array(value.prefix { $0 != 0 })
    }

    /// The element `index` of an entry of fractions, unsigned; nil if its denominator is 0.
    mutating func rational(
        _ entry: TIFFEntry, _ index: UInt64, in block: TIFFBlock
    ) throws(WalkStop) -> (over: UInt64, under: UInt64)? {
        guard index < entry.count, entry.type == 5 || entry.type == 10, entry.byteCount < .max else { return nil }
        let (offset, overflow) = entry.valueOffset.addingReportingOverflow(index * 8)
        guard !overflow, let place = block.place(offset, count: 8),
            let over = try unsigned(at: place, width: 4, littleEndian: block.littleEndian),
            let under = try unsigned(at: place + 4, width: 4, littleEndian: block.littleEndian), under > 0
        else { return nil }
        return (over, under)
    }

    /// An unsigned fraction of an entry in billionths; nil if its denominator is 0 or it overflows.
    mutating func billionths(
        _ entry: TIFFEntry, _ index: UInt64, in block: TIFFBlock
    ) throws(WalkStop) -> UInt64? {
        guard let (over, under) = try rational(entry, index, in: block) else { return nil }
        let (scaled, tooLarge) = over.multipliedReportingOverflow(by: 1_000_000_000)
        return tooLarge ? nil : scaled / under
    }
}
