import Glibc
import LinuxKernel
package import Reporting

/// Shows the progress of a long run on standard error: one line that is overwritten on a terminal, else a line now and
/// then; as JSON lines on standard output with --json.
package final class ProgressDisplay {
    private let isJSON: Bool
    /// The unit in JSON.
    private let unit: String
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var pacer: ProgressPacer
    private let began = ProgressDisplay.milliseconds
    private var isLineOpen = false
    /// Whether the line was cleared for other output, and has to be shown again.
    private var wasCleared = false

    /// Without a terminal, a line is due after `silence` seconds without one.
    package init(json: Bool, counting unit: String = "photos", silence: Int64 = 600) {
        (isJSON, self.unit) = (json, unit)
        pacer = ProgressPacer(isTerminal: isatty(STDERR_FILENO) == 1, silence: silence)
    }

    /// Whole seconds since the run began.
    package var seconds: Int64 { (Self.milliseconds - began) / 1000 }

    /// Shows `line` if it is due, or `asked` for.
    package func show(_ line: ProgressLine, asked: Bool = false) throws {
        guard pacer.isDue(line, milliseconds: Self.milliseconds) || asked || wasCleared else { return }
        wasCleared = false
        if isJSON {
            try printOut(
                JSONValue.document([
                    JSONField("type", .string("progress")), JSONField(unit, .count(line.photos)),
                    JSONField("total_\(unit)", line.totalPhotos.map { .count($0) } ?? .null),
                    JSONField("bytes", .unsigned(line.bytes)),
                    JSONField("total_bytes", line.totalBytes.map { .unsigned($0) } ?? .null),
                    JSONField("seconds", .integer(line.seconds)),
                ]).compact + "\n")
        } else if isTerminal {
            printPlain("\r\u{1B}[K" + line.text(columns: Terminal.size(of: STDERR_FILENO)?.columns ?? 80))
            isLineOpen = true
        } else {
            printPlain(line.text + "\n")
        }
    }

    /// Prints a remark on a line of its own.
    package func remark(_ text: String) {
        clear()
        printPlain("photoinbox: \(text)\n")
    }

    /// Clears the line.
    package func clear() {
        guard isLineOpen else { return }
        printPlain("\r\u{1B}[K")
        (isLineOpen, wasCleared) = (false, true)
    }

    private func printPlain(_ text: String) {
        var buffer = OutputBuffer(descriptor: STDERR_FILENO)
        buffer.append(text)
        _ = buffer.flush()
    }

    private static var milliseconds: Int64 { Int64(monotonicNanoseconds() / 1_000_000) }
}
