import FileValues

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

/// Two directories of which one lies in the other, though it must not: what is filed would be taken in again, or one
/// photo would belong to two inboxes.
struct Overlap {
    let message: String
    /// The assignment whose line is shown.
    let blamed: Assignment

    static func all(among places: [NamedPlace]) -> [Overlap] {
        // Saying it of a directory says it of what lies in it by default.
        let places = places.filter { inner in
            inner.assignment.origin != .standard || inner.role != .catalogue && inner.role != .runtime
                || !places.contains { $0.role == .state && inner.path.isInside($0.path) }
        }
        var overlaps: [Overlap] = []
        for (index, first) in places.enumerated() {
            for second in places[(index + 1)...] {
                if let overlap = between(first, second) { overlaps.append(overlap) }
            }
        }
        return overlaps
    }

    private static func between(_ first: NamedPlace, _ second: NamedPlace) -> Overlap? {
        let secondInside = second.path.isInside(first.path)
        let firstInside = first.path.isInside(second.path)
        guard secondInside || firstInside, isForbidden(first, second, firstInside: firstInside) else { return nil }
        // An inbox is what people add and move; so its line is blamed, unless a default would be.
        let blamesFirst = second.assignment.origin == .standard && first.assignment.origin != .standard
        let (blamed, other) = blamesFirst ? (first, second) : (second, first)
        let relation =
            secondInside && firstInside
            ? "is also" : (secondInside != blamesFirst ? "lies inside" : "contains")
        let subject = blamed.isInbox ? "this inbox" : "this"
        return Overlap(
            message: "\(subject) \(relation) \(other.name), \(other.path) (\(other.assignment.origin)); "
                + "give each a directory of its own",
            blamed: blamed.assignment)
    }

    private static func isForbidden(_ first: NamedPlace, _ second: NamedPlace, firstInside: Bool) -> Bool {
        switch (first.role, second.role) {
        case (.inbox, .inbox): true
        case (.library, .inbox), (.quarantine, .inbox), (.duplicates, .inbox), (.returned, .inbox), (.trash, .inbox):
            true
        // An inbox below the state directory harms nobody; the daemon's own files in an inbox would be taken.
        case (.state, .inbox), (.runtime, .inbox), (.catalogue, .inbox): firstInside
        case (.library, .quarantine), (.library, .duplicates), (.quarantine, .duplicates), (.library, .returned),
            (.quarantine, .returned), (.duplicates, .returned), (.library, .trash), (.quarantine, .trash),
            (.duplicates, .trash), (.returned, .trash):
            true
        default: false
        }
    }
}
