import CLinux
import Glibc
public import LinuxKernel
import SystemPackage

/// A received signal.
public struct SignalEvent: Sendable, Equatable {
    /// The signal.
    public let signal: Signal
    /// The sending process in this process's pid namespace; 0 if the kernel sent it, or a process outside.
    public let sender: Int32
    /// The sender's real user id.
    public let user: UInt32
    /// The value of sigqueue(3), otherwise 0.
    public let value: Int32
    /// How often this monitor has reported this signal, including this event. The kernel merges a standard signal with
    /// a pending one; real-time signals are each reported.
    public let count: UInt64
}

/// The reason why a ``SignalMonitor`` cannot be set up.
public enum SignalMonitorError: Error, Sendable, Equatable, CustomStringConvertible {
    /// SIGKILL, SIGSTOP, or not a signal's number.
    case notCatchable(Signal)
    /// A thread, given by its id, would receive the signal instead.
    case notBlocked(Signal, thread: Int32)
    /// Another monitor, given by its label, watches it.
    case taken(Signal, by: String)
    /// A system call failed.
    case system(SystemCallError)

    /// One sentence.
    public var description: String {
        switch self {
        case .notCatchable(let signal): "\(signal) cannot be watched"
        case .notBlocked(let signal, let thread):
            "\(signal) is not blocked in thread \(thread); call ProcessSignals.block in main, before any other thread"
        case .taken(let signal, let label): "\(signal) is watched already, by \"\(label)\""
        case .system(let error): "\(error)"
        }
    }
}

/// Reports signals to this process, with their senders, through signalfd(2); none is lost between activation and
/// registration.
///
/// The signals must be blocked in all threads (``ProcessSignals``), and stay so; dispositions are not changed. They
/// wait in the kernel while the monitor is suspended.
public final class SignalMonitor: Monitor {
    private static let claims = Locked<[Signal: String]>([:])

    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<SignalEvent> { core.handle }
    private let core: MonitorCore<SignalEvent>

    /// Sets up a monitor; from any thread. No other monitor may watch the signals until its invalidation has finished.
    public init(
        _ signals: Set<Signal>, label: String, queue: MonitorQueue, file: StaticString = #fileID, line: UInt = #line
    ) throws(SignalMonitorError) {
        let ordered = signals.sorted { $0.rawValue < $1.rawValue }
        if let signal = ordered.first(where: { !$0.isCatchable }) { throw .notCatchable(signal) }
        if let open = ProcessSignals.firstUnblocked(ordered) { throw .notBlocked(open.signal, thread: open.thread) }
        let descriptor: OwnedDescriptor
        do {
            let numbers = ordered.map(\.rawValue)
            descriptor = try descriptorCall("signalfd") { clinux_signalfd(numbers, Int32(numbers.count)) }
        } catch {
            throw .system(error)
        }
        try Self.claim(ordered, for: label)
        let counts = QueueBound<[Signal: UInt64]>([:], queue: queue)
        core = MonitorCore(
            kind: "SignalMonitor", label: label, queue: queue, descriptor: descriptor,
            drain: { descriptor, outlet in Self.drain(descriptor, counts, outlet) },
            onEnd: { Self.claims.withLock { claims in for signal in ordered { claims[signal] = nil } } },
            file: file, line: line)
    }

    private static func claim(_ signals: [Signal], for label: String) throws(SignalMonitorError) {
        try claims.withLock { claims throws(SignalMonitorError) in
            for signal in signals {
                if let owner = claims[signal] { throw .taken(signal, by: owner) }
            }
            for signal in signals { claims[signal] = label }
        }
    }

    private static func drain(
        _ descriptor: Int32, _ counts: QueueBound<[Signal: UInt64]>, _ outlet: EventOutlet<SignalEvent>
    ) {
        // One at a time: signals that cannot be delivered now stay in the kernel.
        while outlet.isOpen {
            var info = clinux_signal()
            guard clinux_signalfd_read(descriptor, &info) == 1 else {
                switch errno {
                case EAGAIN: return
                case EINTR: continue
                default: return outlet.fail(SystemCallError("read", Errno(rawValue: errno)))
                }
            }
            let signal = Signal(rawValue: Int32(bitPattern: info.number))
            let count = counts.confined { counts in
                counts[signal, default: 0] += 1
                return counts[signal, default: 0]
            }
            outlet.deliver(
                SignalEvent(
                    signal: signal, sender: Int32(bitPattern: info.sender), user: info.user, value: info.value,
                    count: count))
        }
    }
}
