/// A signal that can have an action; see signal(7).
///
/// Excludes faults, and signals that the daemon uses itself.
package enum SignalName: String, CaseIterable, Hashable, Sendable {
    case hangUp = "HUP"
    case interrupt = "INT"
    case quit = "QUIT"
    case user1 = "USR1"
    case user2 = "USR2"
    case alarm = "ALRM"
    case terminate = "TERM"
    case windowChange = "WINCH"

    /// The default action; nil if the signal keeps the system's meaning.
    package var standardAction: Action? {
        switch self {
        case .user1: .dump
        case .user2: .reconcile
        case .hangUp: .reload
        case .terminate, .interrupt: .stop
        case .quit, .alarm, .windowChange: nil
        }
    }

    /// Accepts `USR1`, `SIGUSR1` and lower case.
    init(parsing text: String) throws(ValueMistake) {
        let upper = text.uppercased()
        let bare = upper.hasPrefix("SIG") ? String(upper.dropFirst(3)) : upper
        if let known = Self(rawValue: bare) {
            self = known
            return
        }
        switch bare {
        case "KILL", "STOP": throw ValueMistake("no program can catch SIG\(bare)")
        case "CHLD", "CONT", "PIPE", "IO", "TSTP":
            throw ValueMistake("photoinboxd uses SIG\(bare) itself")
        case "SEGV", "BUS", "FPE", "ILL", "ABRT", "TRAP", "SYS":
            throw ValueMistake("SIG\(bare) reports a fault of the program itself")
        default:
            let names = Self.allCases.map(\.rawValue)
            let meant = likelyMeaning(of: bare, among: names)
            throw ValueMistake(
                "unknown signal \(quoted(text)); "
                    + (meant.map { "did you mean \"\($0)\"?" } ?? "write one of \(names.joined(separator: ", "))"))
        }
    }
}
