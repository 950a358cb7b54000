import Catalogue
import FileValues
import Filing
import LibraryCare
import LinuxKernel
import PhotoModel
import QueueActors
import SystemMonitor

/// Called with each step that an arrival reaches; on the worker's queue.
typealias StepReport = @Sendable (String) -> Void

/// Does all file work of one inbox, on the inbox's own queue: a root that does not answer holds up nobody else.
///
/// An arrival's way is `takeOn` to its proof, `file` to the decision with whom it is filed (``FilingDecision``), and
/// ``FilingTransaction/run()`` from there. While it waits for the catalogue, the next arrival may begin.
actor InboxWorker {
    nonisolated let spec: InboxSpec
    nonisolated let subsystem: Subsystem
    let places: Places
    let attributes: FiledAttributes
    let catalogue: CatalogueWriter
    let libraryGuard: LibraryGuard
    let probe = WriterProbe()
    private nonisolated let measures: MeasureBoard?
    private nonisolated let executor: QueueExecutor
    private nonisolated let stopping = Locked(false)

    /// Something is half done that nobody works on: a step of an earlier life, or of this one, failed. Told to the
    /// pipeline, which has ``recover()`` tried again.
    nonisolated let owed = Locked(OwedRecovery())
    /// Sources of filings that recovery closed since their copies are lost: nothing tells of them again.
    nonisolated let toLookAt = Locked<[BytePath]>([])
    /// One at a time: two could both find what one has finished.
    var isRecovering = false
    /// By their tokens, filings and moves that this life works on, which recovery must leave alone; with their plan, if
    /// they are moves.
    var underWay: [String: MoveRecord?] = [:]
    /// Moves that recovery finished, until their arrivals are looked at again.
    var movedLate: [BytePath: LateMove] = [:]
    /// How long this inbox's writers were seen to pause.
    var pace = QuietPace()
    /// The inbox could not be opened at the last try.
    private var isInboxAway = false
    // Opened when first needed and again after a failure, so that a root that comes back is found.
    private var roots: [BytePath: DestinationRoot] = [:]
    /// What file systems were found to do, by the directory that was tried.
    private var trials: [PlaceIdentity: FileSystemTrial] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        spec: InboxSpec, places: Places, attributes: FiledAttributes, catalogue: CatalogueWriter,
        libraryGuard: LibraryGuard, subsystem: Subsystem, measures: MeasureBoard? = nil
    ) {
        self.spec = spec
        self.places = places
        self.attributes = attributes
        self.catalogue = catalogue
        self.libraryGuard = libraryGuard
        self.subsystem = subsystem
        self.measures = measures
        executor = TaskQueue.executor(on: subsystem.queue)
    }

    /// Ends long steps at their next block, leaving every source where it is. From any thread.
    nonisolated func hurry() { stopping.withLock { $0 = true } }

    /// Takes one arrival, or a set, as far as it goes now; what came of each, in their order. Never throws: what failed is
    /// the conclusion.
    func process(_ assignment: Assignment, reached: @escaping StepReport) async -> [Conclusion] {
        let first = assignment.arrivals.first.map { "\($0.key)" } ?? ""
        let subject = assignment.arrivals.count > 1 ? "\(first) and its set" : first
        let clock = StageClock(measures)
        let work = FileWork { [subsystem] step in
            clock.enter(step)
            subsystem.enter("\(step.words): \(subject)")
            reached(step.words)
        } shouldStop: { [stopping] in
            stopping.withLock { $0 }
        }
        defer {
            clock.end()
            subsystem.idle()
        }
        // Other daemons stay away from the inbox as long. What fails here fails again where it is needed.
        let inbox = try? openInbox()
        defer { withExtendedLifetime(inbox) {} }
        var late: [Symptom] = []
        if owed.withLock({ $0.isDue(now: .now) }) { late = await recover() }
        let wasInboxAway = isInboxAway
        isInboxAway = false
        var outcomes = await takeOn(assignment, work)
        if let first = assignment.arrivals.first?.key {
            if wasInboxAway, !isInboxAway {
                outcomes[first]?.symptoms.append(.inboxUnreadable(inbox: spec.name, reason: nil))
            }
            // Older than what came of the work, which may have shown that it is over.
            outcomes[first]?.symptoms.insert(contentsOf: late, at: 0)
        }
        return assignment.arrivals.map { outcomes[$0.key] ?? postponed("nothing came of it") }
    }

    /// What a failure amounts to for one arrival that has no outcome.
    func conclusion(of error: any Error, _ arrival: Arrival) -> Conclusion {
        switch error {
        case let error as FilingError: return conclusion(of: error, arrival)
        case let refusal as LibraryGuard.Refusal:
            forgetRoots()
            return postponed(
                "what lies at \(refusal.path) is not the library: \(refusal)",
                [.library(failure: .replaced("\(refusal)"))])
        case let away as LibraryGuard.PlaceAway: return postponed("\(away)")
        case let taken as PlaceLock.Taken:
            isInboxAway = isInboxAway || taken.path == spec.path
            return postponed("\(taken)", symptoms(of: taken))
        case let error as CatalogueError:
            if case .beingFiled = error.code { return untilUndone() }
            return postponed("the catalogue refused: \(error)", [.catalogue(failure: error)])
        default:
            forgetRoots()
            isInboxAway = true
            return postponed("\(error)", [.inboxUnreadable(inbox: spec.name, reason: "\(error)")])
        }
    }

    /// Opens `path`, a file of this inbox.
    func open(_ path: BytePath) throws -> SourceFile {
        try SourceFile(path, beneath: try openInbox().descriptor)
    }

    /// The inbox's own directory, opened for one arrival: a card must be free to go when its photos are filed.
    func openInbox() throws -> InboxRoot {
        let directory = try openDirectory(spec.path)
        let device = try FileStatus(of: directory).device
        let staysMounted = [places.library, "/"].contains {
            (try? FileStatus(at: $0, followingLinks: true))?.device == device
        }
        let lock = try libraryGuard.locks.hold(directory, at: spec.path, forGood: staysMounted)
        return InboxRoot(directory, lock)
    }

    /// The tree at `path` to put files into. Quarantine and duplicates are made when they are first needed; a library
    /// that is not there is never made, since its disk may just not be mounted.
    func root(_ path: BytePath) throws -> DestinationRoot {
        let root = try open(root: path)
        if path == places.library { try admit(root) }
        if root.trial == nil { try tryNames(in: root) }
        return root
    }

    /// Finds out how the file system of `root` gives names, once for each mount.
    private func tryNames(in root: DestinationRoot) throws {
        let place: PlaceIdentity
        do throws(SystemCallError) { place = try PlaceIdentity(of: root.descriptor) } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: root.path)
        }
        let trial = try trials[place] ?? FileSystemTrial(in: root.descriptor, path: root.path)
        // Without the number of its mount it may be another disk the next time.
        if place.mount != nil { trials[place] = trial }
        root.adopt(trial)
    }

    /// Whether `library` is what it is taken for, and has room. Its identity is recorded when it is new, in good time:
    /// until then each start looks for what was filed last.
    private func admit(_ library: DestinationRoot) throws {
        remember(try libraryGuard.check(library.descriptor, at: library.path))
        try libraryGuard.hold(library.descriptor, at: library.path)
        guard places.minFree > 0 else { return }
        let free: UInt64
        do { free = try FileSystemStatus(of: library.descriptor).available } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: library.path)
        }
        if free < places.minFree {
            throw FilingError(.openDestination, .destination, .tooLittleLeft(free: free), path: library.path)
        }
    }

    private func open(root path: BytePath) throws -> DestinationRoot {
        if let known = roots[path], leads(path, to: known.descriptor) { return known }
        roots[path] = nil
        if path != places.library { try checkPlace(path) }
        do throws(SystemCallError) {
            if path != places.library { try makeDirectory(path, mode: attributes.directoryMode) }
            let opened = try DestinationRoot(path, attributes: attributes)
            roots[path] = opened
            return opened
        } catch {
            throw FilingError(.openDestination, .destination, .system(error), path: path)
        }
    }

    private func checkPlace(_ path: BytePath) throws {
        do { remember(try libraryGuard.checkPlace(path, toBeMadeBeside: places.library)) } catch let error
            as SystemCallError
        { throw FilingError(.openDestination, .destination, .system(error), path: path) }
    }

    nonisolated func remember(_ found: KnownLibrary?) {
        if let found { TaskQueue.start { [catalogue] in try? await catalogue.remember(found) } }
    }

    /// Throws where something is mounted on the way to `directory` of the library that hides what was filed there.
    nonisolated func checkMounts(toward directory: BytePath, in library: DestinationRoot) throws {
        for found in try libraryGuard.checkMounts(toward: directory, in: library.descriptor, of: library.path) {
            remember(found)
        }
    }

    /// Whether the directory that is open still stands where the configuration says: one that was moved away takes
    /// what is put into it along.
    private func leads(_ path: BytePath, to descriptor: borrowing OwnedDescriptor) -> Bool {
        guard let there = try? FileStatus(at: path, followingLinks: true), let open = try? FileStatus(of: descriptor)
        else { return false }
        return there.device == open.device && there.identity.inode == open.identity.inode
    }

    /// A copy in the library as recorded: what a removal asks to see, by its path and in the library that is configured.
    nonisolated func libraryCopy(
        _ path: BytePath, _ hash: ContentHash, size: UInt64, lastRead: FileStatus? = nil
    ) -> RecordedCopy {
        RecordedCopy(
            root: places.library, path: path, hash: hash, size: size, lastRead: lastRead, requirePlace: requireLibrary)
    }

    /// Throws ``LibraryGuard/Refusal`` unless the open directory is the configured library, and ``CatalogueError`` unless
    /// the catalogue that records what is in it is at its path.
    nonisolated var requireLibrary: @Sendable (borrowing OwnedDescriptor) throws -> Void {
        { [libraryGuard, places] root in
            try libraryGuard.check(root, at: places.library)
            try libraryGuard.requireCatalogue()
        }
    }

    /// After an error: whatever was open may be what went away.
    func forgetRoots() { roots = [:] }

    func postponed(_ reason: String, _ symptoms: [Symptom] = []) -> Conclusion {
        var conclusion = Conclusion(.defer(reason: reason))
        conclusion.symptoms = symptoms
        conclusion.refusedBy = symptoms.refusal
        return conclusion
    }

    /// An outcome that leaves the file where it is.
    func ended(_ arrival: Arrival, _ outcome: Outcome, _ reason: String) -> Conclusion {
        Conclusion(
            .ended(outcome),
            EndedArrival(
                key: arrival.key, outcome: outcome, reason: reason, ended: .now, firstSeen: arrival.firstSeen))
    }
}

/// An inbox's directory, held open by whoever works in it, and locked against other daemons.
final class InboxRoot: Sendable {
    let descriptor: OwnedDescriptor
    private let lock: PlaceLock

    init(_ directory: consuming OwnedDescriptor, _ lock: PlaceLock) {
        descriptor = directory
        self.lock = lock
    }
}
