import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

/// Carries out the file work of one root, on the root's own queue: requests and results are values.
///
/// Nothing is kept open for long between two requests, so that a root can be unmounted; a directory that is opened again is
/// proven to be the same.
final class RootWorker: Sendable {
    /// Receives the result of a request; nil if it is void.
    typealias Deliver = @Sendable (WorkResult?) -> Void

    private struct State {
        var adopted: RootIdentity?
        var epoch: UInt32 = 0
        var surveys: [SurveyRun] = []
        /// Whether a thread advances the surveys.
        var hasThread = false
        let lister: DirectoryLister
        let open: OpenDirectories
        var isClosing = false
        /// Requests that wait, of those submitted on the root's own queue.
        var waiting = 0
    }

    private let root: WatchRoot
    private let instance: InotifyInstance?
    private let state: QueueBound<State>
    /// The present step. Its text is made on request, since this is set with each file.
    private let published: Locked<(name: String, path: BytePath?, since: UInt64)>

    /// How long a slice of a survey is, after which lookups get their turn.
    private static let slice: UInt64 = 10_000_000

    /// The same of its first slice, after which it may get a thread of its own.
    private static let firstSlice: UInt64 = 1_000_000

    /// The system's number of processors.
    private static let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))

    /// So many names in one request are part of a burst.
    private static let burst = 16

    /// - Parameters:
    ///   - instance: For watches on the root's path; nil if there is none.
    ///   - openDirectories: How many it may keep open at most for the length of a burst.
    init(
        _ root: WatchRoot, backend: any WatchBackend, instance: InotifyInstance?, openDirectories: Int
    ) {
        self.root = root
        self.instance = instance
        published = Locked(("idle", nil, monotonicNanoseconds()))
        state = QueueBound(
            State(
                lister: DirectoryLister(
                    backend: backend, exclude: root.exclude, probe: WriterGuess(handlesSIGIO: root.handlesSIGIO)),
                open: OpenDirectories(capacity: openDirectories)), queue: root.queue)
    }

    /// The present step; any thread.
    var step: WatchStep {
        let (name, path, since) = published.withLock { $0 }
        return WatchStep(
            name: path.map { "\(name) \($0.isEmpty ? "." : $0.escaped)" } ?? name, since: since)
    }

    /// Submits a request; any thread. `deliver` is called on the root's queue.
    func submit(_ request: WorkRequest, epoch: UInt32, deliver: @escaping Deliver) {
        let isCounted = root.queue.isCurrent
        if isCounted { state.onQueue { $0.waiting += 1 } }
        root.queue.async {
            if isCounted { self.state.onQueue { $0.waiting -= 1 } }
            self.perform(request, epoch: epoch, deliver: deliver)
        }
    }

    /// Carries out a lookup at once, if the caller is on the root's queue and no request waits there; otherwise nil. The
    /// caller ensures that no survey is under way.
    func lookUpNow(_ request: LookupRequest, epoch: UInt32) -> WorkResult? {
        guard root.queue.isCurrent, state.onQueue({ $0.waiting == 0 }) else { return nil }
        publish("looking at", request.directories.first?.path)
        defer { publish("idle") }
        return lookUp(request, epoch: epoch)
    }

    private func perform(_ request: WorkRequest, epoch: UInt32, deliver: @escaping Deliver) {
        defer { publish("idle") }
        switch request {
        case .unwatch(let numbers):
            publish("removing watches")
            state.onQueue { state in for number in numbers { state.lister.removeWatch(number) } }
            deliver(.unwatched(numbers))
        case .trace:
            publish("following the path")
            // Without an instance nothing is watched, and ticks detect changes.
            let path = instance.map { PathTracer(path: root.path, instance: $0).trace() }
            deliver(.traced(path ?? RootPath(isComplete: true, isStable: true)))
        case .adopt:
            publish("opening")
            adopt(epoch: epoch, deliver: deliver)
        case .check:
            publish("checking")
            let result = inRoot(epoch) { _, descriptor in
                if let place = try? descriptor.currentPath() { deliver(.located(place)) }
                return .checked
            }
            deliver(result)
        case .lookUp(let request):
            publish("looking at", request.directories.first?.path)
            deliver(lookUp(request, epoch: epoch))
        case .survey(let request):
            let isFirst = state.onQueue { state -> Bool? in
                guard state.adopted != nil, state.epoch == epoch else { return nil }
                state.surveys.append(SurveyRun(request, epoch: epoch, lister: state.lister, deliver: deliver))
                return state.surveys.count == 1 && !state.hasThread
            }
            guard let isFirst else { return deliver(nil) }
            if isFirst { survey(for: Self.firstSlice) }
        }
    }

    private func adopt(epoch: UInt32, deliver: Deliver) {
        forgetRoot()
        let result: WorkResult = state.onQueue { state in
            do throws(SystemCallError) {
                let descriptor = try openDirectory(root.path)
                let identity = try RootIdentity(of: descriptor)
                if let place = try? descriptor.currentPath() { deliver(.located(place)) }
                state.adopted = identity
                state.lister.leases = identity.fileSystem.changesElsewhere ? .nothing : identity.fileSystem.kind.leases
                state.epoch = epoch
                return .adopted(identity)
            } catch {
                return .lost(.absent(CallFailure(error)))
            }
        }
        deliver(result)
    }

    /// Gives `body` the opened root, if it is the one that was adopted in this epoch. A request from before a loss is not
    /// carried out: its result would be void.
    private func inRoot(
        _ epoch: UInt32, _ body: (inout State, borrowing OwnedDescriptor) -> WorkResult?
    ) -> WorkResult? {
        let result: WorkResult? = state.onQueue { state in
            guard let adopted = state.adopted, state.epoch == epoch else { return nil }
            do throws(WatchNotice.Loss) {
                let descriptor = try open(adopted)
                return body(&state, descriptor)
            } catch {
                return .lost(error)
            }
        }
        if case .lost = result { forgetRoot() }
        return result
    }

    private func open(_ adopted: RootIdentity) throws(WatchNotice.Loss) -> OwnedDescriptor {
        do throws(SystemCallError) {
            let descriptor = try openDirectory(root.path)
            if try RootIdentity(of: descriptor) == adopted { return descriptor }
        } catch {
            throw .absent(CallFailure(error))
        }
        throw .replaced
    }

    /// Forgets the adopted root, and ends the surveys under way.
    private func forgetRoot() {
        let ended = state.onQueue { state in
            state.adopted = nil
            state.open.close()
            defer { state.surveys = [] }
            return state.surveys.map(\.deliver)
        }
        for deliver in ended { deliver(nil) }
    }

    private func publish(_ name: String, _ path: BytePath? = nil) {
        let step = (name, path, monotonicNanoseconds())
        published.withLock { $0 = step }
    }
}

