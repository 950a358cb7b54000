// Changes whose statements need no answer of an earlier one, so that all of them, and the commit, are sent at once. Each says no by
// its rows, which changes nothing of the others; then it is made by itself, which finds out why. For PostgreSQL, where each answer
// is waited for; other hosts may commit between any two statements.
extension CatalogueFile {
    /// The answers, nil for what was refused; nil if not all of the changes are of these kinds.
    func performAtOnce(_ changes: [CatalogueChange], _ operation: String) throws(CatalogueError) -> [CatalogueAnswer?]?
    {
        guard server != nil, changes.allSatisfy(\.needsNoAnswer) else { return nil }
        do {
            return try write(operation) { db in
                var statements: [SQLStatement] = []
                for change in changes {
                    switch change {
                    case .begin(let intents):
                        for intent in intents { db.note(BegunRow(.intent, intent.columns)) }
                        statements += intents.flatMap { Self.beginning($0) }
                    case .commit(let filings, _): statements += filings.map { Self.committing($0, db.words) }
                    case .close, .record, .hook, .metadata: _ = try apply(change, db)
                    }
                }
                var rows = try db.finish(statements)[...]
                return try changes.map { change in
                    switch change {
                    case .begin:
                        let (begun, taken) = (rows.removeFirst(), rows.removeFirst())
                        return taken.isEmpty ? try begun.first.map { .begun([try $0.value("id")]) } : nil
                    case .commit:
                        return try rows.removeFirst().first.map {
                            .committed([FiledIDs(photo: try $0.value("photo_id"), outcome: try $0.value("id"))])
                        }
                    case .close, .record, .hook, .metadata: return .closed
                    }
                }
            }
        } catch {
            // One of them was refused by an error, which is found out one by one.
            guard error.code == .inboxOfAnother || error.code == .busy else { throw error }
            return nil
        }
    }

    /// An intent whose content is not begun elsewhere; it goes again if the content is recorded, which is looked for behind it,
    /// since what was begun before it may have been recorded meanwhile.
    private static func beginning(_ intent: NewIntent) -> [SQLStatement] {
        let columns = intent.columns.sorted { $0.key < $1.key }
        return [
            (
                """
                INSERT INTO intent (\(columnNames(columns))) VALUES (\(columnMarks(columns)))
                    ON CONFLICT DO NOTHING RETURNING id
                """, columns.map(\.value)
            ),
            (
                "DELETE FROM intent WHERE token = ? AND EXISTS (SELECT 1 FROM photo WHERE \(isRecorded)) RETURNING id",
                [intent.token, intent.photo.sha256]
            ),
        ]
    }

    /// A photo, its outcome and the step of its intent, or nothing: if the intent is not begun any more, or the content or the
    /// path is another photo's.
    private static func committing(_ filing: FilingCommit, _ words: EngineWords) -> SQLStatement {
        let photo = filing.columns.sorted { $0.key < $1.key }
        let outcome = filing.outcome(photo: nil).columns.filter { $0.key != "photo_id" }.sorted { $0.key < $1.key }
        let first: SQLArguments = [filing.intent, filing.photo.sha256, filing.photo.library, filing.photo.libraryPath]
        let last: SQLArguments = [filing.photo.libraryPath, filing.intent]
        return (
            """
            WITH mine AS (
                SELECT id FROM intent WHERE id = ? AND step = 'begun'
                    AND NOT EXISTS (SELECT 1 FROM photo WHERE \(isRecorded))
                    AND NOT EXISTS (SELECT 1 FROM photo WHERE \(words.isAt())) FOR UPDATE),
            filed AS (
                INSERT INTO photo (\(columnNames(photo))) SELECT \(columnMarks(photo)) FROM mine ON CONFLICT DO NOTHING RETURNING id),
            told AS (
                INSERT INTO outcome (\(columnNames(outcome)), photo_id) SELECT \(columnMarks(outcome)), filed.id FROM filed
                    RETURNING id, photo_id),
            done AS (
                UPDATE intent SET step = 'recorded', photo_id = filed.id, library_path = ? FROM filed WHERE intent.id = ?)
            SELECT id, photo_id FROM told
            """,
            first + photo.map(\.value) + outcome.map(\.value) + last
        )
    }
}

extension CatalogueChange {
    /// Whether nothing that it does depends on what the catalogue says first.
    fileprivate var needsNoAnswer: Bool {
        switch self {
        case .begin(let intents):
            intents.count == 1 && intents.allSatisfy { $0.supersedes == nil && !$0.photo.part.isSidecar }
        case .commit(let filings, let set):
            filings.count == 1 && filings.allSatisfy { $0.supersedes.isEmpty && !$0.photo.part.isSidecar }
                && set?.isOfOne != false
        case .close(_, let kept): kept.isEmpty
        case .record: false
        case .hook, .metadata: true
        }
    }
}

extension SetPlace {
    /// Whether a photo that is filed alone becomes no part of another's set.
    fileprivate var isOfOne: Bool {
        switch self {
        case .new: true
        case .joining: false
        }
    }
}
