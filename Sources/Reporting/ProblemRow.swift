/// One row of the problem table: all that is said of a code, wherever it is said.
package struct ProblemRow: Hashable, Sendable {
    /// Which problems a cause hides.
    package enum Scope: Hashable, Sendable {
        /// Those of every subject.
        case everywhere
        /// Those of the cause's own subject only: an inbox that is missing hides its own.
        case sameSubject
    }

    /// A code that explains this one away while it is active.
    package struct Cause: Hashable, Sendable {
        package let code: ProblemCode
        package let scope: Scope
    }

    package let severity: ProblemSeverity
    /// What is the case.
    package let title: ProblemTemplate
    /// What follows from it for the photos.
    package let effect: ProblemTemplate
    /// What to do.
    package let action: ProblemTemplate
    /// Where there is more to read; nil where the action says it all.
    package let see: String?
    /// Seconds that it must last before it is shown: what heals by itself in that time is nobody's business.
    package let showAfter: Int64
    package let hiddenBy: [Cause]

    /// The parameters that its texts name.
    package var parameters: Set<ProblemParameter> { title.parameters.union(effect.parameters).union(action.parameters) }

    init(
        _ severity: ProblemSeverity, title: ProblemTemplate, effect: ProblemTemplate, action: ProblemTemplate,
        see: String? = nil, showAfter: Int64 = 0, hiddenBy: [Cause] = []
    ) {
        self.severity = severity
        self.title = title
        self.effect = effect
        self.action = action
        self.see = see
        self.showAfter = showAfter
        self.hiddenBy = hiddenBy
    }
}

extension ProblemCode {
    /// The table's row for this code.
    package var row: ProblemRow {
        switch self {
        case .configurationRefused, .monitorDisabled, .hookFailing, .journalDropped, .queueStuck, .noInboxes,
            .watchDeaf,
            .noWatchInstance:
            daemonRow
        case .inboxPolled, .watchLimit, .inboxMissing, .inboxGone, .directoryUnreadable, .inboxStalled, .sourceKept,
            .eventsMissed, .inboxPaused, .cardIncomplete, .downloadsWait, .inboxTaken:
            inboxRow
        case .decoderUnavailable, .decoderUnconfined, .metricsUnwritable, .decoderWithoutFaces: daemonRow
        case .photosDeferred, .photosQuarantined: photoRow
        case .libraryMissing, .libraryFull, .libraryReadOnly, .libraryFailing, .libraryStalled,
            .libraryReplaced, .libraryDamaged, .placeTaken, .photosElsewhere, .placesNested, .photosUnrecorded,
            .placeAway, .libraryUnsuitable:
            libraryRow
        case .catalogueFull, .catalogueDamaged, .catalogueNewer, .catalogueRebuilding, .catalogueReplaced: catalogueRow
        }
    }
}
