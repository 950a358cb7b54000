/// The renditions of one photo as a graph: which are there, which can be made now, and what became of the others.
///
/// A value without clock or I/O. Whoever works asks for ``ready``, says what it begins and how that ended, until the plan
/// ``isSettled``. One that fails takes with it what depends on it, and nothing else. Moves that cannot be trap.
package struct RenditionPlan: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// For what it needs, or for its turn.
        case waiting
        case running
        case made
        case failed(reason: String)
        /// Never begun: what it needs could not be had.
        case blocked(by: RenditionKind)
        case cancelled

        /// Nothing more comes of it.
        var isFinal: Bool {
            switch self {
            case .waiting, .running: false
            case .made, .failed, .blocked, .cancelled: true
            }
        }
    }

    /// Of each kind that is wanted, or that one of those needs.
    package private(set) var states: [RenditionKind: State] = [:]

    /// A plan for what is `wanted`, where some are `present` and others `failed` before, and are not tried again. What
    /// only something needs that is there already is not made for it.
    package init(
        wanted: some Sequence<RenditionKind>, present: Set<RenditionKind> = [],
        failed: [RenditionKind: String] = [:]
    ) {
        var open = Array(wanted)
        while let kind = open.popLast() {
            guard states[kind] == nil else { continue }
            states[kind] = present.contains(kind) ? .made : .waiting
            if !present.contains(kind), failed[kind] == nil { open += kind.needs }
        }
        for (kind, reason) in failed where states[kind] == .waiting { states[kind] = .failed(reason: reason) }
        spread()
    }

    /// What can be made now, in the order of ``RenditionKind``: what it needs is there.
    package var ready: [RenditionKind] {
        RenditionKind.allCases.filter { kind in
            states[kind] == .waiting && kind.needs.allSatisfy { states[$0] == .made }
        }
    }

    /// Nothing is to be done any more, and nothing under way.
    package var isSettled: Bool { states.values.allSatisfy(\.isFinal) }

    /// How many are settled, and of how many.
    package var progress: (settled: Int, all: Int) {
        (states.values.count { $0.isFinal }, states.count)
    }

    /// Why it was not made, in words; nil where it was, or may still be.
    package func reason(against kind: RenditionKind) -> String? {
        switch states[kind] {
        case .failed(let reason): reason
        case .blocked(let other): "there is no \(other.rawValue)"
        case .cancelled: "cancelled"
        case .waiting, .running, .made, nil: nil
        }
    }

    /// Somebody begins to make it.
    package mutating func began(_ kind: RenditionKind) {
        precondition(ready.contains(kind), "\(kind) began, and is not ready: \(String(describing: states[kind]))")
        states[kind] = .running
    }

    /// It is there.
    package mutating func made(_ kind: RenditionKind) { ended(kind, .made) }

    /// It cannot be made; nor can what needs it.
    package mutating func failed(_ kind: RenditionKind, reason: String) { ended(kind, .failed(reason: reason)) }

    /// It is wanted no more; nor can what needs it be made. One that is made stays.
    package mutating func cancel(_ kind: RenditionKind) {
        switch states[kind] {
        case .waiting, .running: states[kind] = .cancelled
        case .made, .failed, .blocked, .cancelled, nil: break
        }
        spread()
    }

    /// Nothing more is wanted.
    package mutating func cancelAll() {
        for kind in RenditionKind.allCases { cancel(kind) }
    }

    private mutating func ended(_ kind: RenditionKind, _ state: State) {
        switch states[kind] {
        case .running: states[kind] = state
        // Its end and the cancelling of it crossed each other.
        case .cancelled: break
        case .waiting, .made, .failed, .blocked, nil:
            preconditionFailure("\(kind) ended, and did not run: \(String(describing: states[kind]))")
        }
        spread()
    }

    /// What needs something that cannot be had is blocked, and so on.
    private mutating func spread() {
        var isChanged = true
        while isChanged {
            isChanged = false
            for kind in RenditionKind.allCases where states[kind] == .waiting {
                guard let missing = kind.needs.first(where: { states[$0].map(Self.isLost) ?? false }) else { continue }
                states[kind] = .blocked(by: missing)
                isChanged = true
            }
        }
    }

    private static func isLost(_ state: State) -> Bool { state.isFinal && state != .made }
}
