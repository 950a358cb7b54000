import DaemonSupport
import LinuxKernel
import Logging
import SystemMonitor

/// What the machine does to us from outside: file systems come and go, the clock is set.
final class MachineWatch: DaemonPart {
    private struct Monitors {
        var mounts: MountMonitor?
        var clock: ClockMonitor?
    }

    private let queue: MonitorQueue
    private let log: DaemonLog
    private let onMounts: @Sendable (MountTable) -> Void
    private let onClock: @Sendable () -> Void
    private let monitors = Locked(Monitors())

    /// `onMounts` and `onClock` are called on `queue`; `onMounts` with the first table, too.
    init(
        queue: MonitorQueue, log: DaemonLog, onMounts: @escaping @Sendable (MountTable) -> Void,
        onClock: @escaping @Sendable () -> Void
    ) {
        self.queue = queue
        self.log = log
        self.onMounts = onMounts
        self.onClock = onClock
    }

    /// Where the kernel refuses one of the two, the daemon goes on without it: a library that is gone is found when
    /// something is filed anyway, and the watch has a mount table of its own.
    func start() {
        let mounts = make("the mount table") { () throws(SystemCallError) in
            try MountMonitor(label: "mounts", queue: queue)
        }
        let clock = make("the clock") { () throws(SystemCallError) in try ClockMonitor(label: "clock", queue: queue) }
        monitors.withLock { $0 = Monitors(mounts: mounts, clock: clock) }
        queue.async { [log, onMounts, onClock] in
            mounts?.setEventHandler { [weak mounts] changes in
                log.logger.debug("the mount table has changed: \(changes)")
                if let table = mounts?.mounts() { onMounts(table) }
            }
            clock?.setEventHandler { change in
                // Set to what it was, as time services do: timers are armed anew, which is worth no notice.
                let isFar = change.jump >= .milliseconds(1) || change.jump <= .milliseconds(-1)
                log.logger.log(level: isFar ? .notice : .debug, "the clock was set, by \(change.jump)")
                onClock()
            }
            mounts?.activate()
            clock?.activate()
            if let table = mounts?.mounts() { onMounts(table) }
        }
    }

    func end(hurrying: Bool) async -> @Sendable () async -> Void { { await self.stop() } }

    /// Returns when both are invalidated.
    private func stop() async {
        let monitors = monitors.withLock { $0 }
        if let mounts = monitors.mounts {
            await withCheckedContinuation { done in queue.async { mounts.invalidate { done.resume() } } }
        }
        if let clock = monitors.clock {
            await withCheckedContinuation { done in queue.async { clock.invalidate { done.resume() } } }
        }
    }

    private func make<M>(_ what: String, _ body: () throws(SystemCallError) -> M) -> M? {
        do throws(SystemCallError) { return try body() } catch {
            log.logger.warning("\(what) cannot be watched: \(error), continuing without")
            return nil
        }
    }
}
