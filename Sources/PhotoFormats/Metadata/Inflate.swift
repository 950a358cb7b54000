/// Decompresses a zlib stream, RFC 1950 and 1951; at most `limit` bytes, nil if it is damaged before that.
///
/// Only for the texts of PNGs: the check sum at its end is not compared.
func inflated(_ stream: [UInt8], limit: Int) -> [UInt8]? {
    guard stream.count > 2, stream[0] & 15 == 8, (Int(stream[0]) << 8 | Int(stream[1])) % 31 == 0,
        stream[1] & 0x20 == 0
    else { return nil }
    var bits = BitReader(stream.dropFirst(2))
    var output: [UInt8] = []
    while true {
        guard let isLast = bits.take(1), let kind = bits.take(2) else { return nil }
        switch kind {
        case 0:
            guard bits.copyStored(into: &output, limit: limit) else { return nil }
        case 1:
            guard bits.decode(.fixedLiterals, .fixedDistances, into: &output, limit: limit) else { return nil }
        case 2:
            guard let (literals, distances) = bits.codes(),
                bits.decode(literals, distances, into: &output, limit: limit)
            else { return nil }
        default: return nil
        }
        if isLast == 1 || output.count >= limit { return output }
    }
}

/// A canonical Huffman code. RFC 1951, 3.2.2.
private struct HuffmanCode {
    /// How many codes there are of each length, and the symbols in the order of their codes.
    private var counts = [Int](repeating: 0, count: 16)
    private var symbols: [Int] = []

    static let fixedLiterals = HuffmanCode(
        (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    static let fixedDistances = HuffmanCode([Int](repeating: 5, count: 30))

    init(_ lengths: [Int]) {
        for length in lengths { counts[length] += 1 }
        counts[0] = 0
        symbols = (1..<16).flatMap { length in lengths.indices.filter { lengths[$0] == length } }
    }

    func symbol(_ bits: inout BitReader) -> Int? {
        var (code, first, index) = (0, 0, 0)
        for length in 1..<16 {
            guard let bit = bits.take(1) else { return nil }
            code |= bit
            if code - counts[length] < first {
                let place = index + code - first
                return symbols.indices.contains(place) ? symbols[place] : nil
            }
            index += counts[length]
            first = (first + counts[length]) << 1
            code <<= 1
        }
        return nil
    }
}

private struct BitReader {
    private var bytes: ArraySlice<UInt8>
    private var buffer: UInt32 = 0
    private var count = 0

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The next `width` bits, at most 16, the lowest first.
    mutating func take(_ width: Int) -> Int? {
        while count < width {
            guard let byte = bytes.popFirst() else { return nil }
            buffer |= UInt32(byte) << UInt32(count)
            count += 8
        }
        defer {
            buffer >>= UInt32(width)
            count -= width
        }
        return Int(buffer & (1 << UInt32(width) - 1))
    }

    mutating func copyStored(into output: inout [UInt8], limit: Int) -> Bool {
        // The rest of the byte is no part of it; whole bytes are never in the buffer here.
        (buffer, count) = (0, 0)
        guard let length = take(16), let complement = take(16), length ^ complement == 0xFFFF, length <= bytes.count
        else {
            return false
        }
        output += bytes.prefix(min(length, max(0, limit - output.count)))
        bytes = bytes.dropFirst(length)
        return true
    }

    /// The two codes of a block that brings its own. RFC 1951, 3.2.7.
    mutating func codes() -> (literals: HuffmanCode, distances: HuffmanCode)? {
        guard let literals = take(5), let distances = take(5), let lengths = take(4) else { return nil }
        let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
        var widths = [Int](repeating: 0, count: 19)
        for place in order.prefix(lengths + 4) {
            guard let width = take(3) else { return nil }
            widths[place] = width
        }
        let code = HuffmanCode(widths)
        var found: [Int] = []
        let wanted = literals + 257 + distances + 1
        while found.count < wanted {
            guard let symbol = code.symbol(&self) else { return nil }
            switch symbol {
            case 0..<16: found.append(symbol)
            case 16:
                guard let last = found.last, let more = take(2) else { return nil }
                found += [Int](repeating: last, count: more + 3)
            default:
                guard let more = take(symbol == 17 ? 3 : 7) else { return nil }
                found += [Int](repeating: 0, count: more + (symbol == 17 ? 3 : 11))
            }
        }
        guard found.count == wanted else { return nil }
        return (HuffmanCode(Array(found.prefix(literals + 257))), HuffmanCode(Array(found.dropFirst(literals + 257))))
    }

    /// Decodes a block's symbols to its end or to the limit. RFC 1951, 3.2.5.
    mutating func decode(
        _ literals: HuffmanCode, _ distances: HuffmanCode, into output: inout [UInt8], limit: Int
    ) -> Bool {
        while output.count < limit {
            guard let symbol = literals.symbol(&self) else { return false }
            if symbol < 256 {
                output.append(UInt8(symbol))
                continue
            }
            if symbol == 256 { return true }
            guard symbol < 286, let length = value(symbol - 257, lengthBases, lengthBits),
                let code = distances.symbol(&self), code < 30,
                let distance = value(code, distanceBases, distanceBits), distance <= output.count
            else { return false }
            for _ in 0..<min(length, limit - output.count) { output.append(output[output.count - distance]) }
        }
        return true
    }

    private mutating func value(_ index: Int, _ bases: [Int], _ extra: [Int]) -> Int? {
        take(extra[index]).map { bases[index] + $0 }
    }
}

private let lengthBits = (0..<29).map { $0 < 4 || $0 == 28 ? 0 : ($0 - 4) / 4 }
private let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
]
private let distanceBits = (0..<30).map { $0 < 2 ? 0 : ($0 - 2) / 2 }
private let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
]
