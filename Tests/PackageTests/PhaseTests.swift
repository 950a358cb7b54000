import Foundation
import Testing

@Suite("Phases of the tests")
struct PhaseTests {
    /// What `make test-all` runs: a suite with the tag of a phase that is not among them would never run.
    @Test func everyPhaseThatHasATagIsRun() throws {
        let tags = try String(
            contentsOf: Checkout.directory.appending(path: "Tests/TestSupport/Phases.swift"), encoding: .utf8)
        let script = try String(
            contentsOf: Checkout.directory.appending(path: "scripts/run-tests"), encoding: .utf8)
        let phases = try #require(script.firstMatch(of: #/\nphases='([a-z ]+)'/#)).1.split(separator: " ")
        let tagged = tags.matches(of: #/static var ([a-z]+): Self/#).map(\.1)
        #expect(tagged == phases + ["smoke"])
    }
}
