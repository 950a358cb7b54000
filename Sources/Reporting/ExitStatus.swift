/// What a command's exit status means. Scripts rely on it: a code is never given another meaning.
package enum ExitStatus: Int32, CaseIterable, Hashable, Sendable {
    /// All was done; notices do not count.
    case ok = 0
    case failed = 1
    /// The time that `watch` was given ran out; 2 as inotifywait(1) has it.
    case timedOut = 2
    /// Done, but something is left: photos are deferred, or a warning is shown. Never 1, which shells use.
    case someLeft = 3
    case noMatch = 4
    /// Filing is stopped, or would have to be: what lies at the library's path is not the library.
    case stopped = 5
    case usage = 64
    /// The daemon, the library or the catalogue is not there.
    case unavailable = 69
    case busy = 75
    case permission = 77
    case configuration = 78

    /// A status that came from elsewhere; what is unknown means failure.
    package init(reported code: Int32) { self = ExitStatus(rawValue: code) ?? .failed }

    /// What `status` ends with when the worst problem shown is `severity`.
    package init(worst severity: ProblemSeverity?) {
        self =
            switch severity {
            case nil, .notice: .ok
            case .warning: .someLeft
            case .stopped: .stopped
            }
    }

    /// The worse of both: a command that does several things ends with the worst of them.
    package func combined(with other: ExitStatus) -> ExitStatus { badness >= other.badness ? self : other }

    /// The numbers say nothing about which is worse. From what was done in part, over what was not done at all, to
    /// what could not even be begun.
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
