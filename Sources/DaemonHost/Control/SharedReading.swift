import LinuxKernel

/// One reading for all requests at about the same time, made every 50 ms at most: a client that asks all the time costs
/// little more than one that asks once. An answer is never older than its request.
actor SharedReading<Value: Sendable> {
    private static var spacing: Double { 0.05 }
    private let read: @Sendable () -> Value
    /// The reading that has not begun yet, which requests that come now share.
    private var upcoming: Task<Value, Never>?
    private var last: Moment?

    init(_ read: @escaping @Sendable () -> Value) { self.read = read }

    var value: Value {
        get async {
            let reading = upcoming ?? Task { await begin() }
            upcoming = reading
            return await reading.value
        }
    }

    private func begin() async -> Value {
        let wait = last.map { Self.spacing - Moment.now.seconds(since: $0) } ?? 0
        // Nobody cancels it.
        if wait > 0 { try? await Task.sleep(for: .seconds(wait)) }
        upcoming = nil
        last = .now
        return read()
    }
}
