import Catalogue
import FileValues

// What files of links need of the catalogue.
extension CatalogueWriter {
    /// What happened after an outcome, oldest first.
    func outcomes(after outcome: Int64, limit: Int) throws(CatalogueError) -> [StoredOutcome] {
        try perform("looking for files of links") { () throws(CatalogueError) in
            try catalogue.outcomes(after: outcome, limit: limit)
        }
    }

    /// The last outcome there is; 0 for none.
    func lastOutcome() throws(CatalogueError) -> Int64 {
        try perform("looking for the last outcome") { () throws(CatalogueError) in
            try catalogue.recentOutcomes(limit: 1).first?.id ?? 0
        }
    }

    /// By which outcome this very state of a file stays in its inbox.
    func outcome(ofKept identity: FileIdentity, inbox: String) throws(CatalogueError) -> Int64? {
        try perform("looking up a file of links") { () throws(CatalogueError) in
            let kept = try catalogue.keptSource(like: identity, inbox: inbox)
            return kept?.identity == identity ? kept?.outcomeID : nil
        }
    }
}
