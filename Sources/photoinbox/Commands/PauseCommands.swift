import ArgumentParser
import CommandSupport
import ControlProtocol

/// `photoinbox pause INBOX`: stops filing from an inbox.
struct PauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Stop filing from an inbox, until it is resumed.",
        usage: "photoinbox pause [OPTION…] INBOX")

    static let lesson = """
        EXAMPLES:
          photoinbox pause card       new files wait and are counted; files in work are finished
          photoinbox resume card

        It stays paused over restarts, and "photoinbox status" says so.

        EXIT STATUS:
          0   paused, also if it was paused before
          4   no such inbox
          69  the daemon is not running
          77  permission denied
          64, 75, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The inbox's name in the configuration.", valueName: "inbox"))
    var inbox: String

    func run() throws { try Asking(places, output).run(.pause(inbox: inbox), isDryRun: dryRun.isDryRun) }
}

/// `photoinbox resume INBOX`: ends `pause`.
struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume filing from a paused inbox.",
        usage: "photoinbox resume [OPTION…] INBOX")

    static let lesson = """
        EXAMPLES:
          photoinbox resume card

        EXIT STATUS:
          0   resumed, also if it was not paused
          4   no such inbox
          69  the daemon is not running
          77  permission denied
          64, 75, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The inbox's name in the configuration.", valueName: "inbox"))
    var inbox: String

    func run() throws { try Asking(places, output).run(.resume(inbox: inbox), isDryRun: dryRun.isDryRun) }
}
