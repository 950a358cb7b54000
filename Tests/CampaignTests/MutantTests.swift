import TestSupport
import Testing

/// The short form of the campaign of mutants: the same program with small counts, drawn anew each time.
@Suite("Mutants of pictures do no harm", .tags(.campaign), .serialized, .timeLimit(.minutes(60)))
struct MutantTests {
    @Test("Through decoders and through the daemon", .enabled(if: Campaign.python != nil, Campaign.withoutPython))
    func mutants() async throws {
        try await Campaign.run(
            ["mutants.py", "--mutants", "600", "--through-daemon", "60", "--jobs", "2"], mayBeSkipped: true)
    }
}
