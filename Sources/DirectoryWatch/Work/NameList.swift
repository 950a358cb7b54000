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

    /// The range of a name in ``bytes``, without its NUL.
    func range(_ index: Int) -> Range<Int> {
        Int(starts[index])..<((index + 1 < starts.count ? Int(starts[index + 1]) : bytes.count) - 1)
    }

    /// Removes and returns the names from `index` on.
    mutating func split(at index: Int) -> NameList {
        var rest = NameList()
        bytes.withUnsafeBytes { bytes in
            for next in index..<count { rest.add(UnsafeRawBufferPointer(rebasing: bytes[range(next)])) }
        }
        bytes.removeSubrange(Int(starts[index])...)
        starts.removeSubrange(index...)
        return rest
    }
}
