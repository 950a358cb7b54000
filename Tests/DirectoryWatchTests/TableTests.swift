import FileValues
import TestSupport
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("The tables of names and directories")
struct TableTests {
    @Test("100,000 random operations on an index agree with a dictionary", arguments: [1, 2, 3] as [UInt64])
    func index(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var index = EntryIndex()
        var keys: [Int32: UInt64] = [:]
        var places: [UInt64: Int32] = [:]
        // Few hashes for many keys, so that they meet in the slots, in their tags and in both.
        func hash(_ key: UInt64) -> Int { Int(truncatingIfNeeded: (key % 61) &* 0x9E37_79B9_7F4A_7C15) }
        func find(_ key: UInt64) -> Int32? { index.find(hash: hash(key)) { keys[$0] == key } }
        for step in 0..<100_000 {
            let key = random.next() % 700
            #expect(find(key) == places[key])
            // By turns it grows and shrinks.
            if random.next() % 10 < (step / 20_000 % 2 == 0 ? 6 : 3) {
                guard places[key] == nil else { continue }
                var place = Int32(truncatingIfNeeded: random.next() % (1 << (1 + random.next() % 31)))
                while keys[place] != nil { place = place &+ 1 & .max }
                keys[place] = key
                places[key] = place
                if index.hasRoom(for: place) {
                    index.insert(hash: hash(key), place)
                } else {
                    index = EntryIndex(capacity: keys.count, positions: Int(keys.keys.max() ?? 0) + 1)
                    for (place, key) in keys { index.insert(hash: hash(key), place) }
                }
            } else if let place = places.removeValue(forKey: key) {
                index.remove(hash: hash(key), place)
                keys[place] = nil
            }
        }
        for key in 0..<700 as Range<UInt64> { #expect(find(key) == places[key]) }
        index.removeAll()
        for key in 0..<700 as Range<UInt64> { #expect(find(key) == nil) }
    }

    @Test("A full index is rebuilt with all its entries, however it became full")
    func growth() {
        var index = EntryIndex()
        for place in 0..<100_000 as Range<Int32> {
            let hash = EntryIndex.hash(place, NameID(index: place))
            if index.hasRoom(for: place) {
                index.insert(hash: hash, place)
            } else {
                index = EntryIndex(capacity: Int(place) + 1, positions: Int(place) + 1)
                for place in 0...place { index.insert(hash: EntryIndex.hash(place, NameID(index: place)), place) }
            }
        }
        #expect(index.size == 131_072)
        for place in 0..<100_000 as Range<Int32> {
            var asked = 0
            let found = index.find(hash: EntryIndex.hash(place, NameID(index: place))) {
                asked += 1
                return $0 == place
            }
            #expect(found == place && asked < 8)
        }
    }

    @Test("Names of all lengths keep their bytes and numbers, also after a sweep")
    func names() {
        var names = NameTable()
        let lengths = [1, 2, 7, 8, 9, 16, 17, 254, 255, 256, 257, 511, 1023, 65_535] + Array(10..<3_000)
        let given = lengths.enumerated().map { number, length in
            BytePath([UInt8](repeating: UInt8(1 + number % 255), count: length))
        }
        let numbers = given.map { names.intern($0) }
        #expect(Set(numbers).count == Set(given).count)
        for (name, number) in zip(given, numbers) {
            let again = names.intern(name)
            #expect(again == number && names.find(name) == number)
            #expect(names.name(number) == name && names.length(number) == name.bytes.count)
        }
        #expect(names.find("another") == nil)
        let kept = Set(zip(given, numbers).enumerated().filter { $0.offset % 3 == 0 }.map(\.element.1))
        names.sweep { mark in for number in kept { mark(number) } }
        #expect(names.count == kept.count)
        for (name, number) in zip(given, numbers) {
            #expect(names.find(name) == (kept.contains(number) ? number : nil))
            if kept.contains(number) { #expect(names.name(number) == name) }
        }
        // Numbers that were given up are given again.
        for name in given {
            let number = names.intern(name)
            #expect(names.name(number) == name)
        }
        #expect(names.count == Set(given).count)
    }

    @Test("A directory takes 48 bytes")
    func size() {
        #expect(MemoryLayout<DirectoryTable.Node>.stride == 48)
    }
}
