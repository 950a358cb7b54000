import LinuxKernel

/// Which directory handle has which number, flat: 48 bytes an entry and 4 to 11 in the index, nothing on the heap for
/// each.
///
/// Numbers are small and come again late: a number that was given up waits until ``numbersInWaiting`` others were, as
/// inotify(7) does not give a descriptor out again soon, so that what is on its way about the old directory has arrived.
struct HandleTable {
    private struct Entry {
        var handle: DirectoryHandle
        /// Of an entry in use −1; else the next in the line of free ones, or the number itself at its end.
        var next: Int32
    }

    private var entries: [Entry] = []
    /// Places in `entries`; −1 for none. Open addressing, at most half full.
    private var index: [Int32]
    private var firstFree: Int32 = -1
    private var lastFree: Int32 = -1
    private var free = 0
    private let seed: UInt64

    private static let numbersInWaiting = 1_024

    /// - Parameter seed: Different in each process, so that nobody can choose handles that collide.
    init(seed: UInt64 = .random(in: 0 ... .max)) {
        self.seed = seed
        index = Array(repeating: -1, count: 64)
    }

    /// How many have a number.
    var count: Int { entries.count - free }

    /// The number of a handle, if it has one.
    func number(of handle: DirectoryHandle) -> Int32? {
        var place = slot(of: handle)
        while index[place] >= 0 {
            if entries[Int(index[place])].handle == handle { return index[place] }
            place = (place + 1) & (index.count - 1)
        }
        return nil
    }

    /// The handle of a number in use.
    func handle(of number: Int32) -> DirectoryHandle? {
        guard number >= 0, number < entries.count, entries[Int(number)].next == -1 else { return nil }
        return entries[Int(number)].handle
    }

    /// The numbers in use of one file system, or of all; in no order. Looks at every entry.
    func numbers(on fileSystem: UInt64) -> [Int32] {
        entries.indices.lazy.filter { entries[$0].next == -1 && entries[$0].handle.fileSystem == fileSystem }.map {
            Int32($0)
        }
    }

    /// A number for a handle that has none.
    mutating func insert(_ handle: DirectoryHandle) -> Int32 {
        if (count + 1) * 2 > index.count { grow() }
        let number: Int32
        if free > Self.numbersInWaiting {
            number = firstFree
            firstFree = entries[Int(number)].next
            free -= 1
            entries[Int(number)] = Entry(handle: handle, next: -1)
        } else {
            number = Int32(entries.count)
            entries.append(Entry(handle: handle, next: -1))
        }
        link(number)
        return number
    }

    /// Takes a number from its handle, and returns the handle.
    mutating func remove(_ number: Int32) -> DirectoryHandle? {
        guard let handle = handle(of: number) else { return nil }
        var hole = slot(of: handle)
        while index[hole] != number { hole = (hole + 1) & (index.count - 1) }
        // What was pushed past the hole moves up, so that no search ends too early.
        var place = hole
        while true {
            place = (place + 1) & (index.count - 1)
            guard index[place] >= 0 else { break }
            let home = slot(of: entries[Int(index[place])].handle)
            if (place &- home) & (index.count - 1) >= (place &- hole) & (index.count - 1) {
                index[hole] = index[place]
                hole = place
            }
        }
        index[hole] = -1
        if free > 0 { entries[Int(lastFree)].next = number } else { firstFree = number }
        entries[Int(number)].next = number
        lastFree = number
        free += 1
        return handle
    }

    private mutating func grow() {
        index = Array(repeating: -1, count: index.count * 2)
        for number in entries.indices where entries[number].next == -1 { link(Int32(number)) }
    }

    private mutating func link(_ number: Int32) {
        var place = slot(of: entries[Int(number)].handle)
        while index[place] >= 0 { place = (place + 1) & (index.count - 1) }
        index[place] = number
    }

    private func slot(of handle: DirectoryHandle) -> Int {
        Int(truncatingIfNeeded: handle.scattered(by: seed)) & (index.count - 1)
    }
}
