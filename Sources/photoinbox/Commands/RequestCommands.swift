import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Reporting

struct PauseCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        "pause", "Stop filing from an inbox, until it is resumed.", "[OPTION…] INBOX")

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

    @OptionGroup var options: RequestOptions

    @Argument(help: ArgumentHelp("The inbox's name in the configuration.", valueName: "inbox"))
    var inbox: String

    func request(_ client: RequestClient) -> ControlCommand { .pause(inbox: inbox) }
}

struct ResumeCommand: RequestCommand {
    static let configuration = CommandConfiguration("resume", "Resume filing from a paused inbox.", "[OPTION…] INBOX")

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

    @OptionGroup var options: RequestOptions

    @Argument(help: ArgumentHelp("The inbox's name in the configuration.", valueName: "inbox"))
    var inbox: String

    func request(_ client: RequestClient) -> ControlCommand { .resume(inbox: inbox) }
}

struct RescanCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        "rescan", "Compare inboxes, or examine one file, again.", "[OPTION…] [INBOX|FILE]")

    static let lesson = """
        EXAMPLES:
          photoinbox rescan                            all inboxes
          photoinbox rescan card                       one inbox; returns when it is compared
          photoinbox rescan phones/IMG_2041.HEIC       one file, as if it had just arrived, even if it was ignored

        Quarantined files that somebody deleted are no longer listed afterwards.

        EXIT STATUS:
          0   done
          3   a part of it cannot be reached
          4   no such inbox or file
          69  the daemon is not running
          64, 75, 77: see photoinbox --help
        """

    @OptionGroup var options: RequestOptions

    @Argument(help: ArgumentHelp("An inbox, or a file in one.", valueName: "inbox|file"))
    var subject: RawArgument?

    func request(_ client: RequestClient) throws -> ControlCommand {
        .rescan(try subject.map { try client.subject($0) } ?? .everything)
    }
}

struct RetryCommand: RequestCommand {
    static let configuration = CommandConfiguration("retry", "Retry deferred files now.", "[OPTION…] INBOX|FILE|--all")

    static let lesson = """
        EXAMPLES:
          photoinbox retry --all                       every deferred file, and what hooks have skipped
          photoinbox retry phones                      the deferred files of one inbox
          photoinbox retry phones/IMG_2041.HEIC        one file

        EXIT STATUS:
          0   retrying
          4   nothing is deferred, and with --all no hook has skipped anything
          69  the daemon is not running
          77  permission denied
          64, 75, 78: see photoinbox --help
        """

    @Flag(help: "Retry deferred files in every inbox, and give hooks what they have skipped.")
    var all = false

    @OptionGroup var options: RequestOptions

    @Argument(help: ArgumentHelp("An inbox, or a file in one.", valueName: "inbox|file"))
    var subject: RawArgument?

    func validate() throws {
        if all == (subject != nil) { throw ValidationError("Give an inbox, a file, or --all.") }
    }

    func request(_ client: RequestClient) throws -> ControlCommand {
        .retry(try subject.map { try client.subject($0) } ?? .everything)
    }
}

struct ReleaseCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        "release", "Return a quarantined file to its inbox.", "[OPTION…] OPERATION")

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

    @Flag(name: .customLong("as-is"), help: "File it unchanged, without proof that it is complete.")
    var isAsIs = false

    @OptionGroup var options: RequestOptions

    @Argument(help: OperationArgument.help)
    var operation: OperationArgument

    func request(_ client: RequestClient) throws -> ControlCommand {
        .release(operation: try operation.number(client.places, of: [.quarantined]), asIs: isAsIs)
    }
}

struct DiscardCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        "discard", "Move a quarantined file or duplicate to the trash.", "[OPTION…] OPERATION")

    static let lesson = """
        EXAMPLES:
          photoinbox discard 8839                      into the trash; deleted after trash = "30d" of [filing]
          photoinbox discard 8839 --yes                the same without a question, as scripts must
          photoinbox discard 8839 --dry-run            show where it would go

        Nothing is deleted at once: until a file expires, it can be moved out of the trash by hand. A file that you deleted
        yourself is only noted as deleted, and no longer listed; as long as its disk may be away, nothing is noted.

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

    @OptionGroup var consent: ConsentOption
    @OptionGroup var options: RequestOptions

    @Argument(help: OperationArgument.help)
    var operation: OperationArgument

    var isConfirmed: Bool { consent.yes }
    var requiresConsent: Bool { true }

    func request(_ client: RequestClient) throws -> ControlCommand {
        .discard(operation: try operation.number(client.places, of: [.quarantined, .duplicate]))
    }
}

struct UndoCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        "undo", "Take a filed photo, with its set, out of the library.", "[OPTION…] OPERATION")

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

    @OptionGroup var consent: ConsentOption

    @Flag(name: .customLong("alone"), help: "Take back this file only, not the rest of its set.")
    var isAlone = false

    @OptionGroup var options: RequestOptions

    @Argument(help: OperationArgument.help)
    var operation: OperationArgument

    var isConfirmed: Bool { consent.yes }

    func request(_ client: RequestClient) throws -> ControlCommand {
        .undo(operation: try operation.number(client.places, of: [.filed]), alone: isAlone)
    }
}

struct ReloadCommand: Command {
    static let configuration = CommandConfiguration("reload", "Reload the daemon's configuration.")

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

    @OptionGroup var options: RequestOptions

    func run() throws {
        let request = ControlRequest(.reload, isDryRun: options.dryRun.isDryRun)
        let places = try Places(options.places, despiteMistakes: true, remarks: false)
        let answer = try ControlContact(places: places).ask(request)
        let lines = answer.text.map { $0.split(separator: "\n").map(String.init) } ?? []
        if let failure = CommandFailure(answer) {
            let mistakes = lines.isEmpty ? "" : ":\n" + lines.map { printable($0) }.joined(separator: "\n")
            throw CommandFailure(failure.status, failure.message + mistakes, action: failure.action)
        }
        guard options.output.json else {
            return try printOut((lines + [answer.message]).map { printable($0) + "\n" }.joined())
        }
        try printJSON([JSONField("message", answer.message), JSONField("warnings", lines)])
    }
}
