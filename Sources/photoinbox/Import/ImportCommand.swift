import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import Explaining
import FileValues
import Glibc
import Importing
import LibraryCare
import LinuxKernel
import Reporting
import Settings

struct ImportCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "import", "Copy photos from a card or an archive into an inbox.", "[OPTION…] DIR…")

    static let lesson = """
        EXAMPLES:
          photoinbox import /media/ana/EOS               copy what is new on a card into the only inbox
          photoinbox import --dry-run /media/ana/EOS     show what would be copied, what not, and why
          photoinbox import --move --inbox card DIR      and remove from DIR what has a verified, durable copy
          photoinbox import --json DIR | jq -r 'select(.what == "failed") | .path'

        Each photo is copied under a hidden name in the inbox, synced, read again and compared by SHA-256, and then moved to
        import-DATE-N/ of the inbox, with the directories that it had in DIR; the daemon files it from there like any other.
        Members of a set arrive together. Photos that the library has or that are still in the inbox are not copied again;
        hidden files, links and other files are left out. A file that cannot be read, changes meanwhile or does not fit is
        reported, and the rest continues.

        DIR must not be, contain or lie in the library, an inbox or another directory of the daemon, by any mount; a former
        library may be imported.

        Ctrl-C stops after the set that is being copied, a second one at once; the next run, also after a power cut, continues
        with what is missing. SIGUSR1 prints the progress. --move removes a file only after its copy is durable, and if the
        file has not changed; for a photo that was filed before, the library's copy is read again first.

        EXIT STATUS:
          0   all photos of DIR are in the inbox or filed
          3   some are not, or the run was stopped
          4   no such inbox
          75  another run imports from there
          64, 77, 78: see photoinbox --help
        """

    @Option(help: ArgumentHelp("The inbox to copy into. Default: the only one.", valueName: "name"))
    var inbox: String?

    @Flag(help: "Remove each file from DIR after its copy is durable.")
    var move = false

    @Flag(name: .customLong("dry-run"), help: "Change nothing; show what would happen to each file, and why.")
    var isDry = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Cards or directories.", valueName: "dir"))
    var directories: [RawArgument]

    func run(at places: Places) throws {
        let display = ProgressDisplay(json: output.json, silence: 5)
        // Before the daemon is asked, while there is one thread, so that others inherit the blocked signals.
        let interruption = Interruption(of: "set", announce: display.remark)
        let contact = DaemonContact(places: places)
        // Without a configuration, the inboxes come from the daemon or its last dump.
        let state = places.settings == nil ? (try? contact.freshState()) ?? contact.lastState() : nil
        let known = EvidenceSearch.knownPlaces(places.settings, state)
        let inbox = try known.inbox(named: inbox)
        let target = try ImportTarget(inbox, places.settings, known, state: places.state)
        let catalogue = try places.openCatalogueIfPresent()
        if catalogue == nil {
            printRemark("there is no catalogue yet, so no photo counts as filed", asJSON: output.json)
        }
        let plans = try directories.map { try plan(for: $0.path, target, known.library, catalogue) }
        var report = ImportReport(isJSON: output.json, isDry: isDry, moves: move, display: display)
        var wasStopped = false
        for plan in plans where !wasStopped {
            wasStopped = try importDirectory(plan, catalogue, places, &report, interruption)
        }
        display.clear()
        try report.finish(inbox: inbox.name, wasStopped: wasStopped)
        if !isDry, report.copied > 0, !contact.isRunning {
            printRemark("photoinboxd is not running; they are filed when it runs", asJSON: output.json)
        }
        if wasStopped || report.isIncomplete { throw CommandEnd(status: .someLeft) }
    }

    /// Imports one directory; returns whether the run was stopped.
    private func importDirectory(
        _ plan: ImportPlan, _ catalogue: CatalogueFile?, _ places: Places, _ report: inout ImportReport,
        _ interruption: Interruption
    ) throws -> Bool {
        let memory = try openMemory(plan, places)
        // The closures end with the run, and the report is this thread's alone.
        var mustStopAtOnce = false
        let box = ReportBox(report)
        defer { report = box.report }
        box.report.begin()
        let control = ImportControl(
            shouldEnd: {
                mustStopAtOnce = mustStopAtOnce || interruption.mustStopAtOnce()
                return interruption.isStopRequested
            },
            shouldAbandon: {
                mustStopAtOnce = mustStopAtOnce || interruption.mustStopAtOnce()
                return mustStopAtOnce
            },
            progress: { try box.report.show($0, asked: interruption.consumeProgressRequest()) },
            report: { try box.report.show($0, in: plan.source) })
        let run = ImportRun(
            plan, catalogue: catalogue, memory: memory, date: LocalClock.today(), control: control)
        do { try run.run() } catch let failure as ImportFailure {
            box.report.display.clear()
            switch failure {
            case .system(let error): throw error
            case .busy: throw Self.busy(plan.source)
            case .catalogue(let text): throw CommandFailure(.failed, text)
            }
        }
        if let directory = run.directory { box.report.directories.append(directory) }
        return run.wasStopped
    }

    private func openMemory(_ plan: ImportPlan, _ places: Places) throws(CommandFailure) -> ImportMemory? {
        if isDry, !ImportMemoryPlace.exists(state: places.state, plan) { return nil }
        do throws(ImportFailure) { return try ImportMemoryPlace.open(state: places.state, plan) } catch {
            throw Self.busy(plan.source)
        }
    }

    private static func busy(_ source: BytePath) -> CommandFailure {
        CommandFailure(.busy, "another run imports from \(source)", action: "Wait for it, or stop it.")
    }

    private func plan(
        for path: BytePath, _ target: ImportTarget, _ library: BytePath?, _ catalogue: CatalogueFile?
    ) throws -> ImportPlan {
        let source = try realPath(path)
        try target.requireOutside(source, named: path)
        let libraryGuard = catalogue.map { LibraryGuard($0) }
        return ImportPlan(
            source: source, inbox: target.name, inboxPath: target.path, minFree: target.minFree, removes: move,
            isDry: isDry, library: library,
            requireLibrary: { root in if let library { try libraryGuard?.check(root, at: library) } },
            exclusion: target.exclusion)
    }
}

/// The report while closures change it: all on the main thread.
private final class ReportBox {
    var report: ImportReport
    init(_ report: ImportReport) { self.report = report }
}
