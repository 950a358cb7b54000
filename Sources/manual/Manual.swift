import Glibc

/// Writes a manual page to standard output: `manual PAGE`. Pages of programs and commands are made from their help on
/// standard input, and the tutorial from its Markdown. `make man` runs it.
@main
struct Manual {
    static func main() {
        let page = CommandLine.arguments.dropFirst().first ?? ""
        switch page {
        case "photoinbox.toml.5": print(settingsPage(), terminator: "")
        case "photoinbox-problems.7": print(problemsPage(), terminator: "")
        case "photoinbox-metrics.7": print(metricsPage(), terminator: "")
        case "photoinbox-tutorial.7": print(tutorialPage(markdown: input()), terminator: "")
        case "formats.md": print(formatsPage(), terminator: "")
        case "photoinbox.catalog": print(messageCatalogue(), terminator: "")
        case "photoinboxd.8": print(daemonPage(help: input()), terminator: "")
        case "photoinbox.1": print(programPage(help: input()), terminator: "")
        case _ where page.hasPrefix("photoinbox-") && page.hasSuffix(".1"):
            let command = String(page.dropFirst("photoinbox-".count).dropLast(2))
            print(commandPage(command, help: input()), terminator: "")
        default:
            let usage =
                "usage: manual photoinbox.toml.5|photoinbox-problems.7|photoinbox-metrics.7|photoinboxd.8|photoinbox.1|"
                + "photoinbox-COMMAND.1|photoinbox-tutorial.7|photoinbox.catalog|formats.md\n"
            write(STDERR_FILENO, usage, usage.utf8.count)
            exit(EX_USAGE)
        }
    }

    private static func input() -> String {
        var text = ""
        while let line = readLine(strippingNewline: false) { text += line }
        return text
    }
}
