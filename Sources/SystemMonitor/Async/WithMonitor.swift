import LinuxKernel

/// Runs `body` with an active monitor and its events, then invalidates the monitor and waits for its end, whether
/// `body` returns, throws or is cancelled.
///
/// ```swift
/// try await withMonitor(TimerMonitor(.every(.seconds(1)), label: "second", queue: queue)) { timer, ticks in
///     for try await tick in ticks { print(tick.expirations) }
/// }
/// ```
///
/// - Parameters:
///   - monitor: A monitor that is not activated yet. `body` must not invalidate it.
///   - limit: The size of the buffer; see ``Monitor/events(buffering:file:line:)``.
///   - onQueue: Called on the monitor's queue before activation, to set properties. If it sets a handler, that gets the
///     events, and the sequence is empty.
///   - body: Called when the source is registered with the kernel: later events are not missed.
public func withMonitor<M: Monitor, Result, Failure: Error>(
    _ monitor: M, buffering limit: Int = 64, file: StaticString = #fileID, line: UInt = #line,
    isolation: isolated (any Actor)? = #isolation, onQueue: @escaping @Sendable (M) -> Void = { _ in },
    _ body: (M, MonitorEvents<M.Event>) async throws(Failure) -> Result
) async throws(Failure) -> Result {
    let events = await withCheckedContinuation { ready in
        monitor.queue.async {
            let events = monitor.events(buffering: limit, file: file, line: line)
            onQueue(monitor)
            monitor.activate(file: file, line: line) { ready.resume(returning: events) }
        }
    }
    let result: Swift.Result<Result, Failure>
    do throws(Failure) { result = .success(try await body(monitor, events)) } catch { result = .failure(error) }
    await withCheckedContinuation { ended in
        monitor.queue.async { monitor.invalidate(file: file, line: line) { ended.resume() } }
    }
    return try result.get()
}
