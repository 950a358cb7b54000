import LinuxKernel

/// What the fanotify tier knows, as a value without calls: which directories are ours, on which file systems, and which
/// inotify watch tells of each file system's end.
///
/// The numbers that it gives out begin where those of inotify(7), which counts up from 1, do not get to, so that one core
/// can hold both.
struct TierTable {
    private struct Marked {
        /// `st_dev`, for as long as it is mounted.
        let device: UInt64
        /// Which of all the file systems that were ever marked: another after each mount.
        let generation: Int
        var directories = 0
        var sentinel: Sentinel?
    }

    /// The watch that is to tell of the file system's end.
    private struct Sentinel {
        /// Its watch descriptor.
        let watch: Int32
        /// The number of the directory that it watches.
        let carrier: Int32
        /// Whether that directory is gone.
        var isDeleted = false
    }

    private var handles = HandleTable()
    private var fileSystems: [UInt64: Marked] = [:]
    private var lastGeneration = 0
    /// For whom the sentinels stand, by their watch descriptors, those included that others have taken the place of.
    private var sentinels: [Int32: (fileSystem: UInt64, generation: Int)] = [:]
    private var lastCookie: UInt32 = 0

    /// How many directories are watched by a mark.
    var count: Int { handles.count }
    /// How many file systems have directories of ours.
    var fileSystemCount: Int { fileSystems.count }

    // MARK: For those who add and remove

    /// What is to be done before a directory on a file system may be added.
    enum Need: Equatable {
        case nothing, sentinel
        /// Another file system has the same identifier, so that records could not be told apart: a copy of a disk.
        case anotherTier
    }

    func need(_ fileSystem: UInt64, device: UInt64) -> Need {
        guard let marked = fileSystems[fileSystem] else { return .sentinel }
        if marked.device != device, marked.directories > 0 { return .anotherTier }
        return marked.sentinel == nil || marked.device != device ? .sentinel : .nothing
    }

    /// The number of a directory: always the same as long as it is not removed. `sentinel` is the watch that was made
    /// because ``need(_:device:)`` said so.
    mutating func add(_ handle: DirectoryHandle, device: UInt64, sentinel: Int32?) -> Int32 {
        let known = handles.number(of: handle)
        let number = known ?? handles.insert(handle)
        var marked: Marked
        if let existing = fileSystems[handle.fileSystem], existing.device == device {
            marked = existing
        } else {
            lastGeneration += 1
            marked = Marked(device: device, generation: lastGeneration)
        }
        if known == nil { marked.directories += 1 }
        if let sentinel {
            marked.sentinel = Sentinel(watch: sentinel, carrier: number)
            sentinels[sentinel] = (handle.fileSystem, marked.generation)
        }
        fileSystems[handle.fileSystem] = marked
        return number + WatchTable.firstMarked
    }

    /// Takes a directory out; false if there is none by that number.
    mutating func remove(_ number: Int32) -> (wasThere: Bool, idle: UInt64?) {
        guard number >= WatchTable.firstMarked, let handle = handles.remove(number - WatchTable.firstMarked) else {
            return (false, nil)
        }
        fileSystems[handle.fileSystem]?.directories -= 1
        return (true, fileSystems[handle.fileSystem]?.directories == 0 ? handle.fileSystem : nil)
    }

    /// The device of a file system without directories of ours; nil if it has some, again.
    func idleDevice(_ fileSystem: UInt64) -> UInt64? {
        guard let marked = fileSystems[fileSystem], marked.directories == 0 else { return nil }
        return marked.device
    }

    /// Forgets an idle file system; its sentinels are returned, to be removed.
    mutating func forget(_ fileSystem: UInt64) -> [Int32] {
        fileSystems[fileSystem] = nil
        let watches = sentinels.filter { $0.value.fileSystem == fileSystem }.map(\.key)
        for watch in watches { sentinels[watch] = nil }
        return watches
    }

    /// A watch that was a sentinel watches for its own sake from now on.
    mutating func endSentinel(_ watch: Int32) {
        guard let (fileSystem, _) = sentinels.removeValue(forKey: watch),
            fileSystems[fileSystem]?.sentinel?.watch == watch
        else { return }
        fileSystems[fileSystem]?.sentinel = nil
    }

    // MARK: For those who read

    /// The numbers of the directories that a record is about; nil where one is not ours.
    func places(of record: FanotifyRecord) -> (from: Int32?, to: Int32?) {
        (
            record.entry.flatMap { handles.number(of: $0.directory) }.map { $0 + WatchTable.firstMarked },
            record.target.flatMap { handles.number(of: $0.directory) }.map { $0 + WatchTable.firstMarked }
        )
    }

    /// A cookie that inotify(7), which counts from 1, does not give.
    mutating func makeCookie() -> UInt32 {
        lastCookie = (lastCookie &+ 1) & 0x7FFF_FFFF
        return lastCookie | 0x8000_0000
    }

    /// A record of the inotify queue, which may be about a sentinel. Returns what it means for the directories of its
    /// file system.
    mutating func takeSentinel(_ watch: Int32, _ mask: InotifyMask) -> [(watch: Int32, mask: InotifyMask)] {
        if mask.contains(.queueOverflow) {
            // Which of them are left can't be known: each file system gets a new one with its next directory.
            for key in Array(fileSystems.keys) { fileSystems[key]?.sentinel = nil }
            return []
        }
        guard let (fileSystem, generation) = sentinels[watch] else { return [] }
        let isMounted = fileSystems[fileSystem]?.generation == generation
        if mask.contains(.unmounted), isMounted {
            // The mark went with the file system, without a record.
            let gone = handles.numbers(on: fileSystem)
            for number in gone { _ = handles.remove(number) }
            fileSystems[fileSystem] = nil
            return gone.flatMap { number in
                [(number + WatchTable.firstMarked, .unmounted), (number + WatchTable.firstMarked, .ignored)]
            }
        }
        if mask.contains(.deletedSelf), fileSystems[fileSystem]?.sentinel?.watch == watch {
            fileSystems[fileSystem]?.sentinel?.isDeleted = true
        }
        guard mask.contains(.ignored) else { return [] }
        sentinels[watch] = nil
        guard isMounted, let sentinel = fileSystems[fileSystem]?.sentinel, sentinel.watch == watch else { return [] }
        fileSystems[fileSystem]?.sentinel = nil
        // Another directory has to carry a new sentinel: told that its watch is lost, the core asks for it again. The
        // first known is most likely the top of a root.
        let heirs = handles.numbers(on: fileSystem)
        guard let heir = heirs.first(where: { !sentinel.isDeleted || $0 != sentinel.carrier }) else { return [] }
        _ = handles.remove(heir)
        fileSystems[fileSystem]?.directories -= 1
        return [(heir + WatchTable.firstMarked, .ignored)]
    }
}
