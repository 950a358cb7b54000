import FleetRules

/// What recovery does with what it finds in the library.
enum RecoveryRules {
    enum AfterLook: Sendable {
        /// The intent of each member that has a copy is committed, all at once.
        case commit
        /// A crash came before its name: it is copied under this same intent, which keeps its claim.
        case copyAgain
        case closeIntent
    }

    static func next(afterLookingForCopy copy: Standing, hasSource: Bool) -> AfterLook {
        if copy == .whole { return .commit }
        return hasSource ? .copyAgain : .closeIntent
    }

    enum AfterReading: Sendable {
        /// By ``RemovalRule``; then the intent is closed, and the source is a duplicate.
        case removeCopy
        /// The photo elsewhere has lost its file: this copy supersedes it. The intent is begun again, with that photo to be
        /// superseded, unless another host has begun the content.
        case supersede
    }

    static func next(afterReadingOther other: Standing) -> AfterReading {
        other == .whole ? .removeCopy : .supersede
    }
}
