import LinuxKernel

/// Reports broken rules, since libdispatch itself traps without a message on Linux.
public enum LifecycleViolation {
    private struct Sink { let report: @Sendable (String) -> Void }
    private static let sink = Locked<Sink?>(nil)

    /// Sets a destination for messages besides standard error, such as the journal. Called once per broken rule, on the
    /// offending thread, right before the process traps; it must not use monitors or block for long.
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
}
