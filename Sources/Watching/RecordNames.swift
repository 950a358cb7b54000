import CommandSupport
import FileValues
import LinuxKernel

/// The words for the bits of a kernel record, as inotifywait(1) writes and reads them.
enum RecordNames {
    /// Not of the kernel: the entry was there when its directory, which is new, was listed.
    static let found = InotifyMask(rawValue: 0x0001_0000)
    /// The default events of `inotifywait`.
    static let everything = InotifyMask(rawValue: 0xFFF)

    private static let close: InotifyMask = [.closedAfterWriting, .closedAfterReading]

    /// In inotifywait's order, which is not that of the bits; `CLOSE` stands for either of its two.
    private static let table: [(bits: InotifyMask, word: StaticString)] = [
        (found, "FOUND"), (.accessed, "ACCESS"), (.modified, "MODIFY"), (.attributes, "ATTRIB"),
        (.closedAfterWriting, "CLOSE_WRITE"), (.closedAfterReading, "CLOSE_NOWRITE"), (.opened, "OPEN"),
        (.movedFrom, "MOVED_FROM"), (.movedTo, "MOVED_TO"), (.created, "CREATE"), (.deleted, "DELETE"),
        (.deletedSelf, "DELETE_SELF"), (.unmounted, "UNMOUNT"), (.queueOverflow, "Q_OVERFLOW"), (.ignored, "IGNORED"),
        (close, "CLOSE"), (.movedSelf, "MOVE_SELF"), (.isDirectory, "ISDIR"),
    ]

    /// Appends the words for `mask` with `separator` between them.
    static func append(_ mask: InotifyMask, separator: UInt8, to bytes: inout [UInt8]) {
        var isFirst = true
        for (bits, word) in table where !mask.isDisjoint(with: bits) {
            if !isFirst { bytes.append(separator) }
            isFirst = false
            bytes.append(word)
        }
    }

    /// The events of a word after `-e`, in upper or lower case; nil for a word that inotifywait does not have.
    static func mask(_ word: String) -> InotifyMask? { asked[word.lowercased()] }

    private static let asked: [String: InotifyMask] = [
        "access": .accessed, "modify": .modified, "attrib": .attributes, "close_write": .closedAfterWriting,
        "close_nowrite": .closedAfterReading, "close": close, "open": .opened, "moved_from": .movedFrom,
        "moved_to": .movedTo, "move": [.movedFrom, .movedTo], "create": .created, "delete": .deleted,
        "delete_self": .deletedSelf, "move_self": .movedSelf, "unmount": .unmounted, "q_overflow": .queueOverflow,
        "ignored": .ignored, "all_events": everything,
    ]
}
