/// A first-in, first-out buffer with a bound on its number of elements and on their bytes; a value without I/O.
///
/// When it is full, the *newest* are refused, not the oldest pushed out: what led to the trouble is older than the
/// trouble, and the entries before the gap stay unbroken, so that one report can stand exactly where the gap is. The
/// last eighth of the room is kept for grave entries, so that a flood of outcomes cannot crowd out an error.
struct BoundedRing<Element> {
    /// What comes next: an element, or the news that some are missing here.
    enum Next {
        case element(Element)
        case gap(Int)
    }

    private let capacity: Int
    private let byteCapacity: Int
    private var slots: [(element: Element, cost: Int)?]
    private var head = 0
    private var accepted: UInt64 = 0
    /// Refused since the last gap was reported, and before which accepted element the first of them belonged.
    private var gap: (count: Int, before: UInt64)?

    private(set) var count = 0
    private(set) var bytes = 0
    /// Refused since the beginning.
    private(set) var dropped: UInt64 = 0

    init(capacity: Int, byteCapacity: Int) {
        precondition(capacity >= 8 && byteCapacity >= 8, "a ring without room")
        self.capacity = capacity
        self.byteCapacity = byteCapacity
        slots = Array(repeating: nil, count: capacity)
    }

    /// Takes `element` or counts it as dropped; false if dropped.
    mutating func offer(_ element: Element, cost: Int, grave: Bool) -> Bool {
        let room = grave ? capacity : capacity - capacity / 8
        let byteRoom = grave ? byteCapacity : byteCapacity - byteCapacity / 8
        guard count < room, bytes + cost <= byteRoom else {
            dropped += 1
            gap = ((gap?.count ?? 0) + 1, gap?.before ?? accepted)
            return false
        }
        slots[(head + count) % capacity] = (element, cost)
        count += 1
        bytes += cost
        accepted += 1
        return true
    }

    /// Takes out what comes next; nil if there is nothing.
    mutating func next() -> Next? {
        let position = accepted - UInt64(count)
        if let gap, gap.before <= position {
            self.gap = nil
            return .gap(gap.count)
        }
        guard count > 0, let slot = slots[head] else { return nil }
        slots[head] = nil
        head = (head + 1) % capacity
        count -= 1
        bytes -= slot.cost
        return .element(slot.element)
    }
}

extension BoundedRing.Next: Sendable where Element: Sendable {}
