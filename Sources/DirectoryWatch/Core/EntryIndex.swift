/// From a directory and a name to a place in some table: open addressing over places alone, 4 bytes each.
///
/// The keys stay in the table. The hash is seeded, so that nobody who chooses names can make them collide.
struct EntryIndex {
    private var slots: [Int32]
    /// A byte of each slot's hash, where the table is so large that looking at a wrong entry is what costs; else empty.
    private var tags: [UInt8]
    private var taken = 0

    private static let empty: Int32 = -1
    private static let removed: Int32 = -2
    private static let seed = UInt64.random(in: 0 ... .max)

    /// With tags it takes 5 bytes a place, and hardly ever asks for an entry that is not the one looked for.
    init(capacity: Int = 0, hasTags: Bool = false) {
        var size = 16
        while size * 2 < capacity * 3 + 4 { size *= 2 }
        slots = Array(repeating: Self.empty, count: size)
        tags = hasTags ? Array(repeating: 0, count: size) : []
    }

    /// Whether it must be rebuilt before the next insertion: at three quarters, removed places counted.
    var isFull: Bool { (taken + 1) * 4 > slots.count * 3 }

    /// The finaliser of MurmurHash3 over both numbers and the seed.
    static func hash(_ directory: Int32, _ name: NameID) -> Int {
        var bits = UInt64(UInt32(bitPattern: directory)) << 32 | UInt64(UInt32(bitPattern: name.index))
        bits ^= seed
        bits = (bits ^ bits >> 33) &* 0xFF51_AFD7_ED55_8CCD
        bits = (bits ^ bits >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int(truncatingIfNeeded: bits ^ bits >> 33)
    }

    /// Of the bits that do not choose the slot.
    private static func tag(_ hash: Int) -> UInt8 { UInt8(truncatingIfNeeded: hash >> 48) }

    @inline(__always)
    func find(hash: Int, where matches: (Int32) -> Bool) -> Int32? {
        let tag = Self.tag(hash)
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            if slots[slot] >= 0, tags.isEmpty || tags[slot] == tag, matches(slots[slot]) { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    mutating func insert(hash: Int, _ place: Int32) {
        var slot = hash & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        if slots[slot] == Self.empty { taken += 1 }
        slots[slot] = place
        if !tags.isEmpty { tags[slot] = Self.tag(hash) }
    }

    /// Takes all places out and keeps the room.
    mutating func removeAll() {
        for slot in slots.indices { slots[slot] = Self.empty }
        taken = 0
    }

    /// How many slots there are.
    var size: Int { slots.count }

    mutating func remove(hash: Int, _ place: Int32) {
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            if slots[slot] == place {
                slots[slot] = Self.removed
                return
            }
            slot = (slot + 1) & (slots.count - 1)
        }
    }
}
