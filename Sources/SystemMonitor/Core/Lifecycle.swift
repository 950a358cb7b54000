/// A monitor's state for display; see ``MonitorDescription``.
public enum MonitorState: String, Sendable, CaseIterable {
    case setUp = "set up"
    case active
    case suspended
    case rateLimited = "rate limited"
    case disabled
    case invalidating
    case invalidated
}

/// The lifecycle of all monitors: set up → active → invalidating → invalidated. The user's last reference may be
/// released in any state but active.
///
/// Pure: each method is one event, switches over every state, and returns the caller's action. A wrong call by the
/// monitor's user throws the rule that it breaks and changes nothing; an event that is impossible in a state traps.
struct Lifecycle: Sendable {
    /// The reasons why an active monitor gets no events from the kernel. Its source is suspended once while any of them
    /// applies, so that they may begin and end in any order without a count that could differ from libdispatch's.
    private struct Holds: Sendable {
        var suspensions = 0
        var isDisabled = false
        var isRateLimited = false
        /// The consumer's buffer is full.
        var isBehind = false
        /// Events that were read wait for their turn; more would only queue behind them.
        var hasBacklog = false

        var areSet: Bool { !isOpen || hasBacklog }
        /// Whether the handler may run.
        var isOpen: Bool { suspensions == 0 && !isDisabled && !isRateLimited && !isBehind }
    }

    private enum State: Sendable {
        case setUp
        case active(Holds)
        case invalidating
        case invalidated
    }

    /// An action on the kernel source.
    enum SourceAction: Sendable {
        case none, hold, release
    }

    /// An action on an event.
    enum EventAction: Sendable {
        case deliver, keep, drop
    }

    /// An action that ends the source.
    enum InvalidateAction: Sendable {
        /// There is no source yet.
        case abandon
        case cancel
        /// Cancels, which drops the events, then releases, since a suspended source never runs its cancel handler.
        case cancelAndRelease
    }

    private var state = State.setUp

    /// The state for display.
    var summary: MonitorState {
        switch state {
        case .setUp: .setUp
        case .active(let holds) where holds.suspensions > 0: .suspended
        case .active(let holds) where holds.isDisabled: .disabled
        case .active(let holds) where holds.isRateLimited: .rateLimited
        case .active(let holds) where holds.isBehind: .suspended
        case .active: .active
        case .invalidating: .invalidating
        case .invalidated: .invalidated
        }
    }

    /// Whether the handler may run now.
    var isOpen: Bool {
        switch state {
        case .active(let holds): holds.isOpen
        case .setUp, .invalidating, .invalidated: false
        }
    }

    /// Before a property is changed.
    func configure() throws(LifecycleRule) {
        switch state {
        case .setUp: return
        case .active: throw .propertiesAreSetBeforeActivation
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    /// Before a call that is allowed during set up and while active.
    func use() throws(LifecycleRule) {
        switch state {
        case .setUp, .active: return
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    mutating func activate() throws(LifecycleRule) {
        switch state {
        case .setUp: state = .active(Holds())
        case .active: throw .activatedOnce
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    mutating func suspend() throws(LifecycleRule) -> SourceAction {
        switch state {
        case .setUp: throw .onlyActiveOnesAreSuspended
        case .active(let holds): return change(holds) { $0.suspensions += 1 }
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    mutating func resume() throws(LifecycleRule) -> SourceAction {
        switch state {
        case .setUp: throw .resumeBalancesSuspend
        case .active(let holds) where holds.suspensions == 0: throw .resumeBalancesSuspend
        case .active(let holds): return change(holds) { $0.suspensions -= 1 }
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    mutating func reenable() throws(LifecycleRule) -> SourceAction {
        switch state {
        case .setUp: throw .onlyDisabledOnesAreReenabled
        case .active(let holds) where !holds.isDisabled: throw .onlyDisabledOnesAreReenabled
        case .active(let holds): return change(holds) { $0.isDisabled = false }
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    mutating func invalidate() throws(LifecycleRule) -> InvalidateAction {
        switch state {
        case .setUp:
            state = .invalidating
            return .abandon
        case .active(let holds):
            state = .invalidating
            return holds.areSet ? .cancelAndRelease : .cancel
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    /// The cancel handler ran: the kernel no longer uses the source.
    mutating func sourceCancelled() {
        switch state {
        case .invalidating: state = .invalidated
        // Only invalidate cancels, and a cancel handler runs once.
        case .setUp, .active, .invalidated: impossible("sourceCancelled")
        }
    }

    /// The last reference was released; nil if no action is needed.
    mutating func released() throws(LifecycleRule) -> InvalidateAction? {
        switch state {
        case .setUp:
            state = .invalidating
            return .abandon
        case .active: throw .invalidatedBeforeRelease
        // The engine ends by itself.
        case .invalidating, .invalidated: return nil
        }
    }

    /// An event arrived from the source, or from the owner of a monitor without one.
    func eventArrived() -> EventAction {
        switch state {
        // An owner's event before activation, which is not guaranteed to be delivered.
        case .setUp: .drop
        case .active(let holds): holds.isOpen && !holds.hasBacklog ? .deliver : .keep
        // The source's block was queued before invalidate was called, or the handler invalidated within a batch.
        case .invalidating, .invalidated: .drop
        }
    }

    mutating func backlogGrew() -> SourceAction {
        switch state {
        case .active(let holds): return change(holds) { $0.hasBacklog = true }
        case .setUp, .invalidating, .invalidated: impossible("backlogGrew")
        }
    }

    mutating func backlogEmptied() -> SourceAction {
        switch state {
        case .active(let holds): return change(holds) { $0.hasBacklog = false }
        // The backlog's last event was delivered, and its handler invalidated.
        case .invalidating, .invalidated: return .none
        case .setUp: impossible("backlogEmptied")
        }
    }

    mutating func rateLimitReached() -> SourceAction {
        switch state {
        case .active(let holds): return change(holds) { $0.isRateLimited = true }
        case .setUp, .invalidating, .invalidated: impossible("rateLimitReached")
        }
    }

    mutating func rateLimitEnded() -> SourceAction {
        switch state {
        case .active(let holds): return change(holds) { $0.isRateLimited = false }
        // The interval's timer races invalidation.
        case .invalidating, .invalidated: return .none
        case .setUp: impossible("rateLimitEnded")
        }
    }

    mutating func consumerFellBehind() -> SourceAction {
        switch state {
        case .active(let holds): return change(holds) { $0.isBehind = true }
        case .setUp, .invalidating, .invalidated: impossible("consumerFellBehind")
        }
    }

    mutating func consumerCaughtUp() -> SourceAction {
        switch state {
        case .active(let holds): return change(holds) { $0.isBehind = false }
        // The consumer's task races invalidation.
        case .invalidating, .invalidated: return .none
        case .setUp: impossible("consumerCaughtUp")
        }
    }

    mutating func handlerFailed() -> SourceAction {
        switch state {
        case .active(let holds): return change(holds) { $0.isDisabled = true }
        // The handler invalidated, then threw; or the owner's read failed during or after invalidation.
        case .invalidating, .invalidated: return .none
        case .setUp: impossible("handlerFailed")
        }
    }

    private mutating func change(_ holds: Holds, _ body: (inout Holds) -> Void) -> SourceAction {
        var new = holds
        body(&new)
        state = .active(new)
        return switch (holds.areSet, new.areSet) {
        case (false, true): .hold
        case (true, false): .release
        case (false, false), (true, true): .none
        }
    }

    private func impossible(_ event: String) -> Never {
        fatalError("the event \(event) cannot come in the state \"\(summary.rawValue)\"")
    }
}