// MARK: - Surveys

extension RootWorker {
    /// Surveys slice by slice, each behind the other requests on the queue; a large survey continues in a thread.
    private func survey(for slice: UInt64) {
        guard advanceSurvey(for: slice), !startSurveyThread() else { return }
        root.queue.async { self.survey(for: Self.slice) }
    }

    /// Starts a thread for the surveys if they are large. Whether there is one.
    private func startSurveyThread() -> Bool {
        let (hasThread, isLarge) = state.onQueue { state in
            (state.hasThread, state.surveys.contains { $0.isLarge })
        }
        guard isLarge, !hasThread else { return hasThread }
        // If there is none, the survey continues without.
        guard (try? startThread(named: root.id) { self.surveyOnOwnThread() }) != nil else { return false }
        state.onQueue { $0.hasThread = true }
        return true
    }

    /// Surveys slice by slice, each behind the other requests on the queue, until all are complete. On a thread of its own,
    /// which enters the queue for each slice: only such a thread can have a working directory of its own, with which a watch
    /// costs half.
    private func surveyOnOwnThread() {
        // If that is refused, watches are requested by path through procfs, which always works.
        let place = try? ThreadDirectory()
        let helper = root.exclude == nil && Self.processors > 1 ? try? SurveyHelper(named: root.id) : nil
        defer { helper?.end() }
        var isLeft = true
        while isLeft {
            isLeft = root.queue.sync {
                let isLeft = advanceSurvey(by: place, with: helper, for: Self.slice)
                state.onQueue { $0.hasThread = isLeft }
                return isLeft
            }
        }
    }

