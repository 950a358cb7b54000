/// From a directory and a name to a place in some table: open addressing over places alone, 4 bytes each.
///
/// The keys stay in the table. The bits of a slot that a place does not need hold some of its hash, so that hardly ever
/// an entry is asked for that is not the one looked for, however full the index is. The hash is seeded, so that nobody
/// who chooses names can make them collide.
package struct EntryIndex {
    private var slots: [UInt32]
    private var taken = 0
    /// How many bits of a slot are its place, from the lowest; the highest is left to ``empty`` and ``removed``, and
    /// those in between hold the tag.
    private let placeBits: UInt32

    private static let empty: UInt32 = .max
    private static let removed: UInt32 = .max - 1
    private static let seed = UInt64.random(in: 0 ... .max)

    /// For so many entries, at places below `places`. There is room for some more of both.
    package init(capacity: Int = 0, places: Int = 0) {
        var size = 16
        while size * 7 < capacity * 9 + 9 { size *= 2 }
        slots = Array(repeating: Self.empty, count: size)
        var bits: UInt32 = 8
        while bits < 31, places >> (bits - 1) > 0 { bits += 1 }
        placeBits = bits
    }

    /// Whether another entry may be inserted at this place; otherwise the index must be made anew before. At four fifths
    /// it is full, removed entries counted.
    package func hasRoom(for place: Int32) -> Bool { (taken + 1) * 5 <= slots.count * 4 && place >> placeBits == 0 }

    /// The finaliser of MurmurHash3 over both numbers and the seed.
    package static func hash(_ directory: Int32, _ name: NameID) -> Int {
        var bits = UInt64(UInt32(bitPattern: directory)) << 32 | UInt64(UInt32(bitPattern: name.index))
        bits ^= seed
        bits = (bits ^ bits >> 33) &* 0xFF51_AFD7_ED55_8CCD
        bits = (bits ^ bits >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int(truncatingIfNeeded: bits ^ bits >> 33)
    }

    /// Of the bits that do not choose the slot. Never that of ``empty`` or ``removed``, whose highest bit is set.
    private func tag(_ hash: Int) -> UInt32 { (UInt32(truncatingIfNeeded: hash >> 32) & 0x7FFF_FFFF) >> placeBits }

    private func slot(_ hash: Int, _ place: Int32) -> UInt32 { tag(hash) << placeBits | UInt32(bitPattern: place) }

    /// The place that `matches` says is the one, of those under this hash.
    @inline(__always)
    package func find(hash: Int, where matches: (Int32) -> Bool) -> Int32? {
        let tag = tag(hash)
        let mask = (1 as UInt32) << placeBits - 1
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            if slots[slot] >> placeBits == tag {
                let place = Int32(bitPattern: slots[slot] & mask)
                if matches(place) { return place }
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a place that there is room for.
    package mutating func insert(hash: Int, _ place: Int32) {
        precondition(place >= 0 && place >> placeBits == 0, "a place beyond the index")
        var slot = hash & (slots.count - 1)
        while slots[slot] < Self.removed { slot = (slot + 1) & (slots.count - 1) }
        if slots[slot] == Self.empty { taken += 1 }
        slots[slot] = self.slot(hash, place)
    }

    /// Takes all places out and keeps the room.
    package mutating func removeAll() {
        for slot in slots.indices { slots[slot] = Self.empty }
        taken = 0
    }

    /// How many slots there are.
    package var size: Int { slots.count }

    package mutating func remove(hash: Int, _ place: Int32) {
        let wanted = self.slot(hash, place)
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
