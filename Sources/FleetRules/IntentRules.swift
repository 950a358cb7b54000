/// What a host does about its open intents: after a crash, a refused commit, a lost answer, a takeover.
package enum IntentRules {
    package enum BegunByOther: Sendable {
        case no
        case yes(leaseIsOver: Bool)
    }

    /// What it does about one that is lost.
    package enum Next: Sendable {
        /// Its own copy is the photo.
        case becomeRecorded
        /// The photo's file is read: if it is whole, the copy of this intent goes, by ``RemovalRule``; else this copy supersedes it.
        case readOther
        /// It is begun again, with the copy that stands.
        case beginAgain
        /// The same, once the content was taken over from the other, which is away.
        case takeOver
        case waitForOther
    }

    /// `recorded` is where the content of a lost intent is recorded, seen from its copy.
    package static func next(recorded: RecordedPlace, begunByOther: BegunByOther) -> Next {
        switch (recorded, begunByOther) {
        case (.here, _): .becomeRecorded
        case (.elsewhere, _): .readOther
        case (.nowhere, .no): .beginAgain
        case (.nowhere, .yes(let leaseIsOver)): leaseIsOver ? .takeOver : .waitForOther
        }
    }

    /// In which order the intents of one set are seen to: what is recorded first, then what is lost; the others wait until
    /// each lost one is recorded by somebody or begun again, so that they are recorded together or join its set.
    package static let order: [IntentStep] = [.recorded, .lost, .begun]
}
