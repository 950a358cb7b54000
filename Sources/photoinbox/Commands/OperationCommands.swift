import ArgumentParser
import Catalogue
import ControlProtocol
import Glibc

/// `photoinbox release OPERATION`: gives a quarantined file another try.
struct ReleaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release", abstract: "Put a quarantined file back into its inbox.",
        usage: "photoinbox release [OPTION…] OPERATION")

    static let lesson = """
        EXAMPLES:
          photoinbox release 8839                      back to its inbox, to be looked at again
          photoinbox release 8839 --as-is              the same, and it is filed whatever it looks like
          photoinbox release 8839 --dry-run            where it would go
          photoinbox list --outcome quarantined        what there is, with its numbers

        A photo that was filed as it is says so: its proof is "released by" and your name.

        EXIT STATUS:
          0   released
          1   it cannot be
          4   no such operation, or done already
          69  the daemon is not running
          75  busy
          77  no permission
          64, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption

    @Flag(name: .customLong("as-is"), help: "File it as it is, though it cannot be shown to be whole.")
    var isAsIs = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: OperationArgument.help)
    var operation: OperationArgument

    func run() throws {
        let asking = try Asking(places, output)
        let number = try operation.number(asking.places, of: [.quarantined])
        try asking.run(.release(operation: number, asIs: isAsIs), isDryRun: dryRun.isDryRun)
    }
}

/// `photoinbox discard OPERATION --yes`: throws a file away that was set aside.
struct DiscardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Throw a file that was set aside into the trash.",
        usage: "photoinbox discard [OPTION…] OPERATION")

    static let lesson = """
        EXAMPLES:
          photoinbox discard 8839                      into the trash; deleted after trash = "30d" of [filing]
          photoinbox discard 8839 --yes                the same without a question, as scripts must
          photoinbox discard 8839 --dry-run            where it would go

        It is never deleted at once: until it expires, it can be taken out of the trash by hand.

        EXIT STATUS:
          0   discarded
          1   it cannot be, or the answer was no
          4   no such operation, or done already
          64  wrong usage; without --yes, where nobody can be asked
          69  the daemon is not running
          75  busy
          77  no permission
          78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var consent: ConsentOption
    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: OperationArgument.help)
    var operation: OperationArgument

    func validate() throws {
        if !consent.yes, !dryRun.isDryRun, output.json || isatty(STDIN_FILENO) == 0 {
            throw ValidationError("Give --yes if you mean it, or --dry-run to see.")
        }
    }

    func run() throws {
        let asking = try Asking(places, output)
        let number = try operation.number(asking.places, of: [.quarantined, .duplicate])
        try asking.run(.discard(operation: number), isDryRun: dryRun.isDryRun, unless: consent)
    }
}

/// `photoinbox undo OPERATION`: takes a filed photo back out of the library.
struct UndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo", abstract: "Take a filed photo, with its set, out of the library.",
        usage: "photoinbox undo [OPTION…] OPERATION")

    static let lesson = """
        EXAMPLES:
          photoinbox undo 8841                         it goes to "returned" beside the quarantine, as it is
          photoinbox undo 8841 --dry-run               where it would go
          photoinbox undo 8841 --alone                 the JPEG, say, and not the raw file that came with it
          photoinbox undo /srv/photos/2026/11/2026-11-21/IMG_0412.CR3
                                                       the same by its place, or by card/IMG_0412.CR3
          photoinbox undo e3b0c442                     or by the beginning of its SHA-256

        On a terminal it is said what would be done, and asked. It does not go back to its inbox, where it would be filed again at once. The catalogue keeps who asked.

        EXIT STATUS:
          0   taken back
          1   it cannot be, or the answer was no
          3   some of the set was
          4   no such operation, or done already
          69  the daemon is not running
          75  busy
          77  no permission
          64, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var consent: ConsentOption

    @Flag(name: .customLong("alone"), help: "This file alone, not all of the set that it was filed with.")
    var isAlone = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: OperationArgument.help)
    var operation: OperationArgument

    func run() throws {
        let asking = try Asking(places, output)
        let number = try operation.number(asking.places, of: [.filed])
        try asking.run(.undo(operation: number, alone: isAlone), isDryRun: dryRun.isDryRun, unless: consent)
    }
}
