package import ArgumentParser
import Glibc

/// Whether long output is paged.
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
