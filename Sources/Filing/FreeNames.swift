package import FileValues
package import LinuxKernel
import SystemPackage

/// The search for a free number where many names are taken: it checks some thirty names of a million, not each.
extension FileNames {
    /// Beyond this distance, a number is chosen at random.
    private static let reach = 1 << 20
    /// The number of attempts, since other programs may take a name that was free before it is used.
    private static let rounds = 64

    /// Calls `attempt` with numbers for ``candidate(_:attempt:numberAfter:)``: 0, then numbers that `isFree` reports
    /// free, until it succeeds. `attempt` returns nil if the name is taken after all. Returns nil if other programs
    /// took the name each time.
    package static func withFreeNumber<Value: ~Copyable, Failure: Error>(
        _ attempt: (Int) throws(Failure) -> Value?, isFree: (Int) throws(Failure) -> Bool
    ) throws(Failure) -> Value? {
        var number = 0
        for _ in 0..<rounds {
            if let value = try attempt(number) { return value }
            number = try freeNumber(above: number, isFree: isFree)
        }
        return nil
    }

    /// Returns a free number above `taken` that directly follows a taken one: doubles the distance, then bisects. Free
    /// numbers among taken ones may be found or not.
    static func freeNumber<Failure: Error>(
        above taken: Int, isFree: (Int) throws(Failure) -> Bool
    ) throws(Failure) -> Int {
        var (taken, distance) = (taken, 1)
        while try !isFree(taken + distance) {
            taken += distance
            distance *= 2
            // Only names created to defeat this search can be taken at each of these twenty distances.
            if distance > reach { return .random(in: reach...(1 << 50)) }
        }
        var free = taken + distance
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2
            if try isFree(middle) { free = middle } else { taken = middle }
        }
        return free
    }

    /// Returns the numbers in the names of `directory` that ``candidate(_:attempt:numberAfter:)`` could have made from
    /// `name`, and 0, in ascending order. The caller must check each.
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

/// Returns the result of `body`, or nil if it fails with EEXIST.
package func nilIfExists<Value: ~Copyable>(
    _ body: () throws(SystemCallError) -> Value
) throws(SystemCallError) -> Value? {
    do throws(SystemCallError) { return try body() } catch {
        if error.code == .fileExists { return nil }
        throw error
    }
}

extension OwnedDescriptor {
    /// Returns whether this directory has no entry `name`.
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
    static func noFreeName(_ step: FilingStep, _ path: BytePath, on side: Side = .destination) -> FilingError {
        FilingError(step, side, .noFreeName, path: path)
    }
}
