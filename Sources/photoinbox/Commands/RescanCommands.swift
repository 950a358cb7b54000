import ArgumentParser
import CommandSupport
import ControlProtocol

/// `photoinbox rescan`: compares inboxes with what is known, or examines one file again.
struct RescanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rescan", abstract: "Compare inboxes, or examine one file, again.",
        usage: "photoinbox rescan [OPTION…] [INBOX|FILE]")

    static let lesson = """
        EXAMPLES:
          photoinbox rescan                            all inboxes
          photoinbox rescan card                       one inbox; returns when it is compared
          photoinbox rescan phones/IMG_2041.HEIC       one file, as if it had just arrived, even if it was ignored

        EXIT STATUS:
          0   done
          3   a part of it cannot be reached
          4   no such inbox or file
          69  the daemon is not running
          64, 75, 77: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("An inbox, or a file in one.", valueName: "inbox|file"))
    var subject: RawArgument?

    func run() throws {
        let asking = try Asking(places, output)
        let subject = try subject.map { (argument) throws(CommandFailure) in try asking.subject(argument) }
        try asking.run(.rescan(subject ?? .everything), isDryRun: dryRun.isDryRun)
    }
}

/// `photoinbox retry`: retries deferred files now.
struct RetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Retry deferred files now.",
        usage: "photoinbox retry [OPTION…] INBOX|FILE|--all")

    static let lesson = """
        EXAMPLES:
          photoinbox retry --all                       every deferred file
          photoinbox retry phones                      the deferred files of one inbox
          photoinbox retry phones/IMG_2041.HEIC        one file

        EXIT STATUS:
          0   retrying
          4   nothing is deferred
          69  the daemon is not running
          77  permission denied
          64, 75, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: "Retry deferred files in every inbox.")
    var all = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("An inbox, or a file in one.", valueName: "inbox|file"))
    var subject: RawArgument?

    func validate() throws {
        if all == (subject != nil) { throw ValidationError("Give an inbox, a file, or --all.") }
    }

    func run() throws {
        let asking = try Asking(places, output)
        let subject = try subject.map { (argument) throws(CommandFailure) in try asking.subject(argument) }
        try asking.run(.retry(subject ?? .everything), isDryRun: dryRun.isDryRun)
    }
}
