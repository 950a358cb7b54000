import Testing

@testable import PhotoFormats
@testable import PhotoModel

@Suite("Similar photos are found by hashes that differ in few bits")
struct SimilarIndexTests {
    /// Each compared with each.
    private static func slowGroups(_ all: [UInt64], _ distance: Int) -> Set<Set<Int>> {
        var groups: [Set<Int>] = []
        for (place, one) in all.enumerated() {
            let near = groups.filter { group in group.contains { (all[$0] ^ one).nonzeroBitCount <= distance } }
            groups.removeAll { near.contains($0) }
            groups.append(near.reduce([place]) { $0.union($1) })
        }
        return Set(groups.filter { $0.count > 1 })
    }

    @Test(arguments: 0...SimilarIndex.greatestDistance) func agreesWithComparingAllPairs(_ distance: Int) {
        var random = SystemRandomNumberGenerator()
        var all: [UInt64] = []
        for _ in 0..<60 {
            let seed = UInt64.random(in: 0 ... .max, using: &random)
            all.append(seed)
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let flips = Int.random(in: 0...18, using: &random)
                all.append(
                    (0..<flips).reduce(seed) { bits, _ in bits ^ 1 << UInt64.random(in: 0..<64, using: &random) })
            }
        }
        all += [0, 0, .max, .max, .max]
        all.shuffle(using: &random)
        let found = SimilarIndex(all, distance: distance).groups
        #expect(Set(found.map { Set($0) }) == Self.slowGroups(all, distance))
        #expect(found.allSatisfy { $0 == $0.sorted() })
        #expect(found.map { $0[0] } == found.map { $0[0] }.sorted())
    }

    @Test func equalHashesAreOneGroup() {
        let all = [UInt64](repeating: 42, count: 200_000) + [1 << 60]
        #expect(SimilarIndex(all, distance: 4).groups.map(\.count) == [200_001])
        #expect(SimilarIndex(all, distance: 0).groups.map(\.count) == [200_000])
        #expect(SimilarIndex([], distance: 4).groups.isEmpty)
    }
}
