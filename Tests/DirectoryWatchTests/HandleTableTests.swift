import LinuxKernel
import Testing

@testable import DirectoryWatch

/// A handle that no file system gave.
func madeHandle(_ inode: UInt64, on fileSystem: UInt64 = 1) -> DirectoryHandle {
    let handle = withUnsafeBytes(of: inode) { DirectoryHandle(fileSystem: fileSystem, type: 1, bytes: $0) }
    guard let handle else { fatalError("eight bytes always have room") }
    return handle
}

@Suite("Handles have numbers, each its own")
struct HandleTableTests {
    @Test("A hundred thousand random steps agree with a dictionary", arguments: [1, 2, 3] as [UInt64])
    func model(seed: UInt64) {
        var random = SeededNumbers(state: seed)
        var table = HandleTable(seed: seed)
        var numbers: [DirectoryHandle: Int32] = [:]
        for step in 0..<100_000 {
            let handle = madeHandle(random.next() % 5_000, on: 1 + random.next() % 2)
            // By turns it grows and shrinks.
            if random.next() % 10 < (step / 20_000 % 2 == 0 ? 6 : 3) {
                if numbers[handle] == nil {
                    let number = table.insert(handle)
                    #expect(!numbers.values.contains(number) || step % 100 != 0)
                    #expect(table.handle(of: number) == handle)
                    numbers[handle] = number
                }
            } else if let number = numbers.removeValue(forKey: handle) {
                let handleBefore = table.remove(number)
                #expect(handleBefore == handle)
                let handleAfter = table.remove(number)
                #expect(handleAfter == nil)
                #expect(table.handle(of: number) == nil)
            }
            let asked = madeHandle(random.next() % 5_000, on: 1)
            #expect(table.number(of: asked) == numbers[asked])
        }
        #expect(table.count == numbers.count)
        for (handle, number) in numbers { #expect(table.number(of: handle) == number) }
        #expect(Set(table.numbers(on: 2)) == Set(numbers.filter { $0.key.fileSystem == 2 }.map(\.value)))
    }

    @Test("A number that was given up comes back late, and all come back in the end")
    func reuse() {
        var table = HandleTable()
        var given: [Int32] = []
        for inode in 0..<5_000 as Range<UInt64> {
            let number = table.insert(madeHandle(inode))
            #expect(!given.suffix(1_000).contains(number))
            given.append(number)
            #expect(table.remove(number) != nil)
        }
        #expect(Set(given).count < 1_100)
    }
}

@Suite("The tier's table knows what is marked for whom")
struct TierTableTests {
    @Test("A directory has one number until it is removed; the last one of a file system leaves it idle")
    func numbers() {
        var table = TierTable()
        #expect(table.need(1, device: 7) == .sentinel)
        let first = table.add(madeHandle(1), device: 7, sentinel: 100)
        #expect(table.need(1, device: 7) == .nothing)
        let again = table.add(madeHandle(1), device: 7, sentinel: nil)
        #expect(again == first)
        let second = table.add(madeHandle(2), device: 7, sentinel: nil)
        #expect(first != second && FanotifyTier.isMarked(first) && FanotifyTier.isMarked(second))
        let removed = table.remove(first)
        #expect(removed == (true, nil))
        let removedTwice = table.remove(first)
        #expect(removedTwice == (false, nil))
        #expect(table.idleDevice(1) == nil)
        let last = table.remove(second)
        #expect(last == (true, 1))
        #expect(table.idleDevice(1) == 7)
        let sentinels = table.forget(1)
        #expect(sentinels == [100])
        let afterwards = table.takeSentinel(100, .ignored)
        #expect(afterwards.isEmpty)
    }

    @Test("Of two file systems with one identifier the second is left to the other tier, until the first is gone")
    func copies() {
        var table = TierTable()
        let number = table.add(madeHandle(1), device: 7, sentinel: 100)
        #expect(table.need(1, device: 8) == .anotherTier)
        _ = table.remove(number)
        #expect(table.need(1, device: 8) == .sentinel)
    }

    @Test("The end of a file system ends all its directories, and no others")
    func unmount() {
        var table = TierTable()
        var numbers: Set<Int32> = []
        for inode in 1...3 as ClosedRange<UInt64> {
            numbers.insert(table.add(madeHandle(inode), device: 7, sentinel: inode == 1 ? 100 : nil))
        }
        let other = table.add(madeHandle(1, on: 2), device: 9, sentinel: 101)
        let meant = table.takeSentinel(100, .unmounted)
        #expect(Set(meant.map(\.watch)) == numbers)
        #expect(meant.filter { $0.mask == .ignored }.count == 3)
        #expect(table.count == 1)
        let rest = table.takeSentinel(100, .ignored)
        #expect(rest.isEmpty)
        #expect(table.need(1, device: 7) == .sentinel)
        let remaining = table.remove(other)
        #expect(remaining == (true, 2))
    }

    @Test("When a sentinel's directory is deleted, another directory is asked for again; after an overflow all are")
    func sentinelLost() {
        var table = TierTable()
        let first = table.add(madeHandle(1), device: 7, sentinel: 100)
        let second = table.add(madeHandle(2), device: 7, sentinel: nil)
        let deleted = table.takeSentinel(100, .deletedSelf)
        #expect(deleted.isEmpty)
        let meant = table.takeSentinel(100, .ignored)
        #expect(meant.map(\.watch) == [second] && meant.map(\.mask) == [.ignored])
        #expect(table.need(1, device: 7) == .sentinel)
        _ = table.add(madeHandle(2), device: 7, sentinel: 102)
        #expect(table.need(1, device: 7) == .nothing)
        let overflow = table.takeSentinel(-1, .queueOverflow)
        #expect(overflow.isEmpty)
        #expect(table.need(1, device: 7) == .sentinel)
        // Alone, there is nobody to ask.
        _ = table.remove(first)
        let alone = table.takeSentinel(102, .ignored)
        #expect(alone.isEmpty)
    }

    @Test("A sentinel that another took the place of still tells of the end; one of an earlier mount tells nothing")
    func sentinelsOfOld() {
        var table = TierTable()
        _ = table.add(madeHandle(1), device: 7, sentinel: 100)
        _ = table.takeSentinel(-1, .queueOverflow)
        let number = table.add(madeHandle(2), device: 7, sentinel: 101)
        let end = table.takeSentinel(100, .unmounted)
        #expect(end.map(\.watch).contains(number) && table.count == 0)
        _ = table.add(madeHandle(1), device: 7, sentinel: 102)
        for (watch, mask) in [(100, .ignored), (101, .unmounted), (101, .ignored)] as [(Int32, InotifyMask)] {
            let meant = table.takeSentinel(watch, mask)
            #expect(meant.isEmpty)
        }
        #expect(table.need(1, device: 7) == .nothing && table.count == 1)
    }

    @Test("Cookies are none that inotify gives")
    func cookies() {
        var table = TierTable()
        let made = [table.makeCookie(), table.makeCookie()]
        #expect(made[0] != made[1])
        #expect(made.allSatisfy { $0 >= 1 << 31 })
    }
}
