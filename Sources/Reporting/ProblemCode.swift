package import FileValues

/// The severity of a problem. The raw values are shown.
package enum ProblemSeverity: String, Hashable, Comparable, CaseIterable, Sendable {
    /// For information; nothing needs to be done.
    case notice
    /// Something needs attention; the rest continues.
    case warning
    /// No photo is filed until it is over.
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

/// The code of a problem, which is never reused for another one. See photoinbox-problems(7).
///
/// PI-1xx the daemon, PI-2xx inboxes, PI-3xx photos, PI-4xx the library, PI-5xx the catalogue, PI-6xx other hosts.
package enum ProblemCode: String, CaseIterable, Hashable, Comparable, Sendable {
    case configurationRefused = "PI-101"
    case monitorDisabled = "PI-102"
    case hookFailing = "PI-103"
    case journalDropped = "PI-104"
    case queueStuck = "PI-105"
    case noInboxes = "PI-106"
    case watchDeaf = "PI-107"
    case noWatchInstance = "PI-108"
    // PI-109 was for a way of watching that no longer exists.
    case decoderUnavailable = "PI-110"
    case decoderUnconfined = "PI-111"
    case metricsUnwritable = "PI-112"
    case decoderWithoutFaces = "PI-113"
    case hookSkipped = "PI-114"

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
    case catalogueUnreachable = "PI-506"
    case catalogueTaken = "PI-507"

    case hostSilent = "PI-601"

    package static func < (left: ProblemCode, right: ProblemCode) -> Bool { left.rawValue < right.rawValue }
}

/// The parameters of a problem's texts; each row has its own.
package enum ProblemParameter: String, CaseIterable, Hashable, Sendable {
    case count, total, limit, needed, age, interval, next, path, inbox, name, reason, filesystem, sysctl
}

/// A parameter's value, whose kind determines how it is written.
package enum ProblemValue: Hashable, Sendable {
    case count(Int)
    /// A length of time in seconds.
    case seconds(Int64)
    /// A time, in seconds since 1970, shown as local time of day.
    case moment(Int64)
    /// A path or other bytes from outside: shown escaped.
    case path(BytePath)
    case text(String)
}
