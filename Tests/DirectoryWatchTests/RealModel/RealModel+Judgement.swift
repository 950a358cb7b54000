import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel

/// What must be so when nothing moves any more.
extension RealModel {
    func removeNotices() {
        for notice in watch.removeNotices() {
            guard let notice = setting.plant.map({ $0(notice) }) ?? notice else { continue }
            let isWild = wild.contains { $0.root == notice.root && notice.path.isInside($0.path) }
            judge.apply(notice, closes: { inode in isWild ? nil : closes[inode] ?? 0 })
            if NoticeJudge.isCookie(notice.path) { continue }
            counts.notices += 1
            checkEverThere(notice)
        }
    }

    /// Nothing is reported that never was there. Below directories that were moved more than once before the watch got to
    /// it, a file may be reported under one's new path and the other's old one, which it never had at the same time; and on a
    /// disk a new directory may have the inode of one that was removed, and count as that one until it is listed.
    private func checkEverThere(_ notice: WatchNotice) {
        let place = Place(root: notice.root, path: notice.path)
        if notice.path.isEmpty || ever.contains(place) { return }
        if wild.contains(where: { $0.root == place.root && place.path.isInside($0.path) }) { return }
        if isDisturbed(place) || setting.reusesInodes, ever.contains(where: { $0.path.name == place.path.name }) {
            return counts.ghosts += 1
        }
        faults.append("never was there: \(notice.root)/\(notice.path) \(describe(notice.kind))")
    }

    /// What is there: files and others, and directories.
    private func present() -> (files: [Place: RealTree.Entry], directories: Set<Place>) {
        var files: [Place: RealTree.Entry] = [:]
        var directories: Set<Place> = []
        for root in RealWatch.roots {
            let top = watch.top.appending(BytePath(root))
            for (path, entry) in RealTree.list(top, excluding: RealWatch.isExcluded) {
                let place = Place(root: root, path: path)
                if entry.kind == .directory { directories.insert(place) } else { files[place] = entry }
            }
        }
        return (files, directories)
    }

    /// Waits until all is reported, without a comparison, and judges the notices since the last time.
    func awaitQuiet() {
        watch.release()
        var differences: [String] = []
        for round in 0..<setting.patience {
            guard watch.passCookies() else { return faults.append("a cookie is not reported") }
            removeNotices()
            faults += judge.complaints
            guard faults.isEmpty else { return }
            differences = self.differences()
            if differences.isEmpty { break }
            if needsTicks || round > 4 { watch.checkNow() }
        }
        guard differences.isEmpty else { return faults += differences }
        counts.rests += 1
        if watch.snapshot.roots.contains(where: { $0.watches < $0.directories }) { counts.polled += 1 }
        judgeExactly()
        touches = [:]
        disturbed = []
        isCompared = false
        judge.log = [:]
        entriesAtRest = judge.entries
    }

    /// The differences between the reported entries and the directory; `isStrict` if nothing may have changed without an event.
    func differences(isStrict: Bool = false) -> [String] {
        let (files, directories) = present()
        var found: [String] = []
        for (place, entry) in files {
            let reported = judge.entries[place]
            if !agrees(reported, entry, isStrict: isStrict) {
                found.append(
                    "not as reported: \(place.root)/\(place.path) is \(entry), reported \(reported.map { "\($0)" } ?? "never")"
                )
            }
        }
        for place in judge.entries.keys where files[place] == nil {
            found.append("reported, not there: \(place.root)/\(place.path)")
        }
        for place in directories.symmetricDifference(judge.directories) {
            let what = directories.contains(place) ? "directory not reported" : "directory reported, not there"
            found.append("\(what): \(place.root)/\(place.path)")
        }
        if !judge.wounds.isEmpty { found.append("overflow not healed: \(judge.wounds)") }
        return found
    }

    private func agrees(_ reported: NoticeJudge.Entry?, _ entry: RealTree.Entry, isStrict: Bool) -> Bool {
        guard entry.kind == .regular else { return reported == .special(entry.kind) }
        let isOpen = open.contains { $0.inode == entry.identity.inode }
        switch reported {
        case .finished(let identity):
            // Attributes and links are no news.
            if hasSameContent(identity, entry.identity) { return true }
            return identity.inode == entry.identity.inode && !isStrict && (isOpen || quiet.contains(identity.inode))
        case .writing(let identity): return isOpen && identity.inode == entry.identity.inode
        case .special, nil: return false
        }
    }

    private func hasSameContent(_ one: FileIdentity, _ other: FileIdentity) -> Bool {
        one.inode == other.inode && one.size == other.size && one.modified == other.modified
    }

    /// An entry that was changed once, with no change above it, is reported exactly so.
    private func judgeExactly() {
        for place in Set(judge.log.keys).union(touches.keys).union(entriesAtRest.keys) {
            let reported = judge.log[place] ?? []
            if !RealWatch.roots.contains(place.root) || place.path.isEmpty || isDisturbed(place)
                || isLeftOut(place)
            {
                continue
            }
            guard let fault = exactFault(place, reported) else { continue }
            let done = touches[place] ?? []
            faults.append(
                "\(fault): \(place.root)/\(place.path) after \(done), reported \(reported.map { describe($0.kind) })")
        }
    }

