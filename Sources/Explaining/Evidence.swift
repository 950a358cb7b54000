package import Catalogue
package import CommandContact
import CommandSupport
package import ControlProtocol
import Fetching
package import FileValues
import Filing
import LinuxKernel
import PhotoModel
import Renditions
import Reporting
package import Settings

/// Everything that is known of one file, as values.
package struct Evidence {
    enum Daemon: Equatable {
        case running
        case down
        /// It may run, but this user may not ask it.
        case unasked
    }

    struct Exclusion: Equatable {
        let pattern: String
        /// `photoinbox.toml:18`.
        let origin: String
    }

    package let location: Location
    var daemon = Daemon.down
    var kind: FileKind?
    var identity: FileIdentity?
    /// Its number of names.
    var links: UInt64 = 1
    /// Processes that have it open for writing, as far as this user may see.
    var writers: [WriterProcess] = []
    var exclusion: Exclusion?
    var nameDecision = NameDecision.take
    /// `photoinbox.toml:18 quiet = "5s"`.
    var quietRule: String?
    package internal(set) var inHand: DaemonState.InHand?
    var isPaused = false
    /// From the daemon's recent outcomes, some of which are not in the catalogue.
    var ended: DaemonState.Ended?
    /// Newest first.
    package internal(set) var outcomes: [StoredOutcome] = []
    var kept: KeptSource?
    /// Requests about the newest outcome, newest first.
    var requests: [StoredRequest] = []
    /// A filing that the daemon had begun when it ended.
    var intent: StoredIntent?
    /// The photo of the newest outcome, or of this path in the library.
    var photo: StoredPhoto?
    /// The photo that was filed again, since this file of the library is damaged.
    var replacedBy: StoredPhoto?
    var set: [StoredPhoto] = []
    /// The metadata of its file and sidecars.
    var metadata: MetadataDecision?
    /// Known damage of its file in the library.
    var damage: (since: FileTime, reason: String)?
    /// Why its sidecar was left as it is.
    var sidecarLeft: String?
    /// Its existing thumbnails, from large to small, and why there is none.
    var thumbnails: [(size: UInt32, path: BytePath)] = []
    /// Which of these sizes is the preview.
    var previewSize: UInt32 = 0
    var noThumbnail: String?
    var renditions: [RenditionStanding] = []
    /// Which hooks have handled it.
    var hooks: [HookStanding] = []
    var linkFile: LinkStanding?
    /// All inboxes, for a file that is in none.
    var inboxes: [InboxPlace] = []
}

