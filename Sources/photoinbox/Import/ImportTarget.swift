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
    private let ours: [(what: String, path: BytePath)]

    init(_ inbox: InboxPlace, _ settings: Settings?, _ known: KnownPlaces) throws(CommandFailure) {
        name = inbox.name
        do throws(SystemCallError) { path = try realPath(inbox.path) } catch { throw CommandFailure(error) }
        minFree = settings?.library?.minFree ?? 0
        let own = settings?.inboxes.first { $0.name == inbox.name }
        exclusion = { path in own?.exclusion(of: path).map { "excluded: \($0)" } }
        let inboxes = known.inboxes.map { ("the inbox \($0.name)", $0.path) }
        let others: [(String, BytePath?)] = [
            ("the library", known.library), ("the quarantine", known.quarantine),
            ("the duplicates", known.duplicates), ("what was taken back", known.returned), ("the trash", known.trash),
        ]
        ours = (inboxes + others.compactMap { what, path in path.map { (what, $0) } }).compactMap { what, path in
            (try? realPath(path)).map { (what, $0) }
        }
    }

    /// Throws if `source` is, lies in or holds a directory of ours: a photo would come from where it goes to.
    func refuse(_ source: BytePath, named path: BytePath, state: BytePath) throws(CommandFailure) {
        let all = ours + ((try? realPath(state)).map { [("the daemon's state", $0)] } ?? [])
        for (what, place) in all where source.isInside(place) || place.isInside(source) {
            let how = source == place ? "is" : source.isInside(place) ? "lies in" : "holds"
            throw CommandFailure(
                .usage, "\(path) \(how) \(what), \(place)",
                action: what == "the library" ? "See: photoinbox adopt --help" : "Name another directory.")
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
                .usage, "there is no inbox \(name)", action: names.isEmpty ? nil : "Inboxes: \(names).")
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
