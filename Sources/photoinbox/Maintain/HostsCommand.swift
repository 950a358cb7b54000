import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import Glibc
import PhotoModel
import Reporting

struct HostsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "hosts", "Show which hosts file with a catalogue in PostgreSQL.", "[OPTION…] [show NAME | forget NAME]")

    static let lesson = """
        EXAMPLES:
          photoinbox hosts                      the hosts that file with the catalogue, and their state
          photoinbox hosts show press-2         with the files that were waiting there when it was last seen
          sudo photoinbox hosts forget old-nas  it never comes back: others may have its inboxes' names

        Each daemon that has its catalogue in PostgreSQL reports its state there every ten seconds. One that has reported nothing for
        thirty seconds is silent: it, its machine, or its network is down. A forgotten one is refused by the server, and files
        nothing until it is started again; photos that wait in its inboxes stay there. What all of them need is shown by photoinbox status --all.

        EXIT STATUS:
          0   done
          1   the host that is to be forgotten runs
          4   there is no host of that name, or the catalogue is a file, which has none
          64, 77, 78: see photoinbox --help
        """

    @Flag(help: "With forget: a host that was seen within the last thirty seconds, too.")
    var yes = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("show or forget, and the host's name.", valueName: "word"))
    var words: [String] = []

    private var forgets: Bool { words.first == "forget" }

    func validate() throws {
        guard words.isEmpty || words.count == 2 && ["show", "forget"].contains(words[0]) else {
            throw ValidationError("The words are show NAME, forget NAME, or none.")
        }
        if yes, !forgets { throw ValidationError("--yes requires forget.") }
    }

    func run(at places: Places) throws {
        guard places.catalogue.file == nil else {
            throw CommandFailure(.noMatch, "the catalogue is a file, so its only host is this machine")
        }
        let catalogue = try places.openCatalogue(forRepair: forgets)
        if forgets, !yes, let host = try catalogue.hosts().first(where: { $0.name == words.last }),
            !host.isForgotten, !host.isSilent
        {
            throw CommandFailure(
                .failed, "\(printable(host.name)) was seen \(host.silence) s ago: it runs, and would file nothing more",
                action: "If that is meant: photoinbox hosts forget --yes \(shellQuoted(host.name))")
        }
        if forgets, let name = words.last, try !catalogue.forgetHost(name) {
            throw CommandFailure(
                .noMatch, "there is no host \(printable(name)), or it is forgotten already",
                action: "See which there are: photoinbox hosts")
        }
        var rows = try catalogue.hosts()
        if let name = words.last {
            rows.removeAll { $0.name != name && !forgets }
            if rows.isEmpty {
                throw CommandFailure(
                    .noMatch, "there is no host \(printable(name))", action: "See which there are: photoinbox hosts")
            }
        }
        let report = HostsReport(rows, own: places.ownHost(among: rows))
        if output.json {
            for host in report.json { try printJSON([JSONField("type", "host")] + host) }
            return
        }
        try printOut(
            report.table(Terminal.style(output.color), now: Int64(time(nil)))
                + (words.last.flatMap { report.waiting(at: $0) } ?? ""))
    }
}
