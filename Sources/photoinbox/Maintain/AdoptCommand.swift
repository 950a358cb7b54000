import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import Explaining
import FileValues
import Filing
import Glibc
import LibraryCare
import LinuxKernel
import Reporting
import Settings

struct AdoptCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "adopt", "Record photos that are already in the library.", "[OPTION…] DIR")

    static let lesson = """
        EXAMPLES:
          photoinbox adopt /srv/photos/library       an old library, before its first inbox, so that nothing is filed twice
          photoinbox adopt /srv/photos/library/2019  a part of it, copied there by hand
          photoinbox adopt --dry-run DIR             show what would be recorded

        DIR is the library or in it. Nothing is moved, renamed or changed: each photo is read and recorded under its path, with
        its hash, date and camera. Existing records stay unchanged, so a run may be stopped (Ctrl-C) and repeated. Of several
        files with the same bytes the first is recorded, and the others are listed. A record that "verify --repair" has struck
        is restored with its file. The daemon may run meanwhile.

        EXIT STATUS:
          0   all photos there are recorded
          3   some could not be read, or the run was stopped
          5   another directory is mounted in the library's place
          69  the library is missing, or there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @Flag(name: .customLong("dry-run"), help: "Change nothing; show what would be recorded.")
    var isDry = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The library, or a directory in it.", valueName: "dir"))
    var directory: RawArgument

    func run(at places: Places) throws {
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.remark)
        let catalogue = try places.openCatalogue(forRepair: !isDry)
        let (library, below) = try Self.place(directory.path, places, catalogue)
        try SelectedLibrary.require(library, of: catalogue)
        let adoption = LibraryAdoption(
            of: try LibraryTree(library), into: isDry ? nil : catalogue, comparingWith: catalogue,
            work: FileWork(shouldStop: interruption.mustStop))
        var last = LibraryAdoption.Summary()
        var wasStopped = false
        do {
            last = try adoption.run(below: below) { summary in
                last = summary
                try display.show(
                    photos: summary.seen, bytes: summary.bytes, asked: interruption.consumeProgressRequest())
            } report: { finding in
                try show(finding, display)
            }
        } catch let error as FilingError where error.kind == .stopped {
            wasStopped = true
        }
        display.clear()
        try finish(last, wasStopped)
        if wasStopped || last.unreadable > 0 || last.differing > 0 { throw CommandEnd(status: .someLeft) }
    }

    /// The library that contains `path`, and the path in it.
    private static func place(
        _ path: BytePath, _ places: Places, _ catalogue: CatalogueFile
    ) throws -> (library: BytePath, below: BytePath) {
        let whole = absolute(path)
        var libraries = (places.settings?.library?.path).map { [$0] } ?? []
        libraries += try catalogue.libraries()
        // By the recorded path, whatever links lead there.
        for library in libraries {
            if let below = whole.relative(to: absolute(library)) { return (library, below) }
        }
        guard let library = libraries.first else { return (whole, "") }
        throw CommandFailure(
            .usage, "\(whole) is not in the library, \(library)",
            action: "Move it there first, or make it the library in the configuration.")
    }

    private static func absolute(_ path: BytePath) -> BytePath { (try? realPath(path)) ?? path }

    private func show(_ finding: LibraryAdoption.Finding, _ display: ProgressDisplay) throws {
        let (word, path, remark): (String, BytePath, String) =
            switch finding {
            case .adopted(let path): (isDry ? "would record" : "recorded", path, "")
            case .moved(let path, let old): ("moved", path, "from \(old.escaped)")
            case .sameContent(let path, let other): ("same", path, "the same bytes as \(other.escaped)")
            case .differs(let path): ("differs", path, "the record has other bytes; see photoinbox verify")
            case .unreadable(let path, let reason): ("unreadable", path, printable(reason))
            case .noPhoto(let path): ("other", path, "no photo by its content")
            case .replaced(let path, let whole):
                (
                    "replaced", path,
                    "a damaged file, not recorded: its photo was filed again"
                        + (whole.map { " as \($0.escaped)" } ?? "")
                )
            case .sidecar(let path, let reason): ("sidecar", path, printable(reason))
            }
        display.clear()
        if output.json {
            try printJSON(
                [JSONField("type", "item"), JSONField("what", word)] + JSONField.path("path", path) + [
                    JSONField("remark", remark)
                ])
        } else if !remark.isEmpty || isDry {
            try printOut("\(word)  \(path.escaped)" + (remark.isEmpty ? "" : "  (\(remark))") + "\n")
        }
    }

    private func finish(_ summary: LibraryAdoption.Summary, _ wasStopped: Bool) throws {
        if output.json {
            try printJSON([
                JSONField("type", "summary"), JSONField("files", summary.seen), JSONField("recorded", summary.adopted),
                JSONField("known", summary.known), JSONField("same_content", summary.sameContent),
                JSONField("differing", summary.differing), JSONField("no_photos", summary.others),
                JSONField("sidecars", summary.restored), JSONField("replaced", summary.replaced),
                JSONField("unreadable", summary.unreadable), JSONField("bytes", summary.bytes),
                JSONField("complete", !wasStopped),
            ])
            return
        }
        var text = LabelledText()
        let photos = HumanText.count(summary.adopted, "photo", "photos")
        text.add(isDry ? "would record" : "recorded", "\(photos), \(HumanText.bytes(summary.bytes)) read")
        let rest = [
            (summary.known, "known already"), (summary.sameContent, "with the bytes of another"),
            (summary.differing, "not as recorded"), (summary.restored, "written by photo-inbox"),
            (summary.replaced, "damaged and filed again"), (summary.others, "not photos"),
            (summary.unreadable, "unreadable"),
        ].filter { $0.0 > 0 }
        if !rest.isEmpty {
            text.add("others", rest.map { "\(HumanText.count($0.0)) \($0.1)" }.joined(separator: ", "))
        }
        if wasStopped { text.add("stopped", "run it again to continue") }
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