/// Collects the evidence about a file.
package struct EvidenceSearch {
    let places: Places
    let catalogue: CatalogueFile?
    let state: DaemonState?
    private let daemon: Evidence.Daemon
    private let known: KnownPlaces

    package init(_ places: Places) throws {
        let contact = DaemonContact(places: places)
        let answer: Result<DaemonState, CommandFailure>
        do throws(CommandFailure) { answer = .success(try contact.freshState()) } catch { answer = .failure(error) }
        self.init(places, try places.openCatalogueIfPresent(), answer, lastState: { contact.lastState() })
    }

    /// With the daemon's answer to a question for its state; an old state still has the inboxes, but not the arrivals in hand.
    init(
        _ places: Places, _ catalogue: CatalogueFile?, _ answer: Result<DaemonState, CommandFailure>,
        lastState: () -> DaemonState? = { nil }
    ) {
        (self.places, self.catalogue) = (places, catalogue)
        switch answer {
        case .success(let state): (self.state, daemon) = (state, .running)
        case .failure(let failure): (state, daemon) = (nil, failure.status == .unavailable ? .down : .unasked)
        }
        known = Self.knownPlaces(places.settings, state ?? lastState())
    }

    package func evidence(of file: BytePath) throws -> Evidence {
        var location = Location(
            file, from: SettingsContext.ofProcess().workingDirectory, in: known,
            exists: { (try? FileStatus(at: $0)) != nil }, real: { try? realPath($0) })
        if case .outside = location, let inbox = known.inboxes.first(where: { BytePath($0.name) == file }) {
            location = .outside(inbox.path)
        }
        if case .outside = location, let (inbox, path) = Location.inboxAndRest(file),
            let host = try catalogue?.host(ofInbox: inbox)
        {
            location = .remoteInbox(name: inbox, host: host.name, isForgotten: host.isForgotten, path)
        }
        var evidence = Evidence(location: location)
        evidence.daemon = daemon
        evidence.inboxes = known.inboxes
        switch location {
        case .inbox(let inbox, let path): try gather(inbox, path, &evidence)
        case .remoteInbox(let inbox, _, _, let path):
            evidence.outcomes = try catalogue?.outcomes(forPath: path, inbox: inbox) ?? []
            try gatherPhoto(&evidence)
        case .library(let root, let path):
            evidence.photo = try catalogue?.photo(library: root, path: path)
            if evidence.photo == nil, let damaged = try catalogue?.replacedPhotos(in: root)[path] {
                evidence.replacedBy = try catalogue?.photo(withHash: damaged.photo.sha256)
            }
            try gatherHistory(&evidence)
        case .setAside(let path):
            let id = try catalogue?.request(movedTo: path)?.request.outcomeID
            let outcome =
                try id.flatMap { try catalogue?.outcome(id: $0) } ?? catalogue?.outcome(withDestination: path)
            evidence.outcomes = outcome.map { [$0] } ?? []
            try gatherPhoto(&evidence)
        case .outside: break
        }
        try gatherRest(&evidence)
        return evidence
    }

    /// Of a photo in the library, which need not be the configured one.
    func evidence(of photo: StoredPhoto, limit: Int) throws(CatalogueError) -> Evidence {
        var evidence = Evidence(location: .library(photo.photo.library, photo.photo.libraryPath))
        evidence.daemon = daemon
        evidence.photo = photo
        try gatherHistory(&evidence, limit: limit)
        try gatherRest(&evidence)
        return evidence
    }

    private func gatherRest(_ evidence: inout Evidence) throws(CatalogueError) {
        if let photo = evidence.photo {
            evidence.metadata = try catalogue?.metadata(ofPhoto: photo.id)
            evidence.damage = try catalogue?.damage(ofPhoto: photo.id)
            evidence.sidecarLeft = try catalogue?.sidecarRefusal(ofPhoto: photo.id)
            evidence.set = try catalogue?.others(inSetOf: photo) ?? []
            let store = ThumbnailStore(state: places.state)
            let hash = photo.photo.sha256
            let pictures = places.settings?.pictures ?? .standard
            evidence.previewSize = pictures.preview
            evidence.thumbnails = pictures.sizes.filter { store.has(hash, size: $0) }
                .map { ($0, store.path(of: hash, size: $0)) }
            evidence.noThumbnail = store.failure(of: hash)?.reason
            if let catalogue { evidence.renditions = try RenditionStanding.all(of: photo, in: catalogue, places) }
        }
        try gatherHooks(&evidence)
    }

    private func gather(_ inbox: InboxPlace, _ path: BytePath, _ evidence: inout Evidence) throws {
        if let status = try? FileStatus(at: inbox.path.appending(path)) {
            evidence.kind = status.kind
            evidence.identity = status.identity
            evidence.links = status.links
            if status.kind == .regular, let directory = try? realPath(inbox.path.appending(path.parent)) {
                evidence.writers = findWriters(of: directory.appending(path.name))
            }
        }
        evidence.nameDecision = NameRules.decide(path)
        if let settings = places.settings, let configured = settings.inboxes.first(where: { $0.name == inbox.name }) {
            evidence.exclusion = configured.exclusion(of: path).map {
                Evidence.Exclusion(
                    pattern: $0.pattern, origin: settings.origin(of: "inbox.\(inbox.name).exclude") ?? "default")
            }
            if let quiet = settings.effective("inbox.\(inbox.name).quiet") {
                evidence.quietRule = "\(quiet.origin) quiet = \(quiet.value)"
            }
        }
        let text = path.escaped
        evidence.inHand = state?.inHand.first { $0.inbox == inbox.name && $0.file == text }
        evidence.isPaused = state?.inboxes.first { $0.name == inbox.name }?.paused != nil
        evidence.ended = state?.outcomes.filter { $0.inbox == inbox.name && $0.file == text }.max { $0.at < $1.at }
        evidence.linkFile = linkFile(inbox, path)
        evidence.outcomes =
            try catalogue?.outcomes(forPath: path, inbox: inbox.name) ?? []
        if let identity = evidence.identity {
            evidence.kept = try catalogue?.keptSource(like: identity, inbox: inbox.name)
            // It may have been renamed since.
            if evidence.outcomes.isEmpty, evidence.kept?.identity == identity, let id = evidence.kept?.outcomeID {
                let outcome = try catalogue?.outcome(id: id)
                evidence.outcomes = outcome.map { [$0] } ?? []
            }
        }
        if evidence.inHand == nil {
            evidence.intent = try catalogue?.pendingIntents().first {
                $0.photo.inbox == inbox.name && $0.photo.sourcePath == path
            }
        }
        try gatherPhoto(&evidence)
    }

    /// The newest of this name; nil if unknown.
    private func linkFile(_ inbox: InboxPlace, _ path: BytePath) -> LinkStanding? {
        guard LinkFile(name: path) != nil else { return nil }
        let text = path.escaped
        let known = state?.links?.filter { $0.inbox == inbox.name && $0.file == text }
        if let known = known?.max(by: { $0.operation < $1.operation }) { return .known(known) }
        return places.settings?.takesLinks == false ? .off : nil
    }

    private func gatherPhoto(_ evidence: inout Evidence) throws {
        if let newest = evidence.outcomes.first {
            evidence.requests =
                try catalogue?.requests(ofOutcome: newest.id) ?? []
        }
        guard let id = evidence.outcomes.first?.outcome.photoID else { return }
        evidence.photo = try catalogue?.photo(id: id)
    }

    private func gatherHistory(_ evidence: inout Evidence, limit: Int = .max) throws(CatalogueError) {
        guard let id = evidence.photo?.id else { return }
        evidence.outcomes =
            try catalogue?.outcomes(ofPhoto: id, limit: limit) ?? []
    }

    package static func knownPlaces(_ settings: Settings?, _ state: DaemonState?) -> KnownPlaces {
        if let settings {
            return KnownPlaces(
                inboxes: settings.inboxes.map { InboxPlace(name: $0.name, path: $0.path) },
                library: settings.library?.path, quarantine: settings.library?.quarantine,
                duplicates: settings.library?.duplicates, returned: settings.library?.returned,
                trash: settings.library?.trash)
        }
        var places = KnownPlaces()
        for inbox in state?.inboxes ?? [] {
            guard let path = BytePath(escaped: inbox.path) else { continue }
            places.inboxes.append(InboxPlace(name: inbox.name, path: path))
        }
        if let library = state?.library, !library.isEmpty { places.library = BytePath(escaped: library) }
        // The default places.
        places.quarantine = places.library?.parent.appending("quarantine")
        places.duplicates = places.library?.parent.appending("duplicates")
        places.returned = places.library?.parent.appending("returned")
        places.trash = places.library?.parent.appending("trash")
        return places
    }
}

extension Settings {
    package func origin(of key: String) -> String? { effective(key).map { "\($0.origin)" } }
}
