import ArgumentParser
import CommandContact
import CommandSupport
import ControlProtocol
import Reporting

/// `photoinbox reload`: reloads the daemon's configuration and prints the result.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Reload the daemon's configuration.",
        usage: "photoinbox reload [OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox reload --dry-run     check it, with the directories as the daemon sees them
          photoinbox reload

        Files in work are finished first, and the command waits until the new configuration is in force. A wrong configuration
        is refused with every mistake, by file and line, and the running one is kept. SIGHUP does the same, and reports to the
        journal.

        EXIT STATUS:
          0   loaded
          69  the daemon is not running
          77  permission denied
          78  refused
          1, 64, 75: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let request = ControlRequest(.reload, isDryRun: dryRun.isDryRun)
        let answer = try ControlContact(places: Places(places, despiteMistakes: true, remarks: false)).ask(request)
        let lines = answer.text.map { $0.split(separator: "\n").map(String.init) } ?? []
        if let failure = CommandFailure(answer) {
            let mistakes = lines.isEmpty ? "" : ":\n" + lines.map { shown($0) }.joined(separator: "\n")
            throw CommandFailure(failure.status, failure.message + mistakes, action: failure.action)
        }
        guard output.json else {
            return try printOut((lines + [answer.message]).map { shown($0) + "\n" }.joined())
        }
        try printOut(
            JSONValue.document([
                JSONField("message", .string(answer.message)),
                JSONField("warnings", .array(lines.map { .string($0) })),
            ]).compact + "\n")
    }
}
