import CLinux
import Glibc
public import LinuxKernel
import SystemPackage

/// Reports, once, how a child process ended, and reaps it; see pidfd_open(2) and waitid(2).
///
/// No other code may wait for that child, by its number or for any child: its end would be lost, which disables the
/// monitor and is reported as its error. If the monitor is invalidated first, the child continues to run and becomes a
/// zombie when it ends.
public final class ChildProcessMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<ProcessExit> { core.handle }
    private let core: MonitorCore<ProcessExit>
    /// The child's process identifier, for messages only: see ``send(signal:file:line:)``.
    public let processIdentifier: Int32

    /// Watches a child that was started with `ChildProcess.spawn` or adopted. From any thread. If this throws, the
    /// child continues to run without an owner.
    ///
    /// - Parameter endsGroup: Whether the rest of its process group is killed when it ends, before it is reaped, while
    ///   the group's number cannot be reused.
    public init(
        _ child: consuming ChildProcess, endsGroup: Bool = false, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let identifier = child.identifier
        processIdentifier = identifier
        let descriptor = child.takeDescriptor()
        let watcher = try epollWatcher(of: descriptor, [.read])
        // Used only in the drain, which never runs after the source's end, when this is closed.
        let epoll = watcher.raw
        core = MonitorCore(
            kind: "ChildProcessMonitor", label: label, queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { raw, outlet in
                do throws(SystemCallError) {
                    if endsGroup, try ProcessExit.ofChild(raw, peeking: true) != nil {
                        killGroup(of: identifier, SIGKILL)
                    }
                    guard let exit = try ProcessExit.ofChild(raw) else { return }
                    // It would stay readable.
                    try systemCall("epoll_ctl") { clinux_epoll_forget(epoll, raw) }
                    outlet.deliver(exit)
                } catch {
                    outlet.fail(error)
                }
            }, file: file, line: line)
    }

    /// Watches the child `identifier`, which another part of the program started and does not reap. From any thread.
    /// Throws ECHILD if it is not an unreaped child of this process.
    public convenience init(
        processIdentifier identifier: Int32, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        try self.init(ChildProcess(adopting: identifier), label: label, queue: queue, file: file, line: line)
    }

    /// Sends a signal to the child, never to another process that reused its number; false if it has been reaped, or
    /// the monitor invalidated. On the queue.
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

    /// Sends a signal to the process group that `ChildProcess.spawn` created for the child; false if the child has been
    /// reaped, when the group's number may be reused, or the monitor invalidated. On the queue.
    @discardableResult
    public func sendToGroup(
        signal: Int32, file: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        let identifier = processIdentifier
        return core.withDescriptor(file: file, line: line) { raw in
            // Throws if it was reaped.
            do { _ = try ProcessExit.ofChild(raw, peeking: true) } catch { return false }
            return killGroup(of: identifier, signal)
        } ?? false
    }
}

/// Sends a signal to the process group of an unreaped child. Processes that cannot be signalled are skipped.
@discardableResult
private func killGroup(of child: Int32, _ signal: Int32) -> Bool {
    // 0 and -1 would address other groups or all processes.
    precondition(child > 1, "no child has the number \(child)")
    return kill(-child, signal) == 0
}
