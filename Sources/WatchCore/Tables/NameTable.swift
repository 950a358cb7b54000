import FileValues

/// A name that an entry has or had, as a number: equal names have equal numbers.
struct NameID: Hashable, Sendable {
    let index: Int32
}

/// The bytes of all names in use, each name once, whatever number of directories it occurs in.
///
/// Inside the core a name is a number, so that tables, hints and requests need no memory of their own for it, and its
/// bytes are hashed once: 5 bytes besides its own and its position in the index. Names that are not used any more are removed
/// from time to time. A value without I/O.
struct NameTable {
    /// Where in ``bytes`` each begins, with its length; −1 while the number is free.
    private var starts: [Int32] = []
    private var free: [Int32] = []
    private var bytes: [UInt8] = []
    /// The hash is seeded, because names come from whoever writes into an inbox.
    private var index = EntryIndex()
    private var survivors = 0
    /// The number that was given last: records of one file follow each other.
    private var latest = 0
    private let seed = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    /// How many names there are.
    var count: Int { starts.count - free.count }

    /// Whether so many names were added since the last sweep that most may not be used any more.
    var isWasteful: Bool { count > 4096 && count > 2 * survivors }

    /// The number of a name, which gets one if it has none yet.
    mutating func intern(_ name: UnsafeRawBufferPointer) -> NameID {
        if latest < starts.count, starts[latest] >= 0, isEqual(latest, name) {
            return NameID(index: Int32(latest))
        }
        let hash = hash(name)
        if let known = find(name, hash: hash) {
            latest = Int(known.index)
            return known
        }
        precondition(bytes.count + name.count < Int(Int32.max) - 3, "2 GiB of names")
        let start = Int32(bytes.count)
        append(name)
        let position: Int32
        if let reused = free.popLast() {
            position = reused
            starts[Int(position)] = start
        } else {
            position = Int32(starts.count)
            starts.append(start)
        }
        latest = Int(position)
        if index.hasRoom(for: position) { index.insert(hash: hash, position) } else { rebuildIndex() }
        return NameID(index: position)
    }

    /// The number of a name given as a value.
    mutating func intern(_ name: BytePath) -> NameID { name.bytes.withUnsafeBytes { intern($0) } }

    /// The number of a name, if it has one.
    func find(_ name: BytePath) -> NameID? { name.bytes.withUnsafeBytes { find($0, hash: hash($0)) } }

    private func find(_ name: UnsafeRawBufferPointer, hash: Int) -> NameID? {
        index.find(hash: hash) { isEqual(Int($0), name) }.map { NameID(index: $0) }
    }

    /// A name as a value.
    func name(_ id: NameID) -> BytePath { BytePath(withoutNUL: Array(self[id])) }

    /// A name's bytes.
    subscript(_ id: NameID) -> ArraySlice<UInt8> { bytes[range(Int(id.index))] }

    /// A name's length in bytes.
    func length(_ id: NameID) -> Int { range(Int(id.index)).count }

    /// Removes all names but those that `mark` is called with.
    mutating func sweep(_ mark: ((NameID) -> Void) -> Void) {
        var isLive = [Bool](repeating: false, count: starts.count)
        mark { isLive[Int($0.index)] = true }
        let old = bytes
        bytes = []
        free = []
        for position in starts.indices {
            guard isLive[position] else {
                starts[position] = -1
                free.append(Int32(position))
                continue
            }
            let range = Self.range(Int(starts[position]), in: old)
            starts[position] = Int32(bytes.count)
            old.withUnsafeBytes { append(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
        survivors = count
        rebuildIndex()
    }

    private mutating func rebuildIndex() {
        index = EntryIndex(capacity: count, positions: starts.count)
        let bytes = bytes
        bytes.withUnsafeBytes { bytes in
            for position in starts.indices where starts[position] >= 0 {
                index.insert(hash: hash(UnsafeRawBufferPointer(rebasing: bytes[range(position)])), Int32(position))
            }
        }
    }

    /// A length of this and more takes two bytes after it.
    private static let long = UInt8.max

    private mutating func append(_ name: UnsafeRawBufferPointer) {
        let count = UInt16(clamping: name.count)
        if count < Self.long {
            bytes.append(UInt8(count))
        } else {
            bytes.append(Self.long)
            bytes.append(UInt8(count & 0xFF))
            bytes.append(UInt8(count >> 8))
        }
        bytes.append(contentsOf: name.prefix(Int(count)))
    }

    private func range(_ position: Int) -> Range<Int> { Self.range(Int(starts[position]), in: bytes) }

    private static func range(_ start: Int, in bytes: [UInt8]) -> Range<Int> {
        let count = bytes[start]
        if count < long { return (start + 1)..<(start + 1 + Int(count)) }
        return (start + 3)..<(start + 3 + Int(bytes[start + 1]) + Int(bytes[start + 2]) << 8)
    }

    private func isEqual(_ position: Int, _ name: UnsafeRawBufferPointer) -> Bool {
        let range = range(position)
        guard range.count == name.count else { return false }
        return bytes.withUnsafeBytes { bytes in
            var offset = 0
            while name.count - offset >= 8 {
                let known = bytes.loadUnaligned(fromByteOffset: range.lowerBound + offset, as: UInt64.self)
                if known != name.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
                offset += 8
            }
            while offset < name.count, bytes[range.lowerBound + offset] == name[offset] { offset += 1 }
            return offset == name.count
        }
    }

    /// Eight bytes at a time, each multiplied with the seed and folded, as wyhash does it: names are short, and each comes
    /// through here. Reads nothing beyond the name.
    private func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var state = seed.0 ^ UInt64(truncatingIfNeeded: name.count)
        var position = 0
        while name.count - position > 8 {
            state = Self.fold(state ^ name.loadUnaligned(fromByteOffset: position, as: UInt64.self), seed.1)
            position += 8
        }
        var rest: UInt64 = 0
        if name.count >= 8 {
            // The last eight, some of which were hashed already.
            rest = name.loadUnaligned(fromByteOffset: name.count - 8, as: UInt64.self)
        } else {
            for byte in name { rest = rest << 8 | UInt64(byte) }
        }
        return Int(truncatingIfNeeded: Self.fold(state ^ rest, seed.1))
    }

    private static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}
