import Glibc
import TestSupport
import Testing

/// The short form of the campaign of mutants: the same program with small counts, drawn anew each time.
@Suite("Mutants of pictures do no harm", .serialized, .timeLimit(.minutes(5)))
struct MutantTests {
    private static let directory =
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Campaigns"
    private static let python: String? = ["/usr/bin/python3", "/usr/local/bin/python3"].first { access($0, X_OK) == 0 }

    @Test("Through decoders and through the daemon", .enabled(if: python != nil, "skipped: needs Python"))
    func mutants() async throws {
        let campaign = try RunningProgram(
            [
                try #require(Self.python), "-B", "\(Self.directory)/mutants.py", "--mutants", "600", "--through-daemon",
                "60", "--jobs", "2",
            ], environment: ["PHOTOINBOX_PROGRAMS": BuiltPrograms.directory])
        defer { campaign.killIfRunning() }
        let ending = try await campaign.ending(within: 280)
        print(campaign.lines.first ?? "", campaign.lines.last ?? "", separator: "\n")
        let isSkipped = campaign.lines.contains { $0.hasPrefix("skipped: ") }
        #expect(ending == .status(0) || isSkipped, "\(campaign.lines.joined(separator: "\n"))")
    }
}
