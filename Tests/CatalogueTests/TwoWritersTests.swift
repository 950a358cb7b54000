import Dispatch
import PostgresSupport
import TestSupport
import Testing

@testable import Catalogue

@Suite(
    "Two writers of one catalogue",
    .enabled(if: TestEngine.installed.contains(.postgresql), "\(PostgresPrograms.skipped)"))
struct TwoWritersTests {
    @Test("Filings that lock the same days of the timeline in another order are all recorded")
    func deadlocks() async throws {
        let place = try TestEngine.server()
        let server = CatalogueServer(
            "\(place.connection) options='-c deadlock_timeout=5ms'", schema: place.schema, client: place.client)
        let writers = try (0..<2).map { _ in try CatalogueFile.open(server, forWriting: true) }
        let came = (0..<2).map { _ in DispatchSemaphore(value: 0) }
        let rounds = 25
        /// Returns how often transactions were run.
        @Sendable func file(_ writer: Int) throws -> Int {
            let catalogue = writers[writer]
            func meet() {
                came[writer].signal()
                came[1 - writer].wait()
            }
            // Nobody waits for one that has failed.
            defer { for _ in 1...2 * rounds { came[writer].signal() } }
            var runs = 0
            for round in 0..<rounds {
                let new = (0..<2).map { index in
                    var new = intent(UInt8(round * 4 + writer * 2 + index))
                    new.photo.captured?.local = "2026-11-2\((index + writer) % 2)"
                    return new
                }
                let filings = zip(try catalogue.beginIntents(new), new).map {
                    FilingCommit(intent: $0, photo: $1.photo, filedAt: noon, reason: "")
                }
                var isFirst = true
                try catalogue.write("recording a filing") { db in
                    runs += 1
                    _ = try catalogue.commit([filings[0]], nil, db)
                    if isFirst {
                        isFirst = false
                        meet()
                    }
                    _ = try catalogue.commit([filings[1]], nil, db)
                }
                meet()
            }
            return runs
        }
        async let one = aside { try file(0) }
        async let other = aside { try file(1) }
        #expect(try await one + other >= 3 * rounds, "one of two was ended each time")
        #expect(try writers[0].days().map(\.photos) == [UInt32(2 * rounds), UInt32(2 * rounds)])
    }
}
