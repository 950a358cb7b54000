import FileValues
import LinuxKernel

/// A directory of the configuration, and what it is for.
struct NamedPlace {
    enum Role: Hashable {
        case library, quarantine, duplicates, returned, trash, state, runtime, catalogue
        case inbox(String)
    }

    let role: Role
    var path: BytePath
    let assignment: Assignment

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

    var isInbox: Bool {
        if case .inbox = role { return true }
        return false
    }
}

/// The places that `assignments` name, inboxes last.
func namedPlaces(in assignments: Assignments) -> [NamedPlace] {
    var places: [NamedPlace] = []
    func add(_ role: NamedPlace.Role, _ key: SettingsKey) {
        guard let assignment = assignments.values[key], case .path(let path) = assignment.value else { return }
        places.append(NamedPlace(role: role, path: path, assignment: assignment))
    }
    add(.library, SettingsKey(.top, "library"))
    add(.quarantine, SettingsKey(.top, "quarantine"))
    add(.duplicates, SettingsKey(.top, "duplicates"))
    add(.returned, SettingsKey(.top, "returned"))
    add(.trash, SettingsKey(.top, "trash"))
    add(.state, SettingsKey(.top, "state"))
    add(.runtime, SettingsKey(.top, "runtime"))
    add(.catalogue, SettingsKey(.top, "catalogue"))
    for inbox in assignments.members(of: .inbox) { add(.inbox(inbox.name), SettingsKey(.inbox, inbox.name, "path")) }
    return places
}

/// Two directories of which one lies in the other, or that have files in common, though they must not: what is filed
/// would be taken in again, one photo would belong to two inboxes, and a file would be taken for a copy of itself.
struct Overlap {
    /// How two directories meet, and how that is known where their names do not show it.
    struct Meeting {
        let relation: PlaceMeeting.Relation
        /// For people: `both lie in ext4 8:1, as`, and then where.
        var how = ""
        /// Where the first and the second one are.
        var places: (BytePath, BytePath)?
    }

    let message: String
    /// The same for the log, where no statement stands before it.
    let sentence: String
    /// The assignment whose line is shown.
    let blamed: Assignment

    /// By their names alone.
    static func all(among places: [NamedPlace]) -> [Overlap] {
        all(among: places) { first, second in relation(of: first.path, second.path).map { Meeting(relation: $0) } }
    }

    /// By what `meeting` says of two.
    static func all(
        among places: [NamedPlace], meeting: (NamedPlace, NamedPlace) -> Meeting?
    ) -> [Overlap] {
        // Saying it of a directory says it of what lies in it by default.
        let places = places.filter { inner in
            inner.assignment.origin != .standard || inner.role != .catalogue && inner.role != .runtime
                || !places.contains { $0.role == .state && inner.path.isInside($0.path) }
        }
        var overlaps: [Overlap] = []
        for (index, first) in places.enumerated() {
            for second in places[(index + 1)...] where mayBeForbidden(first, second) {
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
        // An inbox is what people add and move; so its line is blamed, unless a default would be.
        let blamesFirst = second.assignment.origin == .standard && first.assignment.origin != .standard
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
            "\(subject) \(relation) \(other.name), \(other.path) (\(other.assignment.origin))\(evidence); "
            + "give each a directory of its own"
        sentence = "\(blamed.name), \(blamed.path), \(relation) \(other.name), \(other.path)\(evidence)"
        self.blamed = blamed.assignment
    }

    private static func mayBeForbidden(_ first: NamedPlace, _ second: NamedPlace) -> Bool {
        isForbidden(first, second, .same)
    }

    private static func isForbidden(
        _ first: NamedPlace, _ second: NamedPlace, _ relation: PlaceMeeting.Relation
    ) -> Bool {
        switch (first.role, second.role) {
        case (.inbox, .inbox): true
        case (.library, .inbox), (.quarantine, .inbox), (.duplicates, .inbox), (.returned, .inbox), (.trash, .inbox):
            true
        // An inbox below the state directory harms nobody; the daemon's own files in an inbox would be taken.
        case (.state, .inbox), (.runtime, .inbox), (.catalogue, .inbox): relation == .same || relation == .firstInSecond
        case (.library, .quarantine), (.library, .duplicates), (.quarantine, .duplicates), (.library, .returned),
            (.quarantine, .returned), (.duplicates, .returned), (.library, .trash), (.quarantine, .trash),
            (.duplicates, .trash), (.returned, .trash):
            true
        default: false
        }
    }
}
