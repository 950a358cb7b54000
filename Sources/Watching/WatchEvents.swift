import ArgumentParser
import DirectoryWatch
package import FileValues

/// The events that `watch` reports: `--event`.
package enum WatchEvents: Hashable, Sendable {
    /// Notices of the watcher, by kind.
    case notices(NoticeKinds)
    /// The kernel's own records.
    case raw(InotifyMask)
}

/// The kinds of notices, by name.
package enum NoticeKind: String, CaseIterable, Hashable, Sendable {
    case finished, created, changed, vanished, renamed
    case directory
    case directoryVanished = "directory-vanished"
    case special

    /// The kind of a notice; nil for those about the watching itself.
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
        case .attributesChanged, .unreadable, .rootGone, .rootBack, .treeGone, .treeBack, .overflow, .healed:
            return nil
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

/// A set of kinds, as bits.
package struct NoticeKinds: Hashable, Sendable, ExpressibleByArrayLiteral {
    private var bits: UInt16 = 0

    init(_ kinds: [NoticeKind]) { for kind in kinds { bits |= Self.bit(kind) } }

    package init(arrayLiteral kinds: NoticeKind...) { self.init(kinds) }

    func contains(_ kind: NoticeKind) -> Bool { bits & Self.bit(kind) != 0 }

    private static func bit(_ kind: NoticeKind) -> UInt16 {
        switch kind {
        case .finished: 1
        case .created: 2
        case .changed: 4
        case .vanished: 8
        case .renamed: 16
        case .directory: 32
        case .directoryVanished: 64
        case .special: 128
        }
    }
}

extension WatchEvents {
    /// The default: finished files; every record with `-m` or `-r`, which are of inotifywait, which reports them all.
    package init(asInotifywait: Bool) { self = asInotifywait ? .raw(RecordNames.everything) : .notices([.finished]) }

    /// `finished,renamed`, `all`, or the kernel's names as inotifywait has them: `close_write,moved_to`. Each of `lists`
    /// adds to the others.
    package init(words lists: [String]) throws {
        let words = lists.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        if words == ["all"] {
            self = .raw(RecordNames.everything)
            return
        }
        let kinds = words.compactMap(NoticeKind.init(rawValue:))
        if kinds.count == words.count {
            self = .notices(NoticeKinds(kinds))
            return
        }
        let masks = words.compactMap { RecordNames.mask($0) }
        if masks.count == words.count {
            self = .raw(masks.reduce(into: []) { $0.formUnion($1) })
            return
        }
        if let unknown = words.first(where: { NoticeKind(rawValue: $0) == nil && RecordNames.mask($0) == nil }) {
            let known = NoticeKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                unknown == "all"
                    ? "--event all stands alone."
                    : "--event: there is no \"\(escapeForDisplay(Array(unknown.utf8)))\"; there are \(known), and all, "
                        + "and inotifywait's names.")
        }
        throw ValidationError("--event: the kernel's names and others do not go together.")
    }
}
