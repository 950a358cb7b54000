import FileValues
import LinuxKernel
import PhotoModel

/// A directory of the configuration, its role, and the statement that names it.
struct NamedPlace {
    enum Role: Hashable {
        case library, quarantine, duplicates, returned, trash, state, runtime, catalogue
        case inbox(String)

        /// Whether it contains photos.
        var containsPhotos: Bool {
            switch self {
            case .library, .quarantine, .duplicates, .returned, .trash, .inbox: true
            case .state, .runtime, .catalogue: false
            }
        }
    }

    let role: Role
    let path: BytePath
    let origin: Origin
    let statement: String

    /// For the middle of a sentence.
    var name: String {
        switch role {
        case .library: "the library"
        case .quarantine: "the quarantine"
        case .duplicates: "the directory of duplicates"
        case .returned: "the directory of returned photos"
        case .trash: "the trash"
        case .state: "the state directory"
        case .runtime: "the runtime directory"
        case .catalogue: "the catalogue"
        case .inbox(let name): "inbox \(name)"
        }
    }

    var isInbox: Bool { if case .inbox = role { true } else { false } }
}

extension Assignments {
    /// The configured places, inboxes last.
    var places: [NamedPlace] {
        let top = Keys.top
        let keys: [(NamedPlace.Role, SettingsKey)] = [
            (.library, top.library.at()), (.quarantine, top.quarantine.at()), (.duplicates, top.duplicates.at()),
            (.returned, top.returned.at()), (.trash, top.trash.at()), (.state, top.state.at()),
            (.runtime, top.runtime.at()), (.catalogue, top.catalogue.at()),
        ]
        let inboxes = names(of: .inbox).map { (NamedPlace.Role.inbox($0), Keys.inbox.path.at($0)) }
        return (keys + inboxes).compactMap { role, key in
            guard let given = values[key], let path = given.value as? BytePath ?? (given.value as? CataloguePlace)?.file
            else { return nil }
            return NamedPlace(role: role, path: path, origin: given.origin, statement: given.statement)
        }
    }
}

/// Two directories that must not contain each other or share files, but do: filed photos would be imported again, one
/// photo would belong to two inboxes, and a file would seem to be its own duplicate.
struct Overlap {
    /// How two directories overlap, and the evidence if their names do not show it.
    struct Meeting {
        let relation: PlaceMeeting.Relation
        /// For people: `both lie in ext4 8:1, as`, before the places.
        var how = ""
        /// The real places of the first and the second.
        var places: (BytePath, BytePath)?
    }

    let message: String
    /// The message for the log, which has no statement before it.
    let sentence: String
    /// The place whose statement is shown.
    let blamed: NamedPlace

    /// Returns the overlaps that names show.
    static func all(among places: [NamedPlace]) -> [Overlap] {
        all(among: places) { first, second in relation(of: first.path, second.path).map { Meeting(relation: $0) } }
    }

    /// Returns the overlaps that `meeting` finds.
    static func all(among places: [NamedPlace], meeting: (NamedPlace, NamedPlace) -> Meeting?) -> [Overlap] {
        // An overlap of the state directory is not reported again for directories in it by default.
        let places = places.filter { inner in
            inner.origin != .standard || inner.role != .catalogue && inner.role != .runtime
                || !places.contains { $0.role == .state && inner.path.isInside($0.path) }
        }
        var overlaps: [Overlap] = []
        for (index, first) in places.enumerated() {
            for second in places[(index + 1)...] where isForbidden(first, second, .same) {
                guard let meeting = meeting(first, second), isForbidden(first, second, meeting.relation) else {
                    continue
                }
                overlaps.append(Overlap(first, second, meeting))
            }
        }
        return overlaps
    }

    static func relation(of first: BytePath, _ second: BytePath) -> PlaceMeeting.Relation? {
        switch (first.isInside(second), second.isInside(first)) {
        case (true, true): .same
        case (true, false): .firstInSecond
        case (false, true): .secondInFirst
        case (false, false): nil
        }
    }

    private init(_ first: NamedPlace, _ second: NamedPlace, _ meeting: Meeting) {
        // Show the line of the second place unless it is a default: inboxes come second, and people add and move these.
        let blamesFirst = second.origin == .standard && first.origin != .standard
        let (blamed, other) = blamesFirst ? (first, second) : (second, first)
        let relation =
            switch meeting.relation {
            case .same: "is also"
            case .shared: "has files in common with"
            case .firstInSecond: blamesFirst ? "lies inside" : "contains"
            case .secondInFirst: blamesFirst ? "contains" : "lies inside"
            }
        var evidence = meeting.how.isEmpty ? "" : ": \(meeting.how)"
        if let (one, two) = meeting.places { evidence += blamesFirst ? " \(one) and \(two)" : " \(two) and \(one)" }
        let subject = blamed.isInbox ? "this inbox" : "this"
        message =
            "\(subject) \(relation) \(other.name), \(other.path) (\(other.origin))\(evidence); "
            + "give each a directory of its own"
        sentence = "\(blamed.name), \(blamed.path), \(relation) \(other.name), \(other.path)\(evidence)"
        self.blamed = blamed
    }

    private static func isForbidden(
        _ first: NamedPlace, _ second: NamedPlace, _ relation: PlaceMeeting.Relation
    ) -> Bool {
        switch (first.role.containsPhotos, second.role) {
        case (true, _): second.role.containsPhotos
        // An inbox below the state directory is harmless, but the daemon's own files in an inbox would be imported.
        case (false, .inbox): relation == .same || relation == .firstInSecond
        default: false
        }
    }
}
