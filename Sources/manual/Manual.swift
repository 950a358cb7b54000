import Glibc

/// Writes a page of the manual to standard output: `manual PAGE`. Those of the programs are made from the help on
/// standard input. `make man` calls it.
@main
struct Manual {
    static func main() {
        switch CommandLine.arguments.dropFirst().first {
        case "photoinbox.toml.5": print(settingsPage(), terminator: "")
        case "photoinbox-problems.7": print(problemsPage(), terminator: "")
        case "photoinbox-metrics.7": print(metricsPage(), terminator: "")
        case "photoinbox.catalog": print(messageCatalogue(), terminator: "")
        case "photoinboxd.8":
            let others = "photoinbox(1), photoinbox.toml(5), photoinbox-problems(7), photoinbox-json(7)"
            print(helpPage("photoinboxd", section: 8, seeAlso: others, help: input()), terminator: "")
        case "photoinbox.1":
            let others =
                "photoinbox-watch(1), photoinbox.toml(5), photoinbox-problems(7), photoinbox-json(7), photoinboxd(8)"
            print(helpPage("photoinbox", section: 1, seeAlso: others, help: input()), terminator: "")
        case "photoinbox-watch.1": print(watchPage(help: input()), terminator: "")
        default:
            let usage =
                "usage: manual photoinbox.toml.5|photoinbox-problems.7|photoinbox-metrics.7|photoinboxd.8|photoinbox.1|"
                + "photoinbox-watch.1|photoinbox.catalog\n"
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
