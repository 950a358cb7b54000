import Catalogue
import FileValues
import Filing
import Importing
import LibraryCare
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// Looks at one file system that was mounted, and imports it if it is a card: the same import as `photoinbox import`.
///
/// On a thread of its own, since reading a card may wait for ever. Nothing of the card is held open when it
/// has ended, so that it can be unmounted.
struct CardImport: Sendable {
    let mount: CardMount
    let plan: CardPlan
    /// Asked between blocks.
    let shouldStop: @Sendable () -> Bool
    /// Called once with its directories that are imported, when it is known to be a card.
    let found: @Sendable ([BytePath]) -> Void
    let progress: @Sendable (ImportProgress, CardCounts) -> Void
    let failed: @Sendable (ImportFinding, _ directory: BytePath) -> Void

    func run() -> CardFinding {
        let begun = Moment.now
        let directories: [(path: BytePath, root: HeldDescriptor)]
        do throws(SystemCallError) { directories = try findDirectories() } catch {
            return .unreadable("\(error.call): \(error.code)")
        }
        if directories.isEmpty { return .noCard }
        found(directories.map(\.path))
        var outcome = CardOutcome()
        do {
            let catalogue = try CatalogueFile.openForReading(plan.catalogue)
            defer { catalogue.close() }
            var before = ImportProgress()
            for (path, root) in directories where outcome.end == .complete {
                try bring(path, root, catalogue, &outcome, &before)
            }
        } catch let failure as ImportFailure {
            switch failure {
            case .busy: outcome.end = .busy
            case .system(let error): outcome.end = .incomplete("\(error)")
            case .catalogue(let text): outcome.end = .incomplete(text)
            }
        } catch { outcome.end = .incomplete("\(error)") }
        outcome.seconds = Moment.now.seconds(since: begun)
        return .imported(outcome)
    }

    /// The directories that make it a card, open.
    private func findDirectories() throws(SystemCallError) -> [(BytePath, HeldDescriptor)] {
        let root = try openDirectory(mount.place)
        // Unmounted meanwhile, or something mounted over it: that has its own turn.
        guard try Mount.identifier(of: root) == mount.identifier else { return [] }
        let (mounts, place) = (try MountTable.ofProcess(), try KernelPlace(of: root))
        for other in plan.ours {
            guard let own = try? KernelPlace(at: other) else { continue }
            if mounts.meeting(of: own, place) != nil { return [] }
        }
        var found: [(BytePath, HeldDescriptor)] = []
        for path in plan.settings.directories {
            do throws(SystemCallError) {
                found.append((path, HeldDescriptor(try root.openDirectoryBeneath(path))))
            } catch {
                // Links are not followed: they lead where the card's owner wants.
                if [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(error.code) {
                    continue
                }
                throw error
            }
        }
        return found
    }

    private func bring(
        _ path: BytePath, _ root: HeldDescriptor, _ catalogue: CatalogueFile, _ outcome: inout CardOutcome,
        _ before: inout ImportProgress
    ) throws {
        let inbox = plan.inbox
        let inboxPath: BytePath
        do throws(SystemCallError) { inboxPath = try realPath(inbox.path) } catch { throw ImportFailure.system(error) }
        let (library, libraryGuard) = (plan.library, LibraryGuard(catalogue))
        let what = ImportPlan(
            source: mount.place.appending(path), root: root, inbox: inbox.name, inboxPath: inboxPath,
            minFree: plan.minFree, library: library,
            requireLibrary: { root in if let library { try libraryGuard.check(root, at: library) } },
            exclusion: { path in inbox.exclusion(of: path).map { "excluded: \($0)" } })
        let memory = try ImportMemoryPlace.open(state: plan.state, what)
        // This thread's alone: the closures are called on it, and end with the run.
        let sum = CardSum(counts: outcome.counts, before: before)
        let control = ImportControl(
            shouldEnd: shouldStop, shouldAbandon: shouldStop,
            progress: { now in
                sum.now = now
                progress(sum.progress, sum.counts)
            },
            report: { finding in
                sum.counts.add(finding, in: path)
                if finding.what == .failed { failed(finding, path) }
                progress(sum.progress, sum.counts)
            })
        let now = FileTime.now.seconds
        let run = ImportRun(
            what, catalogue: catalogue, memory: memory, date: LocalClock(at: now).date(now),
            control: control)
        defer {
            outcome.counts = sum.counts
            before = sum.progress
            if let directory = run.directory { outcome.directories.append(directory) }
        }
        try run.run()
        if run.wasStopped {
            outcome.end = .stopped
        } else if sum.counts.failed > 0, let first = sum.counts.firstFailure {
            let rest = sum.counts.failed - 1
            outcome.end = .incomplete(first + (rest > 0 ? ", and \(HumanText.count(rest)) more" : ""))
        }
    }
}

/// What closures of one run change, all on its thread.
private final class CardSum {
    var counts: CardCounts
    private let before: ImportProgress
    var now = ImportProgress()

    init(counts: CardCounts, before: ImportProgress) {
        self.counts = counts
        self.before = before
    }

    /// Of this directory and those before it.
    var progress: ImportProgress {
        var sum = now
        sum.files += before.files
        sum.bytes += before.bytes
        sum.totalFiles = now.totalFiles.map { $0 + (before.totalFiles ?? 0) }
        sum.totalBytes = now.totalBytes.map { $0 + (before.totalBytes ?? 0) }
        return sum
    }
}
