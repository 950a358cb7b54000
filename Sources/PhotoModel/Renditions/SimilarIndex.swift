/// Groups of similar photos: hashes of 64 bits that differ in few bits.
///
/// Two hashes that differ in `d` bits differ in at most `d/4` bits in one of their four quarters. So each is compared only
/// with those that have a quarter within that distance: for hundreds of thousands of photos that takes seconds, where
/// comparing each with each takes hours.
package struct SimilarIndex {
    /// Beyond this, photos have nothing in common.
    package static let greatestDistance = 15

    /// Indices of the given hashes, in order within each group; groups by their first.
    package let groups: [[Int]]

    package init(_ likenesses: [UInt64], distance: Int) {
        precondition((0...Self.greatestDistance).contains(distance))
        // Equal hashes count as one: a thousand empty pages cost no million comparisons.
        var firsts: [UInt64: Int] = [:]
        var unique: [UInt64] = []
        let uniqueOf = likenesses.map { likeness -> Int in
            if let place = firsts[likeness] { return place }
            firsts[likeness] = unique.count
            unique.append(likeness)
            return unique.count - 1
        }
        var sets = DisjointSets(count: unique.count)
        if distance > 0 {
            for quarter in 0..<4 { Self.join(unique, quarter, distance, &sets) }
        }
        var members: [Int: [Int]] = [:]
        for (place, number) in uniqueOf.enumerated() { members[sets.root(of: number), default: []].append(place) }
        groups = members.values.filter { $0.count > 1 }.sorted { $0[0] < $1[0] }
    }

    /// Joins those whose quarters are near to each other, and all of whose bits are.
    private static func join(_ all: [UInt64], _ quarter: Int, _ distance: Int, _ sets: inout DisjointSets) {
        func key(_ likeness: UInt64) -> Int { Int(likeness >> UInt64(16 * quarter) & 0xFFFF) }
        // Places in the order of their quarters: those of quarter k from starts[k] on.
        var starts = [Int](repeating: 0, count: 65_537)
        for likeness in all { starts[key(likeness) + 1] += 1 }
        for index in 1...65_536 { starts[index] += starts[index - 1] }
        var order = [Int32](repeating: 0, count: all.count)
        var next = starts
        for (place, likeness) in all.enumerated() {
            order[next[key(likeness)]] = Int32(place)
            next[key(likeness)] += 1
        }
        let masks = (0...0xFFFF).filter { $0.nonzeroBitCount <= distance / 4 }
        for own in 0...0xFFFF where starts[own] < starts[own + 1] {
            for mask in masks where own ^ mask >= own {
                let other = own ^ mask
                for at in starts[own]..<starts[own + 1] {
                    let likeness = all[Int(order[at])]
                    for beside in starts[other]..<starts[other + 1]
                    where (likeness ^ all[Int(order[beside])]).nonzeroBitCount <= distance {
                        sets.join(Int(order[at]), Int(order[beside]))
                    }
                }
            }
        }
    }
}

/// Which belong together, as it becomes known pair by pair.
private struct DisjointSets {
    private var parents: [Int]

    init(count: Int) { parents = Array(0..<count) }

    mutating func root(of member: Int) -> Int {
        var member = member
        while parents[member] != member {
            parents[member] = parents[parents[member]]
            member = parents[member]
        }
        return member
    }

    mutating func join(_ left: Int, _ right: Int) {
        let (left, right) = (root(of: left), root(of: right))
        parents[max(left, right)] = min(left, right)
    }
}
