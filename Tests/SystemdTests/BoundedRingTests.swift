import Testing

@testable import Systemd

struct BoundedRingTests {
    private func offer(_ element: Int, cost: Int = 1, isSevere: Bool = false, to ring: inout BoundedRing<Int>) -> Bool {
        ring.offer(element, cost: cost, isSevere: isSevere)
    }

    private func drained(_ ring: inout BoundedRing<Int>) -> [String] {
        var all: [String] = []
        while let next = ring.next() {
            switch next {
            case .element(let number): all.append("\(number)")
            case .gap(let count): all.append("gap \(count)")
            }
        }
        return all
    }

    @Test("Order is kept when the ring wraps around")
    func wraps() {
        var ring = BoundedRing<Int>(capacity: 8, byteCapacity: 1_000)
        for round in 0..<10 {
            for number in 0..<5 { #expect(offer(round * 5 + number, to: &ring)) }
            #expect(drained(&ring) == (0..<5).map { "\(round * 5 + $0)" })
        }
        #expect(ring.count == 0 && ring.bytes == 0 && ring.dropped == 0)
    }

    @Test("A full ring refuses new elements and reports the gap at their place")
    func full() {
        var ring = BoundedRing<Int>(capacity: 8, byteCapacity: 1_000)
        for number in 0..<10 { #expect(offer(number, to: &ring) == (number < 7)) }
        #expect(offer(100, isSevere: true, to: &ring))
        #expect(!offer(101, isSevere: true, to: &ring))
        #expect(ring.dropped == 4 && ring.count == 8)
        #expect(drained(&ring) == (0..<7).map { "\($0)" } + ["gap 4", "100"])
        #expect(drained(&ring) == [])
        // A second gap is counted separately.
        for number in 0..<9 { _ = offer(number, to: &ring) }
        #expect(drained(&ring).last == "gap 2" && ring.dropped == 6)
    }

    @Test("The number of bytes is limited too")
    func bytes() {
        var ring = BoundedRing<Int>(capacity: 1_000, byteCapacity: 80)
        #expect(offer(1, cost: 60, to: &ring))
        #expect(!offer(2, cost: 11, to: &ring))
        #expect(offer(3, cost: 10, to: &ring))
        #expect(offer(4, cost: 10, isSevere: true, to: &ring))
        #expect(!offer(5, cost: 1, isSevere: true, to: &ring))
        #expect(ring.bytes == 80)
        #expect(drained(&ring) == ["1", "gap 2", "3", "4"])
    }
}
