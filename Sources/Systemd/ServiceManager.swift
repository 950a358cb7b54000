import FileValues
import Glibc
public import LinuxKernel
import SystemPackage

/// The service manager that started this process, if any: readiness, status, reloads, watchdog, and the sockets that it
/// opened. Without one, every notice is a no-op, so callers need no check.
///
/// Unless documented otherwise, datagrams are sent without blocking; one that the manager does not accept is an error.
/// Safe on any thread. See sd_notify(3).
public struct ServiceManager: Sendable {
    /// The longest time between pings (WatchdogSec=); nil without a watchdog. Ping at half of it.
    public let watchdogInterval: Duration?
    /// The inherited descriptors, in the order of the socket units.
    public let activatedDescriptors: [ActivatedDescriptor]
    /// Invalid variables of the environment, which are ignored, one line each.
    public let ignoredVariables: [String]

    private let address: UnixAddress?

    /// Reads the manager's variables and removes them from the environment, so that no child uses them.
    ///
    /// Call it once, in `main`, before threads exist: the environment has no lock, and inherited descriptors have one
    /// owner.
    public static func takeFromEnvironment() -> ServiceManager {
        var variables: [String: String] = [:]
        for name in ServiceEnvironment.names {
            variables[name] = environmentVariable(name)
            unsetenv(name)
        }
        return ServiceManager(ServiceEnvironment(variables, processIdentifier: getpid()))
    }

    /// No manager.
    public static let none = ServiceManager(ServiceEnvironment([:], processIdentifier: 0))

    init(_ environment: ServiceEnvironment) {
        address = environment.notifyAddress
        watchdogInterval = environment.watchdogInterval
        ignoredVariables = environment.ignoredVariables
        activatedDescriptors = environment.listenerNames.enumerated().compactMap { index, name in
            let number = Self.firstDescriptor + Int32(index)
            // A number that is not open must not be adopted: it would later be another file's.
            guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
            return ActivatedDescriptor(name: name, number: number)
        }
    }

    /// Whether notices are received.
    public var isPresent: Bool { address != nil }

    /// The first inherited descriptor, by convention; see sd_listen_fds(3).
    private static let firstDescriptor: Int32 = 3

    /// The limit for notices that decide whether the service counts as started, reloaded or stopped.
    private static let patience = Duration.seconds(2)

    /// Reports the end of start-up or a reload. Waits up to two seconds if the manager is busy: a lost READY=1 fails
    /// the unit.
    public func ready(status: String) throws(SystemCallError) {
        try notify(["READY=1", Self.statusLine(status)], patience: Self.patience)
    }

    /// Reports the start of a reload; ``ready(status:)`` ends it.
    public func reloading(status: String) throws(SystemCallError) {
        try notify(
            ["RELOADING=1", "MONOTONIC_USEC=\(Self.monotonicMicroseconds())", Self.statusLine(status)],
            patience: Self.patience)
    }

    /// Reports the start of shutdown.
    public func stopping(status: String) throws(SystemCallError) {
        try notify(["STOPPING=1", Self.statusLine(status)], patience: Self.patience)
    }

    /// Sets the line for `systemctl status`; newlines are escaped. Does not block.
    public func status(_ text: String) throws(SystemCallError) { try notify([Self.statusLine(text)]) }

    /// Extends the time for start-up or shutdown to `time` from now. Does not block.
    public func extendTimeout(by time: Duration) throws(SystemCallError) {
        try notify(["EXTEND_TIMEOUT_USEC=\(Self.microseconds(time))"])
    }

    /// Pings the watchdog. Does not block; a lost ping is repaired by the next.
    public func ping() throws(SystemCallError) { try notify(["WATCHDOG=1"]) }

    private func notify(_ lines: [String], patience: Duration = .zero) throws(SystemCallError) {
        guard let address else { return }
        try sendDatagram(Array(lines.joined(separator: "\n").utf8), to: address, patience: patience)
    }

    private static func statusLine(_ text: String) -> String { "STATUS=" + cut(oneLine(text), to: 1_024) }

    private static func microseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    private static func monotonicMicroseconds() -> Int64 {
        Int64(monotonicNanoseconds() / 1_000)
    }
}
