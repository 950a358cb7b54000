import DirectoryWatch
import FileValues
import LinuxKernel

/// Applies every notice of real directories, keeps the reported entries by place, and records notices that contradict
/// that or with the rules that ``WatchNotice`` promises. Cookies are left out.
struct NoticeJudge {
    typealias Place = Receiver.Place

    enum Entry: Hashable {
        case finished(FileIdentity)
        case writing(FileIdentity)
        case special(FileKind)
    }

    private(set) var entries: [Place: Entry] = [:]
    private(set) var directories: Set<Place> = []
    private(set) var complaints: [String] = []
    /// What was reported of each place since this was emptied last.
    var log: [Place: [WatchNotice]] = [:]
    /// Overflows reported that are not healed yet, by root.
    private(set) var wounds: [String: Int] = [:]
    private(set) var overflows = 0
    /// How often each inode was reported as closed.
    private var reportedCloses: [UInt64: Int] = [:]
    /// How often a file was reported where a directory was reported and not gone yet, or a directory where a file was.
    private(set) var overlaps = 0
    /// How often a directory was reported as gone before its entries.
    private(set) var late = 0

    static func isCookie(_ path: BytePath) -> Bool { path.bytes.starts(with: Array("cookie-".utf8)) }

    mutating func forget(_ place: Place) { entries[place] = nil }

    /// `closes` says how often an inode was closed after writing so far; nil if that is not known.
    mutating func apply(_ notice: WatchNotice, closes: (UInt64) -> Int?) {
        if Self.isCookie(notice.path) { return }
        let place = Place(root: notice.root, path: notice.path)
        log[place, default: []].append(notice)
        switch notice.kind {
        case .finished(let cause):
            guard let identity = fileIn(notice, place) else { return }
            if cause == .closeWrite { reportedCloses[identity.inode, default: 0] += 1 }
            // A close is reported although nothing has changed: a program may have written through a mapping.
            let isClose =
                cause == .closeWrite && closes(identity.inode).map { reportedCloses[identity.inode] ?? 0 <= $0 } ?? true
            if entries[place] == .finished(identity), !isClose { complain(notice, "reported before, and the same") }
            replaceSpecial(notice, place)
            entries[place] = .finished(identity)
        case .created:
            guard let identity = fileIn(notice, place) else { return }
            if case .finished = entries[place] { complain(notice, "reported as finished before") }
            replaceSpecial(notice, place)
            entries[place] = .writing(identity)
        case .changed:
            guard let identity = fileIn(notice, place) else { return }
            complain(notice, "changed, not asked for")
            entries[place] = .writing(identity)
        case .vanished:
            if entries.removeValue(forKey: place) == nil { complain(notice, "never reported") }
        case .renamed(let from):
            guard let identity = fileIn(notice, place) else { return }
            let before = entries.removeValue(forKey: Place(root: notice.root, path: from))
            if case .finished(let before) = before, before.inode == identity.inode {
            } else {
                complain(notice, "renamed from something else: \(String(describing: before))")
            }
            entries[place] = .finished(identity)
        case .attributesChanged:
            guard let identity = fileIn(notice, place) else { return }
            if case .finished(let before) = entries[place], before.inode == identity.inode, before.size == identity.size
            {
                entries[place] = .finished(identity)
            } else {
                complain(notice, "not reported as finished with this content: \(String(describing: entries[place]))")
            }
        case .notRegular(let kind):
            checkParent(notice)
            if kind == .regular || kind == .directory { complain(notice, "is no special file") }
            if let before = entries[place] { complain(notice, "what was there did not go: \(before)") }
            entries[place] = .special(kind)
        case .directoryAppeared:
            checkParent(notice)
            if entries[place] != nil { overlaps += 1 }
            if !directories.insert(place).inserted { complain(notice, "reported before") }
        case .directoryVanished:
            if directories.remove(place) == nil { complain(notice, "never reported") }
            let left = entries.keys.first { isBelow($0, place) } ?? directories.first { isBelow($0, place) }
            // Reported a moment later where several directories move at once.
            if left != nil { late += 1 }
        case .overflow:
            wounds[notice.root, default: 0] += 1
            overflows += 1
        case .healed:
            if wounds.removeValue(forKey: notice.root) == nil { complain(notice, "without an overflow") }
        case .unreadable, .rootGone, .rootBack, .treeGone, .treeBack: complain(notice, "nothing of that kind happened")
        }
    }

    /// The identity that a file's notice must have, and its directory must have been reported.
    private mutating func fileIn(_ notice: WatchNotice, _ place: Place) -> FileIdentity? {
        checkParent(notice)
        if directories.contains(place) { overlaps += 1 }
        if notice.identity == nil { complain(notice, "has no identity") }
        return notice.identity
    }

    private mutating func replaceSpecial(_ notice: WatchNotice, _ place: Place) {
        if case .special = entries[place] { complain(notice, "the special file there did not go") }
    }

    private mutating func checkParent(_ notice: WatchNotice) {
        let parent = notice.path.parent
        if !parent.isEmpty, !directories.contains(Place(root: notice.root, path: parent)) {
            complain(notice, "its directory was not reported")
        }
    }

    private func isBelow(_ place: Place, _ top: Place) -> Bool {
        place.root == top.root && place.path != top.path && place.path.isInside(top.path)
    }

    private mutating func complain(_ notice: WatchNotice, _ text: String) {
        if complaints.count < 20 {
            complaints.append("\(text): \(notice.root)/\(notice.path) \(describe(notice.kind))")
        }
    }
}
