import FileValues
import LinuxKernel
import SystemMonitor

/// Does the file work of one root, on the root's own queue: takes requests as values, gives results as values.
///
/// Nothing is kept open between two requests, so that a root can be unmounted; each opens the root's path anew and
/// proves that it is still the same directory.
final class RootWorker: Sendable {
    typealias Deliver = @Sendable (WorkResult) -> Void

    private struct State {
        var adopted: RootIdentity?
        var epoch: UInt32 = 0
        var surveys: [SurveyRun] = []
        let lister: DirectoryLister
    }

    private let root: WatchRoot
    private let watches: InotifyInstance
    private let state: QueueBound<State>
    private let published = Locked(WatchStep(name: "idle", since: monotonicNanoseconds()))

    /// How long a survey goes on before looks get their turn.
    private static let slice: UInt64 = 10_000_000

    init(_ root: WatchRoot, watches: InotifyInstance, mask: InotifyMask) {
        self.root = root
        self.watches = watches
        state = QueueBound(
            State(lister: DirectoryLister(instance: watches, mask: mask, exclude: root.exclude)), queue: root.queue)
    }

    /// What it does now; any thread.
    var step: WatchStep { published.withLock { $0 } }

    /// Puts a request in line; any thread. `deliver` is called on the root's queue.
    func submit(_ request: WorkRequest, epoch: UInt32, deliver: @escaping Deliver) {
        root.queue.async { self.perform(request, epoch: epoch, deliver: deliver) }
    }

    private func perform(_ request: WorkRequest, epoch: UInt32, deliver: @escaping Deliver) {
        defer { publish("idle") }
        switch request {
        case .unwatch(let numbers):
            publish("removing watches")
            for number in numbers { watches.removeWatch(number) }
            deliver(.unwatched(numbers))
        case .adopt:
            publish("opening")
            adopt(epoch: epoch, deliver: deliver)
        case .check:
            publish("checking")
            inRoot(epoch, deliver) { _, _ in deliver(.checked) }
        case .look(let groups):
            publish("looking at", groups.first?.path)
            inRoot(epoch, deliver) { state, descriptor in
                deliver(.looked(groups.map { Self.look($0, in: descriptor, state.lister) }))
            }
        case .survey(let request):
            let isFirst = state.onQueue { state in
                guard state.adopted != nil, state.epoch == epoch else { return false }
                state.surveys.append(SurveyRun(request, epoch: epoch, lister: state.lister, deliver: deliver))
                return state.surveys.count == 1
            }
            if isFirst { advanceSurvey() }
        }
    }

    private func adopt(epoch: UInt32, deliver: Deliver) {
        let result: WorkResult = state.onQueue { state in
            state.surveys = []
            state.adopted = nil
            do throws(SystemCallError) {
                let identity = try RootIdentity(of: try openDirectory(root.path))
                state.adopted = identity
                state.epoch = epoch
                return .adopted(identity)
            } catch {
                return .lost(.absent(error))
            }
        }
        deliver(result)
    }

    /// One slice of the survey whose turn it is, then the next in line behind what else waits on the queue.
    private func advanceSurvey() {
        guard let run = state.onQueue({ $0.surveys.first }) else { return }
        publish("listing", run.path)
        defer { publish("idle") }
        inRoot(run.epoch, run.deliver) { state, descriptor in
            let deadline = monotonicNanoseconds() + Self.slice
            while let run = state.surveys.first {
                guard run.advance(in: descriptor, until: deadline) else { break }
                state.surveys.removeFirst()
                if monotonicNanoseconds() >= deadline { break }
            }
        }
        if state.onQueue({ !$0.surveys.isEmpty }) { root.queue.async { self.advanceSurvey() } }
    }

    /// Gives `body` the opened root, if it is the one that was adopted in this epoch; says if it is lost.
    private func inRoot(
        _ epoch: UInt32, _ deliver: Deliver, _ body: (inout State, borrowing OwnedDescriptor) -> Void
    ) {
        state.onQueue { state in
            // A request from before a loss: its result would be void.
            guard let adopted = state.adopted, state.epoch == epoch else { return }
            do throws(SystemCallError) {
                let descriptor = try openDirectory(root.path)
                if try RootIdentity(of: descriptor) == adopted { return body(&state, descriptor) }
                deliver(.lost(.replaced))
            } catch {
                deliver(.lost(.absent(error)))
            }
            state.adopted = nil
            state.surveys = []
        }
    }

    private static func look(
        _ group: LookGroup, in root: borrowing OwnedDescriptor, _ lister: DirectoryLister
    ) -> [Observation]? {
        do throws(SystemCallError) {
            let directory = try root.openDirectoryBeneath(group.path)
            guard try FileStatus(of: directory).identity.inode == group.inode else { return nil }
            return group.names.map { lister.look($0, in: directory, group.path) }
        } catch {
            return nil
        }
    }

    private func publish(_ name: String, _ path: BytePath? = nil) {
        let step = WatchStep(
            name: path.map { "\(name) \($0.isEmpty ? "." : $0.escaped)" } ?? name, since: monotonicNanoseconds())
        published.withLock { $0 = step }
    }
}

extension RootIdentity {
    init(of directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        self.init(fileSystem: try FileSystem(of: directory), inode: try FileStatus(of: directory).identity.inode)
    }
}
