/// Writes a message.
struct WireWriter {
    private var bytes: [UInt8] = [0, 0, 0, 0]

    init(kind: UInt8) {
        put(DecoderWire.version)
        put(kind)
    }

    /// The message with its length.
    var message: [UInt8] {
        var message = bytes
        let length = UInt32(truncatingIfNeeded: bytes.count - 4)
        for index in 0..<4 { message[index] = UInt8(truncatingIfNeeded: length >> (8 * UInt32(index))) }
        return message
    }

    mutating func put<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) {
        for index in 0..<Value.bitWidth / 8 { bytes.append(UInt8(truncatingIfNeeded: value >> Value(8 * index))) }
    }

    mutating func put(_ text: String) {
        let cut = Array(text.utf8.prefix(DecoderWire.longestText))
        put(UInt16(truncatingIfNeeded: cut.count))
        bytes += cut
    }
}

/// Reads a message; never traps, for any bytes.
struct WireReader {
    private let bytes: [UInt8]
    private var position: Int
    let kind: UInt8

    /// Reads the head. The length must be exactly that of the message.
    init(_ bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= DecoderWire.longestMessage else { throw .length }
        self.bytes = bytes
        var position = 0
        let length: UInt32 = try Self.number(bytes, &position)
        guard Int(length) == bytes.count - position else { throw .length }
        let version: UInt16 = try Self.number(bytes, &position)
        guard version == DecoderWire.version else { throw .version(version) }
        kind = try Self.number(bytes, &position)
        self.position = position
    }

    mutating func number<Value: FixedWidthInteger & UnsignedInteger>() throws(WireError) -> Value {
        try Self.number(bytes, &position)
    }

    /// Reads a text; invalid UTF-8 is replaced.
    mutating func text() throws(WireError) -> String {
        let length: UInt16 = try number()
        guard length <= DecoderWire.longestText, Int(length) <= bytes.count - position else { throw .length }
        defer { position += Int(length) }
        return String(decoding: bytes[position..<position + Int(length)], as: UTF8.self)
    }

    /// Throws if anything follows.
    func end() throws(WireError) {
        guard position == bytes.count else { throw .length }
    }

    private static func number<Value: FixedWidthInteger & UnsignedInteger>(
        _ bytes: [UInt8], _ position: inout Int
    ) throws(WireError) -> Value {
        let size = Value.bitWidth / 8
        guard bytes.count - position >= size else { throw .length }
        defer { position += size }
        var value: Value = 0
        for index in 0..<size { value |= Value(bytes[position + index]) << Value(8 * index) }
        return value
    }
}
