import CommandContact
import CommandSupport
import Explaining
import FileValues
import Importing
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// The inbox to import into, and the directories that cannot be imported from.
struct ImportTarget {
    let name: String
    /// Absolute, without links.
    let path: BytePath
    let minFree: UInt64
    /// Why the daemon would exclude a path of the inbox.
    let exclusion: @Sendable (BytePath) -> String?
    /// The directories that cannot be imported from, by their configured paths.
    private let forbidden: [(what: String, path: BytePath)]

    init(
        _ inbox: InboxPlace, _ settings: Settings?, _ known: KnownPlaces, state: BytePath
    ) throws {
        name = inbox.name
        path = try realPath(inbox.path)
        minFree = settings?.library?.minFree ?? 0
        let own = settings?.inboxes.first { $0.name == inbox.name }
        exclusion = { path in own?.exclusion(of: path).map { "excluded: \($0)" } }
        let inboxes = known.inboxes.map { ("the inbox \($0.name)", $0.path) }
        // Not a former library, which may be imported.
        let others: [(String, BytePath?)] = [
            (Self.library, known.library),
            ("the quarantine", known.quarantine), ("the duplicates directory", known.duplicates),
            ("the returned directory", known.returned), ("the trash", known.trash),
            ("the daemon's state directory", state),
        ]
        forbidden = inboxes + others.compactMap { what, path in path.map { (what, $0) } }
    }

    private static let library = "the library"

    /// Throws if `source` is, lies in or contains a directory of the daemon, by any mount: a photo would be mistaken for its
    /// own copy.
    func requireOutside(_ source: BytePath, named path: BytePath) throws {
        let (mounts, place) = (try MountTable.ofProcess(), try KernelPlace(at: source))
        for (what, directory) in forbidden {
            guard let own = try? KernelPlace(at: directory) else { continue }
            let how: (relation: PlaceMeeting.Relation, evidence: String)
            if let meeting = mounts.meeting(of: own, place) {
                let isPlain = own.path.isInside(place.path) || place.path.isInside(own.path)
                how = (
                    meeting.relation,
                    isPlain ? "" : ": both lie in \(meeting.fileSystem), as \(meeting.second) and \(meeting.first)"
                )
            } else if mounts.mayBeTwins(own, place),
                let relation = LocalFileSystem().probe(directory, in: source)
            {
                how = (relation, ": a file made in one was seen in the other")
            } else {
                continue
            }
            let relation =
                switch how.relation {
                case .same: "is"
                case .secondInFirst: "is in"
                case .firstInSecond: "contains"
                case .shared: "has files in common with"
                }
            throw CommandFailure(
                .usage, "\(path) \(relation) \(what), \(directory)\(how.evidence)",
                action: what == Self.library ? "See: photoinbox adopt --help" : "Give another directory.")
        }
    }
}

extension KnownPlaces {
    /// The inbox with this name, or the only one.
    func inbox(named name: String?) throws(CommandFailure) -> InboxPlace {
        let names = inboxes.map(\.name).joined(separator: ", ")
        if let name {
            if let found = inboxes.first(where: { $0.name == name }) { return found }
            throw CommandFailure(
                .noMatch, "no inbox is named \(name)", action: names.isEmpty ? nil : "Inboxes: \(names).")
        }
        guard let first = inboxes.first else {
            throw CommandFailure(
                .configuration, "no inbox is known",
                action: "Give the daemon's configuration with --config, or start photoinboxd once.")
        }
        guard inboxes.count == 1 else {
            throw CommandFailure(.usage, "there are several inboxes: \(names)", action: "Choose with --inbox.")
        }
        return first
    }
}
