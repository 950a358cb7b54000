/// One atomic change to the catalogue.
package enum CatalogueChange: Sendable {
    case begin([NewIntent])
    case commit([FilingCommit], set: SetPlace?)
    case close([Int64], kept: [KeptSource])
    case record([OutcomeRecord], kept: [KeptSource])
    /// A hook was notified of everything up to this outcome, but for those that were skipped.
    case hook(String, told: Int64, skipped: [Int64] = [])
    case metadata(MetadataBatch)
}

/// The result of a change.
package enum CatalogueAnswer: Sendable {
    /// The intents' identifiers, in order.
    case begun([Int64])
    case committed([FiledIDs])
    case closed
    /// The operations' identifiers, in order.
    case recorded([Int64])
}

extension CatalogueFile {
    /// Makes several changes in one transaction, hence with one wait for the disk. A refused change (its content is
    /// already recorded, its path is taken, …) does not affect the others. If the database itself fails, this throws
    /// and nothing is kept.
    package func perform(
        _ changes: [CatalogueChange]
    ) throws(CatalogueError) -> [Result<CatalogueAnswer, CatalogueError>] {
        let single = changes.count == 1 ? changes.first : nil
        if let answers = try performAtOnce(changes, single?.operation ?? "recording several things at once") {
            var results: [Result<CatalogueAnswer, CatalogueError>] = []
            for (change, answer) in zip(changes, answers) {
                if let answer { results.append(.success(answer)) } else { results += try performInSteps([change]) }
            }
            return results
        }
        return try performInSteps(changes)
    }

    /// The same, each step with the answer to the one before it.
    private func performInSteps(
        _ changes: [CatalogueChange]
    ) throws(CatalogueError) -> [Result<CatalogueAnswer, CatalogueError>] {
        if changes.count == 1, let change = changes.first {
            do { return [.success(try write(change.operation) { db in try apply(change, db) })] } catch {
                return [.failure(error)]
            }
        }
        return try write("recording several things at once") { db in
            try changes.map { change in
                do {
                    return .success(try db.part { try apply(change, db) })
                } catch let error as CatalogueError where error.isRefusal {
                    return .failure(error)
                }
            }
        }
    }

    func apply(_ change: CatalogueChange, _ db: any CatalogueTransaction) throws -> CatalogueAnswer {
        switch change {
        case .begin(let intents): return .begun(try begin(intents, db))
        case .commit(let filings, let set): return .committed(try commit(filings, set, db))
        case .close(let ids, let kept):
            try close(ids, kept, db)
            return .closed
        case .record(let outcomes, let kept): return .recorded(try record(outcomes, kept, db))
        case .hook(let name, let outcome, let skipped):
            try recordHook(name, told: outcome, skipped: skipped, db)
            return .closed
        case .metadata(let batch):
            try record(batch, db)
            return .closed
        }
    }
}

extension CatalogueChange {
    fileprivate var operation: String {
        switch self {
        case .begin: "recording what is about to be filed"
        case .commit: "recording a filing"
        case .close: "closing a filing"
        case .record: "recording an outcome"
        case .hook: "recording what a hook was told"
        case .metadata: "recording metadata"
        }
    }
}

extension CatalogueError {
    /// Whether the catalogue rejected the change, rather than failed.
    fileprivate var isRefusal: Bool {
        switch code {
        case .alreadyRecorded, .pathTaken, .beingFiled, .noSuchIntent, .interrupted, .inboxOfAnother: true
        case .missing, .newerSchema, .olderSchema, .diskFull, .corrupt, .replaced, .readOnly, .permission, .busy,
            .inputOutput, .unreachable, .unknownOutcome, .anotherHost, .other:
            false
        }
    }
}
