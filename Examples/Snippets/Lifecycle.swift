import SystemMonitor

/// Prints a line each second, until ``end()``.
final class Clock: Sendable {
    private let queue = MonitorQueue(label: "org.example.clock")
    private let timer: TimerMonitor

    init() throws {
        timer = try TimerMonitor(.every(.seconds(1)), label: "second", queue: queue)
    }

    func start() {
        queue.async { [timer] in
            timer.setPriority(-1)
            timer.setRateLimit(interval: .seconds(10), burst: 100)
            timer.setEventHandler { print("ticks: \($0.expirations)") }
            timer.activate { print("the kernel knows the timer") }
        }
    }

    func pause() {
        queue.async { [timer] in timer.suspend() }
    }

    func resume() {
        queue.async { [timer] in timer.resume() }
    }

    func end() {
        queue.async { [timer] in
            timer.invalidate { print("the timer's descriptor is closed") }
        }
    }

    func observe() {
        let description = timer.describe()
        print("\(description.label): \(description.state.rawValue), \(description.delivered) events")
    }
}

func printTicks(_ count: Int) async throws {
    let queue = MonitorQueue(label: "org.example.clock")
    let timer = try TimerMonitor(.every(.seconds(1)), label: "second", queue: queue)
    try await withMonitor(timer) { _, ticks in
        var left = count
        for try await tick in ticks {
            print("ticks: \(tick.expirations)")
            left -= 1
            if left == 0 { return }
        }
    }
}

/// Runs on the monitor's queue, so it calls the monitor's methods without switching queues.
actor Alarm {
    nonisolated private let timer: TimerMonitor
    nonisolated var unownedExecutor: UnownedSerialExecutor { timer.queue.executor.asUnownedSerialExecutor() }

    init(_ timer: TimerMonitor) { self.timer = timer }

    func ring(in delay: Duration) { timer.reschedule(.once(after: delay)) }
}
