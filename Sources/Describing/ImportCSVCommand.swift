package import ArgumentParser
import Catalogue
package import CommandContact
package import CommandSupport
import FileValues
import Reporting

package struct ImportCSVCommand: DaemonCommand {
    package static let configuration = CommandConfiguration(
        "import-csv", "Import titles, keywords and ratings from a table.", "[OPTION…] FILE")

    package static let lesson = """
        EXAMPLES:
          photoinbox import-csv lightroom.csv
              import what another program exported about your photos
          photoinbox import-csv --dry-run FILE          show which rows would be rejected, and why
          photoinbox import-csv --batch 10000 FILE      a large table, faster

        The first row names the columns, in any order: sha256 or path identifies the
        photo; title, keywords (separated by semicolons or commas), rating (0 to 5),
        taken (2026-11-21 14:07) and place describe it; others are ignored. A path is
        one in the library, or the one under which a photo arrived. A sha256 may be that
        of a photo that arrives later. A value replaces the stored one; an empty cell
        keeps it.

        Rows are stored in batches while the daemon runs and others read. Ctrl-C stops
        between two rows; the next run continues there, also after a crash, unless the
        table has changed. Rejected rows do not stop the rest: they are written, with
        line, column and reason, to FILE.rejects.csv, where they can be corrected and
        imported again.

        EXIT STATUS:
          0   all rows were imported
          3   some were rejected, or the run was stopped
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    package init() {}

    @Option(help: ArgumentHelp("Store this many rows at once.", valueName: "rows"))
    var batch = 250

    @Option(help: ArgumentHelp("Write rejected rows to this file. Default: FILE.rejects.csv.", valueName: "file"))
    var rejects: RawArgument?

    @Option(
        help: ArgumentHelp("The column separator: , ; or tab. Default: as in the first row.", valueName: "mark"))
    var separator: String?

    @Flag(name: .customLong("from-start"), help: "Begin with the first row, even if an earlier run was stopped.")
    var fromStart = false

    @Flag(name: .customLong("dry-run"), help: "Change nothing; show which rows would be rejected.")
    var isDry = false

    @OptionGroup package var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The table: CSV in UTF-8.", valueName: "file"))
    var file: RawArgument

    package func validate() throws {
        guard (1...1_000_000).contains(batch) else {
            throw ValidationError("--batch must be from 1 to 1000000.")
        }
        if let separator, Self.mark(separator) == nil { throw ValidationError("--separator must be , or ; or tab.") }
    }

    private static func mark(_ text: String) -> UInt8? {
        switch text {
        case ",": UInt8(ascii: ",")
        case ";": UInt8(ascii: ";")
        case "tab", "\t": 0x09
        default: nil
        }
    }

    package func run(at places: Places) throws {
        let display = ProgressDisplay(json: output.json, counting: "rows", silence: 5)
        let interruption = Interruption(of: "row", announce: display.remark)
        let rejects = rejects?.path ?? file.path.addingSuffix(".rejects.csv")
        let source = try TableFile(file.path, separator: separator.flatMap(Self.mark))
        let run = DescriptionImport(
            source: source, catalogue: try places.openCatalogue(forRepair: !isDry), batchSize: batch, isDry: isDry,
            display: display, interruption: interruption
        ) { line, column, reason in try printRejected(line, column, reason, display) }
        let summary = try run.run(rejects: rejects, fromStart: fromStart)
        display.clear()
        try finish(summary, rejects)
        if summary.wasStopped || summary.place.rejected > 0 { throw CommandEnd(status: .someLeft) }
    }

    /// In a dry run, which writes no file.
    private func printRejected(_ line: Int, _ column: Int, _ reason: String, _ display: ProgressDisplay) throws {
        guard isDry else { return }
        display.clear()
        if output.json {
            try printJSON([
                JSONField("type", "reject"), JSONField("line", line),
                JSONField("column", column == 0 ? .null : .integer(Int64(column))), JSONField("reason", reason),
            ])
        } else {
            try printOut("line \(line)" + (column == 0 ? "" : ", column \(column)") + ": \(printable(reason))\n")
        }
    }

    private func finish(_ summary: DescriptionImport.Summary, _ rejects: BytePath) throws {
        let place = summary.place
        if output.json {
            try printJSON(
                [
                    JSONField("type", "summary"), JSONField("rows", place.rows),
                    JSONField("taken", place.rows - place.rejected), JSONField("rejected", place.rejected),
                    JSONField("resumed_at_line", summary.resumedAt), JSONField("complete", !summary.wasStopped),
                ] + (place.rejected > 0 && !isDry ? JSONField.path("rejects", rejects) : []))
            return
        }
        var text = LabelledText()
        text.add(isDry ? "would import" : "imported", HumanText.count(place.rows - place.rejected, "row", "rows"))
        if place.rejected > 0 {
            let rows = HumanText.count(place.rejected, "row", "rows")
            text.add("rejected", isDry ? rows : "\(rows); see \(rejects.escaped)")
        }
        if summary.wasStopped { text.add("stopped", "before line \(place.line); run it again to continue") }
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
