import CSystemd
import FileValues
import Glibc
import LinuxKernel

/// Sends entries to journald through sd_journal_sendv(3), from a queue of its own with a bounded ring before it: the
/// call blocks for ever while journald is stopped.
///
/// What finds the ring full is dropped and counted (the newest, see `BoundedRing`); when journald is back one entry
/// with ``MessageID`` `entriesDropped` says how many are missing at that place. Safe on any thread.
public final class JournalSink: LogSink {
    /// Where journald listens; libsystemd uses the same path and no other.
    public static let socketPath = "/run/systemd/journal/socket"

    private let encoding: JournalEncoding
    private let pump: SinkPump

    /// A sink with room for `capacity` entries and about `byteCapacity` bytes. Nothing is opened before the first.
    public convenience init(encoding: JournalEncoding, capacity: Int = 4_096, byteCapacity: Int = 4 << 20) {
        self.init(
            encoding: encoding, capacity: capacity, byteCapacity: byteCapacity, transport: Self.sendThroughLibrary)
    }

    /// With another transport, for tests: takes fields as `NAME=value`, may block, returns why it failed.
    init(
        encoding: JournalEncoding, capacity: Int, byteCapacity: Int,
        transport: @escaping @Sendable ([[UInt8]]) -> String?
    ) {
        self.encoding = encoding
        pump = SinkPump(name: "journal", capacity: capacity, byteCapacity: byteCapacity) { entry in
            transport(encoding.fields(of: entry, sent: .now))
        }
    }

    /// See ``LogSink/send(_:)``.
    public func send(_ entry: LogEntry) { pump.offer(entry) }

    /// See ``LogSink/snapshot()``.
    public func snapshot() -> LogSinkSnapshot { pump.snapshot() }

    /// See ``LogSink/flush(within:)``.
    public func flush(within limit: Duration) -> Bool { pump.flush(within: limit) }

    /// See ``LogSink/sendNow(_:)``. Speaks the journal's native protocol itself, on a socket that does not block.
    @discardableResult
    public func sendNow(_ entry: LogEntry) -> Bool {
        guard let address = UnixAddress(Self.socketPath) else { return false }
        let datagram = JournalEncoding.datagram(encoding.fields(of: entry, sent: .now))
        do throws(SystemCallError) {
            try sendDatagram(datagram, to: address)
            return true
        } catch {
            return false
        }
    }

    private static func sendThroughLibrary(_ fields: [[UInt8]]) -> String? {
        // The library says success where no journald is, so its word alone proves nothing.
        guard access(socketPath, F_OK) == 0 else { return "there is no journal: \(socketPath) does not exist" }
        var bytes = Array(fields.joined())
        let result = bytes.withUnsafeMutableBytes { buffer in
            var vectors: [iovec] = []
            var offset = 0
            for field in fields {
                vectors.append(iovec(iov_base: buffer.baseAddress?.advanced(by: offset), iov_len: field.count))
                offset += field.count
            }
            return sd_journal_sendv(vectors, Int32(vectors.count))
        }
        return result < 0 ? "sd_journal_sendv: \(String(cString: strerror(-result)))" : nil
    }
}
