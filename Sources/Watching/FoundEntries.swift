import FileValues
import LinuxKernel

/// Entries that a listing has reported as found, until the records that were in the kernel's queue by then have been read:
/// those records report the same entries again. A value.
struct FoundEntries {
    private var names: [Int32: Set<BytePath>] = [:]
    /// Bytes of records that were put into the queue before the last listing ended.
    private var bytesLeft = 0

    var isEmpty: Bool { names.isEmpty }

    mutating func insert(_ name: BytePath, in watch: Int32) { names[watch, default: []].insert(name) }

    /// A walk has ended while so many bytes of records were not read yet.
    mutating func endWalk(bytesAhead: Int) {
        bytesLeft = bytesAhead
        if bytesAhead <= 0 { names = [:] }
    }

    /// Processes a record; returns whether it announces an entry that was reported as found.
    mutating func covers(_ record: InotifyRecord) -> Bool {
        bytesLeft -= record.byteCount
        defer { if bytesLeft <= 0 { names = [:] } }
        guard bytesLeft >= 0, !record.mask.isDisjoint(with: [.created, .movedTo]) else { return false }
        // Once: another entry with the name comes after the first has left, which is reported too.
        return names[record.watch]?.remove(record.copiedName) != nil
    }
}

extension InotifyRecord {
    /// Its size in the queue: a header, and a name that is padded to whole headers.
    var byteCount: Int { name.isEmpty ? 16 : 16 + (name.count + 1 + 15) / 16 * 16 }
}
