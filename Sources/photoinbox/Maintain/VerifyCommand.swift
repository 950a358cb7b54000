import ArgumentParser
import Catalogue
import CommandSupport
import ControlProtocol
import FileValues
import Filing
import Glibc
import LibraryCare
import LinuxKernel
import Reporting
import Settings

/// `photoinbox verify`: reads the library again and compares it with the catalogue.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Read all photos again, and compare with the record.",
        usage: "photoinbox verify [OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox verify                  every photo that has a record; goes on where it was stopped
          photoinbox verify --rate 50M       reading at most 50 MiB a second
          photoinbox verify --repair --dry-run  what a repair would do
          photoinbox verify --repair         then set the records right; photos are never touched
          photoinbox verify --json | jq -r 'select(.type == "fault") | .path'

        Each photo is read from the disk and its SHA-256 compared with what was recorded when it was filed: missing,
        damaged (other bytes) or unreadable ones are named. The daemon may run meanwhile, and goes on filing.
        Ctrl-C stops after the photo that is being read, a second one at once; the next run goes on behind it, unless
        --restart is given. SIGUSR1 says how far it is.

        --repair changes the catalogue alone, and the records of the library that is in use: of the configuration's, or
        of --library's. A photo that lies elsewhere in the library gets its new place; photos without a record get one
        (as "adopt" does); records of photos that are nowhere are struck, so that the same photo is filed again when it
        comes again. More than 10 of them, or more than one and more than 5 % of all, are struck only after a question,
        or with --yes. Struck records are kept: put the files back, and "photoinbox adopt" brings their records back.
        Nothing is repaired while the library is not there, is another one, or is empty. Damaged photos keep their
        record: bring them back from a backup, or drop the original into an inbox, and it is filed again.

        EXIT STATUS:
          0   all are as they were filed
          3   something is not, or was not looked at, or the run was stopped
          5   what lies at the library's path is not the library, or is empty
          69  the library is not there, or there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @Flag(help: "Set the records right where photos were moved, added or removed. Needs write access to the catalogue.")
    var repair = false

    @Flag(name: .customLong("dry-run"), help: "With --repair: only say what would be set right.")
    var isDry = false

    @Flag(help: "With --repair: strike the records of photos that are nowhere, however many.")
    var yes = false

    @Option(help: ArgumentHelp("Only this one of the libraries that photos are recorded in.", valueName: "dir"))
    var library: RawArgument?

    @Flag(help: "Begin with the first photo, even if an earlier run was stopped.")
    var restart = false

    @Option(help: ArgumentHelp("Read at most so much a second: 50M.", valueName: "size"))
    var rate: ByteSize?

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if isDry || yes, !repair { throw ValidationError("--dry-run and --yes go with --repair.") }
    }

    func run() throws {
        let places = try Places(places)
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.say)
        let catalogue = try places.openCatalogue(forRepair: repair && !isDry)
        let meant = try MeantLibrary(named: library?.path, places, catalogue)
        try meant.require(of: catalogue)
        let bookmark = Bookmark(in: places)
        var report = VerifyReport(output: output, display: display, isDry: isDry)
        do {
            let start = restart ? 0 : bookmark.read()
            if start > 0 { display.say("going on after photo \(start); --restart begins anew") }
            let recorded = try catalogue.libraries()
            for library in (meant.path.map { [$0] } ?? []) + meant.others where recorded.contains(library) {
                if library != meant.path, !isReachable(library, catalogue, &report) { continue }
                try verify(library, catalogue, after: start, bookmark, interruption, &report)
                if report.wasStopped { break }
            }
            if !report.wasStopped {
                bookmark.remove()
                if repair, let library = meant.path, recorded.contains(library) {
                    try mend(library, catalogue, interruption, &report)
                }
            }
        } catch let error as CatalogueError { throw CommandFailure(error, path: places.catalogue.escaped) }
        display.clear()
        // The daemon notes only of its own library that all of it was read.
        let isDaemons = library == nil && (places.settings?.library != nil || meant.others.isEmpty)
        try hand(report, of: meant.path, isDaemons: isDaemons, catalogue, to: Asking(self.places, output))
        try report.finish(style: Terminal.style(output.color))
        if !report.isGood || report.wasStopped { throw CommandEnd(status: .someLeft) }
    }

    /// Has the daemon read again what was found, and what it takes for damaged: then its status shows it, too.
    private func hand(
        _ report: VerifyReport, of library: BytePath?, isDaemons: Bool, _ catalogue: CatalogueFile, to asking: Asking
    ) throws {
        var photos = report.faulty
        if let library {
            photos.formUnion(
                try catalogue.damagedPhotos(in: library, limit: ControlCommand.verifyLimit).map(\.stored.id))
        }
        let all = photos.sorted()
        do throws(CommandFailure) {
            var rest = all[...]
            repeat {
                let part = Array(rest.prefix(ControlCommand.verifyLimit))
                rest = rest.dropFirst(part.count)
                let isComplete = rest.isEmpty && !report.wasStopped && library != nil && isDaemons
                if !part.isEmpty || isComplete { try asking.ask(.verify(photos: part, isComplete: isComplete)) }
            } while !rest.isEmpty
        } catch  where all.isEmpty {
            // Nothing was found that status could show.
        } catch {
            printRemark(
                "photoinbox status will not show what was found: \(error.message)", asJSON: output.json)
        }
    }

    /// A former library may be on a disk that lies in a drawer: said, and no failure of the one in use.
    private func isReachable(_ library: BytePath, _ catalogue: CatalogueFile, _ report: inout VerifyReport) -> Bool {
        do throws(CommandFailure) {
            try MeantLibrary.require(library, of: catalogue)
            return true
        } catch {
            report.display.clear()
            printRemark("photos of another library are not verified: \(error.message)", asJSON: output.json)
            report.wasSkipped = true
            return false
        }
    }

    private func verify(
        _ library: BytePath, _ catalogue: CatalogueFile, after start: Int64, _ bookmark: Bookmark,
        _ interruption: Interruption, _ report: inout VerifyReport
    ) throws {
        let totals = try catalogue.totals(after: start)
        let display = report.display
        let throttle = rate.map { Throttle(bytesPerSecond: $0.bytes) }
        let verification: LibraryVerification
        do throws(SystemCallError) {
            verification = try LibraryVerification(
                of: library, against: catalogue, work: FileWork(shouldStop: interruption.isHurried))
        } catch { throw CommandFailure(error) }
        let (progress, isComplete) = try verification.run(after: start) { progress in
            throttle?.wait(after: progress.bytes)
            bookmark.write(progress.last)
            let line = ProgressLine(
                photos: progress.photos, totalPhotos: totals.photos, bytes: progress.bytes, totalBytes: totals.bytes,
                seconds: display.seconds)
            let isHurried = interruption.isHurried()
            try display.show(line, asked: interruption.takeProgressRequest())
            return !isHurried && !interruption.isStopAsked
        } tell: { photo, fault in
            try report.tell(photo, fault)
        }
        if !isComplete { bookmark.stop(at: progress.last) }
        report.add(progress, wasStopped: !isComplete)
    }

    /// What lies in the library without a record, and records without a file, are brought together.
    private func mend(
        _ library: BytePath, _ catalogue: CatalogueFile, _ interruption: Interruption, _ report: inout VerifyReport
    ) throws {
        let tree: LibraryTree
        let (missing, recorded): (Set<Int64>, Int)
        do {
            tree = try LibraryTree(library)
            (missing, recorded) = try LibraryVerification(of: library, against: catalogue).missing()
        } catch let error as SystemCallError { throw CommandFailure(error) }
        let adoption = LibraryAdoption(
            of: tree, into: isDry ? nil : catalogue, comparingWith: catalogue, missing: missing,
            work: FileWork(shouldStop: { interruption.isHurried() || interruption.isStopAsked }))
        do {
            let summary = try adoption.run(tell: { finding in try report.tell(finding) })
            guard summary.seen > 0 || recorded == 0 else {
                throw CommandFailure(
                    .stopped,
                    "\(library) is empty, and \(HumanText.count(recorded, "photo", "photos")) should be there",
                    action: "Mount the library, or bring the photos back from a backup. No record was changed.")
            }
            let lost = missing.subtracting(summary.moved)
            let mayStrike = isDry || mayStrike(lost.count, of: recorded, in: library, report.display)
            if mayStrike, !isDry { try catalogue.strike(lost, at: Moment.now.wall) }
            report.add(summary, of: library, lost: lost.count, wereStruck: mayStrike)
        } catch let error as FilingError where error.kind == .stopped { report.wasStopped = true }
    }

    private func mayStrike(_ count: Int, of recorded: Int, in library: BytePath, _ display: ProgressDisplay) -> Bool {
        if yes || !Confirmation.isNeeded(count, of: recorded) { return true }
        let photos = HumanText.count(recorded, "photo", "photos")
        return Confirmation.ask(
            "\(HumanText.count(count)) of \(photos) are nowhere in \(library). Strike their records?",
            isJSON: output.json, display)
    }
}
