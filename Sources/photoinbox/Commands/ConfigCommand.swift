import ArgumentParser
import CommandContact
import CommandSupport
package import Reporting
package import Settings

struct ConfigCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "config", "Show the configuration, each value with its origin.", "[OPTION…] [KEY]")

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

    func run(at places: Places) throws {
        guard let settings = places.settings else {
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
            try printJSON([JSONField("settings", found)])
        } else {
            var table = TextTable([("KEY", .left), ("VALUE", .left), ("ORIGIN", .left)])
            for setting in found {
                table.add([printable(setting.key), printable(setting.value), printable("\(setting.origin)")])
            }
            try printOut(table.rendered(Terminal.style(output.color)))
        }
        if found.isEmpty {
            if let key { printRemark("no key is or begins with \(printable(key))") }
            throw CommandEnd(status: .noMatch)
        }
    }
}

extension EffectiveSetting: JSONRepresentable {
    package var json: JSONValue {
        .object([JSONField("key", key), JSONField("value", value), JSONField("origin", "\(origin)")])
    }
}
