import Glibc

/// How a run of a hook ended.
struct HookResult: Hashable, Sendable, Codable {
    enum Kind: String, Hashable, Sendable, Codable {
        /// By itself, with a status.
        case exited
        /// By a signal that is not ours.
        case killed
        /// It did not end within its deadline, and was ended.
        case overdue
        /// It was ended because the daemon stops.
        case stopped
        /// It was not started at all.
        case refused
        /// Unknown: its unit went away without an answer.
        case lost
    }

    var kind: Kind
    /// The status, or the signal; 0 where there is neither.
    var number: Int32 = 0
    /// For people: how, or why not.
    var reason: String
    /// How long it ran.
    var seconds = 0.0

    /// Whether it has processed its events.
    var isSuccess: Bool { kind == .exited && number == 0 }

    /// Statuses by which a hook says that no event is the reason: EX_UNAVAILABLE, EX_TEMPFAIL, EX_NOPERM and EX_CONFIG of
    /// sysexits.h(3head).
    static let statusesOfOthers: Set<Int32> = [EX_UNAVAILABLE, EX_TEMPFAIL, EX_NOPERM, EX_CONFIG]

    /// Whether its events may have been the reason. What was not started, or lacks something else, is tried for as long as it
    /// takes.
    var mayBeTheEvents: Bool {
        switch kind {
        case .exited: !isSuccess && !Self.statusesOfOthers.contains(number)
        case .killed, .overdue, .lost: true
        case .stopped, .refused: false
        }
    }

    static func refused(_ reason: String) -> HookResult { HookResult(kind: .refused, reason: reason) }
}
