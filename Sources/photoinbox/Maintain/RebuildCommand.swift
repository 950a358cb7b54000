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
import PhotoModel
import Reporting
import Settings

struct RebuildCommand: DaemonCommand {
    static let configuration = CommandConfiguration("rebuild", "Rebuild the catalogue from the library.")

    static let lesson = """
        EXAMPLES:
          sudo systemctl stop photoinboxd
          sudo photoinbox rebuild --dry-run
          sudo photoinbox rebuild
          sudo systemctl start photoinboxd

        Every photo of the library is read and recorded under its path. The new catalogue lacks what only the old one knew:
        from which inbox a photo came and when, the outcomes of files that were not filed, and photos of other libraries.
        What is in quarantine is recorded again, with what the reason files beside it say. Titles, keywords, ratings and places
        are copied, as far as the old catalogue can be read; else those are recorded that the daemon wrote to sidecars
        (write-sidecars in photoinbox.toml). The old one is kept beside the new one (NAME.before-rebuild-…). The new one gets
        the same owner and group, even if root runs this.

        A photo that the old catalogue has recorded, and whose file is missing, unreadable or has other bytes, stays recorded, and
        counts as damaged: "photoinbox verify" lists it, and "photoinbox verify --repair" strikes what is missing. A file that was
        filed as it is by "photoinbox release --as-is" stays a photo. Without an old catalogue that can be read, nobody knows
        what is missing, a damaged file counts as whole, and a file that is no photo by its content is named and not recorded.

        An old catalogue that cannot be read, or not whole, is replaced only after a question, or with --yes: which photos were
        moved to a bucket is known from it alone. After Ctrl-C, the next run continues; the old catalogue stays in use until
        the new one is complete.

        A catalogue that photoinboxd finds damaged at its start is set aside and rebuilt by the daemon itself.

        EXIT STATUS:
          0   done
          3   some photos are missing or could not be read, or the old one was not replaced, or the run was stopped
          5   another directory is mounted in the library's place
          69  the library is missing
          75  the daemon is running
          64, 77, 78: see photoinbox --help
        """

    @Option(help: ArgumentHelp("The library, if no configuration has it.", valueName: "dir"))
    var library: RawArgument?

    @Flag(name: .customLong("dry-run"), help: "Change nothing; show what would be recorded.")
    var isDry = false

