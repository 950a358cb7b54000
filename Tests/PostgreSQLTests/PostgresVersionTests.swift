import PostgreSQL
import PostgresSupport
import Testing

/// What depends on a server's version, on each that is there beside Debian's.
@Suite(
    "Other versions of PostgreSQL",
    .enabled(if: !PostgresPrograms.others.isEmpty, Comment(rawValue: PostgresPrograms.othersSkipped)),
    .timeLimit(.minutes(60)))
struct PostgresVersionTests {
    enum Part: CaseIterable {
        case values, server, connecting, pipeline, prepared, enqueued, savepoints, nested, standby

        func check(_ place: Place) throws {
            switch self {
            case .values: try PostgresConnectionTests.values(place)
            case .server: try PostgresConnectionTests.server(place)
            case .connecting: try PostgresConnectionTests.connecting(place)
            case .pipeline: try PostgresConnectionTests.pipeline(place)
            case .prepared: try PostgresConnectionTests.prepared(place)
            case .enqueued: try PostgresTransactionTests.enqueued(place)
            case .savepoints:
                for misstep in PostgresTransactionTests.Misstep.allCases {
                    try PostgresTransactionTests.savepoints(Place(place.server), misstep: misstep)
                }
            case .nested: try PostgresTransactionTests.nested(place)
            case .standby: try PostgresConnectionTests.standby(place, end: .cancelled)
            }
        }
    }

    @Test("They behave as Debian's does", arguments: PostgresPrograms.others, Part.allCases)
    func same(programs: PostgresPrograms, part: Part) async throws {
        try await inPlace(on: programs) { place in
            #expect(programs.description == "PostgreSQL \(try place.connect().server.version / 10_000)")
            try part.check(place)
        }
    }
}
