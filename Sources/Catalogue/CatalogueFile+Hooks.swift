package import FileValues
import LinuxKernel

/// The kind of an event. Raw values are part of the configuration and of the input of hooks.
package enum HookEventKind: String, Hashable, Sendable, CaseIterable {
    /// A file was filed: a photo or another file of its set.
    case filed
    case quarantined
    /// All known files of a set are filed. Repeated when another file joins the set.
    case setComplete = "set-complete"
}

/// The events that a hook subscribes to.
package struct HookInterest: Hashable, Sendable {
    package var kinds: Set<HookEventKind>
    /// Nil for all.
    package var inboxes: [String]?

    package init(kinds: Set<HookEventKind>, inboxes: [String]? = nil) {
        self.kinds = kinds
        self.inboxes = inboxes
    }
}

/// An event reported to a hook.
package struct HookEvent: Hashable, Sendable {
    package let kind: HookEventKind
    /// For a set, the outcome of its last file.
    package let outcome: StoredOutcome
    /// The filed photo.
    package let photo: StoredPhoto?
    /// For ``HookEventKind/setComplete`` only: the set at that time, first filed first.
    package let set: [StoredPhoto]

    /// Where the file is now.
    package var place: BytePath? {
        photo.map { $0.photo.library.appending($0.photo.libraryPath) } ?? outcome.outcome.destination
    }
}

/// The next events for a hook.
package struct HookBatch: Hashable, Sendable {
    package let events: [HookEvent]
    /// The last outcome that the batch covers.
    package let through: Int64
    /// Whether no further events exist yet.
    package let isLast: Bool
    /// The number of waiting outcomes of these kinds, including those of the batch.
    package let waiting: Int
}

/// The position of a hook in the outcomes.
package struct HookCursor: Hashable, Sendable {
    package let name: String
    /// The last outcome that it was notified of or did not subscribe to.
    package let told: Int64
    /// When it was first recorded; it was notified of nothing older.
    package let since: FileTime
    /// The outcomes that it failed on too often, and was not given again since.
    package let skipped: [Int64]
}

extension CatalogueFile {
    /// Returns the position of each hook, ordered by name.
    package func hookCursors() throws(CatalogueError) -> [HookCursor] {
        try read("reading what hooks were told") { db in
            try db.rows("SELECT * FROM hook WHERE 1 = 1\(db.words.own.isHost) ORDER BY name").map { row in
                let name: String = try row.value("name")
                return HookCursor(
                    name: name, told: try row.value("told"), since: try row.time("since"),
                    skipped: try Self.skipped(by: name, db))
            }
        }
    }

    /// Returns the events of one outcome that a hook subscribes to.
    package func hookEvents(of outcome: Int64, _ interest: HookInterest) throws(CatalogueError) -> [HookEvent] {
        try read("reading the events of a hook") { db in
            let (condition, arguments) = Self.condition(after: outcome - 1, interest, db.words)
            let row = try db.first("SELECT * FROM outcome WHERE \(condition) AND id = ?", arguments + [outcome])
            return try row.map { try Self.events(of: try StoredOutcome($0), interest, db) } ?? []
        }
    }

    /// Returns the last outcome that a hook was notified of. A new hook begins at the newest outcome.
    package func placeOfHook(_ name: String, at time: FileTime) throws(CatalogueError) -> Int64 {
        try write("recording what a hook was told") { db in
            let newest = try Self.newestOutcome(db)
            try db.run(
                "INSERT INTO hook (name, told, since) VALUES (?, ?, ?) ON CONFLICT (\(db.words.own.key("name"))) DO NOTHING",
                [name, newest, time.nanosecondsSince1970])
            return try db.value(Int64.self, "SELECT told FROM hook WHERE name = ?\(db.words.own.isHost)", [name])
                ?? newest
        }
    }

    /// Deletes the positions of all hooks but these. A hook that is configured again begins as a new one.
    package func forgetHooks(except names: [String]) throws(CatalogueError) {
        let known = try read("reading which hooks there are") { db in
            try db.values(String.self, "SELECT name FROM hook WHERE 1 = 1\(db.words.own.isHost)")
        }
        let removed = known.filter { !names.contains($0) }
        if removed.isEmpty { return }
        try write("forgetting hooks") { db in
            for name in removed {
                try db.run("DELETE FROM hook WHERE name = ?\(db.words.own.isHost)", [name])
                for outcome in try Self.skipped(by: name, db) { try Self.clearSkipped(outcome, by: name, db) }
            }
        }
    }

