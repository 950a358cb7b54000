package import FileValues
package import LinuxKernel
import SystemPackage

/// How a name with a number is found where many are taken: by asking for some thirty names of a million, not for each.
extension FileNames {
    /// Beyond this, numbers are drawn and not searched for.
    private static let reach = 1 << 20
    /// How many names that were free may be taken by others before they are used.
    private static let rounds = 64

    /// Has `take` try numbers (attempts of ``candidate(_:attempt:numberAfter:)``) until it takes one: 0, then some that
    /// `isFree` says are free; `take` gives back nil where the name is taken all the same. Nil if others were faster
    /// each time.
    package static func withFreeNumber<Taken: ~Copyable, Failure: Error>(
        _ take: (Int) throws(Failure) -> Taken?, isFree: (Int) throws(Failure) -> Bool
    ) throws(Failure) -> Taken? {
        var number = 0
        for _ in 0..<rounds {
            if let taken = try take(number) { return taken }
            number = try freeNumber(above: number, isFree: isFree)
        }
        return nil
    }

    /// A number above `taken` that is free, and right behind one that is not: found by doubling the distance, then by
    /// halving what is between. Numbers that became free again among others that are taken may be found or not.
    static func freeNumber<Failure: Error>(
        above taken: Int, isFree: (Int) throws(Failure) -> Bool
    ) throws(Failure) -> Int {
        var (taken, distance) = (taken, 1)
        while try !isFree(taken + distance) {
            taken += distance
            distance *= 2
            // Only somebody who gives such names on purpose takes each of the twenty that were asked for.
            if distance > reach { return .random(in: reach...(1 << 50)) }
        }
        var free = taken + distance
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2
            if try isFree(middle) { free = middle } else { taken = middle }
        }
        return free
    }

    /// The numbers that names in `directory` could have got from ``candidate(_:attempt:numberAfter:)`` for `name`: 0, and
    /// what stands before its ending in others. Each is still to be looked at; in ascending order.
    static func numbers(
        like name: BytePath, numberAfter: Int?, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> [Int] {
        let ending = ending(of: name, stem: stem(of: name, numberAfter).count).count
        var numbers: Set = [0]
        for entry in try directory.entries() {
            let front = entry.name.bytes.dropLast(ending)
            let digits = front.suffix(19).reversed().prefix { (0x30...0x39).contains($0) }.reversed()
            guard front.dropLast(digits.count).last == UInt8(ascii: "-"), digits.first != UInt8(ascii: "0"),
                let number = Int(String(decoding: digits, as: UTF8.self)), number > 1
            else { continue }
            numbers.insert(number - 1)
        }
        return numbers.sorted()
    }
}

/// What `body` gives back; nil where it ends with EEXIST.
package func unlessTaken<Value: ~Copyable>(
    _ body: () throws(SystemCallError) -> Value
) throws(SystemCallError) -> Value? {
    do throws(SystemCallError) { return try body() } catch {
        if error.code == .fileExists { return nil }
        throw error
    }
}

extension OwnedDescriptor {
    /// Whether this directory has no entry `name`.
    package borrowing func isFree(_ name: BytePath) throws(SystemCallError) -> Bool {
        do {
            _ = try FileStatus(of: name, in: self)
            return false
        } catch  where error.code == .noSuchFileOrDirectory {
            return true
        }
    }
}

extension FilingError {
    /// Others took each free name before it was used, or the only one that was to be used is taken.
    static func noFreeName(_ step: FilingStep, _ path: BytePath, on side: Side = .destination) -> FilingError {
        FilingError(step, side, .noFreeName, path: path)
    }
}
