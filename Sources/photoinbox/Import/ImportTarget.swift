import CommandSupport
import FileValues
import Importing
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// The inbox that photos are brought into, and the directories that they cannot come from.
struct ImportTarget {
    let name: String
    /// Absolute, without links.
    let path: BytePath
    let minFree: UInt64
    /// Why the daemon would leave a path of the inbox alone.
    let exclusion: @Sendable (BytePath) -> String?
    /// Directories that photos cannot come from, by their configured paths.
    private let ours: [(what: String, path: BytePath)]

    init(
        _ inbox: InboxPlace, _ settings: Settings?, _ known: KnownPlaces, state: BytePath
    ) throws(CommandFailure) {
        name = inbox.name
        do throws(SystemCallError) { path = try realPath(inbox.path) } catch { throw CommandFailure(error) }
        minFree = settings?.library?.minFree ?? 0
        let own = settings?.inboxes.first { $0.name == inbox.name }
        exclusion = { path in own?.exclusion(of: path).map { "excluded: \($0)" } }
        let inboxes = known.inboxes.map { ("the inbox \($0.name)", $0.path) }
        // A former library is none of them: photos may be brought over from there.
        let others: [(String, BytePath?)] = [
            (Self.library, known.library),
            ("the quarantine", known.quarantine), ("the duplicates", known.duplicates),
            ("what was taken back", known.returned), ("the trash", known.trash), ("the daemon's state", state),
        ]
        ours = inboxes + others.compactMap { what, path in path.map { (what, $0) } }
    }

    private static let library = "the library"

    /// Throws if `source` is, lies in or holds a directory of ours, by whatever mount: a photo would come from where it
    /// goes to, and be taken for its own copy.
    func refuse(_ source: BytePath, named path: BytePath) throws(CommandFailure) {
        let (mounts, place): (MountTable, KernelPlace)
        do throws(SystemCallError) {
            (mounts, place) = (try MountTable.ofProcess(), try KernelPlace(at: source))
        } catch { throw CommandFailure(error) }
        for (what, directory) in ours {
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
            let words =
                switch how.relation {
                case .same: "is"
                case .secondInFirst: "lies in"
                case .firstInSecond: "holds"
                case .shared: "has files in common with"
                }
            throw CommandFailure(
                .usage, "\(path) \(words) \(what), \(directory)\(how.evidence)",
                action: what == Self.library ? "See: photoinbox adopt --help" : "Name another directory.")
        }
    }
}

extension KnownPlaces {
    /// The inbox that photos are brought into: the one that is named, or the only one.
    func inbox(named name: String?) throws(CommandFailure) -> InboxPlace {
        let names = inboxes.map(\.name).joined(separator: ", ")
        if let name {
            if let found = inboxes.first(where: { $0.name == name }) { return found }
            throw CommandFailure(
                .noMatch, "there is no inbox \(name)", action: names.isEmpty ? nil : "Inboxes: \(names).")
        }
        guard let first = inboxes.first else {
            throw CommandFailure(
                .configuration, "no inbox is known",
                action: "Name the daemon's configuration with --config, or start photoinboxd once.")
        }
        guard inboxes.count == 1 else {
            throw CommandFailure(.usage, "there are several inboxes: \(names)", action: "Choose with --inbox.")
        }
        return first
    }
}
