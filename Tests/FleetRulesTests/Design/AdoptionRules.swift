import FleetRules

/// What a host does about the intents of a host that has long been silent: it records what was finished, and no more.
enum AdoptionRules {
    struct Member: Sendable {
        var step: IntentStep
        var copy: Standing
        var recorded: RecordedPlace

        init(step: IntentStep, copy: Standing, recorded: RecordedPlace) {
            self.step = step
            self.copy = copy
            self.recorded = recorded
        }
    }

    enum Next: Sendable {
        /// All become photos of their host, in one transaction, and the intents go back to it as recorded: the sources are
        /// its own to remove.
        case record
        /// All go back as they were, until their host returns.
        case giveBack
    }

    /// `members` are the intents of one photo or set, all of which the adopter has made its own.
    static func next(for members: some Sequence<Member>) -> Next {
        for member in members {
            guard member.step == .begun, member.copy == .whole, member.recorded == .nowhere else { return .giveBack }
        }
        return .record
    }
}
