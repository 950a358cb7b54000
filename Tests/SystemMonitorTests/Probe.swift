import TestSupport

/// The running probe program. It ends by itself after twenty minutes.
struct Probe {
    private let program: RunningProgram

    /// Starts it with `arguments`, with no signal blocked or ignored.
    init(_ arguments: String...) throws {
        // The backtracer of a trapping probe would hold its output open, under Thread Sanitizer for ever.
        program = try RunningProgram(
            [BuiltPrograms.path("monitor-probe")] + arguments, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }

    var pid: Int32 { program.pid }

    /// The next line of its output.
    func line() async throws -> String { try await program.line("a line") { _ in true } }

    /// All remaining lines, and how it ended.
    func end() async throws -> (lines: [String], ending: RunningProgram.Ending) {
        // Ten thousand monitors need more time.
        let ending = try await program.ending(within: 2 * waitLimit)
        return (program.unreadLines, ending)
    }
}
