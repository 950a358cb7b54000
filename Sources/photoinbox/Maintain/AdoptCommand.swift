import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Filing
import Glibc
import LibraryCare
import LinuxKernel
import Reporting
import Settings

/// `photoinbox adopt DIR`: records photos that are already in the library.
struct AdoptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt", abstract: "Record photos that are already in the library.",
        usage: "photoinbox adopt [OPTION…] DIR")

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

    func run() throws {
        let places = try Places(places)
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.remark)
        let catalogue = try places.openCatalogue(forRepair: !isDry)
        let (library, below) = try Self.place(directory.path, places, catalogue)
        try MeantLibrary.require(library, of: catalogue)
        let tree: LibraryTree
        do throws(SystemCallError) { tree = try LibraryTree(library) } catch { throw CommandFailure(error) }
        let adoption = LibraryAdoption(
            of: tree, into: isDry ? nil : catalogue, comparingWith: catalogue,
            work: FileWork(shouldStop: { interruption.isHurried() || interruption.isStopAsked }))
        var last = LibraryAdoption.Summary()
        var wasStopped = false
        do {
            last = try adoption.run(below: below) { summary in
                last = summary
                let line = ProgressLine(
                    photos: summary.seen, totalPhotos: nil, bytes: summary.bytes, totalBytes: nil,
                    seconds: display.seconds)
                try display.show(line, asked: interruption.consumeProgressRequest())
            } tell: { finding in
                try show(finding, display)
            }
        } catch let error as FilingError where error.kind == .stopped {
            wasStopped = true
        } catch let error as CatalogueError { throw CommandFailure(error, path: places.catalogue.escaped) }
        display.clear()
        try finish(last, wasStopped)
        if wasStopped || last.unreadable > 0 || last.differing > 0 { throw CommandEnd(status: .someLeft) }
    }

    /// The library that contains `path`, and the path in it.
    private static func place(
        _ path: BytePath, _ places: Places, _ catalogue: CatalogueFile
    ) throws -> (library: BytePath, below: BytePath) {
        let whole = absolute(path)
        var libraries: [BytePath] = []
        if let library = places.settings?.library?.path { libraries.append(library) }
        do throws(CatalogueError) { libraries += try catalogue.libraries() } catch {
            throw CommandFailure(error, path: places.catalogue.escaped)
        }
        // By the recorded path, whatever links lead there.
        for library in libraries {
            if let below = whole.relative(to: absolute(library)) { return (library, below) }
        }
        guard let library = libraries.first else { return (whole, "") }
        throw CommandFailure(
            .usage, "\(whole) is not in the library, \(library)",
            action: "Move it there first, or make it the library in the configuration.")
    }

    private static func absolute(_ path: BytePath) -> BytePath {
        path.withCString { name in
            guard let real = realpath(name, nil) else { return path }
            defer { free(real) }
            return BytePath(UnsafeRawBufferPointer(start: real, count: strlen(real)))
        }
    }

    private func show(_ finding: LibraryAdoption.Finding, _ display: ProgressDisplay) throws {
        let (word, path, remark): (String, BytePath, String) =
            switch finding {
            case .adopted(let path): (isDry ? "would record" : "recorded", path, "")
            case .moved(let path, let old): ("moved", path, "from \(old.escaped)")
            case .sameContent(let path, let other): ("same", path, "the same bytes as \(other.escaped)")
            case .differs(let path): ("differs", path, "the record has other bytes; see photoinbox verify")
            case .unreadable(let path, let reason): ("unreadable", path, shown(reason))
            }
        display.clear()
        if output.json {
            try printOut(
                JSONValue.document(
                    [JSONField("type", .string("item")), JSONField("what", .string(word))]
                        + JSONField.path("path", path) + [JSONField("remark", .string(remark))]
                ).compact + "\n")
        } else if !remark.isEmpty || isDry {
            try printOut("\(word)  \(path.escaped)" + (remark.isEmpty ? "" : "  (\(remark))") + "\n")
        }
    }

    private func finish(_ summary: LibraryAdoption.Summary, _ wasStopped: Bool) throws {
        if output.json {
            try printOut(
                JSONValue.document([
                    JSONField("type", .string("summary")), JSONField("files", .count(summary.seen)),
                    JSONField("recorded", .count(summary.adopted)), JSONField("known", .count(summary.known)),
                    JSONField("same_content", .count(summary.sameContent)),
                    JSONField("differing", .count(summary.differing)), JSONField("no_photos", .count(summary.others)),
                    JSONField("unreadable", .count(summary.unreadable)), JSONField("bytes", .unsigned(summary.bytes)),
                    JSONField("complete", .boolean(!wasStopped)),
                ]).compact + "\n")
            return
        }
        var text = LabelledText()
        let photos = HumanText.count(summary.adopted, "photo", "photos")
        text.add(isDry ? "would record" : "recorded", "\(photos), \(HumanText.bytes(summary.bytes)) read")
        let rest = [
            (summary.known, "known already"), (summary.sameContent, "with the bytes of another"),
            (summary.differing, "not as recorded"), (summary.others, "not photos"), (summary.unreadable, "unreadable"),
        ].filter { $0.0 > 0 }
        if !rest.isEmpty {
            text.add("others", rest.map { "\(HumanText.count($0.0)) \($0.1)" }.joined(separator: ", "))
        }
        if wasStopped { text.add("stopped", "run it again to continue") }
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
