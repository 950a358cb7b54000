import Glibc
import LinuxKernel

/// Writes entries as lines to standard error, from a queue of its own with a bounded ring before it: a pipe that
/// nobody reads, or a terminal stopped by Ctrl-S, must not stop the program.
///
/// Where the reader of the pipe may go away, SIGPIPE has to be ignored or blocked in the whole process. Safe on any
/// thread.
public final class ConsoleSink: LogSink {
    private let formatter: ConsoleFormatter
    private let descriptor: Int32
    private let pump: SinkPump

    /// A sink for `descriptor`, which stays the caller's and must stay open as long as the sink lives.
    public init(
        style: ConsoleFormatter.Style, showsFields: Bool = true, descriptor: Int32 = 2, capacity: Int = 4_096,
        byteCapacity: Int = 4 << 20
    ) {
        let formatter = ConsoleFormatter(style: style, showsFields: showsFields)
        self.formatter = formatter
        self.descriptor = descriptor
        pump = SinkPump(name: "console", capacity: capacity, byteCapacity: byteCapacity) { entry in
            writeAll(Array(formatter.line(entry).utf8), to: descriptor)
        }
    }

    /// See ``LogSink/send(_:)``.
    public func send(_ entry: LogEntry) { pump.offer(entry) }

    /// See ``LogSink/snapshot()``.
    public func snapshot() -> LogSinkSnapshot { pump.snapshot() }

    /// See ``LogSink/flush(within:)``.
    public func flush(within limit: Duration) -> Bool { pump.flush(within: limit) }

    /// See ``LogSink/sendNow(_:)``. Lines longer than PIPE_BUF are cut there, because only those are written whole.
    @discardableResult
    public func sendNow(_ entry: LogEntry) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&ready, 1, 0) == 1, ready.revents & Int16(POLLOUT) != 0 else { return false }
        // Where poll(2) says writable, a pipe has room for PIPE_BUF bytes, so this write does not wait.
        let line = cut(String(formatter.line(entry).dropLast()), to: Int(PIPE_BUF) - 1) + "\n"
        let bytes = Array(line.utf8)
        return write(descriptor, bytes, bytes.count) == bytes.count
    }
}

/// Writes all of `bytes`, waiting as long as it takes; says why it could not. The descriptor may be non-blocking:
/// whoever shares the terminal can have made it so.
private func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> String? {
    var rest = bytes[...]
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written >= 0 {
            rest = rest.dropFirst(written)
            continue
        }
        switch errno {
        case EINTR: continue
        case EAGAIN:
            var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&waiting, 1, -1)
        case let code: return "write: \(String(cString: strerror(code)))"
        }
    }
    return nil
}
