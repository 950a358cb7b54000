/// The CRC-32C checksum (Castagnoli polynomial, as in ext4 and iSCSI), eight bytes at a time.
///
/// It finds every single torn, flipped or missing run of up to 32 bits, and any other damage but for one in 4 milliards.
/// It is no defence against whoever writes the file on purpose: its content is checked as well.
package enum CRC32C {
    /// `table[k * 256 + b]`: the effect of the byte b, k bytes before the end of a group of eight.
    private static let table: [UInt32] = {
        var table = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var value = UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
            table[byte] = value
        }
        for index in 256..<table.count {
            let before = table[index - 256]
            table[index] = before >> 8 ^ table[Int(before & 0xFF)]
        }
        return table
    }()

    package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var crc = UInt32.max
        var position = 0
        table.withUnsafeBufferPointer { table in
            while position + 8 <= bytes.count {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                let low = UInt32(truncatingIfNeeded: word) ^ crc
                let high = UInt32(truncatingIfNeeded: word >> 32)
                crc =
                    table[1792 + Int(low & 0xFF)] ^ table[1536 + Int(low >> 8 & 0xFF)]
                    ^ table[1280 + Int(low >> 16 & 0xFF)] ^ table[1024 + Int(low >> 24)]
                crc ^=
                    table[768 + Int(high & 0xFF)] ^ table[512 + Int(high >> 8 & 0xFF)]
                    ^ table[256 + Int(high >> 16 & 0xFF)] ^ table[Int(high >> 24)]
                position += 8
            }
            while position < bytes.count {
                crc = crc >> 8 ^ table[Int((crc ^ UInt32(bytes[position])) & 0xFF)]
                position += 1
            }
        }
        return ~crc
    }

    package static func checksum(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { checksum($0) } }
}
