import ArgumentParser
import Glibc

/// A question before an act that is hard to reverse.
package struct Confirmation {
    /// Whether `count` of `all` needs a confirmation: more than 10, or more than one and more than 5 %.
    package static func isNeeded(_ count: Int, of all: Int) -> Bool { count > 10 || (count > 1 && count * 20 > all) }

    /// Asks on the terminal; without one, or with JSON, the answer is no.
    package static func ask(_ question: String, isJSON: Bool, _ display: ProgressDisplay) -> Bool {
        display.clear()
        guard !isJSON, Terminal.canAsk else { return false }
        printError("photoinbox: \(question) [y/N] ")
        // Nothing is in progress while it waits, so Ctrl-C may end it at once.
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        defer { pthread_sigmask(SIG_BLOCK, &signals, nil) }
        return ["y", "yes"].contains(readLine()?.lowercased())
    }
}

package struct ConsentOption: ParsableArguments {
    @Flag(help: "Do not ask for confirmation.")
    package var yes = false

    package init() {}
}

package struct DryRunOption: ParsableArguments {
    @Flag(name: .customLong("dry-run"), help: "Change nothing; show what would be done.")
    package var isDryRun = false

    package init() {}
}
