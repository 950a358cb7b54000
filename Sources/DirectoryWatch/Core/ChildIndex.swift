import FileValues

/// From parent and name to a directory's place: open addressing over places alone, 8 bytes a directory.
///
/// The keys stay in the table; the hash is seeded, because names come from whoever writes into an inbox.
struct ChildIndex {
    private var slots: [Int32]
    private var taken = 0

    private static let empty: Int32 = -1
    private static let removed: Int32 = -2

    init(capacity: Int = 0) {
        var size = 16
        while size < capacity * 2 + 2 { size *= 2 }
        slots = Array(repeating: Self.empty, count: size)
    }

    /// Whether it must be rebuilt before the next insertion: at three quarters, removed places counted.
    var isFull: Bool { (taken + 1) * 4 > slots.count * 3 }

    static func hash(parent: Int32, name: BytePath) -> Int {
        var hasher = Hasher()
        hasher.combine(parent)
        name.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    func find(hash: Int, where matches: (Int32) -> Bool) -> Int32? {
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            if slots[slot] >= 0, matches(slots[slot]) { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    mutating func insert(hash: Int, _ place: Int32) {
        var slot = hash & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        if slots[slot] == Self.empty { taken += 1 }
        slots[slot] = place
    }

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
