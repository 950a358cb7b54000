import Glibc
import LinuxKernel
import PostgresSupport
import TestSupport
import Testing

@testable import PostgreSQL

@Suite(
    "A transaction of PostgreSQL",
    .enabled(if: PostgresPrograms.debian != nil, Comment(rawValue: PostgresPrograms.skipped)),
    .timeLimit(.minutes(60)))
struct PostgresTransactionTests {
    static let insert = "INSERT INTO q VALUES (?)"

    /// A connection with a table `q` of one number.
    static func connection(_ place: Place) throws -> PostgresConnection {
        let connection = try place.connect()
        try connection.write("CREATE TABLE q (i bigint PRIMARY KEY)")
        return connection
    }

    // MARK: Enqueued statements

    @Test("What is enqueued comes before the next statement, or the commit")
    func enqueued() async throws { try await inPlace { try Self.enqueued($0) } }

    static func enqueued(_ place: Place) throws {
        let connection = try Self.connection(place)
        let watcher = try place.connect()
        try connection.transaction(.write, within: .seconds(30)) { transaction in
            try transaction.enqueue(Self.insert, [.integer(1)])
            try transaction.enqueue(Self.insert, [.integer(2)])
            #expect(try transaction.run("UPDATE q SET i = i + 10") == 2)
            // Its table is made by what waits before it.
            try transaction.enqueue("CREATE TABLE later (i bigint)")
            try transaction.enqueue("INSERT INTO later VALUES (?)", [.integer(5)])
            #expect(try transaction.rows("SELECT i FROM later").map(\.values) == [[.integer(5)]])
            try transaction.enqueue(Self.insert, [.integer(3)])
            #expect(
                try transaction.together([
                    PostgresStatement("SELECT count(*) FROM q"), PostgresStatement("DELETE FROM later"),
                ]).map(\.count) == [1, 1])
            try transaction.enqueue(Self.insert, [.integer(4)])
        }
        #expect(try watcher.value("SELECT sum(i)::bigint FROM q") == .integer(11 + 12 + 3 + 4))
        #expect(try watcher.value("SELECT count(*) FROM later") == .integer(0))
    }

    @Test("A transaction of one query is over with it, and one that is finished is committed")
    func ends() async throws {
        try await inPlace { place in
            let connection = try Self.connection(place)
            try connection.write(Self.insert, [.integer(1)])
            try connection.transaction(.one, within: .seconds(30)) { transaction in
                try transaction.enqueue("SELECT set_config('photoinbox.host', ?, true)", [.text("7")])
                let rows = try transaction.rows("SELECT i, current_setting('photoinbox.host') AS host FROM q")
                #expect(rows.map(\.values) == [[.integer(1), .text("7")]])
                #expect(throws: PostgresError.self) { try transaction.rows("SELECT i FROM q") }
            }
            #expect(throws: PostgresError.self) {
                try connection.transaction(.one, within: .seconds(30)) { _ = try $0.rows("SELECT 1 / (i - 1) FROM q") }
            }
            #expect(
                try connection.value("SELECT current_setting('photoinbox.host')") == .text(""),
                "it was that one's alone")
            try connection.transaction(.write, within: .seconds(30)) { transaction in
                try transaction.enqueue(Self.insert, [.integer(2)])
                let outcomes = try transaction.finish([
                    PostgresStatement(Self.insert, [.integer(3)]), PostgresStatement("SELECT i FROM q"),
                ])
                #expect(outcomes.map(\.rows.count) == [0, 3])
                #expect(throws: PostgresError.self) { try transaction.run(Self.insert, [.integer(4)]) }
            }
            #expect(throws: PostgresError.self) {
                try connection.transaction(.write, within: .seconds(30)) { transaction in
                    let twice = [5, 5].map { PostgresStatement(Self.insert, [.integer($0)]) }
                    _ = try transaction.finish(twice)
                }
            }
            #expect(try connection.value("SELECT sum(i)::bigint FROM q") == .integer(1 + 2 + 3))
        }
    }

    @Test("An enqueued statement is not sent before the next one, and a thousand are")
    func flushing() async throws {
        try await inPlace { place in
            let connection = try Self.connection(place)
            let watcher = try place.connect()
            let backend = try PostgresConnectionTests.backend(connection)
            let isInside =
                "SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend) AND state = 'idle in transaction'"
            try connection.write(Self.insert, [.integer(0)])
            try connection.transaction(.write, within: .seconds(30)) { transaction in
                for number in 1...999 { try transaction.enqueue(Self.insert, [.integer(Int64(number))]) }
                #expect(try watcher.value(isInside) == .integer(0))
                try transaction.enqueue(Self.insert, [.integer(1_000)])
                try watcher.wait(for: isInside, .integer(1))
            }
            #expect(try watcher.value("SELECT count(*) FROM q") == .integer(1_001))
            try connection.transaction(.write, within: .seconds(30)) { transaction in
                try transaction.enqueue("SELECT length(?::bytea)", [.bytes(Array(repeating: 0, count: 1 << 20))])
                try watcher.wait(for: isInside, .integer(1))
            }
            // Enqueued alone.
            try connection.transaction(.write, within: .seconds(30)) {
                try $0.enqueue(Self.insert, [.integer(2_000)])
            }
            #expect(try watcher.value("SELECT max(i) FROM q") == .integer(2_000))
        }
    }

    @Test("An error of what was enqueued is thrown by the next statement, and by the commit; it names the statement")
    func enqueuedErrors() async throws {
        try await inPlace { place in
            let connection = try Self.connection(place)
            try connection.write(Self.insert, [.integer(1)])
            for commits in [false, true] {
                let error = failure {
                    try connection.transaction(.write, within: .seconds(30)) { transaction in
                        try transaction.enqueue(Self.insert, [.integer(7)])
                        try transaction.enqueue(Self.insert, [.integer(1)])
                        if !commits { try transaction.run("SELECT 1") }
                    }
                }
                #expect(error?.sqlState == "23505" && error?.kind == .refused, "\(String(describing: error))")
                #expect(error?.message.contains(Self.insert) == true)
            }
            // Arguments that do not fit, and a statement that is none.
            try connection.write("CREATE TABLE small (i smallint)")
            for (sql, value) in [("INSERT INTO small VALUES (?)", PostgresValue.integer(40_000)), ("SELEC ?", .null)] {
                let error = failure {
                    try connection.transaction(.write, within: .seconds(30)) { transaction in
                        try transaction.enqueue(Self.insert, [.integer(7)])
                        try transaction.enqueue(sql, [value])
                        // Passed over; it is no success.
                        _ = failure { try transaction.run("SELECT 1") }
                    }
                }
                #expect(error != nil)
            }
            #expect(try connection.value("SELECT count(*) FROM q") == .integer(1))
            #expect(connection.isOpen)
        }
    }

    @Test("Numbered placeholders take their arguments by number")
    func numbered() async throws {
        try await inPlace { place in
            let connection = try place.connect()
            let sql = "SELECT ?2 || ?1 || ?2 || '?3'"
            #expect(try connection.value(sql, [.text("a"), .text("b")]) == .text("bab?3"))
            let few = failure { _ = try connection.value(sql, [.text("a")]) }
            #expect(few?.message.contains("2 placeholders") == true, "\(String(describing: few))")
            let mixed = failure { _ = try connection.value("SELECT ?1 || ?", [.text("a"), .text("b")]) }
            #expect(mixed?.message.contains("use one kind") == true, "\(String(describing: mixed))")
            #expect(try connection.value("SELECT 1") == .integer(1))
        }
    }

    // MARK: Savepoints

    @Test(
        "After an error a transaction goes on from a savepoint, without what was done or enqueued since",
        arguments: Misstep.allCases)
    func savepoints(misstep: Misstep) async throws { try await inPlace { try Self.savepoints($0, misstep: misstep) } }

    static func savepoints(_ place: Place, misstep: Misstep) throws {
        let connection = try Self.connection(place)
        try connection.write("CREATE TABLE small (i smallint)")
        try connection.transaction(.write, within: .seconds(30)) { transaction in
            try transaction.run(Self.insert, [.integer(1)])
            // The savepoint is enqueued, as it has no result.
            for _ in 0..<2 {
                try transaction.enqueue(Self.insert, [.integer(2)])
                try transaction.enqueue("SAVEPOINT x")
                try transaction.enqueue(Self.insert, [.integer(3)])
                let error = failure { try misstep.make(transaction) }
                #expect(error != nil)
                let next = failure { _ = try transaction.rows("SELECT 1") }
                #expect(next?.message.contains(error?.message ?? "none") == true, "\(String(describing: next))")
                #expect(next?.kind == error?.kind)
                #expect(failure { try transaction.enqueue(Self.insert, [.integer(9)]) } != nil)
                try transaction.run("ROLLBACK TO SAVEPOINT x")
                try transaction.enqueue("RELEASE SAVEPOINT x")
                #expect(try transaction.run("DELETE FROM q WHERE i = 2") == 1)
            }
            try transaction.enqueue(Self.insert, [.integer(4)])
        }
        let rows = try connection.together(
            .read, [PostgresStatement("SELECT i FROM q ORDER BY i")], within: .seconds(30))
        #expect(rows.first?.rows.map(\.values) == [[.integer(1)], [.integer(4)]])
    }

    @Test(
        "A rollback to a savepoint undoes what waits, whatever that would do; without its savepoint it names the cause")
    func waitingAtRollback() async throws {
        try await inPlace { place in
            let connection = try Self.connection(place)
            try connection.write(Self.insert, [.integer(1)])
            for isEnqueued in [false, true] {
                try connection.transaction(.write, within: .seconds(30)) { transaction in
                    func rollBack() throws {
                        let sql = "ROLLBACK TO SAVEPOINT x"
                        if isEnqueued { try transaction.enqueue(sql) } else { try transaction.run(sql) }
                    }
                    try transaction.enqueue(Self.insert, [.integer(isEnqueued ? 3 : 2)])
                    try transaction.enqueue("SAVEPOINT x")
                    try transaction.enqueue(Self.insert, [.integer(1)])
                    try rollBack()
                    try transaction.enqueue(Self.insert, [.integer(7)])
                    try rollBack()
                }
                let error = failure {
                    try connection.transaction(.write, within: .seconds(30)) { transaction in
                        try transaction.enqueue(Self.insert, [.integer(1)])
                        try transaction.enqueue("SAVEPOINT x")
                        _ = failure { try transaction.run("SELECT 1") }
                        if isEnqueued {
                            try transaction.enqueue("ROLLBACK TO SAVEPOINT x")
                        } else {
                            try transaction.run("ROLLBACK TO SAVEPOINT x")
                        }
                    }
                }
                #expect(error?.sqlState == "23505", "\(String(describing: error))")
            }
            #expect(try connection.value("SELECT sum(i)::bigint FROM q") == .integer(1 + 2 + 3))
            #expect(connection.isOpen)
        }
    }

    enum Misstep: CaseIterable {
        case constraint, syntax, enqueued, argument, row, rest, changedTable

        func make(_ transaction: PostgresTransaction) throws {
            let insert = PostgresTransactionTests.insert
            switch self {
            case .constraint: try transaction.run(insert, [.integer(1)])
            case .syntax: try transaction.run("SELEC 1")
            case .enqueued:
                try transaction.enqueue(insert, [.integer(1)])
                try transaction.enqueue(insert, [.integer(8)])
                try transaction.run("SELECT 1")
            case .argument:
                try transaction.enqueue("INSERT INTO small VALUES (?)", [.integer(1)])
                try transaction.run("INSERT INTO small VALUES (?)", [.integer(40_000)])
            case .row:
                let cursor = try transaction.cursor("SELECT 1 / (500 - i) FROM generate_series(1, 1000) AS i")
                while try cursor.next() != nil {}
            case .rest:
                // A cursor whose rest cannot be received when another statement comes.
                let cursor = try transaction.cursor("SELECT 1 / (1000 - i) FROM generate_series(1, 1000) AS i")
                #expect(try cursor.next() != nil)
                do { try transaction.run("SELECT 1") } catch {
                    #expect(failure { _ = try cursor.next() }?.sqlState == "22012")
                    throw error
                }
            case .changedTable:
                try transaction.run("CREATE TABLE IF NOT EXISTS changed (a bigint)")
                _ = try transaction.rows("SELECT * FROM changed")
                try transaction.run("ALTER TABLE changed ALTER a TYPE text")
                _ = try transaction.rows("SELECT * FROM changed")
            }
        }
    }

    // MARK: Cursors

    @Test("A cursor's rows come one by one, more than fit into memory")
    func cursor() async throws { try await inPlace { try Self.cursor($0) } }

    static func cursor(_ place: Place) throws {
        var parameters = place.server.parameters(schema: place.schema)
        parameters.largestAnswer = 1 << 20
        let connection = try PostgresConnection(parameters)
        try connection.transaction(.read, within: .seconds(60)) { transaction in
            let cursor = try transaction.cursor(
                "SELECT generate_series(1, ?::bigint) AS n, repeat('x', 1000) AS t", [.integer(100_000)])
            var sum = 0
            while let row = try cursor.next() {
                #expect(row.columns == ["n", "t"])
                if case .integer(let number) = row.values[0] { sum += Int(number) }
            }
            #expect(sum == 5_000_050_000)
            #expect(try cursor.next() == nil)
            try cursor.close()

            // Closed early, or dropped: the next statement is answered, and no row is kept.
            let query = "SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) AS i"
            let closed = try transaction.cursor(query)
            #expect(try closed.next()?.values.first == .integer(1))
            try closed.close()
            #expect(try closed.next() == nil)
            #expect(try transaction.cursor(query).next() != nil)
            #expect(try transaction.rows("SELECT 7").first?.values == [.integer(7)])
        }
        // Kept, the same does not fit, which both say.
        let error = failure {
            try connection.transaction(.read, within: .seconds(60)) { transaction in
                let large = try transaction.cursor(
                    "SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) AS i")
                #expect(try large.next() != nil)
                #expect(failure { try transaction.run("SELECT 1") }?.message.contains("do not fit") == true)
                _ = try large.next()
            }
        }
        #expect(error?.message.contains("do not fit") == true, "\(String(describing: error))")
        #expect(try connection.value("SELECT 8") == .integer(8))
    }

    @Test("Cursors can be nested, and statements run while they are open")
    func nested() async throws { try await inPlace { try Self.nested($0) } }

    static func nested(_ place: Place) throws {
        let connection = try Self.connection(place)
        var pairs: [[Int64]] = []
        try connection.transaction(.write, within: .seconds(30)) { transaction in
            func numbers(_ limit: Int64) throws -> PostgresCursor {
                try transaction.cursor("SELECT generate_series(1, ?::bigint) AS i", [.integer(limit)])
            }
            func number(_ cursor: PostgresCursor) throws -> Int64? {
                guard case .integer(let value)? = try cursor.next()?.values.first else { return nil }
                return value
            }
            let outer = try numbers(200)
            while let first = try number(outer) {
                // What is enqueued while a cursor is open waits for the next statement.
                try transaction.enqueue(Self.insert, [.integer(first)])
                let inner = try numbers(2)
                while let second = try number(inner) {
                    pairs.append([first, second])
                    #expect(try transaction.rows("SELECT ?::bigint", [.integer(first)]).count == 1)
                }
            }
        }
        #expect(pairs == (1...200).flatMap { [[$0, 1], [$0, 2]] })
        #expect(try connection.value("SELECT count(*) FROM q") == .integer(200))
    }

    @Test("Cursors and handles that outlive their transaction are errors")
    func outliving() async throws {
        try await inPlace { place in
            let connection = try Self.connection(place)
            var old: (PostgresTransaction, [PostgresCursor])?
            func rows() -> String { "SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) AS i" }
            func isOver() throws {
                let (transaction, cursors) = try #require(old)
                #expect(failure { try transaction.enqueue("SELECT 1") } != nil)
                #expect(failure { try transaction.run("SELECT 1") } != nil)
                #expect(failure { _ = try transaction.cursor("SELECT 1") } != nil)
                for cursor in cursors {
                    #expect(failure { _ = try cursor.next() } != nil)
                    try cursor.close()
                }
            }
            // One cursor in memory, one whose rows are on their way.
            for commits in [true, false] {
                do {
                    try connection.transaction(.write, within: .seconds(30)) { transaction in
                        old = (transaction, [try transaction.cursor(rows()), try transaction.cursor(rows())])
                        try transaction.enqueue(Self.insert, [.integer(commits ? 1 : 2)])
                        if !commits { throw NeverSo(sql: "") }
                    }
                } catch is NeverSo {}
                try isOver()
                // Nor in the next transaction.
                try connection.transaction(.read, within: .seconds(30)) { transaction in
                    let cursor = try transaction.cursor(rows())
                    try isOver()
                    #expect(try cursor.next()?.values.first == .integer(1))
                }
            }
            #expect(try connection.value("SELECT sum(i)::bigint FROM q") == .integer(1))
            old = nil
            // A connection that failed meanwhile, and one that is gone.
            var escaped: PostgresCursor?
            let isUnderWay = Locked(false)
            let error = failure {
                let isAwaited = { @Sendable in !isUnderWay.withLock { $0 } }
                try connection.transaction(.read, within: .seconds(waitLimit), while: isAwaited) { transaction in
                    // Otherwise the answer to BEGIN would be waited for, which comes with the rows.
                    try transaction.run("SELECT 1")
                    escaped = try transaction.cursor("SELECT i, pg_sleep(i * 60)::text FROM generate_series(0, 1) AS i")
                    isUnderWay.withLock { $0 = true }
                    while try escaped?.next() != nil {}
                }
            }
            #expect(error?.kind == .interrupted)
            #expect(failure { _ = try escaped?.next() } != nil)
            try escaped?.close()
        }
    }

    @Test("An error in a cursor's rest undoes the commit")
    func restOfCursor() async throws {
        try await inPlace { place in
            let connection = try Self.connection(place)
            let error = failure {
                try connection.transaction(.write, within: .seconds(30)) { transaction in
                    try transaction.run(Self.insert, [.integer(1)])
                    let cursor = try transaction.cursor("SELECT 1 / (5000 - i) FROM generate_series(1, 5000) AS i")
                    #expect(try cursor.next() != nil)
                }
            }
            #expect(error?.sqlState == "22012", "\(String(describing: error))")
            #expect(try connection.value("SELECT count(*) FROM q") == .integer(0))
        }
    }

    // MARK: Waiting

    @Test("The limit is for each wait: it begins anew when bytes come")
    func renewed() async throws {
        try await inPlace { place in
            let connection = try place.connect()
            // Rows that are larger than what the server keeps back; together they take longer than the limit.
            try connection.transaction(.read, within: .seconds(5)) { transaction in
                let cursor = try transaction.cursor(
                    "SELECT repeat('x', 20000), pg_sleep(0.25)::text FROM generate_series(1, 24)")
                var count = 0
                while try cursor.next() != nil { count += 1 }
                #expect(count == 24)
                #expect(try transaction.rows("SELECT 1").count == 1)
            }
        }
    }

    @Test("A caller that gives up ends the wait; the outcome of a commit is unknown then")
    func interrupted() async throws {
        try await inPlace { place in
            let watcher = try Self.connection(place)
            let connection = try place.connect()
            var asked = 0
            let error = failure {
                try connection.transaction(
                    .write, within: .seconds(waitLimit),
                    while: {
                        asked += 1
                        return asked < 3
                    }
                ) { transaction in
                    try transaction.run(Self.insert, [.integer(1)])
                    try transaction.run("SELECT pg_sleep(600)::text")
                }
            }
            #expect(error?.kind == .interrupted && asked == 3, "\(String(describing: error))")
            #expect(!connection.isOpen)

            let other = try place.connect()
            let backend = try PostgresConnectionTests.backend(other)
            // Not before the commit: on a busy machine even BEGIN has to wait.
            let hasRun = Locked(false)
            let unknown = failure {
                try other.transaction(
                    .write, within: .seconds(waitLimit), while: { !hasRun.withLock { $0 } }
                ) { transaction in
                    try transaction.enqueue("SET LOCAL synchronous_commit = on")
                    try transaction.enqueue(Self.insert, [.integer(2)])
                    hasRun.withLock { $0 = true }
                }
            }
            #expect(unknown?.kind == .unknownOutcome, "\(String(describing: unknown))")
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend) AND wait_event = 'SyncRep'"
            try watcher.wait(for: waits, .integer(1))
            _ = try watcher.value("SELECT pg_cancel_backend(\(backend))")
            try watcher.wait(for: "SELECT count(*) FROM q WHERE i = 2", .integer(1))

            // A later transaction of another caller is not asked for.
            let third = try place.connect()
            try third.transaction(.read, within: .seconds(30), while: { true }) { try $0.run("SELECT 1") }
            #expect(try third.value("SELECT pg_sleep(0.3)::text") == .text(""))
            #expect(try watcher.value("SELECT count(*) FROM q WHERE i = 1") == .integer(0))
        }
    }

    @Test("Nothing can be done with a connection while it waits")
    func reentrance() async throws {
        try await inPlace { place in
            let connection = try place.connect()
            var handle: PostgresTransaction?
            var refused: [PostgresError?] = []
            try connection.transaction(
                .read, within: .seconds(waitLimit),
                while: {
                    refused = [
                        failure { try handle?.run("SELECT 1") }, failure { _ = try handle?.cursor("SELECT 1") },
                        failure { try handle?.enqueue("SELECT 1") }, failure { _ = try connection.value("SELECT 1") },
                    ]
                    return true
                }
            ) { transaction in
                handle = transaction
                while refused.isEmpty { try transaction.run("SELECT pg_sleep(0.2)::text") }
            }
            #expect(refused.count == 4 && refused.allSatisfy { $0 != nil })
            #expect(try connection.value("SELECT 1") == .integer(1))
        }
    }
}
