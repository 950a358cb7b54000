import CommandSupport
import Reporting

/// Help: `-h` is short, a line for each option or command; `--help` has examples and explanations.
struct HelpText {
    let text: String

    /// `standard` is ArgumentParser's text: overview, usage and options, or the version.
    init(arguments: [String], standard: String) {
        guard arguments.prefix(while: { $0 != "--" }).contains("--help") || arguments.first == "help" else {
            text = standard + "\n"
            return
        }
        let lesson = Self.command(in: arguments)?.lesson ?? Self.overview
        let lines = lesson.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let folded = folded(lines, to: Self.columns).joined(separator: "\n")
        // The overview's line, then examples; options and the rest after them.
        let parts = standard.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
        text = "\(parts.first ?? "")\n\n\(folded)\n\n\(parts.dropFirst().first ?? "")\n"
    }

    /// The width that ArgumentParser uses for the rest of the help.
    private static var columns: Int {
        if let text = Terminal.variable("COLUMNS"), let columns = Int(text), columns >= 40 { return columns }
        return Terminal.isOutput ? max(40, Terminal.size()?.columns ?? 80) : 80
    }

    /// The subcommand among the arguments; nil for the program itself.
    static func command(in arguments: [String]) -> (any Command.Type)? {
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        let name = words.first { !$0.hasPrefix("-") }
        return PhotoInbox.groups.lazy.flatMap { $0.commands }.first { $0.name == name }
    }

    private static let overview = """
        EXAMPLES:
          photoinbox status                     is everything filed; if not, why
          photoinbox top                        what the daemon does, live
          photoinbox explain card/IMG_0412.JPG  where a photo is, and why there
          photoinbox list --since 1d            photos filed in the last day
          photoinbox pause card                 file nothing more from "card"
          photoinbox import /media/ana/EOS      copy what is new on a card
          photoinbox undo 8841                  take a filed photo back out
          photoinbox watch ~/Downloads          print each finished file
          sudo photoinbox setup                 set up inbox, library and service

        These commands ask the daemon, or read the catalogue that it writes. Only watch and setup need neither.

        EXIT STATUS:
          0   done
          1   failed
          2   timed out (watch)
          3   done in part, or there is a warning
          4   nothing matches
          5   filing is stopped, or another directory is mounted in the library's place
          64  wrong usage
          69  something required is missing: the daemon, the library, the catalogue, a program
          75  busy: try again
          77  permission denied
          78  the configuration is wrong
          If several apply, the most severe one.

        ENVIRONMENT:
          PHOTOINBOX_STATE  the daemon's state directory, unless --state or --config is given
          PHOTOINBOX_PAGER  the pager for long lists, instead of $PAGER or less; "cat" for none
          NO_COLOR          if it is set and not empty, --color auto means never

        FILES:
          ~/.config/photoinbox/photoinbox.toml  your own configuration, used if it exists
          /etc/photoinbox/photoinbox.toml       the configuration of the service
          .photo-inbox                          the state directory of "make run", found in the directory that it runs in
        """
}
