import LinuxKernel
import Logging
import TestSupport

@testable import DaemonSupport

/// Keeps what was logged, and lets a test wait for it.
final class KeptLog: LogHandler, Sendable {
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private let kept = Locked<[String]>([])

    init() { (stream, continuation) = AsyncStream.makeStream() }

    var daemonLog: DaemonLog { DaemonLog(Logger(label: "test") { _ in self }) }

    var lines: [String] { kept.withLock { $0 } }

    /// The next line with `part`, among those that no wait has passed yet; nil if none comes in time, and then for good.
    func line(holding part: String) async -> String? {
        let limit = Task {
            try await Task.sleep(for: .seconds(waitLimit))
            continuation.finish()
        }
        defer { limit.cancel() }
        for await line in stream where line.contains(part) { return line }
        return nil
    }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        kept.withLock { $0.append(event.message.description) }
        continuation.yield(event.message.description)
    }
}
