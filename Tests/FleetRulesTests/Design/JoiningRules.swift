/// Whether a host may work with the server that it has reached.
enum JoiningRules {
    struct Server: Sendable {
        /// Whether it is the cluster that this host has known.
        var isKnownCluster: Bool
        var timeline: UInt32
        /// Of this host's row: a person has said that it never comes back.
        var isForgotten: Bool
        /// Of this host's row: it has the name and the identifier of this machine.
        var isThisMachine: Bool

        init(isKnownCluster: Bool, timeline: UInt32, isForgotten: Bool, isThisMachine: Bool) {
            self.isKnownCluster = isKnownCluster
            self.timeline = timeline
            self.isForgotten = isForgotten
            self.isThisMachine = isThisMachine
        }
    }

    enum Next: Sendable, Equatable {
        /// The epoch is one more, so that nothing of an earlier life or connection is written any more; then recovery.
        case join
        /// The same, and the catalogue may have gone back: see ``GraceRules`` and ``EchoRules``.
        case joinAndAssertEchoes
        case refuse(Reason)
    }

    enum Reason: Sendable {
        case anotherCluster
        /// An old primary, started again.
        case olderTimeline
        case forgotten
        case nameOfAnotherMachine
    }

    /// `highestTimeline` is the highest that this host has seen, from its own disk.
    static func next(for server: Server, highestTimeline: UInt32) -> Next {
        if !server.isKnownCluster { return .refuse(.anotherCluster) }
        if server.timeline < highestTimeline { return .refuse(.olderTimeline) }
        if server.isForgotten { return .refuse(.forgotten) }
        if !server.isThisMachine { return .refuse(.nameOfAnotherMachine) }
        return server.timeline > highestTimeline ? .joinAndAssertEchoes : .join
    }
}
