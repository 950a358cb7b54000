import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import PhotoModel
import Reporting

struct HostsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "hosts", "Show which daemon a catalogue in PostgreSQL belongs to.", "[OPTION…] [forget NAME]")

    static let lesson = """
        EXAMPLES:
          photoinbox hosts                      the daemons that have written in the catalogue, and when
          sudo photoinbox hosts forget old-nas  let another daemon have it: old-nas never comes back

        One photoinboxd at a time works with a catalogue in PostgreSQL: that of the state directory that was first. Another one
        does not start until the first is forgotten. What a forgotten one still sends is refused by the server, and it files
        nothing more; photos that wait in its inboxes stay there.

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
        let hosts = try catalogue.hosts()
        if output.json {
            for host in hosts {
                try printJSON([
                    JSONField("type", "host"), JSONField("name", host.name), JSONField("silence", Int(host.silence)),
                    JSONField("forgotten", host.isForgotten),
                ])
            }
            return
        }
        var table = TextTable([("HOST", .left), ("STATE", .left), ("WROTE LAST", .left)])
        for host in hosts {
            table.add([
                printable(host.name), host.isForgotten ? "forgotten" : "writes",
                "\(HumanText.age(host.silence)) ago",
            ])
        }
        try printOut(table.rendered(Terminal.style(output.color)))
    }
}
