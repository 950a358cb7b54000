/// The part of a binary property list that a shortcut of macOS needs: one text of the top dictionary. Pure; bounded by
/// the file, without recursion, for any bytes. The format is described in
/// CFBinaryPList.c of swift-corelibs-foundation.
struct BinaryPropertyList {
    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let top: Int
    private let table: Int

    init?(_ bytes: [UInt8]) {
        let trailer = bytes.count - 32
        guard trailer >= 8, bytes.starts(with: Array("bplist00".utf8)) else { return nil }
        self.bytes = bytes
        (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.number(bytes, at: trailer + 8, size: 8),
            let top = Self.number(bytes, at: trailer + 16, size: 8),
            let table = Self.number(bytes, at: trailer + 24, size: 8),
            table <= trailer, count <= (trailer - table) / offsetSize, top < count
        else { return nil }
        (self.count, self.top, self.table) = (count, top, table)
    }

    /// The text of the top dictionary under `key`, in UTF-8.
    func text(_ key: String) -> [UInt8]? {
        guard let place = place(of: top), bytes[place] >> 4 == 0xD, let (pairs, start) = length(at: place),
            pairs <= (bytes.count - start) / (2 * referenceSize)
        else { return nil }
        for index in 0..<pairs {
            guard let name = reference(at: start + index * referenceSize).flatMap({ text(at: $0) }) else { return nil }
            guard name == Array(key.utf8) else { continue }
            return reference(at: start + (pairs + index) * referenceSize).flatMap { text(at: $0) }
        }
        return nil
    }

    /// The offset of an object.
    private func place(of object: Int) -> Int? {
        guard object < count, let place = Self.number(bytes, at: table + object * offsetSize, size: offsetSize),
            place >= 8, place < table
        else { return nil }
        return place
    }

    private func reference(at position: Int) -> Int? {
        Self.number(bytes, at: position, size: referenceSize).flatMap { place(of: $0) }
    }

    /// The length of the object at `place`, and where its content begins.
    private func length(at place: Int) -> (count: Int, start: Int)? {
        let low = Int(bytes[place] & 0xF)
        guard low == 0xF else { return (low, place + 1) }
        guard place + 1 < bytes.count, bytes[place + 1] >> 4 == 1, bytes[place + 1] & 0xF <= 3 else { return nil }
        let size = 1 << Int(bytes[place + 1] & 0xF)
        return Self.number(bytes, at: place + 2, size: size).map { ($0, place + 2 + size) }
    }

    /// A text in ASCII, or in UTF-16 with the higher byte first.
    private func text(at place: Int) -> [UInt8]? {
        guard let (count, start) = length(at: place) else { return nil }
        switch bytes[place] >> 4 {
        case 5: return count <= bytes.count - start ? Array(bytes[start..<start + count]) : nil
        case 6:
            guard count <= (bytes.count - start) / 2 else { return nil }
            let units = (0..<count).map { UInt16(bytes[start + 2 * $0]) << 8 | UInt16(bytes[start + 2 * $0 + 1]) }
            return Array(String(decoding: units, as: UTF16.self).utf8)
        default: return nil
        }
    }

    /// A big-endian number; nil if it is outside of the file, or larger than any file.
    private static func number(_ bytes: [UInt8], at position: Int, size: Int) -> Int? {
        guard position >= 0, position <= bytes.count - size else { return nil }
        let value = bytes[position..<position + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return value < 1 << 40 ? Int(value) : nil
    }
}
