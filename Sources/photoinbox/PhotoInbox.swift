import ArgumentParser
import CommandContact
import CommandSupport
import ControlProtocol
import DaemonProgram
import Describing
import FetchService
import FileValues
import Glibc
import LinuxKernel
import Reporting
import SettingUp
import Settings
import Top
import WebProgram

/// The command line for people and scripts: shows what photoinboxd does, and explains it. See photoinbox(1).
///
/// Synchronous from the top: an asynchronous main would leave the main thread with every signal unblocked.
@main
struct PhotoInbox: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "photoinbox",
        abstract: "See what photoinboxd does with your photos, and why.",
        usage: "photoinbox COMMAND [OPTION…] [ARGUMENT…]",
        version: version,
        groupedSubcommands: groups.map { CommandGroup(name: $0.name, subcommands: $0.commands) })

    /// All commands, as the help shows them.
    static let groups: [(name: String, commands: [any Command.Type])] = [
        (
            "View",
            [
                StatusCommand.self, TopCommand.self, ListCommand.self, SearchCommand.self, TailCommand.self,
                StatsCommand.self, WatchCommand.self, SimilarCommand.self, SheetCommand.self, WebCommand.self,
            ]
        ), ("Investigate", [ExplainCommand.self, ShowCommand.self, LogCommand.self, ConfigCommand.self]),
        (
            "Control",
            [
                ImportCommand.self, FetchCommand.self, PauseCommand.self, ResumeCommand.self, RescanCommand.self,
                RetryCommand.self, ReleaseCommand.self, DiscardCommand.self, UndoCommand.self, ReloadCommand.self,
            ]
        ),
        (
            "Maintain",
            [
                SetupCommand.self, VerifyCommand.self, AdoptCommand.self, RebuildCommand.self,
                CatalogueCommand.self, HostsCommand.self, StoreCommand.self, ThumbsCommand.self, MetricsCommand.self,
                DumpCommand.self,
            ]
        ), ("Exchange", [ImportCSVCommand.self, ExportCSVCommand.self, ExportJSONCommand.self]),
    ]

    static let version = "photoinbox \(productVersion)"

    /// The daemon and the programs for downloads, pages and uploads are installed as links to this one; see docs/decisions/0054.
    static func main() {
        switch BytePath(CommandLine.arguments.first ?? "").name {
        case "photoinboxd": PhotoInboxDaemon.main()
        case "photoinbox-fetch": FetchProgram.main()
        case "photoinbox-web": WebProgram.main()
        case "photoinbox-drop": DropProgram.main()
        default: runCommand()
        }
    }

    private static func runCommand() {
        // write(2) reports a closed reader, so that the program ends quietly and not by a signal.
        signal(SIGPIPE, SIG_IGN)
        // Otherwise the next file would get the number of a closed stream.
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
        let arguments = ShortOptions.separated(RawArgument.ofProcess())
        do {
            // What installers and scripts ask first needs no parser.
            if arguments == ["--version"] { return try printOut(version + "\n") }
            var command = try command(of: arguments)
            try command.run()
        } catch {
            Ending(error, arguments: arguments).exit()
        }
    }
}

extension PhotoInbox {
    /// By the command's own parser: the program's sets up one for every command, and is left for help and mistakes.
    private static func command(of arguments: [String]) throws -> any ParsableCommand {
        if let wanted = groups.lazy.flatMap({ $0.commands }).first(where: { $0.name == arguments.first }),
            let command = try? wanted.parseAsRoot(Array(arguments.dropFirst())), type(of: command) == wanted
        {
            return command
        }
        return try parseAsRoot(arguments)
    }
}

/// How the program ends when a command threw: its output, its error text and its status.
private struct Ending {
    private var status = ExitStatus.ok.rawValue
    private var output = ""
    private var errorText = ""

    init(_ error: any Error, arguments: [String]) {
        switch error {
        case let error as CommandEnd: status = error.status.rawValue
        case let error as CommandFailure: fail(error, arguments)
        case let error as SystemCallError: fail(CommandFailure(error), arguments)
        default:
            status = PhotoInbox.exitCode(for: error).rawValue
            if let failure = Self.unknownCommand(in: arguments) {
                fail(failure, arguments)
            } else if status == ExitStatus.ok.rawValue {
                output = HelpText(arguments: arguments, standard: PhotoInbox.fullMessage(for: error)).text
            } else {
                let command = HelpText.command(in: arguments).map { " " + $0.name } ?? ""
                fail(
                    CommandFailure(
                        ExitStatus(reported: status), Self.withForm(Self.oneLine(PhotoInbox.message(for: error))),
                        action: "See: photoinbox\(command) --help"), arguments)
            }
        }
    }

    private mutating func fail(_ failure: CommandFailure, _ arguments: [String]) {
        status = failure.status.rawValue
        let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        errorText = isJSON ? failure.json.compact + "\n" : "photoinbox: \(failure.text)\n"
    }

    /// The failure for an unknown command: `statsu`, or `help statsu`.
    private static func unknownCommand(in arguments: [String]) -> CommandFailure? {
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        let names = PhotoInbox.groups.flatMap { $0.commands }.map { $0.name }
        guard let word = words.first, !word.hasPrefix("-"), !(names + ["help"]).contains(word) else { return nil }
        let meant = likelyMeaning(of: word, among: names).map { "Did you mean \($0)? " } ?? ""
        return CommandFailure(
            .usage, "there is no command \(escapeForDisplay(Array(word.utf8)))",
            action: meant + "See: photoinbox --help")
    }

    /// A list that ArgumentParser writes over several lines, as one.
    private static func oneLine(_ message: String) -> String {
        message.split(separator: "\n").enumerated().reduce(into: "") { text, line in
            let item = line.element.hasPrefix("  - ") ? line.element.dropFirst(4) : line.element
            let isFirstItem = text.hasSuffix(":")
            text += line.offset == 0 ? "\(item)" : isFirstItem || item == line.element ? " \(item)" : ", \(item)"
        }
    }

    /// The form of values, by what the parser says that it does not have.
    private static let forms: [(ending: String, form: String)] =
        [
            ("--near <area>'", "write LATITUDE,LONGITUDE,DISTANCE, such as 54.32,10.12,5km"),
            ("--bbox <area>'", "write WEST,SOUTH,EAST,NORTH, such as 9.9,53.4,10.3,53.7"),
            (" <size>'", "write a number of bytes, or of K, M, G or T, such as 20G"),
            (" <port>'", "write a number from 0 to 65535"),
        ]
        + ["number", "n", "pixels", "bits", "stars"].map {
            (ending: " <\($0)>'", form: "write a whole number")
        }

    /// What the parser only refuses, with what it must be.
    private static func withForm(_ message: String) -> String {
        guard message.hasPrefix("The value '"), message.contains("' is invalid for '-"),
            let (_, form) = forms.first(where: { message.hasSuffix($0.ending) })
        else { return message }
        return "\(message): \(form)"
    }

    func exit() -> Never {
        var standardOutput = OutputBuffer(descriptor: STDOUT_FILENO)
        standardOutput.append(output)
        _ = standardOutput.flush()
        printError(errorText)
        Glibc.exit(status)
    }
}
