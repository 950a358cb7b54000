import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemPackage

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

    /// Watches a directory and all below it, each before it is listed. Not recursive, since trees may be deep. The entries of
    /// directories that were not watched before are reported, if `reportsNew`. If it is new, a directory that is excluded by
    /// its name is skipped with all that is in it.
    mutating func walk(_ top: Directory, reportsNew: Bool, isNew: Bool = false, _ report: inout WatchReport) {
        var pending = [Pending(directory: top, parent: nil, name: "")]
        var watched: [Int32] = []
        let now = FileTime.now
        while let next = pending.popLast() {
            do throws(SystemCallError) {
                let descriptor = try open(next)
                let number = try watch(descriptor)
                let isTold = reportsNew && directories[number ?? -1] == nil
                if let number {
                    var directory = next.directory
                    directory.generation = generation
                    directories[number] = directory
                    watched.append(number)
                }
                let opened = Opened(descriptor, depth: (next.parent?.depth ?? 0) + 1)
                try list(next, opened, isNew: isNew, &pending) { entry, directory in
                    guard isTold else { return }
                    if let number { found.insert(entry.name, in: number) }
                    if reportsFound(entry.kind) { write(entry, directory, now, &report) }
                }
            } catch {
                remark(on: error, next.directory)
            }
        }
        if !found.isEmpty { found.endWalk(bytesAhead: bytesOfBatch + ((try? instance.queuedBytes()) ?? 0)) }
        if asksForReading { for watch in watched { complete(watch) } }
        remarkOnLimit()
    }

    /// Nil if the kernel has no watch left: the directories below are listed all the same, to count how many are missing.
    private mutating func watch(_ directory: borrowing OwnedDescriptor) throws(SystemCallError) -> Int32? {
        do { return try instance.addWatch(directory: directory, askedWhileListing) } catch {
            guard error.code == .noSpace else { throw error }
            unwatched += 1
            return nil
        }
    }

    private func write(
        _ entry: DirectoryEntry, _ directory: Directory, _ now: FileTime, _ report: inout WatchReport
    ) {
        if !filter.isEmpty {
            let path = BytePath(directory.printed + entry.name.bytes)
            if filter.hides(path, root: roots[directory.root].printed.count) { return }
        }
        let mask = entry.kind == .directory ? RecordNames.found.union(.isDirectory) : RecordNames.found
        entry.name.bytes.withUnsafeBytes { report.add(mask, directory.printed, $0, 0, at: now) }
    }

    private func list(
        _ listed: Pending, _ opened: Opened, isNew: Bool, _ pending: inout [Pending],
        _ body: (DirectoryEntry, Directory) -> Void
    ) throws(SystemCallError) {
        // So many directories of a path are open at most; deeper ones are opened from their root.
        let parent = opened.depth > 100 ? nil : opened
        try reader.read(opened.descriptor) { entry in
            if entry.kind == .directory || entry.kind == .unknown {
                let below = listed.directory.below(entry.name.bytes)
                if !prunes(below, isNew: isNew) {
                    pending.append(Pending(directory: below, parent: parent, name: entry.name))
                }
            }
            body(entry, listed.directory)
        }
    }

    /// Opens a directory for listing, with no link followed below its root. The directories of its path are opened as places
    /// alone (O_PATH), which causes no event.
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
        // It is gone again, or is something else: its own records report that.
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels: return
        default: remarks.append("cannot watch \(BytePath(directory.printed)) (\(error.code))")
        }
    }

    private mutating func remarkOnLimit() {
        guard unwatched > 0 else { return }
        remarks.append(WatchRemarks.limit(missing: unwatched))
        unwatched = 0
    }
}
