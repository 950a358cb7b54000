import FileValues
import LinuxKernel

@testable import DirectoryWatch
@testable import WatchCore

/// A small file system with inotify, in memory: inode numbers are used again at once, as ext4 does, watch descriptors
/// follow inodes, equal records at the tail merge, the queue overflows at a limit.
struct FakeKernel {
    struct Inode {
        var isDirectory: Bool
        var isLink = false
        var entries: [String: UInt64] = [:]
        var size: UInt64 = 0
        var born: Int64 = 0
        var modified: Int64 = 0
        var changed: Int64 = 0
        var writers = 0
        var watch: Int32?

        var birthMark: BirthMark { BirthMark(FileTime(seconds: born, nanoseconds: 0)) }
    }

    struct Open {
        let inode: UInt64
        /// Directory and name as they were; the kernel follows renames.
        var directory: UInt64
        var name: String
    }

    static let tops: [UInt64] = [10, 11]
    static let outside: UInt64 = 12

    var inodes: [UInt64: Inode] = [:]
    var queue: [EventRecord] = []
    /// Records that the queue holds.
    var limit = 60
    var watchLimit = Int.max
    var overflows = 0
    var open: [Open] = []
    /// How often each file was closed after writing.
    var closes: [UInt64: Int] = [:]
    private var free: [UInt64] = []
    private var lastInode: UInt64 = 100
    private var lastWatch: Int32 = 0
    private var lastCookie: UInt32 = 0
    private(set) var clock: Int64 = 1_000

    init() {
        for top in Self.tops + [Self.outside] { inodes[top] = Inode(isDirectory: true) }
    }

    // MARK: What a worker calls

    mutating func addWatch(_ inode: UInt64) -> Int32? {
        guard inodes[inode]?.isDirectory == true else { return nil }
        if let watch = inodes[inode]?.watch { return watch }
        if inodes.values.count(where: { $0.watch != nil }) >= watchLimit { return nil }
        lastWatch += 1
        inodes[inode]?.watch = lastWatch
        return lastWatch
    }

    mutating func removeWatch(_ watch: Int32) {
        guard let inode = inodes.first(where: { $0.value.watch == watch })?.key else { return }
        inodes[inode]?.watch = nil
        post(watch, .ignored)
    }

    func find(_ top: UInt64, _ path: BytePath) -> UInt64? {
        var current = top
        for name in path.components {
            guard let next = inodes[current]?.entries[name.escaped] else { return nil }
            current = next
        }
        return current
    }

    func lookUp(_ directory: UInt64, _ name: String) -> Observation {
        guard let number = inodes[directory]?.entries[name], let inode = inodes[number] else { return .absent }
        if inode.isDirectory { return .directory(inode: number, born: inode.birthMark) }
        return .file(inode.isLink ? .symbolicLink : .regular, identity(number), links: 1)
    }

    /// The same in a listing, which asks of files whether they have a writer.
    func list(_ directory: UInt64, _ name: String) -> Observation {
        let seen = lookUp(directory, name)
        // By its number alone.
        if case .directory(let inode, _) = seen { return .directory(inode: inode) }
        return askForWriter(seen)
    }

    func askForWriter(_ seen: Observation) -> Observation {
        guard case .file(.regular, let identity, let links) = seen else { return seen }
        return inodes[identity.inode]?.writers ?? 0 > 0 ? .writing(identity) : .unwritten(identity, links: links)
    }

    func identity(_ number: UInt64) -> FileIdentity {
        let inode = inodes[number] ?? Inode(isDirectory: false)
        return FileIdentity(
            inode: number, size: inode.size, modified: FileTime(seconds: inode.modified, nanoseconds: 0),
            changed: FileTime(seconds: inode.changed, nanoseconds: 1))
    }

    // MARK: What programs do

    mutating func create(_ directory: UInt64, _ name: String, isLink: Bool = false) {
        guard inodes[directory]?.isDirectory == true else { return }
        if let existing = inodes[directory]?.entries[name] {
            guard !isLink, inodes[existing]?.isDirectory == false, inodes[existing]?.isLink == false else { return }
            touch(existing, size: 0)
            openForWriting(existing, directory, name)
            return
        }
        let number = make(isDirectory: false)
        inodes[number]?.isLink = isLink
        inodes[directory]?.entries[name] = number
        post(directory, .created, name)
        if !isLink { openForWriting(number, directory, name) }
    }

    mutating func write(_ place: Int) {
        guard !open.isEmpty else { return }
        let file = open[place % open.count]
        touch(file.inode, size: (inodes[file.inode]?.size ?? 0) + 1)
    }

    mutating func close(_ place: Int) {
        guard !open.isEmpty else { return }
        let file = open.remove(at: place % open.count)
        inodes[file.inode]?.writers -= 1
        closes[file.inode, default: 0] += 1
        if inodes[file.directory]?.entries[file.name] == file.inode {
            post(file.directory, .closedAfterWriting, file.name)
        }
        collect(file.inode)
    }

    mutating func makeDirectory(_ parent: UInt64, _ name: String) {
        guard inodes[parent]?.isDirectory == true, inodes[parent]?.entries[name] == nil else { return }
        let number = make(isDirectory: true)
        inodes[parent]?.entries[name] = number
        post(parent, [.created, .isDirectory], name)
    }

