import Catalogue
import DaemonSupport
import FileValues
import Ingest
import LibraryCare
import LinuxKernel
import QueueActors
import Settings
import SystemMonitor

/// Checks whether the library is at its path though no photo comes: at the start, when the mount table changes and on
/// the watchdog's tick, on a queue of its own. Reads only.
final class LibraryWatch: DaemonPart {
    let subsystem = Subsystem(
        name: Subsystem.library, queue: MonitorQueue(label: "photo-inbox.library"), isVital: false)
    private let libraryGuard: LibraryGuard
    private let catalogue: Catalogue
    private let problems: StorageProblems
    /// An inbox may be filed from again.
    private let admissionChanged: @Sendable () async -> Void
    private let settings: Locked<Settings>
    private let isWaiting = Locked(false)
    private let patience = MonitorQueue(label: "photo-inbox.library.patience")
    private let isCensusWaiting = Locked(false)
    /// Device and inode of what was checked last: another directory is counted anew.
    private let last = Locked<[UInt64]>([])
    /// A photo without a record, as it was last reported.
    private let unrecorded = Locked<BytePath?>(nil)

    init(
        _ libraryGuard: LibraryGuard, catalogue: Catalogue, problems: StorageProblems, settings: Settings,
        admissionChanged: @escaping @Sendable () async -> Void
    ) {
        self.libraryGuard = libraryGuard
        self.catalogue = catalogue
        self.problems = problems
        self.settings = Locked(settings)
        self.admissionChanged = admissionChanged
    }

    var subsystems: [Subsystem] { [subsystem] }

    func prepare(_ settings: Settings) { self.settings.withLock { $0 = settings } }

    func adopt(_ settings: Settings) {
        checkSoon(inFull: true)
        // Where they met, the new configuration may have parted them.
        if problems.mayBeNested { checkForNesting() }
    }

    func mounted(_ table: MountTable) {
        checkSoon()
        checkForNesting()
    }

    func tick() { checkSoon() }

    func perform(_ action: Action, asker: String) { if action == .reconcile { checkSoon(inFull: true) } }

    /// Checks once, however often it is called before that begins; `inFull`, it counts what is recorded elsewhere, too. From
    /// any thread; it waits for nothing.
    private func checkSoon(inFull: Bool = false) {
        if inFull { isCensusWaiting.withLock { $0 = true } }
        guard let library = settings.withLock({ $0.library }), isWaiting.withLock({ $0.set() }) else { return }
        subsystem.queue.async { [self] in
            isWaiting.withLock { $0 = false }
            subsystem.enter("looking at \(library.path.escaped)")
            check(library.path)
            subsystem.idle()
        }
    }

    /// Reads the free space again, for an answer; what was read last holds where that takes longer than a tenth
    /// of a second, since a library may not answer.
    func readFree() async {
        guard let path = settings.withLock({ $0.library })?.path else { return }
        await withCheckedContinuation { done in
            let waiting = Locked<CheckedContinuation<Void, Never>?>(done)
            let resume: @Sendable () -> Void = { waiting.withLock { $0.take() }?.resume() }
            subsystem.queue.async { [self] in
                if let root = try? openDirectory(path), let status = try? FileSystemStatus(of: root) {
                    problems.free(status.available, at: path)
                } else {
                    // Who asks is not to wait for the tick to be told.
                    check(path)
                }
                resume()
            }
            patience.after(.milliseconds(100), resume)
        }
    }

    /// Whether directories of the configuration meet, since mounts have changed; until that is known nothing is filed
    /// from any inbox. From any thread; it waits for nothing.
    private func checkForNesting() {
        let settings = settings.withLock { $0 }
        problems.checksForNesting()
        subsystem.queue.async { [self] in
            subsystem.enter("comparing the mounts of all directories")
            problems.nested(settings.nestings())
            subsystem.idle()
            TaskQueue.start { await self.admissionChanged() }
        }
    }

    private func check(_ path: BytePath) {
        do {
            let root = try openDirectory(path)
            catalogue.rememberSoon(try libraryGuard.check(root, at: path))
            try libraryGuard.hold(root, at: path)
            problems.free(try FileSystemStatus(of: root).available, at: path)
            problems.librarySeen(nil)
            for (place, reason) in try libraryGuard.awayMounts(in: root, of: path) {
                problems.place(place, away: reason)
            }
            let status = try FileStatus(of: root)
            let isOther = last.withLock { last in
                defer { last = [status.device, status.identity.inode] }
                return last != [status.device, status.identity.inode]
            }
            let isCounting = isCensusWaiting.withLock { isWaiting in
                defer { isWaiting = false }
                return isWaiting || isOther
            }
            let isAdopted = try unrecorded.withLock { $0 }.map { try libraryGuard.isRecorded($0, in: path) } ?? false
            guard isCounting || isAdopted else { return }
            guard let census = try libraryGuard.census(of: path) else { return isCensusWaiting.withLock { $0 = true } }
            unrecorded.withLock { $0 = census.unrecorded }
            problems.counted(census, at: path)
        } catch {
            // Else the catalogue does not answer, which those who need it report, or is closed, since the daemon stops.
            if let failure = LibraryFailure(error) { missed(failure) }
        }
    }

    private func missed(_ failure: LibraryFailure) {
        problems.librarySeen(failure)
        // Some problems are shown only when they last, and the next tick is far.
        subsystem.queue.after(.seconds(3)) { [problems] in problems.reporter.review() }
    }
}
