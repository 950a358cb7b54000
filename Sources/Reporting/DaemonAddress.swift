/// The daemon that proposed commands are for. Without its address a command would contact another daemon: that of
/// the standard configuration. Pure.
package struct DaemonAddress: Hashable, Sendable {
    /// The options after the name of a command, with a blank before them; empty if the command finds the daemon without.
    private let options: String
    /// The arguments of `systemctl` for it; nil if none of our units runs it.
    private let unit: String?

    private let isOfUser: Bool
    /// How a person starts it again.
    private let start: String

    private init(_ options: String, unit: String?, isOfUser: Bool = false, start: String? = nil) {
        (self.options, self.unit, self.isOfUser) = (options, unit, isOfUser)
        self.start = start ?? "photoinboxd\(options)"
    }

    /// photoinboxd.service.
    package static let system = DaemonAddress("", unit: "photoinboxd")

    package static let user = DaemonAddress("", unit: "photoinboxd", isOfUser: true)

    package static func instance(_ name: String, configuration: String) -> DaemonAddress {
        DaemonAddress(" --config \(shellQuoted(configuration))", unit: "photoinboxd@\(name)")
    }

    /// A daemon that was started by hand, or by another unit.
    package static func configuration(_ path: String) -> DaemonAddress {
        DaemonAddress(" --config \(shellQuoted(path))", unit: nil)
    }

    /// A daemon that was started with flags. With `isFound`, the next command finds it without an option, too.
    package static func state(_ directory: String, isFound: Bool = false) -> DaemonAddress {
        let option = " --state \(shellQuoted(directory))"
        // Its inboxes and its library are flags, too, which are not known here.
        return DaemonAddress(
            isFound ? "" : option, unit: nil, start: "photoinboxd\(option) with --inbox and --library as before")
    }

    package var isOfService: Bool { unit != nil && !isOfUser }

    /// Whether a person has started it, not the service manager.
    package var isByHand: Bool { unit == nil }

    /// The commands that contact a daemon, or read its files.
    package static let commands: Set<String> = [
        "adopt", "config", "discard", "dump", "explain", "export-csv", "export-json", "fetch", "hosts", "import",
        "import-csv", "list", "log", "metrics", "pause", "rebuild", "release", "reload", "rescan", "resume", "retry",
        "search", "sheet",
        "show", "similar", "stats", "status", "tail", "thumbs", "top", "undo", "verify",
    ]

    /// `text` with the address of this daemon in every proposed command.
    package func completing(_ text: String) -> String {
        guard self != .system else { return text }
        // Those of `store` have options of their own; its test contacts no daemon.
        let command =
            #/\bphotoinbox (store (?:get|move|put|verify)|[a-z]+(?:-[a-z]+)?)\b(?! --(?:config|state|help)\b)/#
        var text = text.replacing(command) { match in
            let isStore = match.1.hasPrefix("store ")
            return isStore || Self.commands.contains(String(match.1)) ? "\(match.0)\(options)" : String(match.0)
        }
        if options.hasPrefix(" --config") {
            text = text.replacing(#/\bphotoinboxd --(?!config\b)/#) { _ in "photoinboxd\(options) --" }
        }
        return text.replacing(#/(sudo )?systemctl ([a-z]+) photoinboxd(?![-@.\w])/#) { match in
            if let unit {
                return isOfUser
                    ? "systemctl --user \(match.2) \(unit)" : "\(match.1 ?? "")systemctl \(match.2) \(unit)"
            }
            switch match.2 {
            case "start": return start
            case "stop": return "Ctrl-C where it was started"
            case "status": return "its output, where it was started"
            case "reload": return "photoinbox reload\(options)"
            default: return String(match.0)
            }
        }
    }
}
