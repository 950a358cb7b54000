import ArgumentParser
import CommandContact
import CommandSupport
import Reporting
import Settings

/// `photoinbox config`: the configuration, and where each value comes from.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show the configuration, each value with its origin.",
        usage: "photoinbox config [OPTION…] [KEY]")

    static let lesson = """
        EXAMPLES:
          photoinbox config                             every value, with file and line or "default"
          photoinbox config --changed                   only values that differ from the defaults
          photoinbox config inbox.card                  one key, or all below it
          photoinbox config --json | jq -r '.settings[] | select(.origin != "default") | .key'

        This reads the file as it is now. The journal has the running daemon's configuration, at start and at each reload.

        To change it: edit the file, then photoinboxd --check && systemctl reload photoinboxd

        EXIT STATUS:
          0   shown
          4   there is no such key
          78  the configuration is wrong
          64: see photoinbox --help
        """

    @Flag(name: .customLong("changed"), help: "Show only values that the file sets.")
    var onlyChanged = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("A key, or the beginning of several.", valueName: "key"))
    var key: String?

    func run() throws {
        guard let settings = try Places(places).settings else {
            throw CommandFailure(
                .configuration, "only a state directory is given, which has no configuration",
                action: """
                    Name the daemon's configuration with --config; for one that was started with flags: \
                    ps -o args -C photoinboxd
                    """)
        }
        let found = settings.effective.filter { setting in
            let isMeant = key.map { setting.key == $0 || setting.key.hasPrefix("\($0).") } ?? true
            return isMeant && !(onlyChanged && setting.origin == .standard)
        }
        if output.json {
            try printOut(JSONValue.document([JSONField("settings", .array(found.map { $0.json() }))]).compact + "\n")
        } else {
            var table = TextTable([("KEY", .left), ("VALUE", .left), ("ORIGIN", .left)])
            for setting in found { table.add([shown(setting.key), shown(setting.value), shown("\(setting.origin)")]) }
            try printOut(table.rendered(Terminal.style(output.color)))
        }
        if found.isEmpty {
            if let key { printRemark("no key is or begins with \(shown(key))") }
            throw CommandEnd(status: .noMatch)
        }
    }
}

extension EffectiveSetting {
    fileprivate func json() -> JSONValue {
        .object([
            JSONField("key", .string(key)), JSONField("value", .string(value)),
            JSONField("origin", .string("\(origin)")),
        ])
    }
}
