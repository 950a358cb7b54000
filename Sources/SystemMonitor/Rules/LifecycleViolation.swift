import Glibc
import LinuxKernel

/// How broken rules are reported: libdispatch itself traps without a message on Linux.
public enum LifecycleViolation {
    private struct Sink { let report: @Sendable (String) -> Void }
    private static let sink = Locked<Sink?>(nil)

    /// Sets where messages go besides standard error, such as the journal. Called once per broken rule, on the thread that
    /// broke it, right before the process traps; it must not use monitors, and must not wait for long.
    public static func setSink(_ new: @escaping @Sendable (String) -> Void) {
        sink.withLock { $0 = Sink(report: new) }
    }

    /// Reports the broken rule, then traps, in every build configuration.
    static func trap(
        _ subject: String, _ rule: LifecycleRule, site: String = "called", advice: String = "", file: StaticString,
        line: UInt
    ) -> Never {
        let message = "\(subject); rule: \(rule.rawValue); \(site) at \(file):\(line)\(advice)"
        writeToStandardError(message)
        sink.withLock { $0 }?.report(message)
        fatalError("a rule of the monitors' lifecycle was broken", file: file, line: line)
    }

    private static func writeToStandardError(_ message: String) {
        // One write, so that the line stays whole among other writers'. There is nobody to tell of a failure.
        var text = message + "\n"
        _ = text.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
