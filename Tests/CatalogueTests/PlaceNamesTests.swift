import FileValues
import Foundation
import GRDB
import Glibc
import LinuxKernel
import PhotoFormats
import PhotoModel
import TestSupport
import Testing

@testable import Catalogue

@Suite("Positions get the names of the nearest place, and a table that is damaged or another's costs only the names")
struct PlaceNamesTests {
    /// A table, and what was reported of it.
    private final class Names {
        let scratch: ScratchDirectory
        let reports = Locked<[String]>([])
        let names: PlaceNames
        var path: String { scratch.appending("place-names.sqlite") }

        init() throws {
            let (scratch, reports) = (try ScratchDirectory(), reports)
            self.scratch = scratch
            names = PlaceNames([BytePath(scratch.appending("place-names.sqlite"))]) { text in
                reports.withLock { $0.append(text) }
            }
        }

        func place(_ latitude: Double, _ longitude: Double) throws -> NearbyPlace? {
            names.place(near: try #require(PhotoMetadata.Position(latitude: latitude, longitude: longitude)))
        }
    }

    /// The same table for all tests.
    private static let table = Result {
        let scratch = try ScratchDirectory()
        let path = scratch.appending("table")
        try PlaceTable.make(at: path)
        return try Data(contentsOf: URL(filePath: path))
    }

    private func names(_ change: (inout Data) throws -> Void = { _ in }) throws -> Names {
        let names = try Names()
        var data = try Self.table.get()
        try change(&data)
        try data.write(to: URL(filePath: names.path))
        names.names.refresh()
        return names
    }

    @Test(
        "The nearest town, with its region and country where all around agree",
        arguments: [
            // Alexanderplatz and Gendarmenmarkt: in the city, and in a part of it.
            (52.5219, 13.4132, "Berlin, State of Berlin, Germany", 329),
            (52.5137, 13.3926, "Mitte, Berlin, State of Berlin, Germany", 1_087),
            // A region without a name.
            (52.56, 13.08, "Falkensee, Germany", 859),
            (64.1417, -21.9267, "Reykjavík, Capital Region, Iceland", 1_666),
            // Basel's minster; then the Rhine below it, with France and Germany across.
            (47.5565, 7.5925, "Basel, Basel-City, Switzerland", 1_458),
            (47.578, 7.597, "Huningue", 1_856),
            (48.5819, 7.751, "Strasbourg, Grand Est, France", 462), (48.57, 7.79, "Kehl", 1_885),
            // On the bridge over the Öresund, and on its shore.
            (55.575, 12.82, "Dragør", 9_508), (55.583, 12.93, "Malmö, Skåne, Sweden", 5_123),
            // Across the 180th meridian, both ways, and around a pole.
            (-13.84, -171.76, "Apia, Samoa", 1_032), (-16.78, 179.99, "Waiyevo, Fiji", 2_864),
            (-16.78, -179.99, "Waiyevo, Fiji", 804), (-89.99, -135, "Pole, Antarctica", 2_224),
            (-90, 0, "Pole, Antarctica", 1_112),
        ])
    func nearest(latitude: Double, longitude: Double, text: String, metres: Double) throws {
        let names = try names()
        let place = try #require(try names.place(latitude, longitude), "\(names.reports.withLock { $0 })")
        #expect(place.text == text)
        #expect(abs(place.distance - metres) < 0.01 * metres + 5, "\(place.distance)")
        #expect(try names.place(latitude, longitude) == place)
    }

