import Glibc
import Testing

@testable import Systemd

struct LogDestinationTests {
    private static let service = surroundings(stream: "5:17", standardError: "5:17", journal: true)
    private static let terminal = surroundings(terminal: true, journal: true)

    private static func surroundings(
        stream: String? = nil, standardError: String? = "1:2", terminal: Bool = false, journal: Bool = false,
        noColour: String? = nil, kind: String? = "xterm"
    ) -> LogDestination.Surroundings {
        var made = LogDestination.Surroundings()
        made.journalStream = stream
        made.standardError = standardError
        made.standardErrorIsTerminal = terminal
        made.journalIsThere = journal
        made.noColour = noColour
        made.terminalKind = kind
        return made
    }

    @Test(
        "The destination follows from the request and the surroundings",
        arguments: [
            (LogDestination.Request.automatic, service, LogDestination.Place.journal),
            (.console, service, .console(.prioritized)),
            (.journal, service, .journal),
            (.automatic, surroundings(stream: "5:17", standardError: "5:17"), .console(.prioritized)),
            // Inherited, but standard error is redirected.
            (.automatic, surroundings(stream: "5:17", standardError: "5:18", journal: true), .console(.dated)),
            (.automatic, surroundings(stream: "5:17", terminal: true, journal: true), .console(.coloured)),
            (.automatic, surroundings(stream: "", standardError: nil, journal: true), .console(.dated)),
            (.automatic, terminal, .console(.coloured)),
            (.journal, terminal, .journal),
            (.journal, surroundings(terminal: true), .console(.coloured)),
            (.automatic, surroundings(), .console(.dated)),
        ])
    func place(
        _ request: LogDestination.Request, _ surroundings: LogDestination.Surroundings, _ place: LogDestination.Place
    ) {
        let chosen = LogDestination.choose(request, in: surroundings)
        #expect(chosen.place == place)
        #expect(!chosen.reason.isEmpty)
    }

    @Test(
        "The colour follows from the request and the surroundings",
        arguments: [
            (LogDestination.Colour.auto, surroundings(terminal: true), ConsoleFormatter.Style.coloured),
            (.auto, surroundings(terminal: true, noColour: "1"), .terminal),
            (.auto, surroundings(terminal: true, noColour: ""), .coloured),
            (.auto, surroundings(terminal: true, kind: "dumb"), .terminal),
            (.auto, surroundings(terminal: true, kind: nil), .terminal),
            (.auto, surroundings(), .dated),
            (.always, surroundings(noColour: "1", kind: "dumb"), .coloured),
            (.never, surroundings(terminal: true), .terminal),
            (.always, service, .prioritized),
        ])
    func colour(
        _ colour: LogDestination.Colour, _ surroundings: LogDestination.Surroundings, _ style: ConsoleFormatter.Style
    ) {
        #expect(LogDestination.choose(.console, colour: colour, in: surroundings).place == .console(style))
    }

    /// In its own process, whose standard error is a real pseudo-terminal.
    @Test("A real terminal is detected")
    func realTerminal() async {
        await #expect(processExitsWith: .success) {
            // TIOCSPTLCK and TIOCGPTPEER of ioctl_tty(2): unlock the pair, open its other side.
            let main = open("/dev/ptmx", O_RDWR | O_NOCTTY)
            var locked: Int32 = 0
            guard main >= 0, ioctl(main, 0x4004_5431, &locked) == 0 else { exit(1) }
            let side = ioctl(main, 0x5441, O_RDWR | O_NOCTTY)
            guard side >= 0, dup2(side, 2) == 2 else { exit(2) }
            setenv("TERM", "xterm", 1)
            unsetenv("NO_COLOR")
            unsetenv("JOURNAL_STREAM")
            let onTerminal = LogDestination.choose()
            setenv("NO_COLOR", "1", 1)
            let plain = LogDestination.choose()
            exit(onTerminal.place == .console(.coloured) && plain.place == .console(.terminal) ? 0 : 3)
        }
    }
}
