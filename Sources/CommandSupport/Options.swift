package import ArgumentParser
package import Reporting

extension TextStyle.ColourChoice: ExpressibleByArgument {}

/// Which daemon is meant: its configuration and its directories.
package struct PlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's configuration. Default: your own if it exists, else /etc/photoinbox/photoinbox.toml.",
            valueName: "file"))
    package var config: RawArgument?

    @Option(
        help: ArgumentHelp(
            "The daemon's state directory, instead of the configuration's or $PHOTOINBOX_STATE.", valueName: "dir"))
    package var state: RawArgument?

    @Option(
        help: ArgumentHelp(
            "The daemon's runtime directory. Default: the configuration's, or run in the state directory.",
            valueName: "dir"))
    package var runtime: RawArgument?

    package init() {}
}

/// How output looks.
package struct OutputOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use colour: auto, always or never.", valueName: "when"))
    package var color = TextStyle.ColourChoice.auto

    @Flag(help: "Write JSON to standard output; see photoinbox-json(7).")
    package var json = false

    package init() {}
}