    func recordHook(
        _ name: String, told outcome: Int64, skipped: [Int64], _ db: any CatalogueTransaction
    ) throws {
        try db.run("UPDATE hook SET told = ? WHERE name = ?\(db.words.own.isHost)", [outcome, name])
        for skipped in skipped {
            try db.run(
                "INSERT INTO pending_task (name, since) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                [Self.task(name, skipped), Moment.now.wall.nanosecondsSince1970])
        }
    }

    /// Returns the outcomes that a hook failed on too often, and was not given again since, oldest first.
    package func skippedOutcomes(by hook: String) throws(CatalogueError) -> [Int64] {
        try read("reading what a hook skipped") { db in try Self.skipped(by: hook, db) }
    }

    /// A hook was given an outcome again that was skipped.
    package func clearSkipped(_ outcome: Int64, by hook: String) throws(CatalogueError) {
        try write("recording what a hook was told") { db in try Self.clearSkipped(outcome, by: hook, db) }
    }

    /// The name of a pending task. Numbers of outcomes are unique among hosts, names of hooks are not, and have no spaces.
    private static func task(_ hook: String, _ outcome: Int64) -> String { "hook \(hook) \(outcome)" }

    private static func clearSkipped(_ outcome: Int64, by hook: String, _ db: any CatalogueTransaction) throws {
        try db.run("DELETE FROM pending_task WHERE name = ?", [task(hook, outcome)])
    }

    /// This daemon's.
    private static func skipped(by hook: String, _ db: any CatalogueTransaction) throws -> [Int64] {
        // "!" comes after " ".
        let tasks = try db.values(
            String.self, "SELECT name FROM pending_task WHERE name > ? AND name < ?",
            ["hook \(hook) ", "hook \(hook)!"])
        let outcomes = tasks.compactMap { $0.split(separator: " ").last.flatMap { Int64($0) } }
        if outcomes.isEmpty { return [] }
        let list = outcomes.map { String($0) }.joined(separator: ", ")
        return try db.values(
            Int64.self, "SELECT id FROM outcome WHERE id IN (\(list))\(db.words.own.isInbox("inbox")) ORDER BY id")
    }

    /// Returns the events after `outcome`, oldest first, from at most `limit` outcomes.
    package func hookBatch(
        after outcome: Int64, _ interest: HookInterest, limit: Int
    ) throws(CatalogueError) -> HookBatch {
        try read("reading the events of a hook") { db in
            let newest = try Self.newestOutcome(db)
            let (condition, arguments) = Self.condition(after: outcome, interest, db.words)
            let rows = try db.rows("SELECT * FROM outcome WHERE \(condition) ORDER BY id LIMIT ?", arguments + [limit])
            let outcomes = try rows.map { try StoredOutcome($0) }
            let events = try outcomes.flatMap { try Self.events(of: $0, interest, db) }
            guard outcomes.count == limit, let last = outcomes.last else {
                return HookBatch(events: events, through: newest, isLast: true, waiting: outcomes.count)
            }
            let waiting = try db.value(Int.self, "SELECT count(*) FROM outcome WHERE \(condition)", arguments)
            return HookBatch(events: events, through: last.id, isLast: false, waiting: waiting ?? outcomes.count)
        }
    }

    /// Of this daemon: only its own are visible in the order of their numbers.
    private static func newestOutcome(_ db: any CatalogueTransaction) throws -> Int64 {
        try db.value(
            Int64.self, "SELECT max(id) FROM outcome WHERE 1 = 1\(db.words.own.isInbox("inbox"))") ?? 0
    }

    private static func condition(
        after outcome: Int64, _ interest: HookInterest, _ words: EngineWords
    ) -> (String, SQLArguments) {
        var outcomes: [String] = []
        if interest.kinds.contains(.quarantined) { outcomes.append(OutcomeKind.quarantined.rawValue) }
        if interest.kinds.contains(.filed) || interest.kinds.contains(.setComplete) {
            outcomes.append(OutcomeKind.filed.rawValue)
        }
        func marks(_ count: Int) -> String { Array(repeating: "?", count: count).joined(separator: ", ") }
        var condition = "id > ? AND outcome IN (\(marks(outcomes.count)))\(words.own.isInbox("inbox"))"
        var arguments: SQLArguments = [outcome]
        arguments += outcomes
        if let inboxes = interest.inboxes {
            condition += " AND inbox IN (\(marks(inboxes.count)))"
            arguments += inboxes
        }
        return (condition, arguments)
    }

    private static func events(
        of outcome: StoredOutcome, _ interest: HookInterest, _ db: any CatalogueTransaction
    ) throws -> [HookEvent] {
        guard outcome.outcome.outcome == .filed else {
            return [HookEvent(kind: .quarantined, outcome: outcome, photo: nil, set: [])]
        }
        let photo = try outcome.outcome.photoID.flatMap { try Self.photo($0, db) }
        var events: [HookEvent] = []
        if interest.kinds.contains(.filed) {
            events.append(HookEvent(kind: .filed, outcome: outcome, photo: photo, set: []))
        }
        if interest.kinds.contains(.setComplete), let photo, let set = photo.setID,
            try Self.isLast(outcome, of: set, db)
        {
            // A photo that is joined later was alone when it was filed.
            let members = try db.rows(
                "SELECT * FROM photo WHERE set_id = ? AND id <= ? AND superseded_at IS NULL ORDER BY id",
                [set, photo.id]
            ).map { try StoredPhoto($0) }
            if members.count > 1 {
                events.append(HookEvent(kind: .setComplete, outcome: outcome, photo: photo, set: members))
            }
        }
        return events
    }

    private static func photo(_ id: Int64, _ db: any CatalogueTransaction) throws -> StoredPhoto? {
        try db.first("SELECT * FROM photo WHERE id = ?", [id]).map { try StoredPhoto($0) }
    }

    /// The outcomes of a set that is filed at once have one time. Those of other daemons may be between them.
    private static func isLast(
        _ outcome: StoredOutcome, of set: Int64, _ db: any CatalogueTransaction
    ) throws -> Bool {
        try db.value(
            Bool.self,
            """
            SELECT NOT EXISTS (SELECT 1 FROM outcome JOIN photo ON photo.id = outcome.photo_id
                WHERE outcome.at = ? AND outcome.id > ? AND photo.set_id = ? AND outcome.outcome = 'filed')
            """, [outcome.outcome.at.nanosecondsSince1970, outcome.id, set]) ?? true
    }
}
