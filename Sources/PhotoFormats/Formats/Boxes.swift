/// One box of an ISO base media file. ISO/IEC 14496-12, 4.2.
struct Box {
    let type: FourCC
    let start: UInt64
    /// The start of its content, after the header.
    let body: UInt64
    /// Its end, inside the file.
    let end: UInt64
    /// Whether its length is open, "to the end of the file".
    let isOpen: Bool
}

/// The result of reading a box header.
enum BoxReading {
    case box(Box)
    /// A box that ends beyond its container.
    case tooLong(FourCC, end: UInt64)
    /// Too few bytes for a box header.
    case fragment
    /// Not a box: zero bytes, or a type that is not text.
    case none
}

extension SourceReader where Source: ~Copyable {
    /// Reads the box header at `offset`; the box must end at or before `limit`.
    mutating func box(at offset: UInt64, before limit: UInt64) throws(WalkStop) -> BoxReading {
        guard offset < limit, limit - offset >= 8, let short = try unsigned(at: offset, width: 4),
            let code = try unsigned(at: offset + 4, width: 4)
        else { return .fragment }
        let type = FourCC(code: UInt32(code))
        guard type.isPlausible else { return .none }
        var header: UInt64 = 8
        var length = short
        if short == 1 {
            guard limit - offset >= 16, let long = try unsigned(at: offset + 8, width: 8) else { return .fragment }
            header = 16
            length = long
        } else if short == 0 {
            return .box(Box(type: type, start: offset, body: offset + 8, end: limit, isOpen: true))
        }
        guard length >= header else { return .none }
        let (end, overflow) = offset.addingReportingOverflow(length)
        guard !overflow, end <= limit else { return .tooLong(type, end: overflow ? .max : end) }
        return .box(Box(type: type, start: offset, body: offset + header, end: end, isOpen: false))
    }

    /// The boxes from `start` to `end`, at most 4,096, up to the first bytes that are not a box.
    mutating func boxes(from start: UInt64, to end: UInt64) throws(WalkStop) -> [Box] {
        var found: [Box] = []
        var position = start
        while position < end, found.count < 4_096, case .box(let box) = try box(at: position, before: end) {
            found.append(box)
            position = box.end
        }
        return found
    }

    /// The first child of `type` in `parent`, after `skipping` bytes of its content.
    mutating func child(_ type: FourCC, of parent: Box, skipping: UInt64 = 0) throws(WalkStop) -> Box? {
        let start = parent.body + min(skipping, parent.end - parent.body)
        return try boxes(from: start, to: parent.end).first { $0.type == type }
    }

    /// Calls `visit` with each box of the file, up to the first bytes that are not a box; returns the end of the last one.
    /// Throws if a box is cut short; `name` is the format's.
    mutating func walkBoxes(
        _ name: String, _ visit: (Box, inout Self) throws(WalkStop) -> Void
    ) throws(WalkStop) -> UInt64 {
        var position: UInt64 = 0
        for _ in 0..<200_000 where position < size {
            switch try box(at: position, before: size) {
            case .box(let box):
                try visit(box, &self)
                position = box.end
            case .tooLong(let type, let end):
                throw .found(
                    .cutShort(
                        reason: "\(name) is cut short: its \(type.text) box ends at byte \(grouped(end)), the file at "
                            + grouped(size)))
            case .fragment:
                // Shorter than a header: QuickTime allows a few zero bytes as a terminator.
                guard try offsetOfNonzero(from: position, before: size) == size else {
                    throw .found(
                        .cutShort(reason: "\(name) is cut short in a box header, at byte \(grouped(position))"))
                }
                return position
            case .none: return position
            }
        }
        return position
    }
}
