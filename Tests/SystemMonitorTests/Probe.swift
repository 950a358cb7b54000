import TestSupport

/// The probe program, running. It ends by itself after twenty minutes.
struct Probe {
    private let program: RunningProgram

    /// Starts it with `arguments`, no signal blocked, none ignored.
    init(_ arguments: String...) throws {
        // The backtracer of a probe that traps would hold its output open, under Thread Sanitizer for ever.
        program = try RunningProgram(
            [BuiltPrograms.path("monitor-probe")] + arguments, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }

    var pid: Int32 { program.pid }

    /// The next line of its output.
    func line() async throws -> String { try await program.line("a line") { _ in true } }

    /// All lines that are left, and how it ended.
    func end() async throws -> (lines: [String], ending: RunningProgram.Ending) {
        // The lives of ten thousand monitors take their time.
        let ending = try await program.ending(within: 2 * waitLimit)
        return (program.unreadLines, ending)
    }
}
