package import ArgumentParser
import Glibc
package import Reporting

/// A command of photoinbox, which `PhotoInbox.groups` lists.
package protocol Command: ParsableCommand, SendableMetatype {
    /// What its long help says besides its options: examples, explanations, exit statuses.
    static var lesson: String { get }
}

extension Command {
    package static var name: String { configuration.commandName ?? "" }
}

extension CommandConfiguration {
    /// `arguments` follow the name in the usage.
    package init(_ name: String, _ abstract: String, _ arguments: String = "[OPTION…]") {
        self.init(commandName: name, abstract: abstract, usage: "photoinbox \(name) \(arguments)")
    }
}

extension TextStyle.ColourChoice: ExpressibleByArgument {}

/// The daemon of a command: its configuration and its directories.
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

    /// Those of a program without such options.
    package init(config: RawArgument?, state: RawArgument? = nil) {
        (self.config, self.state, runtime) = (config, state, nil)
    }
}

package struct OutputOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use colour: auto, always or never.", valueName: "when"))
    package var color = TextStyle.ColourChoice.auto

    @Flag(help: "Write JSON to standard output; see photoinbox-json(7).")
    package var json = false

    package init() {}
}

package struct PagerOption: ParsableArguments {
    @Flag(name: .customLong("no-pager"), help: "Do not page long output on a terminal.")
    package var isOff = false

    package init() {}

    /// Prints `text`, on a terminal through the pager, as git(1) does.
    package func print(_ text: String) throws {
        let own = Terminal.variable("PHOTOINBOX_PAGER") ?? Terminal.variable("PAGER") ?? "less"
        guard !isOff, Terminal.isOutput, Terminal.variable("TERM") != "dumb", !["", "cat"].contains(own) else {
            return try printOut(text)
        }
        // It exits at once if one screen is enough, passes colours on, and leaves the text on the screen.
        setenv("LESS", "FRX", 0)
        setenv("LV", "-c", 0)
        // Ctrl-C is the pager's while it runs.
        signal(SIGINT, SIG_IGN)
        guard let pager = popen("trap - INT; exec \(own)", "w") else { return try printOut(text) }
        fputs(text, pager)
        // The shell did not find it.
        if pclose(pager) == 127 << 8 { try printOut(text) }
    }
}
