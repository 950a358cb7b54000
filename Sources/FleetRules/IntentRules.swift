/// What a host does about an open intent of its own: after a crash, a refused commit, a lost answer, a takeover.
package enum IntentRules {
    package struct Intent: Sendable {
        package var step: IntentStep
        /// Whether this host may go on with it; false while an adopter has it.
        package var isOwned: Bool
        /// Where its content is recorded, seen from its place.
        package var recorded: RecordedPlace
        /// Whether another host has begun its content, and then, whether that one's lease is over.
        package var begunByOther: BegunByOther

        package init(step: IntentStep, isOwned: Bool, recorded: RecordedPlace, begunByOther: BegunByOther) {
            self.step = step
            self.isOwned = isOwned
            self.recorded = recorded
            self.begunByOther = begunByOther
        }
    }

    package enum BegunByOther: Sendable {
        case no
        case yes(leaseIsOver: Bool)
    }

    package enum Next: Sendable {
        /// Its adopter, or who took its content over, is at it.
        case waitForOther
        /// The commit happened: its copy is looked at, then ``FilingRules/finish(copy:keepsEchoes:isEchoed:hasSource:)``.
        case finish
        /// Its copy is looked for: see ``next(afterLookingForCopy:hasSource:)``.
        case lookForCopy
        /// Takes the content over from the other, and begins again.
        case takeOver
        /// It is begun again, with the copy that stands: see above.
        case beginAgain
        /// The other copy is read: see ``next(afterReadingOther:)``.
        case readOther
        /// Its own copy is the photo.
        case becomeRecorded
    }

    package static func next(for intent: Intent, isInGrace: Bool) -> Next {
        guard intent.isOwned else { return .waitForOther }
        switch (intent.step, intent.recorded, intent.begunByOther) {
        case (.recorded, _, _): return .finish
        case (.begun, _, _): return .lookForCopy
        case (.lost, .here, _): return .becomeRecorded
        case (.lost, .elsewhere, _): return .readOther
        case (.lost, .nowhere, .no): return .beginAgain
        case (.lost, .nowhere, .yes(let leaseIsOver)):
            return leaseIsOver && !isInGrace ? .takeOver : .waitForOther
        }
    }

    /// In which order the intents of one set are seen to: what is recorded first, then what is lost; the others wait until
    /// each lost one is recorded by somebody or begun again, so that they are recorded together or join its set.
    package static func urgency(of step: IntentStep) -> Int {
        switch step {
        case .recorded: 2
        case .lost: 1
        case .begun: 0
        }
    }

    package enum AfterLook: Sendable {
        /// The intent of each member that has a copy is committed, all at once.
        case commit
        /// A crash came before its name: it is copied under this same intent, which keeps its claim.
        case copyAgain
        case closeIntent
    }

    package static func next(afterLookingForCopy copy: Standing, hasSource: Bool) -> AfterLook {
        if copy == .whole { return .commit }
        return hasSource ? .copyAgain : .closeIntent
    }

    package enum AfterReading: Sendable {
        /// By ``RemovalRule``; then the intent is closed, and the source is a duplicate.
        case removeCopy
        /// The photo elsewhere has lost its file: this copy supersedes it. The intent is begun again, with that photo to be
        /// superseded, unless another host has begun the content.
        case supersede
    }

    package static func next(afterReadingOther other: Standing) -> AfterReading {
        other == .whole ? .removeCopy : .supersede
    }
}
