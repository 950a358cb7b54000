import ArgumentParser
import DirectoryWatch
import FileValues
import LinuxKernel

/// What `watch` is asked to tell: `--events`.
enum WatchEvents: Hashable, Sendable {
    /// Notices of the watcher, by kind.
    case notices(Set<NoticeKind>)
    /// The kernel's own records.
    case raw(InotifyMask)
}

/// The kinds of notices, by the words that people write and read.
enum NoticeKind: String, CaseIterable, Hashable, Sendable {
    case finished, created, changed, vanished, renamed
    case directory
    case directoryVanished = "directory-vanished"
    case special

    /// The kind of a notice; nil for those that are about the watching itself.
    init?(_ kind: WatchNotice.Kind) {
        switch kind {
        case .finished: self = .finished
        case .created: self = .created
        case .changed: self = .changed
        case .vanished: self = .vanished
        case .renamed: self = .renamed
        case .directoryAppeared: self = .directory
        case .directoryVanished: self = .directoryVanished
        case .notRegular: self = .special
        case .unreadable, .rootGone, .rootBack, .overflow, .healed: return nil
        }
    }

    /// The word as bytes, for output.
    var bytes: StaticString {
        switch self {
        case .finished: "finished"
        case .created: "created"
        case .changed: "changed"
        case .vanished: "vanished"
        case .renamed: "renamed"
        case .directory: "directory"
        case .directoryVanished: "directory-vanished"
        case .special: "special"
        }
    }
}

extension WatchEvents {
    /// `finished,renamed`, `all`, or the kernel's names as inotifywait has them: `close_write,moved_to`.
    init(words text: String) throws {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        if words == ["all"] {
            self = .raw(Self.everything)
            return
        }
        let kinds = words.compactMap(NoticeKind.init(rawValue:))
        if kinds.count == words.count {
            self = .notices(Set(kinds))
            return
        }
        let masks = words.compactMap { Self.rawNames[$0.lowercased()] }
        if masks.count == words.count {
            self = .raw(masks.reduce(into: []) { $0.formUnion($1) })
            return
        }
        if let unknown = words.first(where: { NoticeKind(rawValue: $0) == nil && Self.rawNames[$0.lowercased()] == nil }
        ) {
            let known = NoticeKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                unknown == "all"
                    ? "--events all stands alone."
                    : "--events: there is no \"\(escapeForDisplay(Array(unknown.utf8)))\"; there are \(known), and all."
            )
        }
        throw ValidationError("--events: the kernel's names and others do not go together.")
    }

    private static let everything = InotifyMask(rawValue: 0xFFF)

    private static let rawNames: [String: InotifyMask] = [
        "access": .accessed, "modify": .modified, "attrib": .attributes, "close_write": .closedAfterWriting,
        "close_nowrite": .closedAfterReading, "open": .opened, "moved_from": .movedFrom, "moved_to": .movedTo,
        "create": .created, "delete": .deleted, "delete_self": .deletedSelf, "move_self": .movedSelf,
    ]
}
