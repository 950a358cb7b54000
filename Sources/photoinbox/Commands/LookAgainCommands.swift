import ArgumentParser
import CommandSupport
import ControlProtocol

/// `photoinbox rescan`: compares inboxes with what is known, or looks at one file again.
struct RescanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rescan", abstract: "Look at inboxes, or at one file, again.",
        usage: "photoinbox rescan [OPTION…] [INBOX|FILE]")

    static let lesson = """
        EXAMPLES:
          photoinbox rescan                            all inboxes
          photoinbox rescan card                       one; returns when it is compared
          photoinbox rescan phones/IMG_2041.HEIC       this file as if it had just come, also if it was ignored

        EXIT STATUS:
          0   done
          3   not all of it can be reached
          4   no such inbox or file
          69  the daemon is not running
          64, 75, 77: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("An inbox, or a file of one.", valueName: "subject"))
    var subject: RawArgument?

    func run() throws {
        let asking = try Asking(places, output)
        let subject = try subject.map { (argument) throws(CommandFailure) in try asking.subject(argument) }
        try asking.run(.rescan(subject ?? .everything), isDryRun: dryRun.isDryRun)
    }
}

/// `photoinbox retry`: tries deferred files now.
struct RetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Try now what is deferred.",
        usage: "photoinbox retry [OPTION…] INBOX|FILE|--all")

    static let lesson = """
        EXAMPLES:
          photoinbox retry --all                       everything that waits for its next try
          photoinbox retry phones                      that of one inbox
          photoinbox retry phones/IMG_2041.HEIC        one file

        EXIT STATUS:
          0   being tried
          4   nothing of it is deferred
          69  the daemon is not running
          77  no permission
          64, 75, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: "Of all inboxes.")
    var all = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("An inbox, or a file of one.", valueName: "subject"))
    var subject: RawArgument?

    func validate() throws {
        if all == (subject != nil) { throw ValidationError("Name an inbox or a file, or give --all.") }
    }

    func run() throws {
        let asking = try Asking(places, output)
        let subject = try subject.map { (argument) throws(CommandFailure) in try asking.subject(argument) }
        try asking.run(.retry(subject ?? .everything), isDryRun: dryRun.isDryRun)
    }
}
