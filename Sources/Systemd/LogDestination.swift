import Glibc

/// Where entries go, and why there.
public struct LogDestination: Hashable, Sendable {
    /// The two kinds of place.
    public enum Place: Hashable, Sendable {
        /// journald, by its native protocol.
        case journal
        /// Lines on standard error.
        case console(ConsoleFormatter.Style)
    }

    /// What the user asked for.
    public enum Request: String, Hashable, Sendable, CaseIterable {
        /// Look around and decide.
        case automatic
        /// The journal, even from a terminal.
        case journal
        /// Standard error, even under a service manager.
        case console
    }

    /// Whether lines may be coloured.
    public enum Colour: String, Hashable, Sendable, CaseIterable {
        /// On a terminal that can, unless NO_COLOR is set to something.
        case auto
        /// Wherever lines are for people.
        case always
        /// Nowhere.
        case never
    }

    /// Where.
    public let place: Place
    /// One clause: `standard error is the journal's stream`.
    public let reason: String

    /// Decides from what ``Surroundings/current()`` sees, and makes no system call itself.
    public static func choose(
        _ request: Request = .automatic, colour: Colour = .auto, in surroundings: Surroundings = .current()
    ) -> LogDestination {
        let console = Place.console(consoleStyle(colour, surroundings))
        let caught = surroundings.standardErrorIsJournalStream
        switch request {
        case .console: return LogDestination(place: console, reason: "asked for")
        case .journal where surroundings.journalIsThere: return LogDestination(place: .journal, reason: "asked for")
        case .journal:
            return LogDestination(
                place: console, reason: "the journal was asked for, but \(JournalSink.socketPath) does not exist")
        case .automatic where caught && surroundings.journalIsThere:
            return LogDestination(place: .journal, reason: "standard error is the journal's stream (JOURNAL_STREAM)")
        case .automatic where caught:
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

    /// The sink for this place. `showsFields` says whether lines on a console hold more than their messages; the
    /// journal always gets all fields.
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
    /// What the choice depends on: the environment and what standard error is.
    public struct Surroundings: Hashable, Sendable {
        /// JOURNAL_STREAM: device and inode of the journal's stream, `dev:inode`; see systemd.exec(5).
        public var journalStream: String?
        /// Device and inode of standard error, written the same way; nil if it is closed.
        public var standardError: String?
        /// What isatty(3) says of it.
        public var standardErrorIsTerminal = false
        /// Whether journald's socket exists.
        public var journalIsThere = false
        /// NO_COLOR; see no-color.org.
        public var noColour: String?
        /// TERM.
        public var terminalKind: String?

        /// Surroundings in which there is nothing.
        public init() {}

        /// The surroundings of this process. Reads the environment: call it in `main`, before there are threads.
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

        /// Whether what is written to standard error goes to the journal. The variable alone says nothing: it is
        /// inherited by programs whose standard error was sent elsewhere.
        var standardErrorIsJournalStream: Bool { journalStream != nil && journalStream == standardError }

        var terminalTakesColour: Bool {
            guard standardErrorIsTerminal, let terminalKind, !terminalKind.isEmpty else { return false }
            return terminalKind != "dumb" && (noColour ?? "").isEmpty
        }
    }
}

/// A variable of this process's environment; nil if it is unset. Not safe against a thread that changes one.
func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
