import Catalogue
import PostgreSQL
import PostgresSupport
import Testing

/// What a catalogue of the tests is kept in.
enum TestEngine {
    case sqlite, postgresql

    @TaskLocal static var current = TestEngine.sqlite

    static var installed: [TestEngine] { PostgresPrograms.debian == nil ? [.sqlite] : [.sqlite, .postgresql] }

    /// A schema of a server of the tests that does not exist yet.
    static func server() throws -> CatalogueServer {
        guard let programs = PostgresPrograms.debian else { throw NothingInstalled() }
        let server = try PostgresServer.shared(programs)
        return CatalogueServer(
            server.parameters().connection, schema: "t\(UInt64.random(in: 1...UInt64.max))", client: "tests")
    }
}

extension Tag {
    /// Tests what SQLite's file alone has, in a suite that runs with each engine.
    @Tag static var file: Self
}

/// Runs each test of a suite with each engine that is installed; one that is tagged `file` with SQLite alone.
struct EachEngine: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        for engine in test.tags.contains(.file) ? [.sqlite] : TestEngine.installed {
            try await TestEngine.$current.withValue(engine) { try await body() }
        }
    }
}

extension Trait where Self == EachEngine {
    static var withEachEngine: Self { EachEngine() }
}

@Suite("The engines that the other tests run with")
struct InstalledEnginesTests {
    @Test(
        "PostgreSQL is one of them",
        .enabled(if: TestEngine.installed.contains(.postgresql), "\(PostgresPrograms.skipped)"))
    func postgresql() throws {
        try TestEngine.$current.withValue(.postgresql) {
            let place = try Place()
            let catalogue = try place.open()
            #expect(catalogue.path.hasPrefix("in PostgreSQL"))
            try catalogue.file(1)
            #expect(try place.openForReading().totals().photos == 1)
        }
    }
}

struct NothingInstalled: Error {}
