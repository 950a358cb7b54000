import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import Glibc
import PhotoModel
import Reporting

struct HostsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "hosts", "Show which hosts file with a catalogue in PostgreSQL.", "[OPTION…] [forget NAME]")

    static let lesson = """
        EXAMPLES:
          photoinbox hosts                      the hosts that file with the catalogue, and how each is
          sudo photoinbox hosts forget old-nas  it never comes back: others may have its inboxes' names

        Each daemon that has its catalogue in PostgreSQL says there every ten seconds how it is. One that has said nothing for
        thirty seconds is silent: it, its machine, or its network is down. A forgotten one is refused by the server, and files
        nothing until it is started again; photos that wait in its inboxes stay there. What all of them need is shown by photoinbox status --all.

        EXIT STATUS:
          0   done
          4   there is no host of that name, or the catalogue is a file, which has none
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("forget, and the host's name.", valueName: "word"))
    var words: [String] = []

    func validate() throws {
        guard words.isEmpty || words.count == 2 && words[0] == "forget" else {
            throw ValidationError("Write: hosts, or hosts forget NAME.")
        }
    }

    func run(at places: Places) throws {
        guard places.catalogue.file == nil else {
            throw CommandFailure(.noMatch, "the catalogue is a file, so its only host is this machine")
        }
        let catalogue = try places.openCatalogue(forRepair: !words.isEmpty)
        if let name = words.last {
            guard try catalogue.forgetHost(name) else {
                throw CommandFailure(
                    .noMatch, "there is no host \(printable(name)), or it is forgotten already",
                    action: "See which there are: photoinbox hosts")
            }
        }
        let report = HostsReport(try catalogue.hosts())
        if output.json {
            for host in report.json { try printJSON([JSONField("type", "host")] + host) }
            return
        }
        try printOut(report.table(Terminal.style(output.color), now: Int64(time(nil))))
    }
}
