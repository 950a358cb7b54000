import Glibc

/// What a service manager tells a service through its environment; see sd_notify(3), sd_watchdog_enabled(3) and
/// sd_listen_fds(3). Pure parsing; a variable that is absent or makes no sense counts as not there, with the reason.
struct ServiceEnvironment: Hashable, Sendable {
    /// The variables that are meant for this process alone and not for its children.
    static let names = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
    ]

    private(set) var notifyAddress: UnixAddress?
    private(set) var watchdogInterval: Duration?
    /// One name for each inherited descriptor, the first of which is 3.
    private(set) var listenerNames: [String] = []
    /// What was ignored: `NOTIFY_SOCKET=run/notify is not an absolute or abstract address, ignoring`.
    private(set) var complaints: [String] = []

    init(_ variables: [String: String], processIdentifier: pid_t) {
        if let text = variables["NOTIFY_SOCKET"], !text.isEmpty {
            notifyAddress = UnixAddress(text)
            if notifyAddress == nil { complain("NOTIFY_SOCKET", text, "is no absolute or abstract socket address") }
        }
        readWatchdog(variables, processIdentifier)
        readListeners(variables, processIdentifier)
    }

    private mutating func readWatchdog(_ variables: [String: String], _ processIdentifier: pid_t) {
        guard let text = variables["WATCHDOG_USEC"] else { return }
        // Without a PID, or with ours, it is meant for us; with another's, silently not.
        if let owner = variables["WATCHDOG_PID"], owner != String(processIdentifier) { return }
        guard let microseconds = Int64(text), microseconds > 0 else {
            complain("WATCHDOG_USEC", text, "is no positive number")
            return
        }
        watchdogInterval = .microseconds(microseconds)
    }

    private mutating func readListeners(_ variables: [String: String], _ processIdentifier: pid_t) {
        guard let owner = variables["LISTEN_PID"], owner == String(processIdentifier),
            let text = variables["LISTEN_FDS"]
        else { return }
        // The bound only keeps a nonsense number from becoming a long loop over descriptors.
        guard let count = Int(text), (0...4_096).contains(count) else {
            complain("LISTEN_FDS", text, "is no sensible number of descriptors")
            return
        }
        let given = (variables["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        listenerNames = (0..<count).map { index in
            index < given.count && !given[index].isEmpty ? String(given[index]) : "unknown"
        }
    }

    private mutating func complain(_ name: String, _ value: String, _ what: String) {
        complaints.append("\(name)=\(cut(oneLine(value), to: 128)) \(what), ignoring")
    }
}
