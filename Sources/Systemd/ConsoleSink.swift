import Glibc
import LinuxKernel

/// Writes entries as lines to standard error, from its own queue behind a bounded ring: a pipe without a reader, or a
/// terminal stopped by Ctrl-S, must not block the program.
///
/// If the pipe's reader may exit, SIGPIPE must be ignored or blocked in the whole process. Safe on any thread.
public final class ConsoleSink: LogSink {
    private let formatter: ConsoleFormatter
    private let descriptor: Int32
    private let pump: SinkPump

    /// A sink for `descriptor`, which the caller keeps open while the sink exists.
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

    /// See ``LogSink/sendNow(_:)``. Lines are cut to PIPE_BUF bytes, up to which writes are atomic.
    @discardableResult
    public func sendNow(_ entry: LogEntry) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&ready, 1, 0) == 1, ready.revents & Int16(POLLOUT) != 0 else { return false }
        // If poll(2) reports it writable, a pipe has room for PIPE_BUF bytes, so this write does not block.
        let line = cut(String(formatter.line(entry).dropLast()), to: Int(PIPE_BUF) - 1) + "\n"
        let bytes = Array(line.utf8)
        return write(descriptor, bytes, bytes.count) == bytes.count
    }
}

/// Writes all of `bytes`, waiting without a limit. Returns the error's text, or nil. The descriptor may be
/// non-blocking: a program that shares the terminal can change that.
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
