import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import SystemPackage

/// Watches directories by marking the file systems that they lie on, one fanotify(7) mark for each instead of one
/// inotify(7) watch for each directory, and knows them again in the records by their handles.
///
/// What is not to be marked (without CAP_SYS_ADMIN, on btrfs subvolumes, without handles, on network file systems) is
/// watched by inotify(7), directory for directory; ``TierSnapshot/refusal`` says why. Directories are added and removed on the roots'
/// queues, records come on the engine's; a lock is held for neither a system call that may wait for a disk nor the core.
///
/// A mark ends with its file system's last mount, and fanotify(7) does not tell. So one directory on each file system
/// also has an inotify watch, the sentinel, which does.
final class FanotifyTier: WatchBackend {
    private let inotify: InotifyInstance
    private let inotifyMask: InotifyMask
    private let group: FanotifyGroup
    private let mask: FanotifyMask
    private let table = Locked(TierTable())
    /// Held from a mark to the entry that needs it, so that nobody takes the mark away in between.
    private let marking = Locked(UInt8(0))
    private let refused = Locked<SystemCallError?>(nil)
    private let ignoredRecords = Locked(0)

    /// Added to what others ask of the same inode on this instance.
    private static let sentinelMask: InotifyMask = [.deletedSelf, .onlyDirectory, .addingToMask]

    init(group: FanotifyGroup, inotify: InotifyInstance, mask: InotifyMask) {
        self.group = group
        self.inotify = inotify
        inotifyMask = mask
        self.mask = FanotifyMask(mask)
    }

    /// How it does; any thread.
    var snapshot: TierSnapshot {
        let (directories, marks) = table.withLock { ($0.count, $0.fileSystemCount) }
        return TierSnapshot(
            directories: directories, marks: marks, strangers: ignoredRecords.withLock { $0 },
            refusal: refused.withLock { $0 })
    }

    /// Whether a number that ``addWatch(directory:by:)`` gave is one of a mark.
    static func isMarked(_ watch: Int32) -> Bool { watch >= WatchTable.firstMarked }

    // Where it can't be asked, nothing is assumed.
    var hasQueuedRecords: Bool { (try? group.queuedBytes()) != 0 || (try? inotify.queuedBytes()) != 0 }

    /// The number of a directory, the same each time until it is removed. Marks its file system, again each time: after
    /// an unmount and a mount the kernel has forgotten the mark, and asking for it again costs a microsecond.
    func addWatch(directory: borrowing OwnedDescriptor, by place: ThreadDirectory?) throws(SystemCallError) -> Int32 {
        do throws(SystemCallError) {
            return try addMarked(directory)
        } catch {
            if error.code != .badFileDescriptor { refused.withLock { $0 = error } }
            return try addInotify(directory, place)
        }
    }

    private func addMarked(_ directory: borrowing OwnedDescriptor) throws(SystemCallError) -> Int32 {
        let fileSystem = try FileSystem(of: directory)
        // Behind these, fanotify(7) sees no more than inotify(7), and the calls may hang.
        if fileSystem.changesElsewhere { throw SystemCallError("fanotify_mark", .notSupportedOnSocket) }
        let handle = try DirectoryHandle(of: directory, on: fileSystem)
        let device = try FileStatus(of: directory).device
        return try marking.withLock { _ throws(SystemCallError) in
            // While this directory is open, its file system can't go: no record of a sentinel's end is on its way.
            let need = table.withLock { $0.need(handle.fileSystem, device: device) }
            if need == .anotherTier { throw SystemCallError("fanotify_mark", .improperLink) }
            try group.mark(fileSystemOf: directory, mask)
            let sentinel: Int32? =
                need == .sentinel ? try inotify.addWatch(directory: directory, Self.sentinelMask) : nil
            return table.withLock { $0.add(handle, device: device, sentinel: sentinel) }
        }
    }

    private func addInotify(
        _ directory: borrowing OwnedDescriptor, _ place: ThreadDirectory?
    ) throws(SystemCallError) -> Int32 {
        let watch = try inotify.addWatch(directory: directory, inotifyMask, by: place)
        table.withLock { $0.endSentinel(watch) }
        guard !Self.isMarked(watch) else {
            inotify.removeWatch(watch)
            throw SystemCallError("inotify_add_watch", .noSpace)
        }
        return watch
    }

