import ArgumentParser
import Catalogue
import FileValues
import Filing
import Glibc
import Inbox
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
          photoinbox verify --repair         then set the records right; photos are never touched
          photoinbox verify --json | jq -r 'select(.type == "fault") | .path'

        Each photo is read from the disk and its SHA-256 compared with what was recorded when it was filed: missing,
        damaged (other bytes) or unreadable ones are named. The daemon may run meanwhile, and goes on filing.
        Ctrl-C stops after the photo that is being read, a second one at once; the next run goes on behind it, unless
        --restart is given. SIGUSR1 says how far it is.

        --repair changes the catalogue alone. A photo that lies elsewhere in the library gets its new place; photos
        without a record get one (as "adopt" does); records of photos that are nowhere are struck, so that the same
        photo is filed again when it comes again. Damaged photos keep their record: bring them back from a backup, or
        drop the original into an inbox, and it is filed again.

        EXIT STATUS:
          0   all are as they were filed
          3   something is not, or the run was stopped
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Set the records right where photos were moved, added or removed. Needs write access to the catalogue.")
    var repair = false

    @Flag(help: "Begin with the first photo, even if an earlier run was stopped.")
    var restart = false

    @Option(help: ArgumentHelp("Read at most so much a second: 50M.", valueName: "size"))
    var rate: ByteSize?

    func run() throws {
        let places = try Places(places)
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.say)
        let catalogue = try places.openCatalogue(forRepair: repair)
        let bookmark = Bookmark(in: places)
        var report = VerifyReport(output: output, display: display)
        do {
            let start = restart ? 0 : bookmark.read()
            if start > 0 { display.say("going on after photo \(start); --restart begins anew") }
            for library in try catalogue.libraries() {
                try verify(library, catalogue, after: start, bookmark, interruption, &report)
                if report.wasStopped { break }
            }
            if !report.wasStopped {
                bookmark.remove()
                if repair { try mend(catalogue, interruption, &report) }
            }
        } catch let error as CatalogueError { throw CommandFailure(error, path: places.catalogue.escaped) }
        display.clear()
        try report.finish(style: Terminal.style(output.color))
        if !report.isGood || report.wasStopped { throw CommandEnd(status: .someLeft) }
    }

    private func verify(
        _ library: BytePath, _ catalogue: Catalogue, after start: Int64, _ bookmark: Bookmark,
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
    private func mend(_ catalogue: Catalogue, _ interruption: Interruption, _ report: inout VerifyReport) throws {
        for library in try catalogue.libraries() {
            let tree: LibraryTree
            let missing: Set<Int64>
            do {
                tree = try LibraryTree(library)
                missing = try LibraryVerification(of: library, against: catalogue).missing()
            } catch let error as SystemCallError { throw CommandFailure(error) }
            let adoption = LibraryAdoption(
                of: tree, into: catalogue, missing: missing,
                work: FileWork(shouldStop: { interruption.isHurried() || interruption.isStopAsked }))
            do {
                let summary = try adoption.run(tell: { finding in try report.tell(finding) })
                try catalogue.strike(missing.subtracting(summary.moved), at: Moment.now.wall)
                report.add(summary, struck: missing.count - summary.moved.count)
            } catch let error as FilingError where error.kind == .stopped {
                report.wasStopped = true
                return
            }
        }
    }
}