    @Flag(help: "Replace the old catalogue even if it cannot be read whole.")
    var yes = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run(at places: Places) throws {
        guard let named = library?.path ?? places.settings?.library?.path else {
            throw CommandFailure(.usage, "no library is given", action: "Give --config or --library.")
        }
        guard let catalogue = places.catalogue.file else {
            throw CommandFailure(
                .failed, "the catalogue is in PostgreSQL, where a new one is begun by hand",
                action:
                    "Stop photoinboxd, rename the schema (ALTER SCHEMA photoinbox RENAME TO old), and start it: it records all photos of the library again."
            )
        }
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.remark)
        do {
            let rebuilding = try CatalogueRebuilding(catalogue, state: places.state, isDry: isDry)
            let old = rebuilding.wholeOld
            let library = try SelectedLibrary.spelling(of: named, in: old)
            try SelectedLibrary.require(library, of: old)
            if try old?.hasMoves(underWay: true) == true {
                throw CommandFailure(
                    .busy, "a photo is being moved to a bucket, which photoinboxd has not finished",
                    action: "Start photoinboxd, which finishes that, stop it, and run this again.")
            }
            if isDry { return try showPlan(library, old, display, interruption) }
            let catalogue = try rebuilding.begin(for: library)
            let quarantined = try restoreQuarantine(
                of: library, rebuilding, catalogue, at: places, display, interruption)
            let tree = try LibraryTree(library)
            let former = rebuilding.old.map { FormerCatalogue($0, of: library, at: tree.root) }
            let adoption = LibraryAdoption(of: tree, into: catalogue, former: former, work: work(interruption))
            let summary = try run(adoption, display, interruption)
            let lossOfMoved = try rebuilding.keepMoved(in: catalogue)
            if let loss = lossOfMoved {
                display.clear()
                printRemark(
                    "the old catalogue cannot be read, or not whole; photos in a bucket that it alone knew are not recorded: "
                        + printable("\(loss)"), asJSON: output.json)
            }
            var missing = 0
            try former?.keepDamaged(
                summary.damaged, in: catalogue, beneath: tree.root, at: Moment.now.wall
            ) { path, isThere in
                missing += 1
                let what = isThere ? "not read" : "missing"
                display.remark("\(path.escaped): \(what); it stays recorded, and counts as damaged")
            }
            for (other, count) in (try? old?.photosByLibrary()) ?? [:]
            where other.isAbsolute && ![library, former?.recorded].contains(other) {
                let photos = HumanText.count(count, "photo", "photos")
                display.remark("\(other.escaped): \(photos) will not be recorded: a new catalogue has one library")
            }
            if let failure = former?.failure {
                display.remark(
                    "damaged photos may count as whole, and missing ones be forgotten: the old catalogue cannot be read: "
                        + printable("\(failure)"))
            }
            if summary.unreadable > 0 { try catalogue.setIncomplete(true, at: Moment.now.wall) }
            let placeNames = PlaceNames(
                places.settings?.placeNames ?? StandardPlaces.placeNames(), report: display.remark)
            try MetadataReading(
                of: library, for: catalogue, placeNames: placeNames, work: work(interruption)
            ).run()
            let now = try catalogue.totals().photos
            let isEmpty = rebuilding.old == nil && now == 0
            let loss = lossOfMoved ?? former?.failure
            guard !(isEmpty || loss != nil) || mayReplace(by: now, in: library, isUnreadable: loss != nil, display)
            else {
                try rebuilding.discard(catalogue)
                printRemark("the old catalogue is still in use", asJSON: output.json)
                throw CommandEnd(status: .someLeft)
            }
            let result = try rebuilding.finish(catalogue, now: Moment.now.wall)
            // That is a number of the old catalogue.
            Bookmark(in: places).remove()
            display.clear()
            try finish(summary, now, missing: missing, quarantined: quarantined, result)
            if summary.unreadable + missing > 0 || former?.failure != nil { throw CommandEnd(status: .someLeft) }
        } catch let error as FilingError where error.kind == .stopped {
            display.clear()
            printRemark("stopped; run it again to continue. The old catalogue is still in use", asJSON: output.json)
            throw CommandEnd(status: .someLeft)
        } catch let taken as StateLock.Taken {
            throw CommandFailure(taken)
        }
    }

    /// Records what is in quarantine; the number of files. Before the photos, which are recorded now and are newer.
    private func restoreQuarantine(
        of library: BytePath, _ rebuilding: CatalogueRebuilding, _ catalogue: CatalogueFile, at places: Places,
        _ display: ProgressDisplay, _ interruption: Interruption
    ) throws -> Int {
        // Without a configuration, its place is the default, and the last state has the inboxes.
        let known = EvidenceSearch.knownPlaces(places.settings, DaemonContact(places: places).lastState())
        let quarantine = places.settings?.library?.quarantine ?? library.parent.appending("quarantine")
        let inboxes = Dictionary(known.inboxes.map { ($0.name, $0.path) }) { $1 }
        return try QuarantineRestoring(
            of: quarantine, inboxes: inboxes, into: catalogue, former: rebuilding.old, work: work(interruption)
        ).run { display.remark("\($0.escaped) is quarantined, and not recorded: \(printable($1))") }
    }

    private func work(_ interruption: Interruption) -> FileWork { FileWork(shouldStop: interruption.mustStop) }

    private func run(
        _ adoption: LibraryAdoption, _ display: ProgressDisplay, _ interruption: Interruption
    ) throws -> LibraryAdoption.Summary {
        try adoption.run { summary in
            try display.show(
                photos: summary.seen, bytes: summary.bytes, asked: interruption.consumeProgressRequest())
        } report: { finding in
            switch finding {
            case .unreadable(let path, let reason), .sidecar(let path, let reason):
                display.remark("\(path.escaped): \(printable(reason))")
            case .noPhoto(let path): display.remark("\(path.escaped): no photo by its content, and not recorded")
            case .differs(let path):
                display.remark("\(path.escaped): not what was filed; it stays recorded, and counts as damaged")
            case .replaced(let path, let whole):
                let place = whole.map { " as \($0.escaped)" } ?? ""
                display.remark("\(path.escaped): a damaged file, not recorded: its photo was filed again\(place)")
            case .adopted, .moved, .sameContent: break
            }
        }
    }

    /// Shows what a run would record. Records of the old catalogue are trusted by path and size.
    private func showPlan(
        _ library: BytePath, _ old: CatalogueFile?, _ display: ProgressDisplay, _ interruption: Interruption
    ) throws {
        let tree = try LibraryTree(library)
        let recorded = try old?.totals().photos
        var (photos, missing) = (0, 0)
        if let old {
            missing = try LibraryVerification(of: library, against: old).missing().photos.count
            let adoption = LibraryAdoption(of: tree, into: nil, comparingWith: old, work: work(interruption))
            let summary = try run(adoption, display, interruption)
            photos = summary.known + summary.adopted + summary.differing + summary.sameContent
        } else {
            try tree.walk { _ in
                photos += 1
            } unreadable: {
                display.remark("\($0.escaped): \($1)")
            }
        }
        display.clear()
        if output.json {
            return try printJSON([
                JSONField("type", "summary"), JSONField("would_record", photos), JSONField("missing", missing),
                JSONField("recorded_before", recorded),
            ])
        }
        var text = LabelledText()
        text.add("would read", old == nil ? HumanText.count(photos, "file", "files") : "all of the library")
        if old != nil { text.add("would record", "\(HumanText.count(photos, "photo", "photos"))") }
        if missing > 0 {
            text.add("missing", "\(HumanText.count(missing, "photo", "photos")), which would stay recorded")
        }
        text.add(
            "old", recorded.map { HumanText.count($0, "photo", "photos") } ?? "missing or unreadable")
        try printOut(text.rendered(Terminal.style(output.color)))
    }

    /// Whether the new one may be used where nobody knows how many photos the old one had.
    private func mayReplace(
        by new: Int, in library: BytePath, isUnreadable: Bool, _ display: ProgressDisplay
    ) -> Bool {
        if yes { return true }
        var question = "\(library) has \(HumanText.count(new, "photo", "photos")), the old catalogue an unknown number."
        if isUnreadable { question += " That cannot be read whole: photos in a bucket may be missing." }
        if Confirmation.ask("\(question) Replace it?", isJSON: output.json, display) { return true }
        printRemark("\(question) If that is right, run it again with --yes", asJSON: output.json)
        return false
    }

    private func finish(
        _ summary: LibraryAdoption.Summary, _ photos: Int, missing: Int, quarantined: Int,
        _ result: CatalogueRebuilding.Result
    ) throws {
        if let reason = result.withoutDescriptions {
            printRemark(
                "titles, keywords, ratings and places were not copied: \(printable(reason))", asJSON: output.json)
        }
        if output.json {
            try printJSON(
                [
                    JSONField("type", "summary"), JSONField("recorded", photos),
                    JSONField("same_content", summary.sameContent), JSONField("sidecars", summary.restored),
                    JSONField("unreadable", summary.unreadable), JSONField("missing", missing),
                    JSONField("descriptions", result.descriptions), JSONField("quarantined", quarantined),
                    JSONField("damaged", summary.differing), JSONField("replaced", summary.replaced),
                    JSONField("no_photos", summary.others),
                ] + (result.old.map { JSONField.path("old", $0) } ?? []))
            return
        }
        var text = LabelledText()
        text.add("recorded", HumanText.count(photos, "photo", "photos"))
        if result.descriptions > 0 {
            let descriptions = HumanText.count(result.descriptions, "photo", "photos")
            text.add("copied", "titles, keywords, ratings or places of \(descriptions)")
        }
        if summary.restored > 0 {
            text.add("read", HumanText.count(summary.restored, "sidecar", "sidecars") + " that photo-inbox wrote")
        }
        if quarantined > 0 {
            text.add("quarantine", "\(HumanText.count(quarantined, "file", "files")) recorded")
        }
        let rest = [
            (summary.differing, "damaged, as the old catalogue shows"),
            (missing, "missing, or not read, and still recorded"),
            (summary.replaced, "damaged, and filed again elsewhere"),
            (summary.sameContent, "with the bytes of another"), (summary.others, "not photos"),
        ].filter { $0.0 > 0 }
        if !rest.isEmpty {
            text.add("others", rest.map { "\(HumanText.count($0.0)) \($0.1)" }.joined(separator: ", "))
        }
        if let old = result.old { text.add("old", "\(old.escaped); remove it when all is well") }
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
