import Glibc
import LinuxKernel
import Testing

@testable import SystemMonitor

/// A monitor without a kernel source, whose events the test delivers.
final class OwnerMonitor: Monitor {
    var handle: MonitorHandle<Int> { core.handle }
    let core: MonitorCore<Int>

    init(
        _ label: String = "owner", queue: MonitorQueue, onEnd: (@Sendable () -> Void)? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        core = MonitorCore(
            kind: "OwnerMonitor", label: label, queue: queue, onEnd: onEnd, file: file, line: line)
    }
}

/// The events of a monitor in order, for a test.
struct Observed<M: Monitor>: ~Copyable {
    let monitor: M
    private var events: AsyncStream<M.Event>.Iterator

    /// Sets a handler that calls `react` and then reports the event, activates the monitor and waits for the
    /// registration.
    init(_ monitor: M, react: @escaping @Sendable (M, M.Event) throws -> Void = { _, _ in }) async {
        let (stream, continuation) = AsyncStream<M.Event>.makeStream()
        events = stream.makeAsyncIterator()
        self.monitor = monitor
        await withCheckedContinuation { (registered: CheckedContinuation<Void, Never>) in
            monitor.queue.async {
                monitor.setEventHandler { event in
                    try react(monitor, event)
                    continuation.yield(event)
                }
                monitor.activate { registered.resume() }
            }
        }
    }

    mutating func next() async throws -> M.Event { try #require(await events.next()) }

    /// Invalidates and waits for the end.
    func end() async {
        let monitor = monitor
        await withCheckedContinuation { (ended: CheckedContinuation<Void, Never>) in
            monitor.queue.async { monitor.invalidate { ended.resume() } }
        }
        #expect(monitor.describe().state == .invalidated)
    }
}

/// Both ends of a connected stream of AF_UNIX.
func makeSocketPair() throws -> (one: Int32, other: Int32) {
    var ends: [Int32] = [-1, -1]
    try systemCall("socketpair") {
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
    }
    return (ends[0], ends[1])
}

func send(_ text: String, to descriptor: Int32) throws {
    let bytes = Array(text.utf8)
    try systemCall("write") { write(descriptor, bytes, bytes.count) }
}

/// Reads the available bytes, at most `limit`; waits if there are none.
func receive(from descriptor: Int32, atMost limit: Int = 65_536) throws -> String {
    var buffer = [UInt8](repeating: 0, count: limit)
    let count = try systemCall("read") { read(descriptor, &buffer, limit) }
    return String(decoding: buffer.prefix(count), as: UTF8.self)
}

/// Reads all bytes up to the end.
func receiveAll(from descriptor: Int32) throws -> String {
    var text = ""
    while case let part = try receive(from: descriptor), !part.isEmpty { text += part }
    return text
}
