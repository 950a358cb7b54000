import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Explaining
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings

struct LogCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "log", "Show the journal entries of one file.", "[OPTION…] FILE [-- JOURNALCTL-OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox log card/IMG_0412.JPG              every entry of that file, oldest first
          photoinbox log 8841                           the same by an operation's number
          photoinbox log card/IMG_0412.JPG -- -f        options after -- are journalctl's
          photoinbox log card/IMG_0412.JPG -- -x        with an explanation of each kind of entry
          photoinbox log --config /etc/photoinbox/studio.toml card/IMG_0412.JPG
                                                        of photoinboxd@studio

        This runs journalctl with the fields of the file and of the daemon that --config or --state names. A daemon that was
        started by hand logs to standard error, and the journal has nothing of it.

        EXIT STATUS:
          that of journalctl, or
          4   the file is in no inbox
          69  journalctl is not installed
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions

    @Argument(help: ArgumentHelp("A file, by its path or as INBOX/PATH; or an operation.", valueName: "file"))
    var file: RawArgument

    @Argument(parsing: .postTerminator, help: ArgumentHelp("An option for journalctl.", valueName: "journalctl-option"))
    var more: [RawArgument] = []

    func run(at places: Places) throws {
        let client = RequestClient(places: places, output: OutputOptions())
        let (inbox, path) = try subject(client)
        let arguments = Self.arguments(
            inbox, path, states: Self.names(of: places.state), more: more.map(\.path))
        // In place of this process, so that its pager, its colours and its status are the caller's.
        for program in ["/usr/bin/journalctl", "/bin/journalctl"] { execute(program, arguments) }
        throw CommandFailure(
            .unavailable, "cannot run journalctl: \(String(cString: strerror(errno)))",
            action: "Without systemd, read the daemon's standard error.")
    }

    /// The arguments for journalctl. `states` are the possible paths of the daemon's state directory.
    static func arguments(_ inbox: String, _ path: BytePath, states: [BytePath], more: [BytePath]) -> [BytePath] {
        // Matches of one field are alternatives; those of several must all hold.
        let matches =
            ["SYSLOG_IDENTIFIER=photoinboxd", "PHOTOINBOX_INBOX=\(inbox)", "PHOTOINBOX_FILE=\(path.escaped)"]
            + states.map { "PHOTOINBOX_STATE=\($0.escaped)" }
        return ["journalctl"] + more + matches.map { BytePath($0) }
    }

    /// The absolute path of a directory, and that path without symbolic links.
    static func names(of directory: BytePath) -> [BytePath] {
        let here = SettingsContext.ofProcess().workingDirectory
        let named = normalised(directory.isAbsolute ? directory : here.appending(directory))
        let real = (try? realPath(named)) ?? named
        return real == named ? [named] : [named, real]
    }

    private func subject(_ client: RequestClient) throws -> (String, BytePath) {
        if let text = String(validating: file.path.bytes, as: UTF8.self), let id = Int64(text), id > 0 {
            guard let outcome = try client.places.openCatalogue().outcome(id: id) else {
                throw CommandFailure(.noMatch, "operation \(id) does not exist")
            }
            return (outcome.outcome.inbox, outcome.outcome.path)
        }
        if case .file(let inbox, let path) = try client.subject(file) { return (inbox, path) }
        throw CommandFailure(
            .noMatch, "\(file.path) is an inbox, not a file", action: "For all entries: journalctl -u photoinboxd")
    }

    /// Returns only if the program cannot be run.
    private func execute(_ program: String, _ arguments: [BytePath]) {
        var words = arguments.map { argument in argument.withCString { strdup($0) } }
        words.append(nil)
        execv(program, &words)
        for word in words { free(word) }
    }
}
