/// Which daemon proposed commands are about. Whoever follows a proposal that does not say so asks another daemon: that of
/// the standard configuration. Pure.
package struct DaemonAddress: Hashable, Sendable {
    /// What goes behind the name of a command, with a blank before it; empty where the command finds the daemon by itself.
    private let options: String
    /// What `systemctl` is given for it; nil where no unit of ours runs it.
    private let unit: String?

    private let isOfUser: Bool

    private init(_ options: String, unit: String?, isOfUser: Bool = false) {
        (self.options, self.unit, self.isOfUser) = (options, unit, isOfUser)
    }

    /// photoinboxd.service.
    package static let system = DaemonAddress("", unit: "photoinboxd")

    /// A user's own photoinboxd.service.
    package static let user = DaemonAddress("", unit: "photoinboxd", isOfUser: true)

    /// photoinboxd@NAME.service.
    package static func instance(_ name: String, configuration: String) -> DaemonAddress {
        DaemonAddress(" --config \(shellQuoted(configuration))", unit: "photoinboxd@\(name)")
    }

    /// One that was started by hand, or by a unit of somebody else's.
    package static func configuration(_ path: String) -> DaemonAddress {
        DaemonAddress(" --config \(shellQuoted(path))", unit: nil)
    }

    /// One that was started with flags.
    package static func state(_ directory: String) -> DaemonAddress {
        DaemonAddress(" --state \(shellQuoted(directory))", unit: nil)
    }

    /// Whether it is photoinboxd.service, or an instance of it.
    package var isOfService: Bool { unit != nil && !isOfUser }

    /// Whether somebody has started it, and not the service manager.
    package var isByHand: Bool { unit == nil }

    /// The commands that ask a daemon, or read its files.
    package static let commands: Set<String> = [
        "adopt", "config", "discard", "dump", "explain", "export-csv", "export-json", "fetch", "import", "import-csv",
        "list",
        "log", "metrics", "pause", "rebuild", "release", "reload", "rescan", "resume", "retry", "search", "sheet",
        "show",
        "similar", "stats", "status", "tail", "thumbs", "top", "undo", "verify",
    ]

    /// `text`, with every command that it proposes made to reach this daemon.
    package func completing(_ text: String) -> String {
        guard self != .system else { return text }
        var text = text.replacing(#/\bphotoinbox ([a-z]+(?:-[a-z]+)?)\b(?! --(?:config|state|help)\b)/#) { match in
            Self.commands.contains(String(match.1)) ? "\(match.0)\(options)" : String(match.0)
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
            case "start": return "photoinboxd\(options)"
            case "reload": return "photoinbox reload\(options)"
            default: return String(match.0)
            }
        }
    }
}
