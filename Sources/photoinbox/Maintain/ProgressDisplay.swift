import CommandSupport
import Glibc
import LinuxKernel
import Reporting

/// Shows the progress of a long run on standard error: one line that is overwritten on a terminal, else a line now and
/// then; as JSON lines on standard output with --json.
final class ProgressDisplay {
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
    init(json: Bool, counting unit: String = "photos", silence: Int64 = 600) {
        (isJSON, self.unit) = (json, unit)
        pacer = ProgressPacer(isTerminal: isatty(STDERR_FILENO) == 1, silence: silence)
    }

    /// Whole seconds since the run began.
    var seconds: Int64 { (Self.milliseconds - began) / 1000 }

    /// Shows `line` if it is due, or `asked` for.
    func show(_ line: ProgressLine, asked: Bool = false) throws {
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
            printPlain("\r\u{1B}[K" + line.text(columns: columns))
            isLineOpen = true
        } else {
            printPlain(line.text + "\n")
        }
    }

    /// Prints a remark on a line of its own.
    func remark(_ text: String) {
        clear()
        printPlain("photoinbox: \(text)\n")
    }

    /// Clears the line.
    func clear() {
        guard isLineOpen else { return }
        printPlain("\r\u{1B}[K")
        (isLineOpen, wasCleared) = (false, true)
    }

    /// Read each time, since windows are resized.
    private var columns: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private func printPlain(_ text: String) {
        var buffer = OutputBuffer(descriptor: STDERR_FILENO)
        buffer.append(text)
        _ = buffer.flush()
    }

    private static var milliseconds: Int64 { Int64(monotonicNanoseconds() / 1_000_000) }
}
