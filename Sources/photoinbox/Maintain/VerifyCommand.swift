import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Explaining
import FileValues
import Filing
import Glibc
import LibraryCare
import LinuxKernel
import Reporting
import Settings

struct VerifyCommand: DaemonCommand {
    static let configuration = CommandConfiguration("verify", "Read all photos again and compare with the records.")

    static let lesson = """
        EXAMPLES:
          photoinbox verify                  every recorded photo; continues where the last run was stopped
          photoinbox verify --rate 50M       read at most 50 MiB a second
          photoinbox verify --repair --dry-run  show what a repair would do
          photoinbox verify --repair         then repair the records; photos are never changed
          photoinbox verify --json | jq -r 'select(.type == "fault") | .path'

        Each photo is read from the disk and its SHA-256 compared with the one recorded when it was filed: missing, damaged
        (other bytes) and unreadable photos are listed. A sidecar with other bytes is "edited", which is no damage, since people
        and programs write to sidecars. Listed are also intact photos of which the catalogue has other metadata than
        they and their sidecars have (outdated): the daemon reads these again when it next files a photo or starts. It may run
        meanwhile, and continues to file.

        Ctrl-C stops after the photo that is being read, a second one at once; the next run continues after it, unless
        --restart is given. SIGUSR1 prints the progress.

        --repair changes the catalogue only, and only records of the current library: the configured one, or that of --library.
        A photo that was moved within the library gets its new path; photos without a record get one (as with "adopt");
        records of photos that are nowhere are struck, so that the same photo is filed again when it arrives again. Over 10 of
        them, or more than one and over 5 % of all, are struck only after a question, or with --yes. Struck records are kept:
        put the files back, and "photoinbox adopt" restores the records. Nothing is repaired while the library is missing,
        replaced by another one, or empty. Damaged photos keep their record: restore them from a backup, or copy the original
        into an inbox, and it is filed again, beside the damaged file. That stays, is listed ("replaced") until you remove it,
        and gets no record; under another name it counts as a new photo.

        EXIT STATUS:
          0   all are as they were filed
          3   something is not, or was not read, or the run was stopped
          5   another directory is mounted in the library's place, or it is empty
          69  the library is missing, or there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @Flag(help: "Repair the records of photos that were moved, added or removed. Requires write access.")
    var repair = false

    @Flag(name: .customLong("dry-run"), help: "With --repair: change nothing; show what would be repaired.")
    var isDry = false

    @Flag(help: "With --repair: strike records of missing photos without asking.")
    var yes = false

    @Option(help: ArgumentHelp("Verify only this one of the recorded libraries.", valueName: "dir"))
    var library: RawArgument?

    @Flag(help: "Begin with the first photo, even if an earlier run was stopped.")
    var restart = false

    @Option(help: ArgumentHelp("Read at most this much a second: 50M.", valueName: "size"))
    var rate: ByteSize?

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if isDry || yes, !repair { throw ValidationError("--dry-run and --yes require --repair.") }
    }

    func run(at places: Places) throws {
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.remark)
        let catalogue = try places.openCatalogue(forRepair: repair && !isDry)
        let meant = try SelectedLibrary(named: library?.path, places, catalogue)
        try meant.require(of: catalogue)
        let bookmark = Bookmark(in: places)
        var report = VerifyReport(output: output, display: display, isDry: isDry)
        let start = restart ? (photo: 0, faults: 0) : try bookmark.read(catalogue, self.library)
        if start.photo > 0 {
            report.earlier = start.faults
            let faults = start.faults > 0 ? ", and lists again the \(HumanText.count(start.faults)) with a fault" : ""
            display.remark("continuing after photo \(start.photo); --restart begins with the first\(faults)")
        }
        let recorded = try catalogue.libraries()
        for library in (meant.path.map { [$0] } ?? []) + meant.others where recorded.contains(library) {
            if library != meant.path, !isReachable(library, catalogue, &report) { continue }
            try verify(library, catalogue, after: start.photo, bookmark, interruption, &report)
            if report.wasStopped { break }
        }
        if !report.wasStopped {
            bookmark.remove()
            if repair, let library = meant.path, recorded.contains(library) {
                try repairRecords(library, catalogue, interruption, &report)
            }
        }
        display.clear()
        for (bucket, count) in try catalogue.photosByLibrary() where !bucket.isAbsolute {
            let photos = HumanText.count(count, "photo is", "photos are")
            printRemark("\(photos) in \(bucket.escaped), and compared by photoinbox store verify", asJSON: output.json)
        }
        renewMetadata(of: report.outdated, at: places)
        // The daemon records complete verifications of its own library only.
        let isDaemons = library == nil && (places.settings?.library != nil || meant.others.isEmpty)
        try sendToDaemon(
            report, of: meant.path, isDaemons: isDaemons, catalogue, to: RequestClient(places: places, output: output))
        try report.finish(style: Terminal.style(output.color))
        if !report.isGood || report.wasStopped { throw CommandEnd(status: .someLeft) }
    }

    /// Has the daemon read again the photos found here and those it knows as damaged, so that its status shows them.
    private func sendToDaemon(
        _ report: VerifyReport, of library: BytePath?, isDaemons: Bool, _ catalogue: CatalogueFile,
        to client: RequestClient
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
                if !part.isEmpty || isComplete { try client.send(.verify(photos: part, isComplete: isComplete)) }
            } while !rest.isEmpty
        } catch  where all.isEmpty {
            // Nothing was found that status could show.
        } catch {
            printRemark(
                "photoinbox status will not show these results: \(error.message)", asJSON: output.json)
        }
    }

    /// Makes the metadata of these photos due, if the catalogue may be written.
    private func renewMetadata(of photos: Set<Int64>, at places: Places) {
        if photos.isEmpty || isDry { return }
        do { try places.openCatalogue(forRepair: true).renewMetadata(of: photos) } catch {
            printRemark("their metadata are not read again: \(error)", asJSON: output.json)
        }
    }

    /// A former library may be on a disk that is not connected: a remark, no failure.
    private func isReachable(_ library: BytePath, _ catalogue: CatalogueFile, _ report: inout VerifyReport) -> Bool {
        do throws(CommandFailure) {
            try SelectedLibrary.require(library, of: catalogue)
            return true
        } catch {
            report.display.clear()
            printRemark("photos of a former library are not verified: \(error.message)", asJSON: output.json)
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
        let verification = try LibraryVerification(
            of: library, against: catalogue, work: FileWork(shouldStop: interruption.mustStopAtOnce))
        let (progress, isComplete) = try verification.run(after: start) { progress in
            throttle?.wait(after: progress.bytes)
            bookmark.write(progress.last, faults: report.faults(with: progress), catalogue, self.library)
            let mustStop = interruption.mustStop()
            try display.show(
                photos: progress.photos, totalPhotos: totals.photos, bytes: progress.bytes, totalBytes: totals.bytes,
                asked: interruption.consumeProgressRequest())
            return !mustStop
        } report: { photo, fault in
            try report.show(photo, fault)
        }
        if isComplete {
            try verification.replaced { try report.show(replaced: $0, by: $1) }
        } else {
            bookmark.stop(at: progress.last, faults: report.faults(with: progress), catalogue, self.library)
        }
        report.add(progress, wasStopped: !isComplete)
    }

    /// Matches files without a record with records without a file.
    private func repairRecords(
        _ library: BytePath, _ catalogue: CatalogueFile, _ interruption: Interruption, _ report: inout VerifyReport
    ) throws {
        let tree = try LibraryTree(library)
        let away = try LibraryGuard(catalogue).awayMounts(in: tree.root, of: library).filter { $0.value != nil }
        for (place, reason) in away.sorted(by: { $0.key < $1.key }) {
            report.display.clear()
            let why = reason.map { ": \(printable($0))" } ?? ""
            printRemark("records of photos in \(place.escaped) are not struck\(why)", asJSON: output.json)
            report.wasSkipped = true
        }
        let verification = try LibraryVerification(of: library, against: catalogue)
        let (missing, recorded) = try verification.missing(outside: Array(away.keys))
        let adoption = LibraryAdoption(
            of: tree, into: isDry ? nil : catalogue, comparingWith: catalogue, missing: missing,
            work: FileWork(shouldStop: interruption.mustStop))
        do {
            let summary = try adoption.run(report: { finding in try report.show(finding) })
            guard summary.seen > 0 || recorded == 0 else {
                throw CommandFailure(
                    .stopped,
                    "\(library) is empty, but \(HumanText.count(recorded, "photo is", "photos are")) recorded in it",
                    action: "Mount the library, or restore the photos from a backup. No record was changed.")
            }
            // One whose file was put back meanwhile was read after that.
            let lost = missing.subtracting(summary.moved)
                .intersection(try verification.missing(outside: Array(away.keys)).photos)
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

extension ByteSize: ExpressibleByArgument {
    /// As in the configuration: 50M, 2G.
    public init?(argument: String) {
        guard let size = ByteSize(argument) else { return nil }
        self = size
    }
}
