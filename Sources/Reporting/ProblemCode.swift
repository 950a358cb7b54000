package import FileValues

/// How bad a problem is. The words are shown as they are.
package enum ProblemSeverity: String, Hashable, Comparable, CaseIterable, Sendable {
    /// Worth knowing; nothing needs to be done.
    case notice
    /// Something waits for a person; the rest goes on.
    case warning
    /// No photo is filed until it is gone.
    case stopped

    package static func < (left: ProblemSeverity, right: ProblemSeverity) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .notice: 0
        case .warning: 1
        case .stopped: 2
        }
    }
}

/// What a problem is called, for good: a code is never given to something else. See photoinbox-problems(7).
///
/// PI-1xx the daemon, PI-2xx inboxes, PI-3xx photos, PI-4xx the library, PI-5xx the catalogue.
package enum ProblemCode: String, CaseIterable, Hashable, Comparable, Sendable {
    case configurationRefused = "PI-101"
    case monitorDisabled = "PI-102"
    case hookFailing = "PI-103"
    case journalDropped = "PI-104"
    case queueStuck = "PI-105"
    case noInboxes = "PI-106"
    case watchDeaf = "PI-107"
    case noWatchInstance = "PI-108"
    // PI-109 told that a way of watching was refused, which is not there any more.
    case decoderUnavailable = "PI-110"
    case decoderUnconfined = "PI-111"
    case metricsUnwritable = "PI-112"
    case decoderWithoutFaces = "PI-113"

    case inboxPolled = "PI-201"
    case watchLimit = "PI-202"
    case inboxMissing = "PI-203"
    case inboxGone = "PI-204"
    case directoryUnreadable = "PI-205"
    case inboxStalled = "PI-206"
    case sourceKept = "PI-207"
    case eventsMissed = "PI-209"
    case inboxPaused = "PI-210"
    case cardIncomplete = "PI-211"
    case downloadsWait = "PI-212"
    case inboxTaken = "PI-213"

    case photosDeferred = "PI-310"
    case photosQuarantined = "PI-311"

    case libraryMissing = "PI-401"
    case libraryFull = "PI-402"
    case libraryReadOnly = "PI-403"
    case libraryFailing = "PI-404"
    case libraryStalled = "PI-405"
    case libraryReplaced = "PI-406"
    case libraryDamaged = "PI-407"
    case placeTaken = "PI-408"
    case photosElsewhere = "PI-409"
    case placesNested = "PI-410"
    case photosUnrecorded = "PI-411"
    case placeAway = "PI-412"
    case libraryUnsuitable = "PI-413"

    case catalogueFull = "PI-501"
    case catalogueDamaged = "PI-502"
    case catalogueNewer = "PI-503"
    case catalogueRebuilding = "PI-504"
    case catalogueReplaced = "PI-505"

    package static func < (left: ProblemCode, right: ProblemCode) -> Bool { left.rawValue < right.rawValue }
}

/// What the texts of a problem speak of. Which ones a code needs, its row tells.
package enum ProblemParameter: String, CaseIterable, Hashable, Sendable {
    case count, total, limit, needed, age, interval, next, path, inbox, name, reason, filesystem, sysctl
}

/// A parameter's value; how it is written follows from what it is.
package enum ProblemValue: Hashable, Sendable {
    case count(Int)
    /// A length of time in seconds.
    case seconds(Int64)
    /// A moment, in seconds since 1970, shown as local time of day.
    case moment(Int64)
    /// A path, or any other text from outside: shown escaped.
    case path(BytePath)
    /// Shown escaped, too.
    case text(String)
}
