import DirectoryWatch
import FileValues

/// Applies every notice, and records those that contradict the notices before.
struct Receiver {
    enum Entry: Equatable {
        case finished(FileIdentity)
        case writing
        case special
    }

    struct Place: Hashable {
        let root: String
        let path: BytePath
    }

    private(set) var entries: [Place: Entry] = [:]
    private(set) var directories: Set<Place> = []
    private(set) var complaints: [String] = []
    private(set) var changes = 0
    /// How often each file was closed when it was reported as finished.
    private var closes: [Place: Int] = [:]

    /// `closes` says how often the file was closed so far, for one that is reported as finished.
    mutating func apply(_ notice: WatchNotice, closes count: Int) {
        let place = Place(root: notice.root, path: notice.path)
        switch notice.kind {
        case .finished:
            changes += 1
            guard let identity = notice.identity else { return complain(notice, "has no identity") }
            if entries[place] == .finished(identity), kind(notice) != .closeWrite || count <= closes[place] ?? 0 {
                complain(notice, "was reported before")
            }
            closes[place] = count
            entries[place] = .finished(identity)
        case .created, .changed:
            changes += 1
            entries[place] = .writing
        case .vanished:
            changes += 1
            if entries.removeValue(forKey: place) == nil { complain(notice, "was never reported") }
        case .renamed(let from):
            changes += 1
            guard let identity = notice.identity else { return complain(notice, "has no identity") }
            switch entries.removeValue(forKey: Place(root: notice.root, path: from)) {
            case .finished(let before) where before.inode == identity.inode: break
            case let other: complain(notice, "came from \(String(describing: other))")
            }
            entries[place] = .finished(identity)
        case .attributesChanged:
            guard let identity = notice.identity else { return complain(notice, "has no identity") }
            if case .finished(let before) = entries[place], before.size == identity.size, before != identity {
                entries[place] = .finished(identity)
            } else {
                complain(notice, "was reported as \(String(describing: entries[place]))")
            }
        case .notRegular:
            changes += 1
            if entries[place] == .special { complain(notice, "was reported before") }
            entries[place] = .special
        case .directoryAppeared:
            changes += 1
            if !directories.insert(place).inserted { complain(notice, "was reported before") }
        case .directoryVanished:
            changes += 1
            if directories.remove(place) == nil { complain(notice, "was never reported") }
        case .rootGone, .rootBack, .treeGone, .treeBack, .overflow, .healed, .unreadable: break
        }
    }

    private func kind(_ notice: WatchNotice) -> WatchNotice.Cause? {
        if case .finished(let cause) = notice.kind { cause } else { nil }
    }

    private mutating func complain(_ notice: WatchNotice, _ text: String) {
        complaints.append("\(notice.root)/\(notice.path) \(notice.kind): \(text)")
    }
}
