/// The days of the timeline as the pages send them, each followed by its count.
public func daysOfTimeline(_ bytes: [UInt8]) -> [UInt32] {
    var (numbers, number, weight): ([Int64], Int64, Int64) = ([], 0, 0)
    for byte in bytes {
        number |= Int64(byte & 0x7F) << weight
        weight += 7
        if byte < 0x80 { (numbers, number, weight) = (numbers + [number], 0, 0) }
    }
    var day = Int64(1) << 31
    return stride(from: 0, to: numbers.count - 1, by: 2).flatMap { at in
        day -= numbers[at]
        let isDated = numbers[at] != 0
        return [UInt32(truncatingIfNeeded: isDated ? day : Int64(Int32.max)), UInt32(numbers[at + 1])]
    }
}
