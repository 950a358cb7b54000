import Catalogue
import FileValues
import Filing
import LinuxKernel

/// What the catalogue knows of an outcome that somebody asks something about.
struct OperationFacts: Sendable {
    let outcome: StoredOutcome
    var photo: StoredPhoto?
    /// Newest first.
    var requests: [StoredRequest]
}

/// What people asked for, in the catalogue.
extension CatalogueWriter {
    /// What is known of an outcome; nil if there is none of this number.
    func facts(of operation: Int64) throws(CatalogueError) -> OperationFacts? {
        try perform("looking up an operation") { () throws(CatalogueError) in
            guard let outcome = try catalogue.outcome(id: operation) else { return nil }
            var facts = OperationFacts(outcome: outcome, requests: try catalogue.requests(ofOutcome: operation))
            if let id = outcome.outcome.photoID { facts.photo = try catalogue.photo(id: id) }
            return facts
        }
    }

    /// What is known of an outcome, first, and of those that a request for it concerns as well: what stands in the
    /// library of the set that is to be taken back. Empty if there is no outcome of this number.
    func facts(of operation: Int64, for what: FileRequest.What) throws(CatalogueError) -> [OperationFacts] {
        guard let named = try facts(of: operation) else { return [] }
        guard what == .undo(alone: false), let photo = named.photo, photo.supersededAt == nil else { return [named] }
        let others = try perform("looking up a set") { () throws(CatalogueError) in
            var operations: [Int64] = []
            for other in try catalogue.photos(inSetOf: photo) where other.id != photo.id {
                let filed = try catalogue.outcomes(ofPhoto: other.id).first { $0.outcome.outcome == .filed }
                if let filed { operations.append(filed.id) }
            }
            return operations
        }
        var all = [named]
        for other in others {
            if let facts = try facts(of: other) { all.append(facts) }
        }
        return all
    }

    /// Writes down a request before its file is moved. While a photo is taken back, nobody is told that the library
    /// has it.
    func begin(_ request: RequestRecord, takingBack photo: StoredPhoto?) throws(CatalogueError) -> Int64 {
        let id = try perform("recording a request") { () throws(CatalogueError) in
            try catalogue.recordRequest(request, step: .begun)
        }
        if let photo { takingBack.insert(photo.photo.sha256) }
        return id
    }

    /// Its file lies under `move` now, or, with nil, where it lay.
    func end(
        _ request: Int64, move: RequestedMove?, note: String? = nil, takingBack photo: StoredPhoto? = nil
    ) throws(CatalogueError) {
        if let photo { takingBack.remove(photo.photo.sha256) }
        try perform("ending a request") { () throws(CatalogueError) in
            try catalogue.endRequest(request, at: Moment.now.wall, move: move, note: note)
        }
    }

    /// Writes down a request that moved no file.
    @discardableResult
    func record(_ request: RequestRecord, note: String? = nil) throws(CatalogueError) -> Int64 {
        try perform("recording a request") { () throws(CatalogueError) in
            try catalogue.recordRequest(request, step: .done, note: note)
        }
    }

    /// What an earlier life left under way in an inbox.
    func pendingRequests(inbox: String) throws(CatalogueError) -> [StoredRequest] {
        try perform("reading requests") { () throws(CatalogueError) in try catalogue.pendingRequests(inbox: inbox) }
    }

    /// Whether a file of this size was released as it is.
    func hasReleaseAsIs(inbox: String, size: UInt64) throws(CatalogueError) -> Bool {
        try perform("reading requests") { () throws(CatalogueError) in
            try catalogue.hasReleaseAsIs(inbox: inbox, size: size)
        }
    }

    /// The request that released this content as it is.
    func releaseAsIs(inbox: String, size: UInt64, hash: ContentHash) throws(CatalogueError) -> StoredRequest? {
        try perform("reading requests") { () throws(CatalogueError) in
            try catalogue.releaseAsIs(inbox: inbox, size: size, sha256: hash.bytes)
        }
    }

    /// The request that took a photo back out of the library.
    func undo(ofPhoto id: Int64) throws(CatalogueError) -> StoredRequest? {
        try perform("reading requests") { () throws(CatalogueError) in
            try catalogue.requests(ofPhoto: id).first { $0.request.what == .undo && $0.step == .done }
        }
    }

    /// What lies in the trash for an inbox, oldest first, and for how many nanoseconds.
    func trash(
        of inbox: String, at now: ClockReading
    ) throws(CatalogueError) -> [(request: StoredRequest, age: Int64)] {
        try perform("counting the time of the trash") { () throws(CatalogueError) in
            try catalogue.trash(of: inbox, at: now)
        }
    }

    /// What these requests discarded is deleted.
    func expire(_ request: Int64, note: String?) throws(CatalogueError) {
        try perform("expiring a discarded file") { () throws(CatalogueError) in
            try catalogue.expireRequests([request], note: note)
        }
    }

    /// A file that was left in its inbox is to be looked at again as if it had just come, if it was not filed.
    func forgetIgnored(inbox: String, path: BytePath) throws(CatalogueError) {
        try perform("forgetting a kept source") { () throws(CatalogueError) in
            let last = try catalogue.outcomes(forPath: path, inbox: inbox).first?.outcome.outcome
            guard last == .ignored || last == .quarantined else { return }
            try catalogue.forgetKept(inbox: inbox, path: path)
        }
    }
}
