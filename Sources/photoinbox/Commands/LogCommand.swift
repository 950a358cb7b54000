import ArgumentParser
import Catalogue
import ControlProtocol
import FileValues
import Glibc
import Reporting

/// `photoinbox log FILE`: what the journal has of one file.
struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Show what the journal has of one file.",
        usage: "photoinbox log [OPTION…] FILE [-- JOURNALCTL-OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox log card/IMG_0412.JPG              every entry of that file, oldest first
          photoinbox log 8841                           the same by an operation's number
          photoinbox log card/IMG_0412.JPG -- -f        what follows after -- goes to journalctl as it is
          photoinbox log card/IMG_0412.JPG -- -x        with what each kind of entry means

        It runs journalctl with the fields of that file. A daemon that was started by hand logs to standard error, and
        the journal has nothing of it.

        EXIT STATUS:
          that of journalctl   4 the file is in no inbox   69 journalctl is not installed   64, 77, 78
        """

    @OptionGroup var places: PlaceOptions

    @Argument(help: ArgumentHelp("A file, as INBOX/PATH or by its path, or an operation.", valueName: "file"))
    var file: RawArgument

    @Argument(parsing: .postTerminator, help: ArgumentHelp("For journalctl.", valueName: "journalctl-option"))
    var more: [RawArgument] = []

    func run() throws {
        let asking = try Asking(places, OutputOptions())
        let (inbox, path) = try subject(asking)
        var arguments: [BytePath] = [
            "journalctl", "SYSLOG_IDENTIFIER=photoinboxd", BytePath(Array("PHOTOINBOX_INBOX=\(inbox)".utf8)),
            BytePath(Array("PHOTOINBOX_FILE=\(path.escaped)".utf8)),
        ]
        arguments.insert(contentsOf: more.map(\.path), at: 1)
        // In place of this process, so that its pager, its colours and its status are the caller's.
        for program in ["/usr/bin/journalctl", "/bin/journalctl"] { execute(program, arguments) }
        throw CommandFailure(
            .unavailable, "journalctl cannot be run: \(String(cString: strerror(errno)))",
            action: "Without systemd, see where the daemon's standard error goes.")
    }

    private func subject(_ asking: Asking) throws -> (String, BytePath) {
        if let text = String(validating: file.path.bytes, as: UTF8.self), let id = Int64(text), id > 0 {
            let outcome = try Records(asking.places).ask { (catalogue) throws(CatalogueError) in
                try catalogue.outcome(id: id)
            }
            guard let outcome else { throw CommandFailure(.noMatch, "there is no operation \(id)") }
            return (outcome.outcome.inbox, outcome.outcome.path)
        }
        if case .file(let inbox, let path) = try asking.subject(file) { return (inbox, path) }
        throw CommandFailure(.noMatch, "\(file.path) is an inbox", action: "journalctl -u photoinboxd has all of it.")
    }

    /// Returns only where that program cannot be run.
    private func execute(_ program: String, _ arguments: [BytePath]) {
        var words = arguments.map { argument in argument.withCString { strdup($0) } }
        words.append(nil)
        execv(program, &words)
        for word in words { free(word) }
    }
}
