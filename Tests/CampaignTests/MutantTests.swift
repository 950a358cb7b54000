import TestSupport
import Testing

/// The short form of the campaign of mutants: the same program with small counts, random each time.
@Suite("Mutated pictures do no harm", .tags(.campaign), .serialized, .timeLimit(.minutes(60)))
struct MutantTests {
    @Test("Through decoders and the daemon", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func mutants() async throws {
        try await Campaign.run(
            ["mutants.py", "--mutants", "600", "--through-daemon", "60", "--jobs", "2"], mayBeSkipped: true)
    }
}
