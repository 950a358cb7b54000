package import Catalogue

/// What the catalogue knows of an outcome that a request is about.
package struct OperationFacts: Sendable {
    package let outcome: StoredOutcome
    var photo: StoredPhoto?
    /// Newest first.
    var requests: [StoredRequest]
}

extension CatalogueFile {
    /// What is known of an outcome; nil if there is none of this number.
    func facts(of operation: Int64) throws(CatalogueError) -> OperationFacts? {
        guard let outcome = try outcome(id: operation) else { return nil }
        var facts = OperationFacts(outcome: outcome, requests: try requests(ofOutcome: operation))
        if let id = outcome.outcome.photoID { facts.photo = try photo(id: id) }
        return facts
    }

    /// What is known of an outcome, first, and of those that a request for it concerns as well: what stands in the
    /// library of the set that is to be returned. Empty if there is no outcome of this number.
    package func facts(of operation: Int64, for what: FileRequest.What) throws(CatalogueError) -> [OperationFacts] {
        guard let named = try facts(of: operation) else { return [] }
        guard what == .undo(alone: false), let photo = named.photo, photo.supersededAt == nil else { return [named] }
        var all = [named]
        for other in try photos(inSetOf: photo) where other.id != photo.id {
            let filed = try outcomes(ofPhoto: other.id).first { $0.outcome.outcome == .filed }
            if let filed, let facts = try facts(of: filed.id) { all.append(facts) }
        }
        return all
    }
}