    private func exactFault(_ place: Place, _ reported: [WatchNotice]) -> String? {
        let finished = reported.count { if case .finished = $0.kind { true } else { false } }
        let renamed = reported.count { if case .renamed = $0.kind { true } else { false } }
        let created = reported.count { $0.kind == .created }
        let before = entriesAtRest[place]
        // A comparison in between reports changes without an event.
        for entry in [before, judge.entries[place]] {
            if case .finished(let identity) = entry, quiet.contains(identity.inode) { return nil }
        }
        guard let done = touches[place] else {
            // Nothing was done to it: nothing is reported, unless it changed without an event. Places that never were are
            // judged as such.
            let isUntouched = before == judge.entries[place] || before == nil
            return isUntouched && ever.contains(place) && !reported.isEmpty && !reportedDirectories(reported)
                ? "reported again" : nil
        }
        // Of one that was open a comparison may say that it was found.
        if case .writing = before { return nil }
        guard done.count == 1 else { return nil }
        switch done[0] {
        case .created where before == nil:
            return finished == 1 && created <= 1 && reported.count == finished + created
                ? nil : "not finished exactly once"
        case .written where before == nil:
            return (1...2).contains(finished) && created <= 1 && reported.count == finished + created
                ? nil : "not finished once, or twice while it was written"
        case .linked where before == nil:
            return finished == 1 && reported.count == 1 ? nil : "not reported exactly once"
        // What left a moment ago and comes back may be recognised.
        case .movedIn where before == nil:
            return finished + renamed == 1 && reported.count == 1 ? nil : "not reported exactly once"
        case .special where before == nil: return reported.count == 1 ? nil : "not reported exactly once"
        case .removed where before != nil:
            return reported.map(\.kind) == [.vanished] ? nil : "not vanished exactly once"
        case .forgotten: return reported.isEmpty ? nil : "reported, though forgotten"
        case .renamed(let old) where touches[old] == [.movedAway] && !isDisturbed(old) && before == nil:
            guard case .finished = entriesAtRest[old], !isLeftOut(old) else { return nil }
            counts.renames += 1
            if reported.map(\.kind) == [.renamed(from: old.path)] { return nil }
            counts.splitRenames += 1
            return finished == 1 && reported.count == 1 ? nil : "neither renamed nor finished, exactly once"
        default: return nil
        }
    }

    /// Whether the rule leaves out a file there, by its name or by that of a directory above it.
    private func isLeftOut(_ place: Place) -> Bool {
        if RealWatch.isExcluded(place.path, .regular) { return true }
        var above = place.path.parent
        while !above.isEmpty {
            if RealWatch.isExcluded(above, .directory) { return true }
            above = above.parent
        }
        return false
    }

    private func reportedDirectories(_ reported: [WatchNotice]) -> Bool {
        reported.allSatisfy { $0.kind == .directoryAppeared || $0.kind == .directoryVanished }
    }

    /// Closes all open files; then events alone must have reported everything, and a comparison finds the changes without an event.
    func end() {
        while !open.isEmpty { closeFile(0) }
        if let path = setting.watchLimit, let file = RealTree.open(BytePath(path), O_WRONLY) {
            _ = "1000000\n".withCString { Glibc.write(file, $0, strlen($0)) }
            close(file)
        }
        for _ in 0..<2 where faults.isEmpty { awaitQuiet() }
        guard faults.isEmpty else { return }
        let unseen = differences(isStrict: true)
        guard let reports = watch.reconcile() else { return faults.append("no end of a comparison") }
        removeNotices()
        let found = reports.reduce(0) { $0 + $1.found }
        if found != unseen.count {
            faults.append("a comparison found otherwise: \(found), not the \(unseen.count) of \(unseen)")
        }
        if reports.contains(where: { $0.vanished + $0.renamed > 0 }) {
            faults.append("a comparison found losses: \(reports)")
        }
        faults += judge.complaints + differences(isStrict: true)
        judge.log = [:]
        guard watch.reconcile() != nil, watch.passCookies() else {
            return faults.append("no end of a second comparison")
        }
        removeNotices()
        if !judge.log.isEmpty { faults.append("a second comparison reported: \(judge.log)") }
        var wrong: [String] = []
        for _ in 0..<setting.patience {
            wrong = snapshotFaults()
            if wrong.isEmpty { break }
            guard watch.passCookies() else { return faults.append("a cookie is not reported") }
        }
        faults += wrong
    }

    /// The differences between the snapshot and the directory.
    private func snapshotFaults() -> [String] {
        var wrong: [String] = []
        let (files, directories) = present()
        for root in watch.snapshot.roots {
            let count = directories.count { $0.root == root.id } + 1
            if root.verdict != .live { wrong.append("verdict: \(root.id) is \(root.verdict)") }
            if root.directories != count {
                wrong.append("snapshot: \(root.id): \(root.directories) directories of \(count)")
            }
            if root.watches != count { wrong.append("snapshot: \(root.id): \(root.watches) watches for \(count)") }
            let known = files.keys.count { $0.root == root.id }
            if root.knownFiles != known { wrong.append("snapshot: \(root.id): \(root.knownFiles) files of \(known)") }
        }
        return wrong
    }
}