    func removeWatch(_ watch: Int32) -> Bool {
        if !Self.isMarked(watch) { return inotify.removeWatch(watch) }
        let (wasThere, idle) = table.withLock { $0.remove(watch) }
        if let idle { unmark(idle) }
        return wasThere
    }

    /// Takes a mark off whose file system has no directory of ours left, where a path still leads there: without, the
    /// mark is gone, or stays until the group ends and costs no more than the records that it brings.
    private func unmark(_ fileSystem: UInt64) {
        guard let device = table.withLock({ $0.idleDevice(fileSystem) }), let place = Self.openMount(of: device) else {
            return
        }
        marking.withLock { _ in
            guard table.withLock({ $0.idleDevice(fileSystem) }) == device else { return }
            for sentinel in table.withLock({ $0.forget(fileSystem) }) { inotify.removeWatch(sentinel) }
            try? group.unmark(fileSystemOf: place, mask)
        }
    }

    /// Any directory on a device, of those that are mount points.
    private static func openMount(of device: UInt64) -> OwnedDescriptor? {
        guard let process = try? openDirectory("/proc/self"), let file = try? process.openBeneath("mountinfo", .read),
            let table = try? MountTable(reading: file.raw)
        else { return nil }
        for mount in table.mounts.values where mount.device.number == device {
            guard let place = try? openDirectory(mount.mountPoint), (try? FileStatus(of: place).device) == device
            else { continue }
            return place
        }
        return nil
    }

    // MARK: Records, on the engine's queue

    /// Calls `body` with what a batch tells of our directories, and returns how many records it had.
    func forEach(_ events: FanotifyEvents, _ body: (TierRecord) -> Void) -> Int {
        // First what is ours, in one go: most batches of a busy file system are over after that.
        typealias Place = (record: Int, from: Int32?, to: Int32?, cookie: UInt32)
        var count = 0
        let places: [Place] = table.withLock { table in
            var places: [Place] = []
            events.forEach { record in
                let (from, to) = table.places(of: record)
                if from != nil || to != nil || record.mask.contains(.queueOverflow) {
                    let cookie = record.mask.contains(.renamed) ? table.makeCookie() : 0
                    places.append((count, from, to, cookie))
                }
                count += 1
            }
            return places
        }
        let strangers = count - places.count
        if strangers > 0 { ignoredRecords.withLock { $0 += strangers } }
        if places.isEmpty { return count }
        var next = places.makeIterator()
        var place = next.next()
        var current = 0
        events.forEach { record in
            if let found = place, found.record == current {
                Self.tell(record, found.from, found.to, found.cookie, body)
                place = next.next()
            }
            current += 1
        }
        return count
    }

    private static func tell(
        _ record: FanotifyRecord, _ from: Int32?, _ to: Int32?, _ cookie: UInt32, _ body: (TierRecord) -> Void
    ) {
        if record.mask.contains(.queueOverflow) { return body(TierRecord(watch: -1, mask: .queueOverflow)) }
        let writer = record.process
        let mask = record.mask.forWatch
        if record.mask.contains(.renamed) {
            let kind = mask.intersection(.isDirectory)
            if let from, let name = record.entry?.name {
                body(TierRecord(watch: from, mask: kind.union(.movedFrom), cookie: cookie, name: name, writer: writer))
            }
            if let to, let name = record.target?.name {
                body(TierRecord(watch: to, mask: kind.union(.movedTo), cookie: cookie, name: name, writer: writer))
            }
        } else if let from, let name = record.entry?.name {
            body(TierRecord(watch: from, mask: mask, name: name, writer: writer))
        }
    }

    /// The same of the inotify queue: directories that are watched there, and the sentinels.
    func forEach(_ events: DirectoryEvents, _ body: (TierRecord) -> Void) {
        events.forEach { record in
            for (watch, mask) in table.withLock({ $0.takeSentinel(record.watch, record.mask) }) {
                body(TierRecord(watch: watch, mask: mask))
            }
            // The watch may also be somebody else's, who asked for the same inode.
            body(TierRecord(watch: record.watch, mask: record.mask, cookie: record.cookie, name: record.name))
        }
    }
}

extension Mount.Device {
    /// The number as stat(2) gives it; see makedev(3).
    var number: UInt64 {
        let (major, minor) = (UInt64(major), UInt64(minor))
        return minor & 0xFF | (major & 0xFFF) << 8 | (minor & ~0xFF) << 12 | (major & ~0xFFF) << 32
    }
}
