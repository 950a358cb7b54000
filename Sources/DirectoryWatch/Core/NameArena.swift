import FileValues

/// Names one after the other in one array, so that a name costs its bytes and no allocation of its own.
struct NameArena {
    struct Reference {
        let offset: UInt32
        let length: UInt16
    }

    private var bytes: [UInt8] = []
    private var wasted = 0

    /// Whether more than half is names that were removed.
    var isWasteful: Bool { wasted > 4096 && wasted > bytes.count / 2 }

    mutating func add(_ name: BytePath) -> Reference {
        precondition(bytes.count + name.bytes.count <= Int(UInt32.max), "4 GiB of directory names")
        defer { bytes.append(contentsOf: name.bytes) }
        return Reference(offset: UInt32(bytes.count), length: UInt16(clamping: name.bytes.count))
    }

    /// Counts the name's bytes as waste; its owner packs the rest when there is too much of it.
    mutating func remove(_ reference: Reference) { wasted += Int(reference.length) }

    func name(_ reference: Reference) -> BytePath { BytePath(slice(reference)) }

    func equals(_ reference: Reference, _ name: BytePath) -> Bool {
        Int(reference.length) == name.bytes.count && slice(reference).elementsEqual(name.bytes)
    }

    private func slice(_ reference: Reference) -> ArraySlice<UInt8> {
        bytes[Int(reference.offset)..<(Int(reference.offset) + Int(reference.length))]
    }
}
