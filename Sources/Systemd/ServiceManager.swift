import FileValues
import Glibc
public import LinuxKernel
import SystemPackage

/// The service manager that started this process, if one did: readiness, status, reloads, watchdog, and the sockets
/// it opened for us. Without one, every notice is a no-op, so callers need not ask.
///
/// Datagrams are sent on sockets of our own and never wait unless it is said; what the manager did not take is
/// reported to the caller. Safe on any thread. See sd_notify(3).
public struct ServiceManager: Sendable {
    /// How often a ping is due at the latest (WatchdogSec=); nil if no watchdog waits for this process. Ping at half
    /// of it.
    public let watchdogInterval: Duration?
    /// What was opened for us, in the order of the socket units.
    public let activatedDescriptors: [ActivatedDescriptor]
    /// What was wrong in the environment and so ignored, one line each.
    public let complaints: [String]

    private let address: UnixAddress?

    /// Reads what the environment says, and takes it out of the environment, so that no child believes it is meant.
    ///
    /// Call it once, in `main`, before there are threads: the environment has no lock, and inherited descriptors have
    /// one owner.
    public static func takeFromEnvironment() -> ServiceManager {
        var variables: [String: String] = [:]
        for name in ServiceEnvironment.names {
            variables[name] = environmentVariable(name)
            unsetenv(name)
        }
        return ServiceManager(ServiceEnvironment(variables, processIdentifier: getpid()))
    }

    /// No manager at all.
    public static let none = ServiceManager(ServiceEnvironment([:], processIdentifier: 0))

    init(_ environment: ServiceEnvironment) {
        address = environment.notifyAddress
        watchdogInterval = environment.watchdogInterval
        complaints = environment.complaints
        activatedDescriptors = environment.listenerNames.enumerated().compactMap { index, name in
            let number = Self.firstDescriptor + Int32(index)
            // A number that is not open is the manager's mistake or a lie; it must not become ours.
            guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
            return ActivatedDescriptor(name: name, number: number)
        }
    }

    /// Whether somebody listens to notices.
    public var isPresent: Bool { address != nil }

    /// The first inherited descriptor, by convention; see sd_listen_fds(3).
    private static let firstDescriptor: Int32 = 3

    /// Waiting for the few notices that decide whether the service counts as started, reloaded or stopped.
    private static let patience = Duration.seconds(2)

    /// Start-up, or a reload, is over. Waits up to two seconds if the manager is busy: a lost READY=1 fails the unit.
    public func ready(status: String) throws(SystemCallError) {
        try notify(["READY=1", Self.statusLine(status)], patience: Self.patience)
    }

    /// A reload begins; ``ready(status:)`` ends it.
    public func reloading(status: String) throws(SystemCallError) {
        try notify(
            ["RELOADING=1", "MONOTONIC_USEC=\(Self.monotonicMicroseconds())", Self.statusLine(status)],
            patience: Self.patience)
    }

    /// Shut-down begins.
    public func stopping(status: String) throws(SystemCallError) {
        try notify(["STOPPING=1", Self.statusLine(status)], patience: Self.patience)
    }

    /// One line for `systemctl status`; what could begin another assignment is escaped. Does not wait.
    public func status(_ text: String) throws(SystemCallError) { try notify([Self.statusLine(text)]) }

    /// Start-up or shut-down takes longer: `time` more from now. Does not wait.
    public func extendTimeout(by time: Duration) throws(SystemCallError) {
        try notify(["EXTEND_TIMEOUT_USEC=\(Self.microseconds(time))"])
    }

    /// We are alive. Does not wait; one that is lost is made good by the next.
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
