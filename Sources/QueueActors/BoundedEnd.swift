import LinuxKernel
import SystemMonitor

/// Begins `body`; what comes back waits for it, but no longer than `limit`: what hangs on a disk that does not answer keeps
/// nobody from ending. From any thread.
package func boundedEnd(
    within limit: Duration, label: String, _ body: @escaping @Sendable () async -> Void
) -> @Sendable () async -> Void {
    let all = TaskQueue.start(body)
    return { [queue = MonitorQueue(label: label)] in
        await withCheckedContinuation { done in
            let isOver = Locked(false)
            @Sendable func over() {
                let wasOver = isOver.withLock { isOver in
                    defer { isOver = true }
                    return isOver
                }
                if !wasOver { done.resume() }
            }
            TaskQueue.start {
                await all.value
                over()
            }
            queue.after(limit, over)
        }
    }
}
