import ArgumentParser
import ControlProtocol

/// `photoinbox pause INBOX`: takes nothing more out of an inbox.
struct PauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Take nothing more out of an inbox, until resume.",
        usage: "photoinbox pause [OPTION…] INBOX")

    static let lesson = """
        EXAMPLES:
          photoinbox pause card       what comes is seen, counted and waits; what is in work is finished
          photoinbox resume card

        It stays paused over restarts, and "photoinbox status" says so.

        EXIT STATUS:
          0   paused, or paused already
          4   no such inbox
          69  the daemon is not running
          77  no permission
          64, 75, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Its name in the configuration.", valueName: "inbox"))
    var inbox: String

    func run() throws { try Asking(places, output).run(.pause(inbox: inbox), isDryRun: dryRun.isDryRun) }
}

/// `photoinbox resume INBOX`: the end of `pause`.
struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Go on with an inbox that was paused.",
        usage: "photoinbox resume [OPTION…] INBOX")

    static let lesson = """
        EXAMPLES:
          photoinbox resume card

        EXIT STATUS:
          0   resumed, or not paused
          4   no such inbox
          69  the daemon is not running
          77  no permission
          64, 75, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Its name in the configuration.", valueName: "inbox"))
    var inbox: String

    func run() throws { try Asking(places, output).run(.resume(inbox: inbox), isDryRun: dryRun.isDryRun) }
}
