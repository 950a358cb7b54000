import LinuxKernel

/// A record of either queue in the words of inotify(7): all that the core knows of.
///
/// Several bits in one mask are in no order; the core looks at the name, whatever they are.
struct TierRecord {
    /// The number that the backend gave; −1 for an overflow.
    let watch: Int32
    let mask: InotifyMask
    /// Joins the two records of a rename; 0 otherwise.
    var cookie: UInt32 = 0
    /// Valid as long as the batch that it came in.
    var name = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The process that did it, where that is known; 0 otherwise.
    var writer: Int32 = 0
}

extension TreeCore {
    mutating func take(_ record: TierRecord) {
        take(watch: record.watch, mask: record.mask, cookie: record.cookie, name: record.name, writer: record.writer)
    }
}

extension FanotifyMask {
    /// What to ask of a file system, so that it tells what a watch with `mask` would.
    init(_ mask: InotifyMask) {
        self = .isDirectory
        for (asked, told) in Self.pairs where mask.contains(told) { insert(asked) }
        if !mask.isDisjoint(with: [.movedFrom, .movedTo]) { insert(.renamed) }
    }

    /// The same bits for a watch; those of a rename are in two records, and so left out.
    var forWatch: InotifyMask {
        var mask: InotifyMask = contains(.isDirectory) ? .isDirectory : []
        for (asked, told) in Self.pairs where contains(asked) { mask.insert(told) }
        return mask
    }

    private static let pairs: [(FanotifyMask, InotifyMask)] = [
        (.created, .created), (.closedAfterWriting, .closedAfterWriting), (.deleted, .deleted), (.modified, .modified),
        (.attributes, .attributes), (.deletedSelf, .deletedSelf), (.movedSelf, .movedSelf),
    ]
}
