import FileValues
import LinuxKernel
import SystemMonitor

/// Starts `body` and returns a function that waits for it, at most `limit`, so that a hung disk cannot block shutdown.
/// Any thread.
package func boundedEnd(
    within limit: Duration, label: String, _ body: @escaping @Sendable () async -> Void
) -> @Sendable () async -> Void {
    let all = TaskQueue.start(body)
    return { [queue = MonitorQueue(label: label)] in
        await withCheckedContinuation { done in
            let isOver = Locked(false)
            @Sendable func resumeOnce() {
                let wasOver = isOver.withLock { !$0.set() }
                if !wasOver { done.resume() }
            }
            TaskQueue.start {
                await all.value
                resumeOnce()
            }
            queue.after(limit, resumeOnce)
        }
    }
}
