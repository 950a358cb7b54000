import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Glibc

/// `photoinbox release OPERATION`: returns a quarantined file to its inbox.
struct ReleaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release", abstract: "Return a quarantined file to its inbox.",
        usage: "photoinbox release [OPTION…] OPERATION")

    static let lesson = """
        EXAMPLES:
          photoinbox release 8839                      back to its inbox, to be examined again
          photoinbox release 8839 --as-is              back to its inbox, and filed unchanged
          photoinbox release 8839 --dry-run            show where it would go
          photoinbox list --outcome quarantined        quarantined files, with their numbers

        The proof of a photo that was filed as it is reads "released by" and your name.

        EXIT STATUS:
          0   released
          1   it cannot be released
          4   no such operation, or it was released or discarded before
          69  the daemon is not running
          75  busy
          77  permission denied
          64, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption

    @Flag(name: .customLong("as-is"), help: "File it unchanged, without proof that it is complete.")
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

/// `photoinbox discard OPERATION --yes`: moves a file that was set aside to the trash.
struct DiscardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Move a quarantined file or duplicate to the trash.",
        usage: "photoinbox discard [OPTION…] OPERATION")

    static let lesson = """
        EXAMPLES:
          photoinbox discard 8839                      into the trash; deleted after trash = "30d" of [filing]
          photoinbox discard 8839 --yes                the same without a question, as scripts must
          photoinbox discard 8839 --dry-run            show where it would go

        Nothing is deleted at once: until a file expires, it can be moved out of the trash by hand.

        EXIT STATUS:
          0   discarded
          1   it cannot be discarded, or the answer was no
          4   no such operation, or it was released or discarded before
          64  wrong usage; or no --yes, and no terminal to ask on
          69  the daemon is not running
          75  busy
          77  permission denied
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
            throw ValidationError("Give --yes to confirm, or --dry-run to see what would be done.")
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
          photoinbox undo 8841                         moves it to "returned", beside the quarantine
          photoinbox undo 8841 --dry-run               shows where it would go
          photoinbox undo 8841 --alone                 only the JPEG, say, and not the RAW file of its set
          photoinbox undo /srv/photos/2026/11/2026-11-21/IMG_0412.CR3
                                                       the same by its path, or by card/IMG_0412.CR3
          photoinbox undo e3b0c442                     or by the beginning of its SHA-256

        On a terminal it shows what would be done and asks. The photo does not go back to its inbox, where it would be filed
        again at once. The catalogue records who asked.

        EXIT STATUS:
          0   taken back
          1   it cannot be taken back, or the answer was no
          3   only a part of the set was taken back
          4   no such operation, or it was taken back before
          69  the daemon is not running
          75  busy
          77  permission denied
          64, 78: see photoinbox --help
        """

    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var consent: ConsentOption

    @Flag(name: .customLong("alone"), help: "Take back this file only, not the rest of its set.")
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
