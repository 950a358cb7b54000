import ArgumentParser
import CommandSupport
import Reporting

extension TextStyle.ColourChoice: ExpressibleByArgument {}

/// Where the daemon keeps its things.
struct PlaceOptions: ParsableArguments {
    @Option(
        help: "The daemon's configuration. Default: your own, if there is one, else /etc/photoinbox/photoinbox.toml.")
    var config: RawArgument?

    @Option(help: "The daemon's state directory, instead of the configuration's or $PHOTOINBOX_STATE.")
    var state: RawArgument?

    @Option(help: "The daemon's runtime directory; by default the configuration's, or run in the state directory.")
    var runtime: RawArgument?
}

/// How answers look.
struct OutputOptions: ParsableArguments {
    @Option(help: "Colour: auto, always or never. The words say the same without it.")
    var color = TextStyle.ColourChoice.auto

    @Flag(help: "JSON on standard output, and nothing else there; see photoinbox-json(7).")
    var json = false
}
