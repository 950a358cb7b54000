import FileValues
import Glibc
import LinuxKernel

/// Sends entries to journald through sd_journal_sendv(3), from its own queue behind a bounded ring: the call blocks for
/// ever while journald is stopped.
///
/// When the ring is full, new entries are dropped and counted (see `BoundedRing`); when journald is back, an entry with
/// the ``MessageID`` `entriesDropped` reports the number missing at that place. Safe on any thread.
public final class JournalSink: LogSink {
    /// The socket of journald, the only path that libsystemd uses.
    public static let socketPath = "/run/systemd/journal/socket"

    private let encoding: JournalEncoding
    private let pump: SinkPump

    /// A sink with room for `capacity` entries and about `byteCapacity` bytes. Opens nothing before the first entry.
    public convenience init(encoding: JournalEncoding, capacity: Int = 4_096, byteCapacity: Int = 4 << 20) {
        self.init(
            encoding: encoding, capacity: capacity, byteCapacity: byteCapacity, transport: Self.sendThroughLibrary)
    }

    /// A sink with another transport, for tests; it is called with fields as `NAME=value`, may block, and returns the
    /// text of its error.
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

    /// See ``LogSink/sendNow(_:)``. Uses the journal's native protocol on a non-blocking socket.
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

    private struct SendVectors {
        typealias Call = @convention(c) @Sendable (UnsafePointer<iovec>?, Int32) -> Int32

        let call: Call
    }

    private static let loaded = Locked<SendVectors?>(nil)

    /// sd_journal_sendv(3), loaded for the first entry: libsystemd needs six more libraries, and a program that is linked with
    /// it loads them each time it starts. After a failure, such as a lack of descriptors, the next entry tries again.
    private static var sendVectors: SendVectors? {
        loaded.withLock { loaded in
            if loaded == nil, let library = dlopen("libsystemd.so.0", RTLD_NOW),
                let symbol = dlsym(library, "sd_journal_sendv")
            {
                // dlsym(3) returns the address of a function as one of data.
                loaded = SendVectors(call: unsafeBitCast(symbol, to: SendVectors.Call.self))
            }
            return loaded
        }
    }

    private static func sendThroughLibrary(_ fields: [[UInt8]]) -> String? {
        // The library reports success even without journald.
        guard access(socketPath, F_OK) == 0 else { return "there is no journal: \(socketPath) does not exist" }
        guard let sendVectors else { return "libsystemd.so.0 cannot be loaded; Debian has it in libsystemd0" }
        var bytes = Array(fields.joined())
        let result = bytes.withUnsafeMutableBytes { buffer in
            var vectors: [iovec] = []
            var offset = 0
            for field in fields {
                vectors.append(iovec(iov_base: buffer.baseAddress?.advanced(by: offset), iov_len: field.count))
                offset += field.count
            }
            return sendVectors.call(vectors, Int32(vectors.count))
        }
        return result < 0 ? "sd_journal_sendv: \(String(cString: strerror(-result)))" : nil
    }
}
