import Foundation
import Testing

/// Runs a script of this target inside a disposable systemd; see `scripts/systemd-box`.
///
/// A script prints `ok: WHAT` for each check that passed, and a test compares these lines with the expected ones.
struct SystemdBox: Sendable {
    /// The result of a script.
    struct Report: Sendable {
        /// The script's exit status.
        let status: Int32
        /// The checks that passed, in order: the lines with `ok: `.
        let passed: [String]
        /// The whole output; after a failure it contains the end of the journal.
        let output: String

        /// The text after `LABEL: ` on its only line.
        func value(of label: String) -> String? {
            lines(output, after: "\(label): ").first
        }
    }

    /// The package's root directory.
    static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path(percentEncoded: false)

    /// Why the box cannot run on this machine, by `scripts/systemd-box`; nil if it can. Determined once.
    static let obstacle: String? = {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["true"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            return "skipped: cannot run \(program): \(error)"
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 77 else { return nil }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }()

    static let program = repository + "/scripts/systemd-box"

    /// More options for `scripts/systemd-box`.
    var options: [String] = []

    /// Runs `Scripts/NAME` inside, with access to the package's directory, and more by `options`.
    func run(script name: String) async throws -> Report {
        let run = try await ProgramRun.run(
            [Self.program, "--show", "\(Self.repository):/photo-inbox", "--timeout", "150"] + options
                + ["/photo-inbox/Tests/ServiceTests/Scripts/\(name)"])
        return Report(status: run.status, passed: lines(run.output, after: "ok: "), output: run.output)
    }
}

/// The rest of each line that begins with `prefix`.
private func lines(_ text: String, after prefix: String) -> [String] {
    text.split(separator: "\n").filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
}

/// Expects that a script ran to its end and that exactly these checks passed.
func expectPassed(_ expected: [String], in report: SystemdBox.Report, sourceLocation: SourceLocation = #_sourceLocation)
{
    #expect(report.passed == expected, "\(report.output)", sourceLocation: sourceLocation)
    #expect(report.status == 0, "\(report.output)", sourceLocation: sourceLocation)
}
