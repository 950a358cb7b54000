/// An XMP packet, whose few required properties are found by their names in the text. XMP is RDF in XML, but a full
/// parser would be too much code for four dates; properties with an unusual namespace prefix are not found.
struct XMPPacket {
    /// The searched length, more than any camera writes.
    static let longest = 256 * 1024

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The date of taking, otherwise of creation, if any.
    var date: RecordedDate? {
        for name: StaticString in ["exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate"] {
            if let value = value(of: name) { return RecordedDate(provenance: .xmp, bytes: value) }
        }
        return nil
    }

    /// Whether the packet declares a motion photo's film after the picture.
    var promisesFilm: Bool {
        for name: StaticString in ["Camera:MotionPhoto", "Camera:MicroVideo"] {
            if let value = value(of: name), value.equals("1") { return true }
        }
        return false
    }

    /// The value of the property `name`, as attribute or as element, at most 64 bytes.
    func value(of name: StaticString) -> ArraySlice<UInt8>? {
        name.withUTF8Buffer { pattern in
            var start = 0
            // Several occurrences, up to a limit: a longer name may begin with this one.
            for _ in 0..<32 {
                guard let found = find(pattern, from: start) else { return nil }
                start = found + pattern.count
                var rest = bytes[start...].prefix(80)
                while let byte = rest.first, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
                    rest.removeFirst()
                }
                guard let opening = rest.popFirst() else { return nil }
                var closing = UInt8(ascii: "<")
                if opening == UInt8(ascii: "=") {
                    guard let quote = rest.popFirst(), quote == 0x22 || quote == 0x27 else { continue }
                    closing = quote
                } else if opening != UInt8(ascii: ">") {
                    continue
                }
                guard let end = rest.firstIndex(of: closing) else { continue }
                return rest[..<end]
            }
            return nil
        }
    }

    private func find(_ pattern: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard let first = pattern.first else { return nil }
        var index = start
        while index + pattern.count <= bytes.count {
            if bytes[index] == first, bytes[index..<(index + pattern.count)].elementsEqual(pattern) { return index }
            index += 1
        }
        return nil
    }
}

extension SourceReader where Source: ~Copyable {
    /// Reads the searched part of an XMP packet.
    mutating func xmpPacket(at offset: UInt64, length: UInt64) throws(WalkStop) -> XMPPacket {
        XMPPacket(try bytes(at: offset, count: Int(min(length, UInt64(XMPPacket.longest)))))
    }
}
