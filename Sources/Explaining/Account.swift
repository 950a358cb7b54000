package import Catalogue
package import CommandContact
package import CommandSupport
package import ControlProtocol
import FileValues
import Glibc
import PhotoModel
package import Reporting

/// Everything that is recorded of a photo, or of one operation: what `photoinbox show` shows.
package struct Account {
    private let operation: StoredOutcome?
    private let photo: StoredPhoto?
    private let damage: (since: FileTime, reason: String)?
    private let sidecar: String?
    private let set: [StoredPhoto]
    private let description: PhotoDescription?
    private let metadata: MetadataDecision?
    private let history: [StoredOutcome]
    /// How many outcomes are not in ``history``.
    private let omitted: Int
    package let renditions: [RenditionStanding]
    private let requests: [StoredRequest]

    /// `limit`: of the photo's outcomes.
    package init(
        of photo: StoredPhoto?, _ operation: StoredOutcome? = nil, in catalogue: CatalogueFile, _ places: Places,
        limit: Int = .max
    ) throws(CatalogueError) {
        (self.photo, self.operation) = (photo, operation)
        guard let photo else {
            (damage, sidecar, set, description, metadata, history, omitted) = (nil, nil, [], nil, nil, [], 0)
            renditions = []
            requests =
                try operation.map { one throws(CatalogueError) in try catalogue.requests(ofOutcome: one.id) } ?? []
            return
        }
        damage = photo.supersededAt == nil ? try catalogue.damage(ofPhoto: photo.id) : nil
        sidecar = try catalogue.sidecarRefusal(ofPhoto: photo.id)
        set = try catalogue.others(inSetOf: photo)
        description = try catalogue.description(ofHash: photo.photo.sha256)
        metadata = try catalogue.metadata(ofPhoto: photo.id)
        history = try catalogue.outcomes(ofPhoto: photo.id, limit: limit)
        omitted = history.count < limit ? 0 : try catalogue.outcomeCount(ofPhoto: photo.id) - history.count
        renditions = try RenditionStanding.all(of: photo, in: catalogue, places)
        requests =
            if let operation {
                try catalogue.requests(ofOutcome: operation.id)
            } else { try catalogue.requests(ofPhoto: photo.id) }
    }

    package var fields: [JSONField] {
        [
            JSONField("operation", operation), JSONField("photo", photo?.json(describedBy: description, metadata)),
            JSONField("damage", damage.map(damageJSON)), JSONField("sidecar_left", sidecar),
            JSONField("history", history), JSONField("requests", requests), JSONField("set", set),
            JSONField("renditions", renditions),
        ] + (omitted > 0 ? [JSONField("history_omitted", omitted)] : [])
    }

    package func text(now: Int64) -> LabelledText {
        var text = LabelledText()
        if let operation { operation.describe(in: &text, now: now) }
        for request in requests { request.describe(in: &text, now: now) }
        if let photo {
            if operation != nil || !requests.isEmpty { text.addBlank() }
            photo.describe(in: &text, now: now)
            description?.describe(in: &text)
            metadata?.describe(in: &text, besides: description)
            if let damage { text.add("damage", damageText(damage, now: now), textPaint: .bad) }
            if let sidecar { text.add("sidecar", sidecarText(sidecar), textPaint: .bad) }
            for other in set { text.add("set", other.setMemberText) }
            for rendition in renditions { text.add(rendition.name, rendition.text) }
        }
        let others = history.filter { $0.id != operation?.id }
        if !others.isEmpty { text.addBlank() }
        for other in others {
            text.add(
                "\(other.id)",
                "\(shortTime(other.outcome.at, now: now))  \(printable(other.outcome.inbox))/\(other.outcome.path.escaped): "
                    + other.outcome.outcome.rawValue)
        }
        return text
    }
}

extension Explanation {
    /// What happened to a photo in the library, with the daemon's answer to a question for its state, and at most so many of its
    /// outcomes.
    package init(
        _ photo: StoredPhoto, in catalogue: CatalogueFile, _ places: Places,
        state: Result<DaemonState, CommandFailure>, limit: Int
    ) throws(CatalogueError) {
        self.init(
            try EvidenceSearch(places, catalogue, state).evidence(of: photo, limit: limit), now: Int64(time(nil)))
    }
}
