import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

/// Sets up 10,000 monitors of a kind on several threads and releases them there, a third of them in set up, the others
/// while the queue ends them. Whether that thread or the queue has the last reference is left to chance.
func release(_ kind: String) -> Never {
    measure { queue, signals in
        { count in
            try withScratch { directory, file in
                switch kind {
                case "CounterMonitor": release(count, queue) { _ in CounterMonitor(.add, label: "c", queue: queue) }
                case "TimerMonitor":
                    release(count, queue) { _ in
                        try TimerMonitor(.every(.microseconds(50)), label: "t", queue: queue)
                    }
                case "ClockMonitor": release(count, queue) { _ in try ClockMonitor(label: "k", queue: queue) }
                case "SignalMonitor":
                    release(count, batch: signals.count, queue) { index in
                        try SignalMonitor([signals[index]], label: "s", queue: queue)
                    }
                case "pipe":
                    release(count, queue) { _ in
                        let monitor = try PipeMonitor(queue: queue)
                        monitor.writeAndHangUp()
                        return monitor
                    }
                case "DescriptorMonitor":
                    // Ready as long as nobody reads.
                    let (ready, other) = try connectedPair(patience: .seconds(5))
                    defer { for end in [ready, other] { close(end) } }
                    _ = write(other, "x", 1)
                    release(count, queue) { _ in
                        try DescriptorMonitor(borrowing: ready, for: .read, label: "d", queue: queue)
                    }
                case "DirectoryMonitor":
                    // Few at a time: a user has 128 instances, which the tests beside this one need, too.
                    release(count, batch: 8, queue) { _ in
                        let monitor = try DirectoryMonitor(label: "directory", queue: queue)
                        _ = try monitor.watches.addWatch(BytePath(directory), [.closedAfterWriting])
                        close(creat(file, 0o600))
                        return monitor
                    }
                case "ListenerMonitor":
                    release(count, batch: 20, queue) { index in
                        let path = BytePath("\(file)-\(index)")
                        let monitor = try ListenerMonitor(
                            owning: try listen(at: path, mode: 0o600), label: "l", queue: queue)
                        _ = try connect(to: path, patience: .seconds(5))
                        return monitor
                    }
                    for index in 0..<20 { unlink("\(file)-\(index)") }
                case "ConnectionMonitor":
                    release(count, queue) { _ in
                        let (near, far) = try connectedPair(patience: .seconds(5))
                        close(far)
                        return try ConnectionMonitor(owning: OwnedDescriptor(taking: near), label: "n", queue: queue)
                    }
                case "ChildProcessMonitor":
                    let child = try ChildProcess.spawn("/bin/sleep", ["1000"])
                    let identifier = child.identifier
                    release(count, queue) { _ in
                        try ChildProcessMonitor(processIdentifier: identifier, label: "p", queue: queue)
                    }
                    try child.send(signal: SIGKILL)
                    _ = try child.wait()
                case "MountMonitor": release(count, queue) { _ in try MountMonitor(label: "m", queue: queue) }
                case "PressureMonitor":
                    // Not every kernel has them, or gives them to everybody; and each that is closed waits for the kernel's
                    // grace period.
                    let isThere = (try? PressureMonitor(.cpu, threshold: .seconds(1), label: "p", queue: queue)) != nil
                    release(isThere ? count / 20 : 0, batch: 20, queue) { _ in
                        try PressureMonitor(.cpu, threshold: .seconds(1), label: "p", queue: queue)
                    }
                default: exit(64)
                }
            }
        }
    }
}

private func release(
    _ count: Int, batch: Int = 100, _ queue: MonitorQueue, make: @Sendable (Int) throws -> any Monitor
) {
    for start in stride(from: 0, to: count, by: batch) {
        let gone = DispatchGroup()
        DispatchQueue.concurrentPerform(iterations: min(batch, count - start)) { index in
            let monitor: any Monitor
            do { monitor = try make(index) } catch {
                say("failed: \(error)")
                exit(1)
            }
            let end: @Sendable () -> Void = { gone.leave() }
            let life: @Sendable () -> Void
            switch (start + index) % 6 {
            case 0: return
            case 1: return queue.async { monitor.setPriority(1) }
            case 2: life = { monitor.invalidate(completion: end) }
            case 3:
                life = {
                    monitor.activate()
                    monitor.invalidate(completion: end)
                }
            case 4:
                life = {
                    monitor.activate()
                    monitor.suspend()
                    monitor.invalidate(completion: end)
                }
            default: life = { monitor.activate { monitor.invalidate(completion: end) } }
            }
            gone.enter()
            queue.async(life)
        }
        gone.wait()
        // Of those in set up: the last block that uses one, which releases it; its release; its end.
        for _ in 0..<3 { queue.sync {} }
    }
}
