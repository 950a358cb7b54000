package import FileValues

/// An inbox, from the configuration or the daemon's last state.
package struct InboxPlace: Hashable {
    package let name: String
    /// Absolute.
    package let path: BytePath
}

/// The directories that files may be in.
package struct KnownPlaces: Hashable {
    package internal(set) var inboxes: [InboxPlace] = []
    package internal(set) var library: BytePath?
    package internal(set) var quarantine: BytePath?
    package internal(set) var duplicates: BytePath?
    /// For files that were undone or discarded.
    package internal(set) var returned: BytePath?
    package internal(set) var trash: BytePath?
}

/// What a file is, by its path alone.
package enum Location: Hashable {
    case inbox(InboxPlace, BytePath)
    /// In an inbox of another host with the same catalogue.
    case remoteInbox(name: String, host: String, isForgotten: Bool, BytePath)
    /// The library's root, and the path in it.
    case library(BytePath, BytePath)
    /// In a directory for files that were set aside, by its absolute path.
    case setAside(BytePath)
    case outside(BytePath)

    /// Finds the place of `file`: an absolute path, one relative to `directory`, or INBOX/PATH. Pure
    /// except for its closures: `exists` returns whether a path exists, `real` returns it without links.
    package init(
        _ file: BytePath, from directory: BytePath, in places: KnownPlaces, exists: (BytePath) -> Bool,
        real: (BytePath) -> BytePath?
    ) {
        let absolute = normalised(file.isAbsolute ? file : directory.appending(file))
        // The file's own last name may be a link, and is not followed; neither need it be there.
        let resolved = real(absolute.parent).map { $0.appending(absolute.name) }
        let candidates = [absolute] + (resolved.map { [$0] } ?? [])
        let found = candidates.compactMap { Self.find($0, in: places, real: real) }.first
        if let found, file.isAbsolute || exists(absolute) {
            self = found
        } else if let named = Self.named(file, in: places) {
            self = named
        } else {
            self = found ?? .outside(absolute)
        }
    }

    private static func find(
        _ path: BytePath, in places: KnownPlaces, real: (BytePath) -> BytePath?
    ) -> Location? {
        func rest(below root: BytePath) -> BytePath? {
            path.relative(to: root) ?? real(root).flatMap { path.relative(to: $0) }
        }
        for inbox in places.inboxes {
            if let rest = rest(below: inbox.path), !rest.isEmpty { return .inbox(inbox, rest) }
        }
        // Before the library, since they may be inside it.
        for root in [places.quarantine, places.duplicates, places.returned, places.trash].compactMap(\.self) {
            if let rest = rest(below: root), !rest.isEmpty { return .setAside(root.appending(rest)) }
        }
        if let root = places.library, let rest = rest(below: root), !rest.isEmpty { return .library(root, rest) }
        return nil
    }

    /// INBOX/PATH, as messages write it.
    private static func named(_ file: BytePath, in places: KnownPlaces) -> Location? {
        guard let (name, rest) = inboxAndRest(file), let inbox = places.inboxes.first(where: { $0.name == name })
        else { return nil }
        return .inbox(inbox, rest)
    }

    /// The parts of INBOX/PATH, if `file` may be that.
    static func inboxAndRest(_ file: BytePath) -> (inbox: String, rest: BytePath)? {
        let names = file.components
        guard !file.isAbsolute, names.count > 1, let inbox = String(validating: names[0].bytes, as: UTF8.self) else {
            return nil
        }
        let rest = names.dropFirst().reduce(BytePath("")) { $0.appending($1) }
        return rest.isSafeBeneath ? (inbox, rest) : nil
    }
}

/// The path without `.`, and with `..` resolved by name, as the shell's `cd` does.
package func normalised(_ path: BytePath) -> BytePath {
    var names: [BytePath] = []
    for name in path.components {
        if name == "." { continue }
        if name == ".." { _ = names.popLast() } else { names.append(name) }
    }
    return names.reduce(BytePath(path.isAbsolute ? "/" : "")) { $0.appending($1) }
}
