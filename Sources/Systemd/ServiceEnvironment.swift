import Glibc

/// The variables that a service manager sets for a service; see sd_notify(3), sd_watchdog_enabled(3) and
/// sd_listen_fds(3). Pure; an invalid variable counts as absent, with a complaint.
struct ServiceEnvironment: Hashable, Sendable {
    /// The variables that are for this process only and not for its children.
    static let names = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
    ]

    private(set) var notifyAddress: UnixAddress?
    private(set) var watchdogInterval: Duration?
    /// The names of the inherited descriptors, from 3 on.
    private(set) var listenerNames: [String] = []
    /// The ignored variables: `NOTIFY_SOCKET=run/notify is no absolute or abstract socket address, ignoring`.
    private(set) var ignoredVariables: [String] = []

    init(_ variables: [String: String], processIdentifier: pid_t) {
        if let text = variables["NOTIFY_SOCKET"], !text.isEmpty {
            notifyAddress = UnixAddress(text)
            if notifyAddress == nil { ignore("NOTIFY_SOCKET", text, "is no absolute or abstract socket address") }
        }
        readWatchdog(variables, processIdentifier)
        readListeners(variables, processIdentifier)
    }

    private mutating func readWatchdog(_ variables: [String: String], _ processIdentifier: pid_t) {
        guard let text = variables["WATCHDOG_USEC"] else { return }
        // Another process's PID is no mistake: the variable was inherited.
        if let owner = variables["WATCHDOG_PID"], owner != String(processIdentifier) { return }
        guard let microseconds = Int64(text), microseconds > 0 else {
            ignore("WATCHDOG_USEC", text, "is no positive number")
            return
        }
        watchdogInterval = .microseconds(microseconds)
    }

    private mutating func readListeners(_ variables: [String: String], _ processIdentifier: pid_t) {
        guard let owner = variables["LISTEN_PID"], owner == String(processIdentifier),
            let text = variables["LISTEN_FDS"]
        else { return }
        // The limit prevents a long loop over descriptors for an invalid number.
        guard let count = Int(text), (0...4_096).contains(count) else {
            ignore("LISTEN_FDS", text, "is no sensible number of descriptors")
            return
        }
        let given = (variables["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        listenerNames = (0..<count).map { index in
            index < given.count && !given[index].isEmpty ? String(given[index]) : "unknown"
        }
    }

    private mutating func ignore(_ name: String, _ value: String, _ what: String) {
        ignoredVariables.append("\(name)=\(cut(oneLine(value), to: 128)) \(what), ignoring")
    }
}