    mutating func remove(_ parent: UInt64, _ name: String, parentFirst: Bool) {
        guard let number = inodes[parent]?.entries[name], let inode = inodes[number] else { return }
        if inode.isDirectory {
            for child in inode.entries.keys.sorted() { remove(number, child, parentFirst: parentFirst) }
            inodes[parent]?.entries[name] = nil
            if parentFirst { post(parent, [.deleted, .isDirectory], name) }
            die(number)
            if !parentFirst { post(parent, [.deleted, .isDirectory], name) }
        } else {
            inodes[parent]?.entries[name] = nil
            post(parent, .deleted, name)
            collect(number)
        }
    }

    mutating func rename(_ from: UInt64, _ old: String, _ to: UInt64, _ new: String, isExchange: Bool) {
        guard let moved = inodes[from]?.entries[old], inodes[to]?.isDirectory == true, from != to || old != new,
            !isInside(to, moved)
        else { return }
        let target = inodes[to]?.entries[new]
        if isExchange {
            guard let target, !isInside(from, target) else { return }
            inodes[to]?.entries[new] = moved
            inodes[from]?.entries[old] = target
            postMove(moved, from, old, to, new)
            postMove(target, to, new, from, old)
            return
        }
        if let target {
            guard inodes[moved]?.isDirectory == inodes[target]?.isDirectory, inodes[target]?.entries.isEmpty == true
            else { return }
        }
        inodes[from]?.entries[old] = nil
        inodes[to]?.entries[new] = moved
        postMove(moved, from, old, to, new)
        if let target { inodes[target]?.isDirectory == true ? die(target) : collect(target) }
    }

    /// Every directory below a top with its path, the top included.
    func directories(below top: UInt64) -> [(path: BytePath, inode: UInt64)] {
        var found: [(path: BytePath, inode: UInt64)] = [("", top)]
        var place = 0
        while place < found.count {
            let (path, number) = found[place]
            place += 1
            for (name, child) in (inodes[number]?.entries ?? [:]).sorted(by: { $0.key < $1.key })
            where inodes[child]?.isDirectory == true {
                found.append((path.appending(BytePath(name)), child))
            }
        }
        return found
    }

    func isInside(_ number: UInt64, _ ancestor: UInt64) -> Bool {
        number == ancestor
            || (inodes[ancestor]?.entries.values.contains { inodes[$0]?.isDirectory == true && isInside(number, $0) }
                ?? false)
    }

    // MARK: Within

    private mutating func make(isDirectory: Bool) -> UInt64 {
        clock += 1
        let number: UInt64
        if let reused = free.popLast() {
            number = reused
        } else {
            lastInode += 1
            number = lastInode
        }
        inodes[number] = Inode(isDirectory: isDirectory, born: clock, modified: clock, changed: clock)
        return number
    }

    private mutating func touch(_ number: UInt64, size: UInt64) {
        clock += 1
        inodes[number]?.size = size
        inodes[number]?.modified = clock
        inodes[number]?.changed = clock
    }

    private mutating func openForWriting(_ number: UInt64, _ directory: UInt64, _ name: String) {
        inodes[number]?.writers += 1
        open.append(Open(inode: number, directory: directory, name: name))
    }

    private mutating func postMove(_ number: UInt64, _ from: UInt64, _ old: String, _ to: UInt64, _ new: String) {
        clock += 1
        inodes[number]?.changed = clock
        lastCookie += 1
        let kind: InotifyMask = inodes[number]?.isDirectory == true ? .isDirectory : []
        post(from, [.movedFrom, kind], old, cookie: lastCookie)
        post(to, [.movedTo, kind], new, cookie: lastCookie)
        if let watch = inodes[number]?.watch { post(watch, .movedSelf) }
        for place in open.indices where open[place].inode == number {
            open[place].directory = to
            open[place].name = new
        }
    }

    private mutating func die(_ number: UInt64) {
        if let watch = inodes[number]?.watch {
            post(watch, .deletedSelf)
            post(watch, .ignored)
        }
        inodes[number] = nil
        free.append(number)
    }

    /// Frees a file without name and writer.
    private mutating func collect(_ number: UInt64) {
        guard inodes[number]?.writers == 0, !inodes.values.contains(where: { $0.entries.values.contains(number) })
        else { return }
        inodes[number] = nil
        free.append(number)
    }

    private mutating func post(_ directory: UInt64, _ mask: InotifyMask, _ name: String, cookie: UInt32 = 0) {
        guard let watch = inodes[directory]?.watch else { return }
        enqueue(EventRecord(watch: watch, mask: mask, cookie: cookie, name: BytePath(name)))
    }

    private mutating func post(_ watch: Int32, _ mask: InotifyMask) {
        enqueue(EventRecord(watch: watch, mask: mask, cookie: 0, name: ""))
    }

    private mutating func enqueue(_ record: EventRecord) {
        if queue.last == record { return }
        if queue.count < limit {
            queue.append(record)
        } else if queue.last?.mask != .queueOverflow {
            overflows += 1
            queue.append(EventRecord(watch: -1, mask: .queueOverflow, cookie: 0, name: ""))
        }
    }
}

extension TreeCore {
    /// Applies a record that was copied.
    mutating func apply(_ record: EventRecord) {
        record.name.bytes.withUnsafeBytes { name in
            apply(watch: record.watch, mask: record.mask, cookie: record.cookie, name: name)
        }
    }
}
