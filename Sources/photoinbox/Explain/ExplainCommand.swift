import ArgumentParser
import CommandContact
import CommandSupport
import Explaining
import FileValues
import Glibc
import Reporting

struct ExplainCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "explain", "Explain what happened to a file, and which rule decided.", "[OPTION…] FILE…")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox explain phones/IMG_2041.HEIC      a file of the inbox "phones", as messages name it
          photoinbox explain /srv/inbox/card/*.JPG     by its path; it need not exist any more
          photoinbox explain library/2026/11/2026-11-21/IMG_0412.CR3
                                                       a photo in the library: where it came from
          photoinbox explain --json FILE | jq -r '.files[].verdict'

        The verdict is one of: filed, duplicate, quarantined (why, and what to do), ignored and unfinished (which rule for
        names), excluded (which pattern, and its line in the configuration), deferred (why, and when it is retried), in-hand,
        kept (it stays, and its record is gone), withdrawn, released, discarded, taken-back (by whom, and when), in-library,
        never-seen, outside.

        A hook has handled a file when it ended with status 0; after five failures the file is skipped, until "photoinbox retry --all"
        gives it to the hook again. Else it runs again for the same file only if its result could not be recorded.

        Names may be written as messages show them, with \\n and \\xff for what cannot be printed.

        EXIT STATUS (the worst of all files):
          0   explained
          4   nothing is known of it
          69  the daemon is not running, and only it could know
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("A path, or INBOX/PATH.", valueName: "file"))
    var files: [RawArgument]

    func run(at places: Places) throws {
        let search = try EvidenceSearch(places)
        let now = Int64(time(nil))
        var explanations: [Explanation] = []
        for file in files { explanations.append(try Self.explain(file.path, search, now: now)) }
        if output.json {
            try printJSON([JSONField("files", explanations)])
        } else {
            let style = Terminal.style(output.color)
            try printOut(explanations.map { $0.text(style) }.joined(separator: "\n"))
        }
        let worst = explanations.reduce(ExitStatus.ok) { $0.combined(with: $1.status) }
        if worst != .ok { throw CommandEnd(status: worst) }
    }

    /// Explains the name as given; if nothing is known of it, as an escaped name.
    private static func explain(
        _ file: BytePath, _ search: EvidenceSearch, now: Int64
    ) throws -> Explanation {
        let explanation = Explanation(try search.evidence(of: file), now: now)
        guard explanation.status == .noMatch, file.bytes.contains(UInt8(ascii: "\\")),
            let text = String(validating: file.bytes, as: UTF8.self), let meant = BytePath(escaped: text), meant != file
        else { return explanation }
        let other = Explanation(try search.evidence(of: meant), now: now)
        return other.status == .noMatch ? explanation : other
    }
}
