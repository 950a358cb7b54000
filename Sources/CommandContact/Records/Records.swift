package import ArgumentParser
package import Catalogue
package import CommandSupport
package import FileValues
package import Reporting

extension OutcomeKind: ExpressibleByArgument {}

/// The catalogue for reading, with its failures as command failures.
package struct Records {
    private let catalogue: CatalogueFile

    package init(_ places: Places) throws(CommandFailure) {
        let path = places.catalogue
        // SQLite requires a name in UTF-8.
        guard let text = String(validating: path.bytes, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(path): the catalogue's path must be UTF-8")
        }
        do { catalogue = try CatalogueFile.openForReading(text) } catch {
            throw CommandFailure(error, path: path.escaped)
        }
    }

    /// The same; nil if there is no catalogue yet.
    package static func ifPresent(_ places: Places) throws(CommandFailure) -> Records? {
        do throws(CommandFailure) { return try Records(places) } catch {
            if error.status == .unavailable { return nil }
            throw error
        }
    }

    /// Runs a query; a failure becomes a command's failure.
    package func ask<Value>(
        _ question: (CatalogueFile) throws(CatalogueError) -> Value
    ) throws(CommandFailure) -> Value {
        do { return try question(catalogue) } catch { throw CommandFailure(error, path: catalogue.path) }
    }

    /// Photos filed at `since` or later, newest first.
    package func photos(inbox: String?, since: FileTime?, limit: Int) throws(CommandFailure) -> [StoredPhoto] {
        var filter = PhotoFilter()
        filter.inbox = inbox
        let found = try ask { (catalogue) throws(CatalogueError) in try catalogue.photos(matching: filter, limit: limit)
        }
        // Identifiers grow with the time of filing, so the rest is older still.
        return Array(found.prefix { photo in since.map { photo.filedAt >= $0 } ?? true })
    }

    /// Outcomes, newest first.
    package func outcomes(
        _ kind: OutcomeKind, inbox: String?, since: FileTime?, limit: Int
    ) throws(CommandFailure) -> [StoredOutcome] {
        var page = max(limit, 256)
        while true {
            let recent = try ask { (catalogue) throws(CatalogueError) in try catalogue.recentOutcomes(limit: page) }
            let young = recent.prefix { outcome in since.map { outcome.outcome.at >= $0 } ?? true }
            var found: [StoredOutcome] = []
            for one in young where one.outcome.outcome == kind && (inbox == nil || one.outcome.inbox == inbox) {
                if kind == .quarantined, try !waits(one) { continue }
                found.append(one)
            }
            if found.count >= limit || young.count < page { return Array(found.prefix(limit)) }
            page *= 4
        }
    }
}

extension Records {
    /// Whether a quarantined file has not been released or discarded.
    private func waits(_ quarantined: StoredOutcome) throws(CommandFailure) -> Bool {
        try ask { (catalogue) throws(CatalogueError) in try catalogue.requests(ofOutcome: quarantined.id) }
            .allSatisfy { $0.step == .undone || ![.release, .discard].contains($0.request.what) }
    }

    /// The others of a photo's set, first filed first.
    package func others(inSetOf photo: StoredPhoto) throws(CommandFailure) -> [StoredPhoto] {
        try ask { (catalogue) throws(CatalogueError) in try catalogue.photos(inSetOf: photo) }
            .filter { $0.id != photo.id }
    }

    /// The outcome that put a file at `path`, among the last 65,536; nil if none of them did.
    package func outcome(withDestination path: BytePath) throws(CommandFailure) -> StoredOutcome? {
        var page = 256
        while true {
            let recent = try ask { (catalogue) throws(CatalogueError) in try catalogue.recentOutcomes(limit: page) }
            if let found = recent.first(where: { $0.outcome.destination == path }) { return found }
            if recent.count < page || page >= 65_536 { return nil }
            page *= 16
        }
    }
}
