import ArgumentParser
package import Catalogue
package import CommandSupport
package import FileValues
package import PhotoModel
import Reporting

extension OutcomeKind: ExpressibleByArgument {}

extension CatalogueFile {
    /// Photos filed at `since` or later, newest first.
    package func photos(inbox: String?, since: FileTime?, limit: Int) throws(CatalogueError) -> [StoredPhoto] {
        var filter = PhotoFilter()
        filter.inbox = inbox
        // Identifiers grow with the time of filing, so the rest is older still.
        return Array(
            try photos(matching: filter, limit: limit).prefix { photo in since.map { photo.filedAt >= $0 } ?? true })
    }

    /// Outcomes, newest first; of quarantined files those that are neither released nor discarded.
    package func outcomes(
        _ kind: OutcomeKind, inbox: String?, since: FileTime?, limit: Int
    ) throws(CatalogueError) -> [StoredOutcome] {
        var page = max(limit, 256)
        while true {
            let young = try recentOutcomes(limit: page).prefix { one in since.map { one.outcome.at >= $0 } ?? true }
            var found: [StoredOutcome] = []
            for one in young where one.outcome.outcome == kind && (inbox == nil || one.outcome.inbox == inbox) {
                if kind == .quarantined, try !isWaiting(one) { continue }
                found.append(one)
            }
            if found.count >= limit || young.count < page { return Array(found.prefix(limit)) }
            page *= 4
        }
    }

    private func isWaiting(_ quarantined: StoredOutcome) throws(CatalogueError) -> Bool {
        try requests(ofOutcome: quarantined.id)
            .allSatisfy { $0.step == .undone || ![.release, .discard].contains($0.request.what) }
    }

    /// The others of a photo's set, first filed first.
    package func others(inSetOf photo: StoredPhoto) throws(CatalogueError) -> [StoredPhoto] {
        try photos(inSetOf: photo).filter { $0.id != photo.id }
    }

    /// The outcome that put a file at `path`, among the last 65,536; nil if none of them did.
    package func outcome(withDestination path: BytePath) throws(CatalogueError) -> StoredOutcome? {
        var page = 256
        while true {
            let recent = try recentOutcomes(limit: page)
            if let found = recent.first(where: { $0.outcome.destination == path }) { return found }
            if recent.count < page || page >= 65_536 { return nil }
            page *= 16
        }
    }
}

private func sentence(_ clause: String) -> String { "\(clause.prefix(1).uppercased())\(clause.dropFirst())." }

extension CommandFailure {
    package static func catalogueNotWritable(_ catalogue: BytePath) -> CommandFailure {
        CommandFailure(
            .permission, "cannot change the catalogue \(catalogue): \(permissionDenied(to: catalogue))", action: asOwner
        )
    }

    package static let asOwner = "Use sudo, or run it as the daemon's user."

    package init(_ error: CatalogueError, at place: CataloguePlace) {
        guard let file = place.file else {
            let (status, action): (ExitStatus, String?) =
                switch error.code {
                case .permission: (.permission, error.remedy.map(sentence))
                case .missing: (.unavailable, "Start photoinboxd: it makes the catalogue.")
                case .unreachable, .unknownOutcome: (.unavailable, "See what is wrong: photoinboxd --check")
                case .busy: (.busy, "Try again.")
                default: (.failed, nil)
                }
            self.init(status, printable("\(place.name): \(error)"), action: action)
            return
        }
        let path = file.escaped
        switch error.code {
        case .missing:
            self.init(
                .unavailable, "there is no catalogue at \(path) yet",
                action: "Start photoinboxd, or name its state directory with --state.")
        case .permission:
            self.init(
                .permission, "cannot read the catalogue \(path): \(permissionDenied(to: BytePath(path)))",
                action: permissionAdvice(for: BytePath(path)))
        case .readOnly: self = .catalogueNotWritable(BytePath(path))
        case .newerSchema:
            self.init(
                .failed, "the catalogue \(path) was written by a newer photoinboxd",
                action: "Use the photoinbox of the same version.")
        case .olderSchema:
            self.init(
                .busy, "the catalogue \(path) is of an older version, or is being made or updated now",
                action: "Try again; if photoinboxd is not running, start it: it updates the catalogue.")
        case .busy: self.init(.busy, "the catalogue \(path) is in use", action: "Try again.")
        case .corrupt:
            self.init(
                .failed, "the catalogue \(path) is damaged",
                action: "Restart photoinboxd: it sets the damaged file aside and rebuilds the catalogue.")
        default: self.init(.failed, "\(error)")
        }
    }
}
