import FleetRules

/// What the catalogue answered to a statement that writes, whichever it was.
enum Refusal: Sendable {
    /// The host has a newer life, or was forgotten.
    case anotherLife
    /// No answer came: it is written, or not.
    case unknownOutcome
}

/// The filing of a photo, or of a set: intent, copy, name, commit, source. What a host does after each answer.
enum FilingRules {
    /// What the catalogue answered to the intents of one photo or set, all of which begin, or none.
    enum BeginAnswer: Sendable {
        case begun
        /// A content has a live photo, and it is not the one that is to be superseded: by its token, since the name of a
        /// photo may soon be another's.
        case recorded
        /// A content's intent is begun by another host, whose lease may be over by the catalogue's clock.
        case beingFiled(leaseIsOver: Bool)
        /// A row of another use stands on the photo that is to be superseded: see ``PhotoUse``.
        case photoInUse
        case refused(Refusal)
    }

    enum AfterBegin: Sendable {
        case placeCopies
        /// The set is planned again: a recorded member is a duplicate, the others join the photo's set.
        case planAgain
        case waitForOther
        /// Makes the other's intents lost, then begins in the same transaction.
        case takeOver
        case recover
    }

    /// `isInGrace`: see ``GraceRules``.
    static func next(after answer: BeginAnswer, isInGrace: Bool) -> AfterBegin {
        switch answer {
        case .begun: .placeCopies
        case .recorded: .planAgain
        case .beingFiled(let leaseIsOver): leaseIsOver && !isInGrace ? .takeOver : .waitForOther
        case .photoInUse: .waitForOther
        case .refused: .recover
        }
    }

    /// What link(2), or a conditional PUT, answered.
    enum NameAnswer: Sendable {
        case named
        /// A file has that name: also one with the same bytes, which may be another host's.
        case taken
        case failed
    }

    enum AfterName: Sendable {
        case goOn
        case tryNextName
        /// The name may be given, and stays so: nothing is taken back.
        case recover
    }

    static func next(after answer: NameAnswer) -> AfterName {
        switch answer {
        case .named: .goOn
        case .taken: .tryNextName
        case .failed: .recover
        }
    }

    enum CommitAnswer: Sendable {
        case recorded
        /// An intent is not this host's, or not begun, any more; or a content or a place has another photo.
        case noRow
        case refused(Refusal)
    }

    enum AfterCommit: Sendable {
        case finish
        /// The copies stay where they are, and the intents as they are: only ``RemovalRule`` removes a copy.
        case recover
    }

    static func next(after answer: CommitAnswer) -> AfterCommit {
        switch answer {
        case .recorded: .finish
        case .noRow, .refused: .recover
        }
    }

    enum FinishStep: Sendable {
        case writeEcho
        case removeSource
        case closeIntent
        /// Closes the intent; the source, which stays, is filed again in the place of the photo that is missing.
        case fileAgain
    }

    /// What follows a commit, whatever led to it, once its copy was looked at again. `keepsEchoes`: commits are not known
    /// to be replicated.
    static func finish(
        copy: Standing, keepsEchoes: Bool, isEchoed: Bool, hasSource: Bool
    ) -> FinishStep {
        if copy != .whole { return .fileAgain }
        if keepsEchoes, !isEchoed { return .writeEcho }
        return hasSource ? .removeSource : .closeIntent
    }
}
