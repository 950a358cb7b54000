/// From a directory and a name to a position in some table: open addressing over positions alone, 4 bytes each.
///
/// The keys stay in the table. The bits of a slot that a position does not need hold a part of its hash, so that other
/// entries are hardly ever compared, however full the index is. The hash is seeded, so that nobody who chooses names can
/// make them collide.
struct EntryIndex {
    private var slots: [UInt32]
    private var taken = 0
    /// How many bits of a slot are its position, from the lowest; the highest is for ``empty`` and ``removed``, and those in
    /// between hold the tag.
    private let positionBits: UInt32

    private static let empty: UInt32 = .max
    private static let removed: UInt32 = .max - 1
    private static let seed = UInt64.random(in: 0 ... .max)

    /// For so many entries, at positions below `positions`. There is room for some more of both.
    init(capacity: Int = 0, positions: Int = 0) {
        var size = 16
        while size * 7 < capacity * 9 + 9 { size *= 2 }
        slots = Array(repeating: Self.empty, count: size)
        var bits: UInt32 = 8
        while bits < 31, positions >> (bits - 1) > 0 { bits += 1 }
        positionBits = bits
    }

    /// Whether another entry may be inserted at this position; otherwise the index has to be rebuilt before. It is full
    /// at four fifths, removed entries counted.
    func hasRoom(for position: Int32) -> Bool { (taken + 1) * 5 <= slots.count * 4 && position >> positionBits == 0 }

    /// The finaliser of MurmurHash3 over both numbers and the seed.
    static func hash(_ directory: Int32, _ name: NameID) -> Int {
        var bits = UInt64(UInt32(bitPattern: directory)) << 32 | UInt64(UInt32(bitPattern: name.index))
        bits ^= seed
        bits = (bits ^ bits >> 33) &* 0xFF51_AFD7_ED55_8CCD
        bits = (bits ^ bits >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int(truncatingIfNeeded: bits ^ bits >> 33)
    }

    /// The bits that do not choose the slot. Never that of ``empty`` or ``removed``, whose highest bit is set.
    private func tag(_ hash: Int) -> UInt32 { (UInt32(truncatingIfNeeded: hash >> 32) & 0x7FFF_FFFF) >> positionBits }

    private func slot(_ hash: Int, _ position: Int32) -> UInt32 {
        tag(hash) << positionBits | UInt32(bitPattern: position)
    }

    /// The position with this hash for which `matches` is true.
    @inline(__always)
    func find(hash: Int, where matches: (Int32) -> Bool) -> Int32? {
        let tag = tag(hash)
        let mask = (1 as UInt32) << positionBits - 1
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            if slots[slot] >> positionBits == tag {
                let position = Int32(bitPattern: slots[slot] & mask)
                if matches(position) { return position }
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a position that there is room for.
    mutating func insert(hash: Int, _ position: Int32) {
        precondition(position >= 0 && position >> positionBits == 0, "a position beyond the index")
        var slot = hash & (slots.count - 1)
        while slots[slot] < Self.removed { slot = (slot + 1) & (slots.count - 1) }
        if slots[slot] == Self.empty { taken += 1 }
        slots[slot] = self.slot(hash, position)
    }

    /// Removes all positions and keeps the capacity.
    mutating func removeAll() {
        for slot in slots.indices { slots[slot] = Self.empty }
        taken = 0
    }

    /// How many slots there are.
    var size: Int { slots.count }

    mutating func remove(hash: Int, _ position: Int32) {
        let wanted = self.slot(hash, position)
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            if slots[slot] == wanted {
                slots[slot] = Self.removed
                return
            }
            slot = (slot + 1) & (slots.count - 1)
        }
    }
}
