/// The exit status of a command. Scripts rely on it: a code never gets another meaning.
package enum ExitStatus: Int32, CaseIterable, Hashable, Sendable {
    case ok = 0
    case failed = 1
    /// The time limit of `watch` was reached; 2 like inotifywait(1).
    case timedOut = 2
    /// Done, but something is left: photos are deferred, or a warning is shown. Never 1, which shells use.
    case someLeft = 3
    case noMatch = 4
    /// Filing is stopped, or would have to be: the directory at the library's path is not the library.
    case stopped = 5
    case usage = 64
    /// The daemon, the library or the catalogue is not available.
    case unavailable = 69
    case busy = 75
    case permission = 77
    case configuration = 78

    /// A status from another program; an unknown one means failure.
    package init(reported code: Int32) { self = ExitStatus(rawValue: code) ?? .failed }

    /// The status when the worst problem shown is `severity`.
    package init(worst severity: ProblemSeverity?) {
        self =
            switch severity {
            case nil, .notice: .ok
            case .warning: .someLeft
            case .stopped: .stopped
            }
    }

    /// The worse of both: a command that does several things exits with the worst status.
    package func combined(with other: ExitStatus) -> ExitStatus { badness >= other.badness ? self : other }

    /// The order by severity, not by number: from partly done, over not done at all, to
    /// not even started.
    private var badness: Int {
        switch self {
        case .ok: 0
        case .someLeft: 1
        case .noMatch: 2
        case .timedOut: 3
        case .stopped: 4
        case .busy: 5
        case .unavailable: 6
        case .failed: 7
        case .permission: 8
        case .configuration: 9
        case .usage: 10
        }
    }
}