    /// One slice of the first survey, of so many nanoseconds. Returns whether any is left.
    private func advanceSurvey(
        by place: ThreadDirectory? = nil, with helper: SurveyHelper? = nil, for slice: UInt64
    ) -> Bool {
        guard let run = state.onQueue({ $0.surveys.first }) else { return false }
        publish("listing", run.path)
        defer { publish("idle") }
        let lost = inRoot(run.epoch) { state, descriptor in
            let deadline = monotonicNanoseconds() + slice
            while let run = state.surveys.first {
                guard run.advance(in: descriptor, by: place, with: helper, until: deadline) else { break }
                state.surveys.removeFirst()
                if monotonicNanoseconds() >= deadline { break }
            }
            return nil
        }
        if let lost { run.deliver(lost) }
        return state.onQueue { !$0.surveys.isEmpty }
    }
}

// MARK: - Lookups

extension RootWorker {
    private func lookUp(_ request: LookupRequest, epoch: UInt32) -> WorkResult? {
        let (result, closes) = state.onQueue { state -> (WorkResult?, Bool) in
            guard let adopted = state.adopted, state.epoch == epoch else { return (nil, false) }
            if request.mayHaveMoved { state.open.close() }
            let result: WorkResult
            do throws(WatchNotice.Loss) {
                result = .lookedUp(try lookUp(request, adopted, state.lister, state.open))
            } catch {
                result = .lost(error)
            }
            if request.items.count < Self.burst { state.open.close() }
            state.open.noteUse(at: monotonicNanoseconds())
            defer { state.isClosing = state.isClosing || !state.open.isEmpty }
            return (result, !state.isClosing && !state.open.isEmpty)
        }
        if case .lost = result { forgetRoot() }
        if closes { closeLater() }
        return result
    }

    private func lookUp(
        _ request: LookupRequest, _ adopted: RootIdentity, _ lister: DirectoryLister, _ open: OpenDirectories
    ) throws(WatchNotice.Loss) -> [Observation] {
        var observations: [Observation] = []
        observations.reserveCapacity(request.items.count)
        // Those of a burst are in few directories, in any order: each is opened once, if so many may be open.
        let isManifold = request.directories.count > 1 && request.directories.count <= open.capacity
        var opened = [HeldDescriptor?](
            repeating: nil, count: isManifold ? request.directories.count : 0)
        var first = 0
        while first < request.items.count {
            // Items of one directory that follow each other.
            let place = Int(request.items[first].directory)
            var end = first + 1
            while end < request.items.count, request.items[end].directory == request.items[first].directory { end += 1 }
            let directory = request.directories[place]
            var found = opened.isEmpty ? nil : opened[place]
            if found == nil {
                found = try open.open(directory) { () throws(WatchNotice.Loss) in try self.open(adopted) }
            }
            if let found {
                if !opened.isEmpty { opened[place] = found }
                request.names.withUnsafeBytes { names in
                    for item in request.items[first..<end] {
                        let range = Int(item.name.lowerBound)..<Int(item.name.upperBound)
                        let name = UnsafeRawBufferPointer(rebasing: names[range])
                        var seen = lister.lookUp(name, in: found.descriptor, directory.path)
                        if item.asksForWriter { seen = lister.askForWriter(seen, name, in: found.descriptor) }
                        observations.append(seen)
                    }
                }
            } else {
                observations.append(contentsOf: repeatElement(.unreached, count: end - first))
            }
            first = end
        }
        return observations
    }

    private func closeLater() {
        root.queue.after(.nanoseconds(OpenDirectories.patience)) { [weak self] in
            guard let self else { return }
            let isUsed = state.onQueue { state in
                let isUsed = monotonicNanoseconds() - state.open.lastUse < OpenDirectories.patience
                if !isUsed { state.open.close() }
                state.isClosing = isUsed
                return isUsed
            }
            if isUsed { closeLater() }
        }
    }
}
