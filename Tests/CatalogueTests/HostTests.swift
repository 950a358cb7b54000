import PhotoModel
import PostgreSQL
import PostgresSupport
import Testing

@testable import Catalogue

/// Which daemon may write in a database.
@Suite(.enabled(if: PostgresPrograms.debian != nil, "\(PostgresPrograms.skipped)"))
struct HostTests {
    private let place: CataloguePlace

    init() throws {
        let server = try PostgresServer.shared(try #require(PostgresPrograms.debian))
        place = .server(server.parameters("dbname=\(try server.makeDatabase())").connection)
    }

    private func open(_ key: String, isLost: Bool = false) throws -> CatalogueFile {
        try CatalogueFile.open(
            place, for: CatalogueHost(key: key, name: "machine-\(key)"), now: noon, isLost: isLost)
    }

    @Test("Only the newest life of one host writes, and another host only once that one is forgotten")
    func lives() throws {
        let first = try open("a")
        try first.file(1)
        let second = try open("a")
        #expect(try failure { try first.file(2) }.code == .anotherHost)
        try second.file(2)
        let refused = try failure { _ = try open("b") }
        #expect(refused.code == .anotherHost && refused.message.contains("hosts forget machine-a"))
        // The one that was refused has changed nothing.
        try second.file(3)
        #expect(try second.hosts().map(\.key) == ["a"])
        let command = try CatalogueFile.openForRepair(place)
        #expect(try command.forgetHost("machine-b") == false)
        #expect(try command.forgetHost("machine-a"))
        #expect(try failure { try second.file(4) }.code == .anotherHost)
        let third = try open("b")
        try third.file(4)
        #expect(try third.hosts().map(\.isForgotten) == [true, false])
        #expect(try failure { _ = try open("a") }.code == .anotherHost)
        #expect(try third.totals().photos == 4)
        #expect(try command.forgetHost("machine-b"))
        // It has nobody now, so a host that was forgotten may have it again.
        try open("a").file(5)
    }

    @Test("A refusal as another's may have kept something: what was copied stays")
    func leavesNothing() throws {
        let first = try open("a")
        _ = try open("a")
        #expect(try failure { try first.file(1) }.leavesNothing == false)
    }

    @Test("A database that went back is found out with the next write, or at the next start, and rebuilt")
    func wentBack() throws {
        let catalogue = try open("a")
        for number: UInt8 in 1...3 { try catalogue.file(number) }
        #expect(try catalogue.loss() == nil && !catalogue.isRebuilding())
        let other = try CatalogueFile.openForRepair(place)
        try other.write("going back") { db in try db.run("UPDATE host SET writes = writes - 1") }
        for _ in 0..<2 { #expect(try failure { try catalogue.file(4) }.code == .replaced) }
        #expect(catalogue.loss()?.code == .replaced)
        #expect(try catalogue.isRebuilding())
        let next = try open("a")
        #expect(try next.loss() == nil && next.isRebuilding() && next.totals().photos == 3)
        try next.endRebuilding()
        try next.file(4)
        let written = next.written
        let known = CatalogueHost(key: "a", name: "machine-a", written: written)
        #expect(try !CatalogueFile.open(place, for: known, now: noon, isLost: false).isRebuilding())
        let ahead = CatalogueHost(key: "a", name: "machine-a", written: written + 1)
        #expect(try CatalogueFile.open(place, for: ahead, now: noon, isLost: false).isRebuilding())
    }

    @Test("A schema that is new is to be rebuilt if there was a catalogue before", arguments: [false, true])
    func lost(isLost: Bool) throws {
        let catalogue = try open("a", isLost: isLost)
        #expect(try catalogue.isRebuilding() == isLost)
        catalogue.close()
        #expect(try open("a", isLost: true).isRebuilding() == isLost, "one that is there is not lost")
    }
}
