import FileValues
import Glibc

/// A name that an entry has or had, as a number: equal names have equal numbers.
struct NameID: Hashable, Sendable {
    let index: Int32
}

/// The bytes of all names in use, each name once, whatever number of directories it occurs in.
///
/// Inside the core a name is a number, so that tables, hints and requests hold no memory of their own for it, and its
/// bytes are hashed once, when it comes in. Names that nobody uses any more are swept from time to time. A value without
/// I/O.
struct NameTable {
    private struct Entry {
        /// −1 as long as the number is free.
        var offset: Int32
        var hash: UInt32
        var length: UInt16
    }

    private var entries: [Entry] = []
    private var free: [Int32] = []
    private var bytes: [UInt8] = []
    /// Open addressing over numbers; −1 is empty. The hash is seeded, because names come from whoever writes into an
    /// inbox.
    private var slots = [Int32](repeating: -1, count: 64)
    private var survivors = 0
    /// The number that was given last: records of one file follow each other.
    private var latest = 0
    private let seed = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    /// How many names there are.
    var count: Int { entries.count - free.count }

    /// Whether so many names came since the last sweep that most may be out of use.
    var isWasteful: Bool { count > 4096 && count > 2 * survivors }

    /// The number of a name, which gets one if it has none yet.
    mutating func intern(_ name: UnsafeRawBufferPointer) -> NameID {
        if latest < entries.count, entries[latest].offset >= 0, isEqual(latest, name) {
            return NameID(index: Int32(latest))
        }
        let hash = hash(name)
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            if entries[Int(slots[slot])].hash == hash, isEqual(Int(slots[slot]), name) {
                latest = Int(slots[slot])
                return NameID(index: slots[slot])
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        precondition(bytes.count + name.count <= Int(Int32.max), "2 GiB of names")
        let entry = Entry(offset: Int32(bytes.count), hash: hash, length: UInt16(clamping: name.count))
        bytes.append(contentsOf: name.prefix(Int(UInt16.max)))
        let index: Int32
        if let reused = free.popLast() {
            index = reused
            entries[Int(index)] = entry
        } else {
            index = Int32(entries.count)
            entries.append(entry)
        }
        slots[slot] = index
        latest = Int(index)
        if count * 2 > slots.count { spread(over: slots.count * 2) }
        return NameID(index: index)
    }

    /// The number of a name given as a value.
    mutating func intern(_ name: BytePath) -> NameID { name.bytes.withUnsafeBytes { intern($0) } }

    /// The number of a name, if it has one.
    func find(_ name: BytePath) -> NameID? {
        name.bytes.withUnsafeBytes { name in
            let hash = hash(name)
            var slot = Int(hash) & (slots.count - 1)
            while slots[slot] >= 0 {
                if entries[Int(slots[slot])].hash == hash, isEqual(Int(slots[slot]), name) {
                    return NameID(index: slots[slot])
                }
                slot = (slot + 1) & (slots.count - 1)
            }
            return nil
        }
    }

    /// A name as a value.
    func name(_ id: NameID) -> BytePath { BytePath(withoutNUL: Array(self[id])) }

    /// A name's bytes.
    subscript(_ id: NameID) -> ArraySlice<UInt8> {
        let entry = entries[Int(id.index)]
        return bytes[Int(entry.offset)..<(Int(entry.offset) + Int(entry.length))]
    }

    /// A name's length in bytes.
    func length(_ id: NameID) -> Int { Int(entries[Int(id.index)].length) }

    /// Frees all names but those that `mark` tells of.
    mutating func sweep(_ mark: ((NameID) -> Void) -> Void) {
        var isLive = [Bool](repeating: false, count: entries.count)
        mark { isLive[Int($0.index)] = true }
        var packed: [UInt8] = []
        free = []
        for place in entries.indices {
            guard isLive[place] else {
                entries[place] = Entry(offset: -1, hash: 0, length: 0)
                free.append(Int32(place))
                continue
            }
            let offset = Int32(packed.count)
            packed.append(contentsOf: self[NameID(index: Int32(place))])
            entries[place].offset = offset
        }
        bytes = packed
        survivors = count
        var size = 64
        while size < count * 2 { size *= 2 }
        spread(over: size)
    }

    private mutating func spread(over size: Int) {
        slots = Array(repeating: -1, count: size)
        for place in entries.indices where entries[place].offset >= 0 {
            var slot = Int(entries[place].hash) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(place)
        }
    }

    private func isEqual(_ place: Int, _ name: UnsafeRawBufferPointer) -> Bool {
        let entry = entries[place]
        guard Int(entry.length) == name.count, let wanted = name.baseAddress else { return false }
        return bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { memcmp($0 + Int(entry.offset), wanted, name.count) == 0 } ?? false
        }
    }

    /// Eight bytes at a time, each multiplied with the seed and folded, as wyhash does it: names are short, and each comes
    /// through here. Reads nothing beyond the name.
    private func hash(_ name: UnsafeRawBufferPointer) -> UInt32 {
        var state = seed.0 ^ UInt64(truncatingIfNeeded: name.count)
        var place = 0
        while name.count - place > 8 {
            state = Self.fold(state ^ name.loadUnaligned(fromByteOffset: place, as: UInt64.self), seed.1)
            place += 8
        }
        var rest: UInt64 = 0
        if name.count >= 8 {
            // The last eight, some of which were taken already.
            rest = name.loadUnaligned(fromByteOffset: name.count - 8, as: UInt64.self)
        } else {
            for byte in name { rest = rest << 8 | UInt64(byte) }
        }
        let mixed = Self.fold(state ^ rest, seed.1)
        return UInt32(truncatingIfNeeded: mixed ^ mixed >> 32)
    }

    private static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}
