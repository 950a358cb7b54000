import Glibc

/// The destination of log entries and the reason for it.
public struct LogDestination: Hashable, Sendable {
    /// The two kinds of destination.
    public enum Place: Hashable, Sendable {
        /// journald, by its native protocol.
        case journal
        /// Lines on standard error.
        case console(ConsoleFormatter.Style)
    }

    /// The user's choice.
    public enum Request: String, Hashable, Sendable, CaseIterable {
        /// Decided by the surroundings.
        case automatic
        /// The journal, even from a terminal.
        case journal
        /// Standard error, even under a service manager.
        case console
    }

    /// Whether lines may be coloured.
    public enum Colour: String, Hashable, Sendable, CaseIterable {
        /// On a capable terminal, unless NO_COLOR is set and not empty.
        case auto
        /// On every console that is not read by a service manager.
        case always
        /// Never.
        case never
    }

    /// The destination.
    public let place: Place
    /// One clause: `standard error is the journal's stream`.
    public let reason: String

    /// Decides by `surroundings`, without system calls of its own.
    public static func choose(
        _ request: Request = .automatic, colour: Colour = .auto, in surroundings: Surroundings = .current()
    ) -> LogDestination {
        let console = Place.console(consoleStyle(colour, surroundings))
        let isJournalStream = surroundings.standardErrorIsJournalStream
        switch request {
        case .console: return LogDestination(place: console, reason: "asked for")
        case .journal where surroundings.journalIsThere: return LogDestination(place: .journal, reason: "asked for")
        case .journal:
            return LogDestination(
                place: console, reason: "the journal was asked for, but \(JournalSink.socketPath) does not exist")
        case .automatic where isJournalStream && surroundings.journalIsThere:
            return LogDestination(place: .journal, reason: "standard error is the journal's stream (JOURNAL_STREAM)")
        case .automatic where isJournalStream:
            return LogDestination(
                place: console,
                reason: "standard error is the journal's stream, but \(JournalSink.socketPath) does not exist")
        case .automatic where surroundings.standardErrorIsTerminal:
            return LogDestination(place: console, reason: "standard error is a terminal")
        case .automatic:
            return LogDestination(
                place: console, reason: "standard error is neither a terminal nor the journal's stream")
        }
    }

    /// The sink for this destination. `showsFields` applies to a console; the journal always gets all fields.
    public func makeSink(encoding: JournalEncoding, showsFields: Bool = true) -> any LogSink {
        switch place {
        case .journal: JournalSink(encoding: encoding)
        case .console(let style): ConsoleSink(style: style, showsFields: showsFields)
        }
    }

    private static func consoleStyle(_ colour: Colour, _ surroundings: Surroundings) -> ConsoleFormatter.Style {
        if surroundings.standardErrorIsJournalStream { return .prioritized }
        let plain: ConsoleFormatter.Style = surroundings.standardErrorIsTerminal ? .terminal : .dated
        switch colour {
        case .never: return plain
        case .always: return .coloured
        case .auto: return surroundings.terminalTakesColour ? .coloured : plain
        }
    }
}

extension LogDestination {
    /// The inputs of the choice: the environment and the kind of standard error.
    public struct Surroundings: Hashable, Sendable {
        /// JOURNAL_STREAM: device and inode of the journal's stream, `dev:inode`; see systemd.exec(5).
        public var journalStream: String?
        /// Device and inode of standard error in the same format; nil if it is closed.
        public var standardError: String?
        /// The result of isatty(3) for it.
        public var standardErrorIsTerminal = false
        /// Whether journald's socket exists.
        public var journalIsThere = false
        /// NO_COLOR; see no-color.org.
        public var noColour: String?
        /// TERM.
        public var terminalKind: String?

        /// Surroundings without a journal, terminal or variable.
        public init() {}

        /// The surroundings of this process. Reads the environment: call it in `main`, before threads exist.
        public static func current() -> Surroundings {
            var found = Surroundings()
            found.journalStream = environmentVariable("JOURNAL_STREAM")
            found.noColour = environmentVariable("NO_COLOR")
            found.terminalKind = environmentVariable("TERM")
            var status = stat()
            if fstat(STDERR_FILENO, &status) == 0 { found.standardError = "\(status.st_dev):\(status.st_ino)" }
            found.standardErrorIsTerminal = isatty(STDERR_FILENO) == 1
            found.journalIsThere = access(JournalSink.socketPath, F_OK) == 0
            return found
        }

        /// Whether standard error is connected to the journal. The variable alone is not enough: programs with
        /// redirected standard error inherit it too.
        var standardErrorIsJournalStream: Bool { journalStream != nil && journalStream == standardError }

        var terminalTakesColour: Bool {
            guard standardErrorIsTerminal, let terminalKind, !terminalKind.isEmpty else { return false }
            return terminalKind != "dumb" && (noColour ?? "").isEmpty
        }
    }
}

/// A variable of this process's environment; nil if unset. Not safe while another thread changes the environment.
func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
