import SystemMonitor

/// Returns at the first SIGINT or SIGTERM. `main` blocked both before its first await.
func terminationSignal() async throws -> Signal? {
    let queue = MonitorQueue(label: "org.example.signals")
    let signals = try SignalMonitor([.int, .term], label: "termination", queue: queue)
    return try await withMonitor(signals) { _, events in
        for try await event in events { return event.signal }
        return nil
    }
}
