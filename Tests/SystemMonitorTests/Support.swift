import Glibc
import LinuxKernel

@testable import SystemMonitor

/// Writes one line to standard error.
func tell(_ text: String) {
    var text = text + "\n"
    _ = text.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Values that a test collects on queues.
typealias Box<Value> = Locked<Value>

extension MonitorQueue {
    /// Runs `body` on the queue and waits for the value that it passes to its argument.
    func run<Value: Sendable>(_ body: @escaping @Sendable (@escaping @Sendable (Value) -> Void) -> Void) async -> Value
    {
        await withCheckedContinuation { continuation in
            async { body { continuation.resume(returning: $0) } }
        }
    }
}

extension Monitor {
    /// Activates on the queue and waits for the registration.
    func activated() async {
        await queue.run { done in self.activate { done(()) } }
    }

    /// Invalidates on the queue and waits for the end.
    func invalidated() async {
        await queue.run { done in self.invalidate { done(()) } }
    }
}
