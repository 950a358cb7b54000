import ArgumentParser
import CommandSupport
import Reporting

extension TextStyle.ColourChoice: ExpressibleByArgument {}

/// Which daemon is meant: its configuration and its directories.
struct PlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's configuration. Default: your own if it exists, else /etc/photoinbox/photoinbox.toml.",
            valueName: "file"))
    var config: RawArgument?

    @Option(
        help: ArgumentHelp(
            "The daemon's state directory, instead of the configuration's or $PHOTOINBOX_STATE.", valueName: "dir"))
    var state: RawArgument?

    @Option(
        help: ArgumentHelp(
            "The daemon's runtime directory. Default: the configuration's, or run in the state directory.",
            valueName: "dir"))
    var runtime: RawArgument?
}

/// How output looks.
struct OutputOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use colour: auto, always or never.", valueName: "when"))
    var color = TextStyle.ColourChoice.auto

    @Flag(help: "Write JSON to standard output; see photoinbox-json(7).")
    var json = false
}
