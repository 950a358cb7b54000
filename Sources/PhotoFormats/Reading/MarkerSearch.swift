/// The index of the first 0xFF in `bytes`, from `start` on, that begins a JPEG marker: the byte after it is neither 0
/// (a stuffed 0xFF of the entropy-coded data), nor 0xFF (fill), nor 0xD0 to 0xD7 (a restart inside a scan). The last
/// byte is never returned, since the next one is unknown. ITU-T T.81, B.1.1.
///
/// Entropy-coded data has a stuffed 0xFF every few hundred bytes, so a search for 0xFF alone would stop far too often:
/// 64 bytes at a time are first tested for "0xFF not followed by 0" in words, which the compiler vectorises.
func firstMarker(in bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { buffer in
        guard start >= 0 else { return nil }
        let last = buffer.count - 1
        var position = start
        while position < last {
            // Reads the bytes from position up to and including position + 64; all are in the buffer.
            while position + 64 <= last {
                var hits: UInt64 = 0
                for step in 0..<8 {
                    let here = buffer.loadUnaligned(fromByteOffset: position + 8 * step, as: UInt64.self)
                    let next = buffer.loadUnaligned(fromByteOffset: position + 8 * step + 1, as: UInt64.self)
                    hits |= zeroBytes(of: ~here) & ~zeroBytes(of: next)
                }
                if hits != 0 { break }
                position += 64
            }
            let stop = min(position + 64, last)
            while position < stop {
                if buffer[position] == 0xFF {
                    let next = buffer[position + 1]
                    if next != 0, next != 0xFF, !(0xD0...0xD7).contains(next) { return position }
                }
                position += 1
            }
        }
        return nil
    }
}

/// The high bit of each byte of `word` that is zero, and no other bit.
@inline(__always)
private func zeroBytes(of word: UInt64) -> UInt64 {
    let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
    return ~(((word & low) &+ low) | word | low)
}
