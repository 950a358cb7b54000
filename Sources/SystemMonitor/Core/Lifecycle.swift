/// The states a person is shown; see ``MonitorDescription``.
public enum MonitorState: String, Sendable, CaseIterable {
    case setUp = "set up"
    case active
    case suspended
    case rateLimited = "rate limited"
    case disabled
    case invalidating
    case invalidated
}

/// The one lifecycle of all monitors: set up → active → invalidating → invalidated. The user's last reference may go in any
/// state but active.
///
/// Pure: each method is one event, switches over every state, and returns what the caller is to do. A wrong move by the
/// monitor's user throws the rule that it breaks, and changes nothing; an event that our own code can never send in a
/// state traps.
struct Lifecycle: Sendable {
    /// Why an active monitor gets no events from the kernel. Its source is suspended once while any reason holds, so
    /// that reasons may come and go in any order without a count of ours ever differing from libdispatch's.
    private struct Holds: Sendable {
        var suspensions = 0
        var isDisabled = false
        var isRateLimited = false
        /// Whoever iterates over the events has not taken those that wait.
        var isBehind = false
        /// Events that were taken from the kernel wait for their turn; more would only pile up behind them.
        var hasBacklog = false

        var keepsSource: Bool { !isOpen || hasBacklog }
        /// Whether the handler may run.
        var isOpen: Bool { suspensions == 0 && !isDisabled && !isRateLimited && !isBehind }
    }

    private enum State: Sendable {
        case setUp
        case active(Holds)
        case invalidating
        case invalidated
    }

    /// What to do with the kernel source.
    enum SourceAction: Sendable {
        case none, hold, release
    }

    /// What to do with an event.
    enum EventAction: Sendable {
        case deliver, keep, drop
    }

    /// How to end.
    enum InvalidateAction: Sendable {
        /// There is no source yet.
        case abandon
        case cancel
        /// A suspended source never runs its cancel handler, so it is cancelled, which drops its events, and then
        /// released.
        case cancelAndRelease
    }

    private var state = State.setUp

    /// The state in a word.
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

    /// A property is to be changed.
    func configure() throws(LifecycleRule) {
        switch state {
        case .setUp: return
        case .active: throw .propertiesAreSetBeforeActivation
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    /// The monitor is to be used in a way that set up and active ones allow.
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
            return holds.keepsSource ? .cancelAndRelease : .cancel
        case .invalidating, .invalidated: throw .noUseAfterInvalidation
        }
    }

    /// The kernel has let go.
    mutating func sourceCancelled() {
        switch state {
        case .invalidating: state = .invalidated
        // Nobody but invalidate cancels, and a cancel handler runs once.
        case .setUp, .active, .invalidated: impossible("sourceCancelled")
        }
    }

    /// The last reference is gone; nil if nothing is to be done.
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

    /// An event came from the source, or from the owner of a monitor without one.
    func eventArrived() -> EventAction {
        switch state {
        // An owner's event before activation: nobody was promised it.
        case .setUp: .drop
        case .active(let holds): holds.isOpen && !holds.hasBacklog ? .deliver : .keep
        // The source's block was on the queue already when invalidate was called, or the handler invalidated in the
        // middle of a batch.
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
        // The handler invalidated, then threw; or the owner's read failed when the end was on its way, or had come.
        case .invalidating, .invalidated: return .none
        case .setUp: impossible("handlerFailed")
        }
    }

    private mutating func change(_ holds: Holds, _ body: (inout Holds) -> Void) -> SourceAction {
        var new = holds
        body(&new)
        state = .active(new)
        return switch (holds.keepsSource, new.keepsSource) {
        case (false, true): .hold
        case (true, false): .release
        case (false, false), (true, true): .none
        }
    }

    private func impossible(_ event: String) -> Never {
        fatalError("the event \(event) cannot come in the state \"\(summary.rawValue)\"")
    }
}
