import CLinux
import Glibc
public import LinuxKernel
import SystemPackage

/// Reports, once, how a child process ended, and reaps it; see pidfd_open(2) and waitid(2).
///
/// Nobody else may wait for that child, by number or by any: its end would be lost, which disables the monitor and is
/// reported as its error. A child whose monitor is invalidated before it ended runs on, and stays a zombie afterwards.
public final class ChildProcessMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<ProcessExit> { core.handle }
    private let core: MonitorCore<ProcessExit>
    /// The child's process identifier. Only good for messages: see ``send(signal:file:line:)``.
    public let processIdentifier: Int32

    /// Watches a child that was started with `ChildProcess.spawn` or
    /// adopted. From any thread. If this throws, the child runs on without an owner.
    ///
    /// - Parameter endsGroup: Whether what is left of its process group is killed when it ends: as long as the child is not
    ///   reaped its number is its own, and so is the group's.
    public init(
        _ child: consuming ChildProcess, endsGroup: Bool = false, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let identifier = child.identifier
        processIdentifier = identifier
        let descriptor = child.takeDescriptor()
        let watcher = try epollWatcher(of: descriptor, [.read])
        // Used in the drain only, which never runs after the source's end, when it is closed.
        let epoll = watcher.raw
        core = MonitorCore(
            kind: "ChildProcessMonitor", label: label, queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { raw, outlet in
                do throws(SystemCallError) {
                    if endsGroup, try ProcessExit.ofChild(raw, peeking: true) != nil {
                        killGroup(of: identifier, SIGKILL)
                    }
                    guard let exit = try ProcessExit.ofChild(raw) else { return }
                    // It stays readable for ever.
                    try systemCall("epoll_ctl") { clinux_epoll_forget(epoll, raw) }
                    outlet.deliver(exit)
                } catch {
                    outlet.fail(error)
                }
            }, file: file, line: line)
    }

    /// Watches the child `identifier`, which another part of the program started and does not reap. From any thread.
    /// Throws ECHILD where it is not an unreaped child of this process.
    public convenience init(
        processIdentifier identifier: Int32, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        try self.init(ChildProcess(adopting: identifier), label: label, queue: queue, file: file, line: line)
    }

    /// Sends a signal to the child, never to a stranger that got its number; false if it has been reaped, or the
    /// monitor invalidated. On the queue.
    @discardableResult
    public func send(
        signal: Int32, file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) -> Bool {
        do throws(SystemCallError) {
            return try core.withDescriptor(file: file, line: line) { raw throws(SystemCallError) in
                try systemCall("pidfd_send_signal") { clinux_pidfd_send_signal(raw, signal) }
                return true
            } ?? false
        } catch  where error.code == .noSuchProcess {
            return false
        }
    }

    /// Sends a signal to the child's process group, which `ChildProcess.spawn`
    /// has given it; false if the child has been reaped, or the monitor invalidated: then the group's number may be
    /// somebody else's. On the queue.
    @discardableResult
    public func sendToGroup(
        signal: Int32, file: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        let identifier = processIdentifier
        return core.withDescriptor(file: file, line: line) { raw in
            // Reaped, it is not a child any more.
            do { _ = try ProcessExit.ofChild(raw, peeking: true) } catch { return false }
            return killGroup(of: identifier, signal)
        } ?? false
    }
}

/// Sends a signal to the process group that an unreaped child leads. What of it may not be signalled, or is gone, is left.
@discardableResult
private func killGroup(of child: Int32, _ signal: Int32) -> Bool {
    // 0 and -1 mean whole crowds.
    precondition(child > 1, "no child has the number \(child)")
    return kill(-child, signal) == 0
}
