/// The renditions of one photo as a graph: made, ready to be made, and failed ones.
///
/// A value without clock or I/O. The worker reads ``ready`` and reports each start and end, until ``isFinished``. A
/// failed rendition blocks only those that depend on it. Impossible transitions trap.
package struct RenditionPlan: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// For a required rendition, or for its turn.
        case waiting
        case running
        case made
        case failed(reason: String)
        /// Not started: a required rendition could not be made.
        case blocked(by: RenditionKind)
        case cancelled

        /// Whether the state no longer changes.
        var isFinal: Bool {
            switch self {
            case .waiting, .running: false
            case .made, .failed, .blocked, .cancelled: true
            }
        }
    }

    /// The state of each kind that is wanted or required by one of those.
    package private(set) var states: [RenditionKind: State] = [:]

    /// A plan for the `wanted` kinds; some are `present`, others `failed` before and are not retried. A kind that is
    /// required only by present ones is not made.
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
        blockDependents()
    }

    /// The kinds that can be made now, in the order of ``RenditionKind``: their required ones are made.
    package var ready: [RenditionKind] {
        RenditionKind.allCases.filter { kind in
            states[kind] == .waiting && kind.needs.allSatisfy { states[$0] == .made }
        }
    }

    /// Whether no rendition is waiting or running.
    package var isFinished: Bool { states.values.allSatisfy(\.isFinal) }

    /// The number of finished renditions, and of all.
    package var progress: (finished: Int, all: Int) {
        (states.values.count { $0.isFinal }, states.count)
    }

    /// The reason why a kind was not made, for people; nil if it was, or may still be.
    package func reason(against kind: RenditionKind) -> String? {
        switch states[kind] {
        case .failed(let reason): reason
        case .blocked(let other): "there is no \(other.rawValue)"
        case .cancelled: "cancelled"
        case .waiting, .running, .made, nil: nil
        }
    }

    /// Its work started.
    package mutating func began(_ kind: RenditionKind) {
        precondition(ready.contains(kind), "\(kind) began, and is not ready: \(String(describing: states[kind]))")
        states[kind] = .running
    }

    /// It was made.
    package mutating func made(_ kind: RenditionKind) { ended(kind, .made) }

    /// It cannot be made, nor can those that require it.
    package mutating func failed(_ kind: RenditionKind, reason: String) { ended(kind, .failed(reason: reason)) }

    /// Cancels it, and blocks those that require it; one that is made stays.
    package mutating func cancel(_ kind: RenditionKind) {
        switch states[kind] {
        case .waiting, .running: states[kind] = .cancelled
        case .made, .failed, .blocked, .cancelled, nil: break
        }
        blockDependents()
    }

    /// Cancels all that are not made.
    package mutating func cancelAll() {
        for kind in RenditionKind.allCases { cancel(kind) }
    }

    private mutating func ended(_ kind: RenditionKind, _ state: State) {
        switch states[kind] {
        case .running: states[kind] = state
        // Its end raced its cancellation.
        case .cancelled: break
        case .waiting, .made, .failed, .blocked, nil:
            preconditionFailure("\(kind) ended, and did not run: \(String(describing: states[kind]))")
        }
        blockDependents()
    }

    /// Blocks, transitively, those that require one that cannot be made.
    private mutating func blockDependents() {
        var isChanged = true
        while isChanged {
            isChanged = false
            for kind in RenditionKind.allCases where states[kind] == .waiting {
                guard let missing = kind.needs.first(where: { states[$0].map(Self.cannotBeMade) ?? false }) else {
                    continue
                }
                states[kind] = .blocked(by: missing)
                isChanged = true
            }
        }
    }

    private static func cannotBeMade(_ state: State) -> Bool { state.isFinal && state != .made }
}
