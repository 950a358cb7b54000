import DaemonSupport
import LinuxKernel
import Logging
import SystemMonitor

/// What the machine does to us from outside: file systems come and go, the clock is set.
final class MachineWatch: Sendable {
    private let queue: MonitorQueue
    private let mounts: MountMonitor?
    private let clock: ClockMonitor?

    /// `onMounts` and `onClock` are called on `queue`. Where the kernel refuses one of the two, the daemon goes on
    /// without it; `onMounts` is called with the first table, too. A library that is gone is found when something is filed anyway,
    /// and the watch has a mount table of its own.
    init(
        queue: MonitorQueue, log: InboxLog, onMounts: @escaping @Sendable (MountTable) -> Void,
        onClock: @escaping @Sendable () -> Void
    ) {
        self.queue = queue
        mounts = Self.make("the mount table", log) { () throws(SystemCallError) in
            try MountMonitor(label: "mounts", queue: queue)
        }
        clock = Self.make("the clock", log) { () throws(SystemCallError) in
            try ClockMonitor(label: "clock", queue: queue)
        }
        let (mounts, clock) = (mounts, clock)
        queue.async {
            mounts?.setEventHandler { [weak mounts] changes in
                log.logger.debug("the mount table has changed: \(changes)")
                if let table = mounts?.mounts() { onMounts(table) }
            }
            clock?.setEventHandler { change in
                // Set to what it was, as time services do: timers are armed anew, and nobody has to know.
                let isFar = change.jump >= .milliseconds(1) || change.jump <= .milliseconds(-1)
                log.logger.log(level: isFar ? .notice : .debug, "the clock was set, by \(change.jump)")
                onClock()
            }
            mounts?.activate()
            clock?.activate()
            if let table = mounts?.mounts() { onMounts(table) }
        }
    }

    /// Returns when both are invalidated.
    func stop() async {
        if let mounts {
            await withCheckedContinuation { done in queue.async { mounts.invalidate { done.resume() } } }
        }
        if let clock {
            await withCheckedContinuation { done in queue.async { clock.invalidate { done.resume() } } }
        }
    }

    private static func make<M>(
        _ what: String, _ log: InboxLog, _ body: () throws(SystemCallError) -> M
    ) -> M? {
        do throws(SystemCallError) { return try body() } catch {
            log.logger.warning("\(what) cannot be watched: \(error), continuing without")
            return nil
        }
    }
}
