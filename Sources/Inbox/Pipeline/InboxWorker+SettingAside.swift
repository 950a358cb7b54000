import FileValues
import Filing

/// Outcomes that move a file out of its inbox without filing it.
extension InboxWorker {
    /// The library has these bytes, as was seen by reading them again.
    func setAsideDuplicate(
        _ arrival: Arrival, _ source: SourceFile, _ hash: ContentHash, of known: KnownPhoto, _ work: FileWork
    ) async throws -> Conclusion {
        var ended = EndedArrival(
            key: arrival.key, outcome: .duplicate,
            reason: "the same bytes as \(known.path.escaped), which was read again", ended: .now,
            firstSeen: arrival.firstSeen)
        ended.sha256 = "\(hash)"
        ended.bytes = source.identity.size
        var kept: FileIdentity?
        if spec.removesSources {
            kept = try move(source, to: places.duplicates, &ended, work)
        } else {
            kept = source.identity
        }
        ended.operation = try await catalogue.record(ended, photo: known.id, sha256: hash, kept: kept)
        var conclusion = Conclusion(.ended(.duplicate), ended)
        conclusion.settled = kept.map { .opened($0) }
        return conclusion
    }

    /// A person has to look at it: it goes out of the way, with a note beside it that says why.
    func quarantine(
        _ arrival: Arrival, _ source: SourceFile, reason: String, _ work: FileWork
    ) async throws -> Conclusion {
        var ended = EndedArrival(
            key: arrival.key, outcome: .quarantined, reason: reason, ended: .now, firstSeen: arrival.firstSeen)
        ended.bytes = source.identity.size
        let kept = try move(source, to: places.quarantine, &ended, work)
        if let path = ended.destination?.relative(to: places.quarantine) {
            let note = QuarantineNote(
                what: "set aside by photo-inbox, unchanged", why: reason, when: Moment.now.wall,
                origin: spec.path.appending(arrival.key.path),
                advice: "copy it again from where it came; this one can then be deleted")
            _ = try writeReason(note, besides: path, in: try root(places.quarantine), work: work)
        }
        ended.operation = try await catalogue.record(ended, photo: nil, sha256: nil, kept: kept)
        var conclusion = Conclusion(.ended(.quarantined), ended)
        conclusion.settled = kept.map { .opened($0) }
        return conclusion
    }

    /// The identity of a file that could not be moved, and so stays.
    private func move(
        _ source: SourceFile, to place: BytePath, _ ended: inout EndedArrival, _ work: FileWork
    ) throws -> FileIdentity? {
        let name = BytePath(spec.name)
        switch try source.move(to: try root(place), subdirectory: name, probe: probe, work: work) {
        case .moved(let path):
            ended.destination = place.appending(path)
            return nil
        case .kept: return source.identity
        }
    }
}
