import LinuxKernel

/// A buffer between a monitor's queue and the task that iterates over its events.
final class EventBuffer<Event: Sendable>: EventConsumer {
    private typealias Continuation = CheckedContinuation<Event?, any Error>

    private struct Contents: Sendable {
        var events = Backlog<Event>()
        var waiting: Continuation?
        /// Thrown once, after the events before it.
        var failure: (any Error)?
        /// Whether the monitor is held until all events are consumed.
        var isHeld = false
        /// Resumes the monitor; nil after the end.
        var resumeMonitor: (@Sendable () -> Void)?
    }

    private enum Step {
        case wait, refuse
        case answer(Result<Event?, any Error>, resumeMonitor: (@Sendable () -> Void)?)
    }

    private let limit: Int
    private let contents: Locked<Contents>

    /// Calls `resumeMonitor`, on any thread, when all events are consumed after ``put(_:)`` reported a full buffer.
    init(limit: Int, resumeMonitor: @escaping @Sendable () -> Void) {
        self.limit = limit
        contents = Locked(Contents(resumeMonitor: resumeMonitor))
    }

    /// Adds an event. Returns whether the buffer is full, so that the monitor must be held. On the monitor's queue.
    func put(_ event: Event) -> Bool {
        let (waiting, isFull): (Continuation?, Bool) = contents.withLock { contents in
            if let waiting = contents.waiting {
                contents.waiting = nil
                return (waiting, false)
            }
            contents.events.append(event)
            contents.isHeld = contents.events.count >= limit
            return (nil, contents.isHeld)
        }
        waiting?.resume(returning: event)
        return isFull
    }

    /// The next event; nil after the end and on cancellation of the task.
    func next(isolation: isolated (any Actor)?) async throws -> Event? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Checked under the lock, so that a later cancellation finds the continuation.
                switch contents.withLock({ Self.step(&$0, continuation, isCancelled: Task.isCancelled) }) {
                case .wait: break
                case .refuse: fatalError("two tasks iterate over the events of one monitor at the same time")
                case .answer(let answer, let resumeMonitor):
                    resumeMonitor?()
                    continuation.resume(with: answer)
                }
            }
        } onCancel: {
            removeContinuation()?.resume(returning: nil)
        }
    }

    private static func step(_ contents: inout Contents, _ continuation: Continuation, isCancelled: Bool) -> Step {
        if contents.waiting != nil { return .refuse }
        if isCancelled { return .answer(.success(nil), resumeMonitor: nil) }
        if let event = contents.events.popFirst() {
            let isCaughtUp = contents.isHeld && contents.events.isEmpty
            if isCaughtUp { contents.isHeld = false }
            return .answer(.success(event), resumeMonitor: isCaughtUp ? contents.resumeMonitor : nil)
        }
        if let failure = contents.failure {
            contents.failure = nil
            return .answer(.failure(failure), resumeMonitor: nil)
        }
        if contents.resumeMonitor == nil { return .answer(.success(nil), resumeMonitor: nil) }
        contents.waiting = continuation
        return .wait
    }

    func fail(_ error: any Error) {
        let waiting: Continuation? = contents.withLock { contents in
            defer { contents.waiting = nil }
            if contents.waiting == nil { contents.failure = error }
            return contents.waiting
        }
        waiting?.resume(throwing: error)
    }

    func end() -> Int {
        // The events and the closure are released outside the lock.
        let old = contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
        old.waiting?.resume(returning: nil)
        return old.events.count
    }

    private func removeContinuation() -> Continuation? {
        contents.withLock { $0.waiting.take() }
    }
}
