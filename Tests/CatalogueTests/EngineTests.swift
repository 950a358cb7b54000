import FileValues
import LinuxKernel
import TestSupport
import Testing

@testable import Catalogue

@Suite("The engine below the catalogue", .timeLimit(.minutes(60)))
struct EngineTests {
    private let scratch: ScratchDirectory
    private let engine: SQLiteEngine

    init() throws {
        scratch = try ScratchDirectory()
        engine = try SQLiteEngine(scratch.appending("engine.db"), for: .writing)
        try engine.write { db in
            try db.run("CREATE TABLE one (id INTEGER PRIMARY KEY, n INTEGER, r REAL, t TEXT, b BLOB) STRICT")
        }
    }

    /// Writes a row and reads it again.
    private func stored(_ columns: Columns) throws -> SQLRow {
        let id = try engine.write { db in try db.insert(columns, into: "one") }
        return try engine.read { db in try #require(try db.first("SELECT * FROM one WHERE id = ?", [id])) }
    }

    @Test("Numbers are read as they were written", arguments: [.min, -1, 0, 1, .max] as [Int64])
    func numbers(_ number: Int64) throws {
        let row = try stored(["n": number])
        #expect(try row.value("n") as Int64 == number)
        #expect(try row.value("n") as Int == Int(number))
        #expect(try row.unsigned("n") == UInt64(bitPattern: number))
        if let small = Int32(exactly: number) {
            #expect(try row.value("n") as Int32 == small)
            #expect(try row.value("n") as Bool == (number != 0))
        } else {
            #expect(throws: UnreadableRow.self) { try row.value("n") as Int32 }
            #expect(throws: UnreadableRow.self) { try row.value("n") as UInt8 }
        }
    }

    @Test(
        "Fractions are read as they were written",
        arguments: [-0.5, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity] as [Double])
    func fractions(_ number: Double) throws {
        #expect(try (stored(["r": number]).value("r") as Double).bitPattern == number.bitPattern)
    }

    @Test("Texts are read as they were written", arguments: ["", "\0", "a\0b\0", "\u{FEFF}é\u{1F5BC}", "e\u{301}"])
    func texts(_ text: String) throws {
        #expect(try Array((stored(["t": text]).value("t") as String).utf8) == Array(text.utf8))
    }

    @Test(
        "Bytes are read as they were written",
        arguments: [[], [0], [0xFF, 0, 0], [UInt8](repeating: 7, count: 70_000)] as [[UInt8]])
    func bytes(_ bytes: [UInt8]) throws {
        let row = try stored(["b": bytes])
        #expect(try row.bytes("b") == bytes)
        #expect(try row.path("b") == BytePath(bytes))
    }

    @Test("What is nothing is no empty text, and no empty bytes")
    func null() throws {
        let row = try stored(["t": nil, "b": nil as [UInt8]?, "n": nil as Int64?])
        #expect(row["t"] == .null && row["b"] == .null && row["n"] == .null)
        #expect(try row.bytes("b") == nil && row.optional("t") as String? == nil)
        #expect(throws: UnreadableRow.self) { try row.value("t") as String }
        let counts = try engine.write { db in
            _ = try db.insert(["t": "", "b": [] as [UInt8]], into: "one")
            return try db.value(Int.self, "SELECT count(*) FROM one WHERE t = '' AND length(b) = 0")
        }
        #expect(counts == 1)
    }

    @Test("A value of another type, and a column that there is not, are unreadable")
    func types() throws {
        let row = try stored(["n": 5, "r": 1.5, "t": "7", "b": Array("8".utf8)])
        for column in ["r", "t", "b", "none"] { #expect(throws: UnreadableRow.self) { try row.value(column) as Int64 } }
        for column in ["n", "r", "b", "none"] {
            #expect(throws: UnreadableRow.self) { try row.value(column) as String }
        }
        for column in ["n", "r", "t", "none"] { #expect(throws: UnreadableRow.self) { try row.bytes(column) } }
        for column in ["t", "b"] { #expect(throws: UnreadableRow.self) { try row.value(column) as Double } }
        #expect(throws: UnreadableRow.self) { try row.optional("none") as Int64? }
        #expect(row["none"] == nil && row[5] == .null)
        #expect(try row.value("n") as Double == 5)
    }

    @Test("A statement is run within itself, and may be left early")
    func nested() throws {
        try engine.write { db in for number in 1...3 { _ = try db.insert(["n": number], into: "one") } }
        let pairs = try engine.read { db in
            var pairs: [[Int]] = []
            try db.each("SELECT n FROM one ORDER BY n") { outer in
                try db.scan("SELECT n FROM one ORDER BY n", []) { inner in
                    pairs.append([try outer.value("n"), try inner.value("n")])
                    return pairs.count % 2 == 1
                }
            }
            return pairs
        }
        #expect(pairs == [[1, 1], [1, 2], [2, 1], [2, 2], [3, 1], [3, 2]])
    }

    @Test("A kept statement reads columns that another connection has added since")
    func addedColumns() throws {
        let sql = "SELECT *, 'last' AS last FROM one"
        _ = try stored(["n": 1])
        _ = try engine.read { db in try db.rows(sql) }
        try SQLiteEngine(scratch.appending("engine.db"), for: .writing).write { db in
            try db.run("ALTER TABLE one ADD COLUMN more TEXT DEFAULT 'new'")
        }
        let row = try engine.read { db in try #require(try db.first(sql)) }
        #expect(try row.value("last") as String == "last")
        #expect(try row.value("more") as String == "new")
    }

    @Test("A part that fails leaves nothing, and the transaction goes on")
    func parts() throws {
        struct Refusal: Error {}
        let numbers = try engine.write { db in
            _ = try db.insert(["n": 1], into: "one")
            #expect(throws: Refusal.self) {
                try db.part {
                    _ = try db.insert(["n": 2], into: "one")
                    throw Refusal()
                }
            }
            #expect(try db.part { try db.rowsChanged(by: "UPDATE one SET n = n + ?", [10]) } == 1)
            return try db.values(Int.self, "SELECT n FROM one")
        }
        #expect(numbers == [11])
    }

    @Test("Bytes that are not copied are written, and errors of one row end the rest")
    func borrowed() throws {
        let bytes = Array("one\0two".utf8)
        try engine.write { db in
            try bytes.withUnsafeBytes { bytes in
                try db.runEach("INSERT INTO one (id, t, b) VALUES (?, ?, ?)", count: 3) { index, values in
                    let part = UnsafeRawBufferPointer(rebasing: bytes[index * 2..<bytes.count])
                    values += [.integer(Int64(index)), .text(part), index == 2 ? .null : .bytes(part)]
                }
            }
        }
        let rows = try engine.read { db in try db.rows("SELECT t, b FROM one ORDER BY id") }
        #expect(try rows.map { try $0.value("t") as String } == ["one\0two", "e\0two", "two"])
        #expect(try rows.map { try $0.bytes("b") } == [bytes, Array(bytes[2...]), nil])
        let error = try failure {
            do {
                try engine.write { db in
                    try db.runEach("INSERT INTO one (id) VALUES (?)", count: 9) { index, values in
                        values.append(.integer(Int64(index % 5 + 10)))
                    }
                }
            } catch { throw CatalogueError(error, "writing") }
        }
        #expect(error.code == .other && error.resultCode != 0 && error.message.contains("one.id"))
        #expect(try engine.read { db in try db.value(Int.self, "SELECT count(*) FROM one") } == 3)
    }

    @Test("A wrong number of arguments is an error, and reading writes nothing")
    func refusals() throws {
        #expect(throws: (any Error).self) { try engine.read { db in try db.rows("SELECT ?", []) } }
        #expect(throws: (any Error).self) { try engine.read { db in try db.rows("SELECT 1", [1]) } }
        #expect(throws: (any Error).self) { try engine.read { db in try db.run("DELETE FROM one") } }
    }
}
