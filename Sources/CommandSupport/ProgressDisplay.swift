import Glibc
import LinuxKernel
import Reporting

/// Shows the progress of a long run on standard error: one line that is overwritten on a terminal, else a line now and
/// then; as JSON lines on standard output with --json.
package final class ProgressDisplay {
    private let isJSON: Bool
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
    private func show(_ line: ProgressLine, asked: Bool) throws {
        guard pacer.isDue(line, milliseconds: Self.milliseconds) || asked || wasCleared else { return }
        wasCleared = false
        if isJSON {
            try printJSON([
                JSONField("type", "progress"), JSONField(unit, line.photos),
                JSONField("total_\(unit)", line.totalPhotos), JSONField("bytes", line.bytes),
                JSONField("total_bytes", line.totalBytes), JSONField("seconds", line.seconds),
            ])
        } else if isTerminal {
            printError("\r\u{1B}[K" + line.text(columns: Terminal.size(of: STDERR_FILENO)?.columns ?? 80))
            isLineOpen = true
        } else {
            printError(line.text + "\n")
        }
    }

    package func show(
        photos: Int, totalPhotos: Int? = nil, bytes: UInt64, totalBytes: UInt64? = nil, asked: Bool
    ) throws {
        let line = ProgressLine(
            photos: photos, totalPhotos: totalPhotos, bytes: bytes, totalBytes: totalBytes, seconds: seconds)
        try show(line, asked: asked)
    }

    package func remark(_ text: String) {
        clear()
        printError("photoinbox: \(text)\n")
    }

    package func clear() {
        guard isLineOpen else { return }
        printError("\r\u{1B}[K")
        (isLineOpen, wasCleared) = (false, true)
    }

    private static var milliseconds: Int64 { Int64(monotonicNanoseconds() / 1_000_000) }
}
