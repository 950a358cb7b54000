import FileValues
import LinuxKernel
import SystemPackage

/// Which watch belongs to which directory, and what the kernel's records mean for that.
struct RawTree {
    private let instance: InotifyInstance
    private let roots: [BytePath]
    private let wanted: InotifyMask
    private let includesExisting: Bool
    /// By a path relative to its root.
    private let exclude: (@Sendable (BytePath) -> Bool)?

    private struct Directory {
        let root: BytePath
        var relative: BytePath
        /// As it is printed, with a slash at its end.
        let printed: [UInt8]

        init(root: BytePath, relative: BytePath) {
            self.root = root
            self.relative = relative
            let path = root.appending(relative).bytes
            printed = path.last == UInt8(ascii: "/") ? path : path + [UInt8(ascii: "/")]
        }

        var path: BytePath { root.appending(relative) }

        func below(_ name: BytePath) -> Directory { Directory(root: root, relative: relative.appending(name)) }

        /// Opens it from the root, with no link followed below that.
        func open() throws(SystemCallError) -> OwnedDescriptor {
            try openDirectory(root).openDirectoryBeneath(relative)
        }
    }

    private var directories: [Int32: Directory] = [:]
    private var maskNames: [UInt32: String] = [:]
    /// Directories that left their place and have not come to another yet, by the record's cookie.
    private var leaving: [UInt32: Directory] = [:]
    private let reader = DirectoryReader()
    /// What could not be watched, for people.
    var remarks: [String] = []

    init(
        instance: InotifyInstance, roots: [BytePath], wanted: InotifyMask, includesExisting: Bool,
        exclude: (@Sendable (BytePath) -> Bool)?
    ) {
        self.instance = instance
        self.roots = roots
        self.wanted = wanted
        self.includesExisting = includesExisting
        self.exclude = exclude
    }

    /// Watched directories.
    var count: Int { directories.count }

    /// Watches all there is. The first time, only the changes of directories are asked for until all are listed, so
    /// that our own listing is not told.
    mutating func walkRoots(_ report: inout WatchReport, isFirst: Bool) {
        for root in roots {
            walk(
                Directory(root: root, relative: ""), isFirst ? [] : wanted, tellsFound: isFirst && includesExisting,
                &report)
        }
        guard isFirst else { return }
        for (watch, directory) in directories {
            // By path, which opens nothing; what is not the same directory any more is told by its own records.
            guard let number = try? instance.addWatch(directory.path, asked(wanted)), number != watch else { continue }
            if directories[number] == nil { instance.removeWatch(number) }
        }
    }

    /// One record: what it means for the watches, and its line.
    mutating func take(_ record: InotifyRecord, at now: FileTime, _ report: inout WatchReport) {
        if record.mask.contains(.queueOverflow) {
            tell(record, nil, now, &report)
            walkRoots(&report, isFirst: false)
            return
        }
        // A record that was under way when its watch was removed; or one that our own listing gave rise to, which
        // cannot be told from others'.
        guard let directory = directories[record.watch], !isReadingOfDirectory(record) else {
            return
        }
        let isStructure = record.mask.contains(.isDirectory) && !record.name.isEmpty
        if record.name.isEmpty || !isExcluded(directory, record.name) {
            if !record.mask.isDisjoint(with: wanted.union([.unmounted, .queueOverflow])) {
                tell(record, directory, now, &report)
            }
            if isStructure { follow(record, directory, &report) }
        }
        if record.mask.contains(.ignored) { directories[record.watch] = nil }
    }

    private func isExcluded(_ directory: Directory, _ name: UnsafeRawBufferPointer) -> Bool {
        exclude.map { $0(directory.relative.appending(BytePath(name))) } ?? false
    }

    /// Directories that left and came nowhere are out of the tree.
    mutating func endBatch() {
        for gone in leaving.values {
            for (watch, directory) in directories
            where directory.root == gone.root && directory.relative.isInside(gone.relative) {
                instance.removeWatch(watch)
                directories[watch] = nil
            }
        }
        leaving = [:]
    }

    private mutating func follow(_ record: InotifyRecord, _ directory: Directory, _ report: inout WatchReport) {
        let entry = directory.below(record.copiedName)
        if record.mask.contains(.movedFrom) {
            leaving[record.cookie] = entry
        } else if record.mask.contains(.movedTo), let old = leaving.removeValue(forKey: record.cookie) {
            // One that was gone before it could be watched is met here for the first time.
            if !rename(old, to: entry) { walk(entry, wanted, tellsFound: true, &report) }
        } else if record.mask.contains(.movedTo) || record.mask.contains(.created) {
            walk(entry, wanted, tellsFound: true, &report)
        }
    }

    /// False if the directory is not watched.
    private mutating func rename(_ old: Directory, to new: Directory) -> Bool {
        var isKnown = false
        for (watch, directory) in directories where directory.root == old.root {
            guard let rest = directory.relative.relative(to: old.relative) else { continue }
            directories[watch] = new.below(rest)
            isKnown = isKnown || rest.isEmpty
        }
        return isKnown
    }

    /// Watches a directory and all below it, each before it is listed. Not recursive, since trees may be deep.
    private mutating func walk(
        _ top: Directory, _ mask: InotifyMask, tellsFound: Bool, _ report: inout WatchReport
    ) {
        var pending = [top]
        let now = coarseNow()
        while let next = pending.popLast() {
            do {
                let descriptor = try next.open()
                let number = try instance.addWatch(directory: descriptor, asked(mask))
                directories[number] = next
                try reader.read(descriptor) { entry in
                    let below = next.below(entry.name)
                    guard exclude?(below.relative) != true else { return }
                    if tellsFound {
                        report.tell { format, bytes in
                            entry.name.bytes.withUnsafeBytes { name in
                                format.append(
                                    mask: entry.kind == .directory ? "FOUND,ISDIR" : "FOUND",
                                    directory: next.printed, name: name, cookie: 0, at: now, to: &bytes)
                            }
                        }
                    }
                    if entry.kind == .directory { pending.append(below) }
                }
            } catch {
                remark(on: error, next)
            }
        }
    }

    private mutating func remark(on error: SystemCallError, _ directory: Directory) {
        switch error.code {
        // It is gone again, or something else lies there: its own records tell.
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels: return
        case .noSpace where error.call == "inotify_add_watch":
            let text =
                "the kernel's watch limit is reached, so a part is not watched; raise fs.inotify.max_user_watches"
            if !remarks.contains(text) { remarks.append(text) }
        default: remarks.append("\(directory.path) cannot be watched (\(error.code))")
        }
    }

    private func isReadingOfDirectory(_ record: InotifyRecord) -> Bool {
        record.mask.contains(.isDirectory)
            && record.mask.isSubset(of: [.opened, .accessed, .closedAfterReading, .isDirectory])
    }

    /// `mask`, and what has to be known to keep the watches right, whatever is told.
    private func asked(_ mask: InotifyMask) -> InotifyMask {
        mask.union([.created, .movedFrom, .movedTo, .onlyDirectory, .excludeUnlinked])
    }

    private mutating func tell(
        _ record: InotifyRecord, _ directory: Directory?, _ now: FileTime, _ report: inout WatchReport
    ) {
        let key = record.mask.rawValue
        let names = maskNames[key] ?? record.mask.names
        maskNames[key] = names
        report.tell { format, bytes in
            format.append(
                mask: names, directory: directory?.printed ?? [], name: record.name, cookie: record.cookie, at: now,
                to: &bytes)
        }
    }
}
