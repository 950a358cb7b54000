import FleetRules

/// What a host does with its echo, what it wrote on its own disk of what was acknowledged, after the catalogue went back.
/// An echo names the set that it is of: the echoes of a set are asserted in one transaction, and duplicates with them.
enum EchoRules {
    enum Next: Sendable {
        case keep
        /// Begins an intent at the echo's place, which is then recovered as any other: recorded if the copy stands.
        /// A photo of another content that has the place is superseded by that commit: its file does not stand there.
        case assertAgain
        /// Makes a lost intent at the echo's place: another copy is recorded, and this one goes, or supersedes it.
        case giveUpCopy
        /// Whoever has begun the content, or claims the place, comes first.
        case waitForOther
    }

    static func next(recorded: RecordedPlace, isBegun: Bool, placeIsClaimed: Bool) -> Next {
        switch recorded {
        case .here: .keep
        case .nowhere: isBegun || placeIsClaimed ? .waitForOther : .assertAgain
        case .elsewhere: placeIsClaimed ? .waitForOther : .giveUpCopy
        }
    }

    /// A copy was named, and then its intent was gone from the catalogue: the host that made it alone knows of it. It waits
    /// even for one that has merely claimed the place, whose link will be refused: a copy that is forgotten is a stray.
    static func next(forCopyWithoutIntent recorded: RecordedPlace, placeIsClaimed: Bool) -> Next {
        if recorded == .here { return .keep }
        return placeIsClaimed ? .waitForOther : .giveUpCopy
    }

    /// An undo that was acknowledged is asserted again, if its photo is live once more, and has no file.
    static func assertsUndo(recorded: RecordedPlace, copy: Standing) -> Bool {
        recorded == .here && copy != .whole
    }
}
