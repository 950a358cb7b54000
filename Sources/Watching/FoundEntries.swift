import FileValues
import LinuxKernel

/// Entries that a listing has reported as found, until the records that were in the kernel's queue by then have been taken:
/// those that say that such an entry came say nothing new. A value.
struct FoundEntries {
    private var names: [Int32: Set<BytePath>] = [:]
    /// Bytes of records that were put into the queue before the last listing ended.
    private var bytesLeft = 0

    var isEmpty: Bool { names.isEmpty }

    mutating func insert(_ name: BytePath, in watch: Int32) { names[watch, default: []].insert(name) }

    /// A walk has ended when so many bytes of records were not taken yet.
    mutating func endWalk(bytesAhead: Int) {
        bytesLeft = bytesAhead
        if bytesAhead <= 0 { names = [:] }
    }

    /// Processes a record; returns whether it announces an entry that was reported as found.
    mutating func covers(_ record: InotifyRecord) -> Bool {
        bytesLeft -= record.byteCount
        defer { if bytesLeft <= 0 { names = [:] } }
        guard bytesLeft >= 0, !record.mask.isDisjoint(with: [.created, .movedTo]) else { return false }
        // Once: what comes again under the name has left it before, which is reported too.
        return names[record.watch]?.remove(record.copiedName) != nil
    }
}

extension InotifyRecord {
    /// How many bytes it took in the queue: a header, and a name that is filled up to whole headers.
    var byteCount: Int { name.isEmpty ? 16 : 16 + (name.count + 1 + 15) / 16 * 16 }
}
