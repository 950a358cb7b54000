import Foundation
import Testing

@Suite("Phases of the tests")
struct PhaseTests {
    /// A suite with the tag of a phase that `make test-all` does not run would never run.
    @Test("Every phase with a tag is run")
    func everyPhase() throws {
        let tags = try String(
            contentsOf: Checkout.directory.appending(path: "Tests/TestSupport/Phases.swift"), encoding: .utf8)
        let script = try String(
            contentsOf: Checkout.directory.appending(path: "scripts/run-tests"), encoding: .utf8)
        let phases = try #require(script.firstMatch(of: #/\nphases='([a-z ]+)'/#)).1.split(separator: " ")
        let tagged = tags.matches(of: #/static var ([a-z]+): Self/#).map(\.1)
        #expect(tagged == phases + ["smoke"])
    }
}
