/// Names one after the other, each ended by NUL. A value.
struct NameList {
    private(set) var bytes: [UInt8] = []
    private var starts: [Int32] = []

    var count: Int { starts.count }

    mutating func add(_ name: UnsafeRawBufferPointer) {
        starts.append(Int32(bytes.count))
        bytes.append(contentsOf: name)
        bytes.append(0)
    }

    /// Where a name lies in ``bytes``, without its NUL.
    func range(_ place: Int) -> Range<Int> {
        Int(starts[place])..<((place + 1 < starts.count ? Int(starts[place + 1]) : bytes.count) - 1)
    }

    /// Takes the names from `place` on out of it.
    mutating func split(at place: Int) -> NameList {
        var rest = NameList()
        bytes.withUnsafeBytes { bytes in
            for place in place..<count { rest.add(UnsafeRawBufferPointer(rebasing: bytes[range(place)])) }
        }
        bytes.removeSubrange(Int(starts[place])...)
        starts.removeSubrange(place...)
        return rest
    }
}
