import ArgumentParser
import Catalogue
import FileValues
import Filing
import Glibc
import Inbox
import LinuxKernel
import Reporting
import Settings

/// `photoinbox rebuild`: makes the catalogue anew from the library.
struct RebuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Make the catalogue anew from the library.",
        usage: "photoinbox rebuild [OPTION…]")

    static let lesson = """
        EXAMPLES:
          sudo systemctl stop photoinboxd
          sudo -u _photoinbox photoinbox rebuild
          sudo systemctl start photoinboxd

        Every photo of the library is read and recorded under the path that it has. What only the old catalogue knew is
        not in the new one: from which inbox a photo came and when, and what became of files that were not filed. The
        old one is kept beside it (NAME.before-rebuild-…). Stopped by Ctrl-C, the next run goes on, and the old one
        stays in use until the new one is whole.

        A catalogue that photoinboxd finds damaged at its start is set aside and made anew by the daemon itself.

        EXIT STATUS:
          0   done
          3   some photos could not be read, or the run was stopped
          75  the daemon runs
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The library, if no configuration names it.")
    var library: RawArgument?

    func run() throws {
        let places = try Places(places)
        guard let library = library?.path ?? places.settings?.library?.path else {
            throw CommandFailure(.usage, "no library is named", action: "Give --config or --library.")
        }
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.say)
        var summary = LibraryAdoption.Summary()
        do {
            let rebuilding = try CatalogueRebuilding(places.catalogue, state: places.state)
            let tree = try LibraryTree(library)
            let adoption = LibraryAdoption(
                of: tree, into: rebuilding.catalogue,
                work: FileWork(shouldStop: { interruption.isHurried() || interruption.isStopAsked }))
            summary = try adoption.run { summary in
                let line = ProgressLine(
                    photos: summary.seen, totalPhotos: nil, bytes: summary.bytes, totalBytes: nil,
                    seconds: display.seconds)
                try display.show(line, asked: interruption.takeProgressRequest())
            } tell: { finding in
                if case .unreadable(let path, let reason) = finding { display.say("\(path.escaped): \(shown(reason))") }
            }
            let old = try rebuilding.finish(now: Moment.now.wall)
            display.clear()
            try finish(summary, old: old)
        } catch let error as FilingError where error.kind == .stopped {
            display.clear()
            printRemark("stopped; run it again to go on. The old catalogue is still in use")
            throw CommandEnd(status: .someLeft)
        } catch let taken as StateLock.Taken {
            throw CommandFailure(.busy, "\(taken)", action: "sudo systemctl stop photoinboxd")
        } catch let error as CatalogueError {
            throw CommandFailure(error, path: places.catalogue.escaped)
        } catch let error as SystemCallError { throw CommandFailure(error) }
        if summary.unreadable > 0 { throw CommandEnd(status: .someLeft) }
    }

    private func finish(_ summary: LibraryAdoption.Summary, old: BytePath?) throws {
        if output.json {
            try printOut(
                JSONValue.document(
                    [
                        JSONField("type", .string("summary")), JSONField("recorded", .count(summary.adopted)),
                        JSONField("same_content", .count(summary.sameContent)),
                        JSONField("unreadable", .count(summary.unreadable)),
                    ] + (old.map { JSONField.path("old", $0) } ?? [])
                ).compact + "\n")
            return
        }
        var text = LabelledText()
        text.add("recorded", HumanText.count(summary.adopted, "photo", "photos"))
        if summary.sameContent > 0 {
            text.add("others", "\(HumanText.count(summary.sameContent)) with the bytes of another")
        }
        if let old { text.add("old", "\(old.escaped); remove it when all is well") }
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
