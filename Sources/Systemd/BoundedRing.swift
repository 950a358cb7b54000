/// A first-in, first-out buffer with limits for the number of elements and their bytes; a value without I/O.
///
/// When it is full, the *newest* elements are refused: the cause of a failure is logged before the failure, and the
/// entries before the gap stay complete, so that a report can mark the gap's exact position. The last eighth of the
/// room is reserved for severe entries, so that a flood of outcomes cannot displace an error.
struct BoundedRing<Element> {
    /// An element, or a gap where elements were refused.
    enum Next {
        case element(Element)
        case gap(Int)
    }

    private let capacity: Int
    private let byteCapacity: Int
    private var slots: [(element: Element, cost: Int)?]
    private var head = 0
    private var accepted: UInt64 = 0
    /// The number refused since the last reported gap, and the accepted element that follows the first of them.
    private var gap: (count: Int, before: UInt64)?

    private(set) var count = 0
    private(set) var bytes = 0
    /// Refused in total.
    private(set) var dropped: UInt64 = 0

    init(capacity: Int, byteCapacity: Int) {
        precondition(capacity >= 8 && byteCapacity >= 8, "a ring without room")
        self.capacity = capacity
        self.byteCapacity = byteCapacity
        slots = Array(repeating: nil, count: capacity)
    }

    /// Appends `element`, or counts it as dropped and returns false.
    mutating func offer(_ element: Element, cost: Int, isSevere: Bool) -> Bool {
        let room = isSevere ? capacity : capacity - capacity / 8
        let byteRoom = isSevere ? byteCapacity : byteCapacity - byteCapacity / 8
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

    /// Removes and returns the next element or gap; nil if empty.
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
