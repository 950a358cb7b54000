import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// What a walk tells of the entries that it comes upon.
enum RawFinding {
    case nothing
    /// Those of directories that were not watched before.
    case new
    case found
}

extension RawTree {
    /// A directory that was opened, for as long as one below it waits to be.
    private final class Opened {
        let descriptor: OwnedDescriptor
        let depth: Int

        init(_ descriptor: consuming OwnedDescriptor, depth: Int) {
            self.descriptor = descriptor
            self.depth = depth
        }
    }

    private struct Pending {
        let directory: Directory
        /// By which it is opened, under its name; nil: from its root down.
        let parent: Opened?
        let name: BytePath
    }

    /// Watches a directory and all below it, each before it is listed. Not recursive, since trees may be deep.
    mutating func walk(_ top: Directory, tells finding: RawFinding, _ report: inout WatchReport) {
        var pending = [Pending(directory: top, parent: nil, name: "")]
        var watched: [Int32] = []
        let now = coarseNow()
        while let next = pending.popLast() {
            do throws(SystemCallError) {
                let descriptor = try open(next)
                let number = try instance.addWatch(directory: descriptor, askedWhileListing)
                let isTold = finding == .found || finding == .new && directories[number] == nil
                directories[number] = next.directory
                watched.append(number)
                try list(next, Opened(descriptor, depth: (next.parent?.depth ?? 0) + 1), &pending) { entry, directory in
                    guard isTold else { return }
                    found.insert(entry.name, in: number)
                    guard tellsFound(entry.kind) else { return }
                    if !filter.isEmpty, filter.hides(entry.path, root: roots[directory.root].printed.count) { return }
                    let mask = entry.kind == .directory ? RecordNames.found.union(.isDirectory) : RecordNames.found
                    entry.name.bytes.withUnsafeBytes { report.tell(mask, directory.printed, $0, 0, at: now) }
                }
            } catch {
                remark(on: error, next.directory)
            }
        }
        if !found.isEmpty { found.endWalk(bytesAhead: bytesOfBatch + ((try? instance.queuedBytes()) ?? 0)) }
        if asksForReading { for watch in watched { complete(watch) } }
    }

    private struct Entry {
        let name: BytePath
        let kind: FileKind
        let path: BytePath
    }

    private func list(
        _ listed: Pending, _ opened: Opened, _ pending: inout [Pending], _ body: (Entry, Directory) -> Void
    ) throws(SystemCallError) {
        // So many are held open at most, by each directory on the way down; what is deeper is opened from its root.
        let parent = opened.depth > 100 ? nil : opened
        try reader.read(opened.descriptor) { entry in
            let path = listed.directory.printed + entry.name.bytes
            if entry.kind == .directory || entry.kind == .unknown {
                let below = Directory(
                    printed: path + [UInt8(ascii: "/")], root: listed.directory.root, isWhole: false)
                if !prunes(below) { pending.append(Pending(directory: below, parent: parent, name: entry.name)) }
            }
            body(Entry(name: entry.name, kind: entry.kind, path: BytePath(path)), listed.directory)
        }
    }

    /// Opens a directory for listing, with no link followed below its root. What is on the way is opened as a place
    /// alone (O_PATH), which no watch tells of.
    private func open(_ next: Pending) throws(SystemCallError) -> OwnedDescriptor {
        if let parent = next.parent { return try parent.descriptor.openBeneath(next.name, [.read, .directory]) }
        let root = roots[next.directory.root]
        let names = BytePath(next.directory.printed.dropFirst(root.printed.count)).components
        guard let last = names.last else { return try openDirectory(root.path) }
        var current = try openDirectory(root.path, .placeAlone)
        for name in names.dropLast() { current = try current.openBeneath(name, [.placeAlone, .directory]) }
        return try current.openBeneath(last, [.read, .directory])
    }

    private mutating func remark(on error: SystemCallError, _ directory: Directory) {
        switch error.code {
        // It is gone again, or something else lies there: its own records tell.
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels: return
        case .noSpace where error.call == "inotify_add_watch":
            let text =
                "the kernel's watch limit is reached, so a part is not watched; raise fs.inotify.max_user_watches"
            if !remarks.contains(text) { remarks.append(text) }
        default: remarks.append("\(BytePath(directory.printed)) cannot be watched (\(error.code))")
        }
    }
}
