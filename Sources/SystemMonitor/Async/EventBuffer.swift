import LinuxKernel

/// The events that wait between a monitor's queue and the task that iterates over them.
final class EventBuffer<Event: Sendable>: EventConsumer {
    private typealias Continuation = CheckedContinuation<Event?, any Error>

    private struct Contents: Sendable {
        var events = Backlog<Event>()
        var waiting: Continuation?
        /// Thrown once, after the events before it.
        var failure: (any Error)?
        /// The monitor is held until all events are taken.
        var isHeld = false
        /// Lets the monitor go on; nil after the end.
        var goOn: (@Sendable () -> Void)?
    }

    private enum Step {
        case wait, refuse
        case answer(Result<Event?, any Error>, goOn: (@Sendable () -> Void)?)
    }

    private let limit: Int
    private let contents: Locked<Contents>

    /// `goOn` is called, on any thread, when all events were taken after ``put(_:)`` had said that it is full.
    init(limit: Int, goOn: @escaping @Sendable () -> Void) {
        self.limit = limit
        contents = Locked(Contents(goOn: goOn))
    }

    /// Adds an event; whether the buffer is full now, so that the monitor is to be held. On the monitor's queue.
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

    /// The next event; nil after the end, and when the task is cancelled.
    func next(isolation: isolated (any Actor)?) async throws -> Event? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Asked with the lock: a cancellation after this finds the continuation.
                switch contents.withLock({ Self.step(&$0, continuation, isCancelled: Task.isCancelled) }) {
                case .wait: break
                case .refuse: fatalError("two tasks iterate over the events of one monitor at the same time")
                case .answer(let answer, let goOn):
                    goOn?()
                    continuation.resume(with: answer)
                }
            }
        } onCancel: {
            takeWaiting()?.resume(returning: nil)
        }
    }

    private static func step(_ contents: inout Contents, _ continuation: Continuation, isCancelled: Bool) -> Step {
        if contents.waiting != nil { return .refuse }
        if isCancelled { return .answer(.success(nil), goOn: nil) }
        if let event = contents.events.popFirst() {
            let isCaughtUp = contents.isHeld && contents.events.isEmpty
            if isCaughtUp { contents.isHeld = false }
            return .answer(.success(event), goOn: isCaughtUp ? contents.goOn : nil)
        }
        if let failure = contents.failure {
            contents.failure = nil
            return .answer(.failure(failure), goOn: nil)
        }
        if contents.goOn == nil { return .answer(.success(nil), goOn: nil) }
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
        // What the events and the closure hold is released outside the lock.
        let old = contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
        old.waiting?.resume(returning: nil)
        return old.events.count
    }

    private func takeWaiting() -> Continuation? {
        contents.withLock { contents in
            defer { contents.waiting = nil }
            return contents.waiting
        }
    }
}
