import CLinux
public import FileValues
import Glibc
public import LinuxKernel
import SystemPackage

/// Reports that tasks waited for memory, processor time or I/O for longer than a threshold within a window, by a
/// trigger in the kernel; see Documentation/accounting/psi.rst.
///
/// At most one event per window. Set up throws if the kernel has no pressure information, or denies it to this process
/// (before 6.4 it requires CAP_SYS_RESOURCE): continue without it.
public final class PressureMonitor: Monitor {
    /// The scarce resource.
    public enum Resource: String, Hashable, Sendable, CaseIterable {
        /// Memory.
        case memory
        /// Processor time.
        case cpu
        /// Disks.
        case io
    }

    /// Which tasks must wait.
    public enum Extent: String, Hashable, Sendable {
        /// At least one task waits.
        case some
        /// All non-idle tasks wait. Not for the processor of the whole machine.
        case full
    }

    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<PressureReading> { core.handle }
    private let core: MonitorCore<PressureReading>

    /// Sets up a trigger for the whole machine, or for a control group's file such as `memory.pressure`. From any
    /// thread.
    ///
    /// - Parameters:
    ///   - threshold: The waiting time that triggers, at most the window.
    ///   - window: From 0.5 to 10 seconds. Processes without CAP_SYS_RESOURCE get EINVAL unless it is a multiple of two
    ///     seconds.
    public init(
        _ resource: Resource, _ extent: Extent = .some, threshold: Duration, window: Duration = .seconds(2),
        at path: BytePath? = nil, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let path = path ?? BytePath("/proc/pressure/\(resource.rawValue)")
        let trigger = try descriptorCall("open", path: path) {
            path.withCString { clinux_openat(AT_FDCWD, $0, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0) }
        }
        let raw = trigger.raw
        // The kernel expects a terminating NUL.
        let text = "\(extent.rawValue) \(threshold.wholeNanoseconds / 1_000) \(window.wholeNanoseconds / 1_000)"
        let bytes = Array(text.utf8) + [0]
        try systemCall("write", path: path) { write(raw, bytes, bytes.count) }
        // The trigger reports its firing only to the first poll; libdispatch would poll twice.
        let counter = try PollLatch.makeCounter()
        let latch = try PollLatch(of: trigger, [.urgent], counter: counter)
        let number = trigger.take()
        core = MonitorCore(
            kind: "PressureMonitor", label: label, queue: queue, descriptor: counter,
            drain: { _, outlet in
                do throws(SystemCallError) {
                    // Polled again before the file is read: a firing in between is reported by the next event.
                    guard try latch.consume() else { return outlet.countCoalesced(1) }
                    guard let reading = try PressureReading(reading: number) else { return outlet.countDropped() }
                    outlet.deliver(reading)
                } catch {
                    // The control group was removed, and the trigger with it.
                    outlet.fail(error)
                }
            },
            onEnd: {
                latch.end()
                close(number)
            }, file: file, line: line)
    }
}
