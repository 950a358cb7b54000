import FileValues
import Glibc
import LinuxKernel

/// Files that are told before the core hears of them.
///
/// At a low rate most of what is read is that a file was made, and that it was closed, in a directory where one was told
/// in the same way just before. Nothing comes of the core's turn then but one notice; but a turn touches so much that has
/// left the processor's caches since the last one that it takes longer than all the rest. So the notice is given at once,
/// from a line that has all but its name, and the core takes account of it at the beginning of its next turn, whatever
/// that is for: no one sees the core in between.
struct EarlyTelling {
    /// What a turn has shown: files that are made and closed in this directory may be told by these events alone, until
    /// there is any other turn.
    struct Permit {
        let watch: Int32
        let node: NodeID
        /// The root's place.
        let root: Int
        /// The directory's path from the root, with a slash at its end; empty for the root itself.
        let directory: [UInt8]
    }

    /// What was told under one permit, and what else was read, for the core.
    struct Account {
        let permit: Permit
        /// The names of those that were told, each ended by NUL.
        let names: [UInt8]
        /// When the last of them was read: whatever had happened to any of them before that has been read, too.
        let readAt: FileTime
        /// A file that was made after them, and not closed so far.
        let made: [UInt8]?
    }

    /// What became of a few records.
    enum Outcome {
        /// They are for the core.
        case refused
        case taken
        /// The same, and what was made and not closed is to be looked after in a while, by ``release()``.
        case held
    }

    var teller: EarlyTeller?
    private var permit: Permit?
    /// A line with room for the longest name, after what comes before it.
    private var line: [UInt8] = []
    private var before = 0
    private var after: [UInt8] = []
    private var names: [UInt8] = []
    private var count = 0
    private var readAt = FileTime(seconds: 0, nanoseconds: 0)
    /// The name of a file that was made and not closed so far, with its padding; as many bytes as `held` says.
    private var made = [UInt8](repeating: 0, count: EarlyTelling.longestName)
    private var held = 0
    /// Whether somebody will look after it.
    private var isLookedAfter = false

    /// Files in one account.
    private static let mostTold = 64
    /// Nanoseconds between two files: what comes faster is for the pacer to see.
    private static let interval: Int64 = 250_000
    /// With its padding.
    private static let longestName = 256

    /// Takes what one read gave if it is a file's creation, its close after one, or both, in the directory of the permit;
    /// a creation waits for its close.
    mutating func take(_ records: UnsafeRawBufferPointer, now: () -> FileTime) -> Outcome {
        let header = InotifyRecords.headerSize
        guard let permit, records.count > header, let start = records.baseAddress,
            start.loadUnaligned(as: Int32.self) == permit.watch
        else { return .refused }
        let mask = start.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
        let length = Int(start.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        let size = header + length
        let name = start + header
        guard length > 0, length <= Self.longestName, size <= records.count else { return .refused }
        if records.count == size {
            if mask == InotifyMask.created.rawValue, held == 0 {
                made.withUnsafeMutableBytes { made in
                    if let room = made.baseAddress { memcpy(room, name, length) }
                }
                held = length
                defer { isLookedAfter = true }
                return isLookedAfter ? .taken : .held
            }
            guard mask == InotifyMask.closedAfterWriting.rawValue, held == length,
                made.withUnsafeBytes({ made in made.baseAddress.map { memcmp($0, name, length) == 0 } ?? false })
            else { return .refused }
        } else {
            let second = start + size
            guard mask == InotifyMask.created.rawValue, held == 0, records.count == 2 * size,
                second.loadUnaligned(as: Int32.self) == permit.watch,
                second.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == InotifyMask.closedAfterWriting.rawValue,
                memcmp(second + 12, start + 12, 4 + length) == 0
            else { return .refused }
        }
        let bytes = strnlen(name.assumingMemoryBound(to: CChar.self), length)
        return tell(UnsafeRawBufferPointer(start: name, count: bytes), at: now()) ? .taken : .refused
    }

    private mutating func tell(_ name: UnsafeRawBufferPointer, at time: FileTime) -> Bool {
        guard let teller, count < Self.mostTold, isSlow(time), teller.accepts(name), let start = name.baseAddress
        else { return false }
        let (before, tail) = (self.before, after.count)
        let isWritten = line.withUnsafeMutableBytes { line in
            guard let room = line.baseAddress else { return false }
            memcpy(room + before, start, name.count)
            after.withUnsafeBytes { after in
                if let after = after.baseAddress { memcpy(room + before + name.count, after, tail) }
            }
            return teller.write(UnsafeRawBufferPointer(start: room, count: before + name.count + tail))
        }
        guard isWritten else { return false }
        names.append(contentsOf: name)
        names.append(0)
        count += 1
        readAt = time
        held = 0
        return true
    }

    private func isSlow(_ time: FileTime) -> Bool {
        if count == 0 { return true }
        let seconds = time.seconds - readAt.seconds
        if seconds != 0 { return seconds > 0 }
        return Int64(time.nanoseconds) - Int64(readAt.nanoseconds) > Self.interval
    }

    /// Whether something was made that still waits for its close.
    mutating func release() -> Bool {
        isLookedAfter = false
        return held > 0
    }

    mutating func grant(_ permit: Permit) {
        guard let frame = teller?.frame(permit.root, permit.directory) else { return }
        self.permit = permit
        before = frame.before.count
        after = frame.after
        line = frame.before + [UInt8](repeating: 0, count: Self.longestName + after.count)
        names.reserveCapacity(Self.mostTold * 32)
    }

    /// Takes the permit back, and gives what was taken under it; nil where that is nothing, as before most turns.
    mutating func settle() -> Account? {
        guard let permit else { return nil }
        self.permit = nil
        if count == 0, held == 0 { return nil }
        defer {
            names.removeAll(keepingCapacity: true)
            (count, held) = (0, 0)
        }
        let made = held == 0 ? nil : Array(made[..<held].prefix { $0 != 0 })
        return Account(permit: permit, names: names, readAt: readAt, made: made)
    }
}

extension TreeCore {
    /// Takes account of what was taken early.
    mutating func take(_ account: EarlyTelling.Account) {
        let node = account.permit.node
        guard table.isValid(node) else { return }
        account.names.withUnsafeBytes { names in
            for name in names.split(separator: 0) {
                setKnown(
                    node, table.names.intern(UnsafeRawBufferPointer(rebasing: name)), .heard(by: account.readAt))
                roots[account.permit.root].counts.notices += 1
                roots[account.permit.root].counts.found += 1
                // Made, and closed.
                counters.events += 2
            }
        }
        account.made?.withUnsafeBytes { take(watch: account.permit.watch, mask: .created, cookie: 0, name: $0) }
    }
}