    @Test(
        "None at sea, where nobody lives, or beside a place that is no more",
        arguments: [(54.5, 5.0), (90, 0), (0.1, 0.1), (24, 12), (-16.5, 0), (54.45, 8.68)])
    func none(latitude: Double, longitude: Double) throws { #expect(try names().place(latitude, longitude) == nil) }

    @Test("A table is seen when it comes, when it is replaced, and when it goes")
    func replaced() throws {
        let names = try Names()
        names.names.refresh()
        #expect(names.names.version == nil)
        #expect(try names.place(54.32, 10.12) == nil)
        try PlaceTable.make(at: names.path)
        names.names.refresh()
        let first = try #require(names.names.version)
        #expect(try names.place(54.32, 10.12) == nil)
        try PlaceTable.make(at: names.path, more: "Kiel 54.32133 10.13489 PPLA DE 10 246306")
        names.names.refresh()
        #expect(names.names.version != first)
        #expect(try names.place(54.32, 10.12)?.text == "Kiel, Germany")
        #expect(unlink(names.path) == 0)
        names.names.refresh()
        #expect(names.names.version == nil)
        #expect(try names.place(54.32, 10.12) == nil)
        #expect(names.reports.withLock { $0 } == [])
    }

    @Test("The same rows make the same version")
    func version() throws {
        let (one, other) = (try names(), try Names())
        try PlaceTable.make(at: other.path)
        other.names.refresh()
        #expect(one.names.version == other.names.version)
    }

    private func expectRefused(_ names: Names) throws {
        #expect(names.names.version == nil)
        names.names.refresh()
        #expect(try names.place(52.52, 13.41) == nil)
        let reports = names.reports.withLock { $0 }
        #expect(reports.count == 1, "\(reports)")
        #expect(reports.first?.contains("place-names.sqlite is not used, so photos get no names") == true)
    }

    @Test(
        "Another file is refused, with one report",
        arguments: ["", "no database", "SQLite format 3\0", String(repeating: "x", count: 10_000)])
    func foreign(content: String) throws { try expectRefused(try names { $0 = Data(content.utf8) }) }

    @Test(
        "A table with another schema, mode or version is refused, with one report",
        arguments: [
            "PRAGMA journal_mode = WAL", "PRAGMA application_id = 1", "DELETE FROM about", "DROP TABLE about",
            "UPDATE about SET value = x'00' WHERE name = 'version'", "CREATE TABLE more (x)",
            "DROP TABLE area; CREATE VIEW area AS SELECT 1 AS id, 'DE' AS code, 'Germany' AS country, NULL AS region",
            "CREATE TRIGGER t AFTER INSERT ON area BEGIN SELECT 1; END", "ALTER TABLE place ADD COLUMN x",
        ])
    func changed(statement: String) throws {
        let names = try names()
        #expect(names.names.version != nil)
        try runProgram(["/usr/bin/env", "sqlite3", names.path, statement])
        names.names.refresh()
        try expectRefused(names)
    }

    @Test("What is no file is not opened")
    func pipes() throws {
        let names = try Names()
        #expect(mkfifo(names.path, 0o600) == 0)
        names.names.refresh()
        #expect(names.reports.withLock { $0.count } == 1)
    }

    @Test(
        "Rows that the script does not write end its use",
        arguments: [
            "DELETE FROM area", "UPDATE place SET area = 99", "UPDATE place SET name = x'FF'",
            "UPDATE place SET area = 'x'", "DELETE FROM place", "UPDATE area SET country = x'FF'",
            "UPDATE place_position_node SET data = x'00'",
            "UPDATE place_position_node SET data = zeroblob(length(data))",
        ])
    func rows(statement: String) throws {
        let names = try names()
        try runProgram(["/usr/bin/env", "sqlite3", "-cmd", ".dbconfig defensive off", names.path, statement])
        names.names.refresh()
        #expect(names.names.version != nil)
        #expect(try names.place(52.52, 13.41) == nil)
        let isEmpty = statement.contains("zeroblob")
        #expect(names.reports.withLock { $0.count } == (isEmpty ? 0 : 1), "\(names.reports.withLock { $0 })")
        #expect((names.names.version == nil) == !isEmpty)
    }

    @Test("Bytes that are changed anywhere, or cut off, end in names, none, or one report")
    func mutants() throws {
        var generator = SeededGenerator(seed: 42)
        let names = try Names()
        for round in 0..<400 {
            names.reports.withLock { $0 = [] }
            var data = try Self.table.get()
            if round % 8 == 0 {
                data.removeLast(Int(generator.next() % UInt64(data.count)))
            } else {
                for _ in 0..<(1 + Int(generator.next() % 8)) {
                    data[Int(generator.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: generator.next())
                }
            }
            try? FileManager.default.removeItem(atPath: names.path)
            try data.write(to: URL(filePath: names.path))
            names.names.refresh()
            for position in [(52.52, 13.41), (-16.78, 179.99), (-89.99, 45), (47.578, 7.597)] {
                _ = try names.place(position.0, position.1)
            }
            #expect(names.reports.withLock { $0.count } <= 1, "\(round)")
        }
    }
}
