package import ControlProtocol
package import FileValues
import Glibc
package import LinuxKernel
package import SystemMonitor
import SystemPackage

/// How to reach a program that works for this one.
package struct WorkerOptions: Sendable {
    package var label: String
    /// The socket of its unit, whose service manager starts a process for each connection.
    package var socket: BytePath
    /// Ends the message of the error where nothing answers there.
    package var advice: String
    /// Started as a child where nothing listens; nil where that is not allowed.
    package var program: BytePath?
    /// The most bytes of the request, and of a frame of the answer.
    package var longestRequest: Int
    package var longestAnswer: Int
    /// How long to wait for its answer.
    package var deadline: Duration
    /// The time that a child has to end by itself once the session is over.
    package var grace: Duration

    package init(
        label: String, socket: BytePath, advice: String, program: BytePath? = nil, longestRequest: Int,
        longestAnswer: Int, deadline: Duration, grace: Duration = .seconds(10)
    ) {
        self.label = label
        self.socket = socket
        self.advice = advice
        self.program = program
        self.longestRequest = longestRequest
        self.longestAnswer = longestAnswer
        self.deadline = deadline
        self.grace = grace
    }
}

/// Why there is no answer.
package enum WorkerFailure: Error, Hashable, Sendable {
    case refusesRequest
    case deadlineExceeded
    case malformedAnswer(FrameRefusal)
    case otherVersion
    case endedWithoutAnswer

    /// For people; `worker` is the subject.
    package func text(of worker: String) -> String {
        switch self {
        case .refusesRequest: "\(worker) does not accept the request"
        case .deadlineExceeded: "\(worker) did not answer in time"
        case .malformedAnswer(let refusal): "\(worker) answered with \(refusal)"
        case .otherVersion: "\(worker) is of another version; install programs of one version, and restart photoinboxd"
        case .endedWithoutAnswer: "\(worker) ended without a result; see its journal"
        }
    }
}

/// A session with a worker: one request, answered by frames until one of them ends it; closing the connection ends it, too.
///
/// It waits for nothing but the start of a child. All of it on one queue.
package final class WorkerSession<Ending: Sendable>: Sendable {
    private struct State {
        var frames: FrameReader
        var ending: Ending?
        /// The connection, until it is closed, and the child, until there is none.
        var left: Int
    }

    private let connection: ConnectionMonitor
    private let child: ChildProcessMonitor?
    private let patience: TimerMonitor
    private let grace: Duration
    private let state: QueueBound<State>
    private let lost: @Sendable (WorkerFailure) -> Ending
    private let done: @Sendable (Ending) -> Void

    /// Whether the other side inherits what this process may do, and knows nothing by itself.
    package var isWithChild: Bool { child != nil }

    /// Connects to a worker. `lost` makes an ending of it if there is no answer; `done` is called once, with what the
    /// session has ended with, when nothing of it is left. Throws why there is no worker; then neither is called.
    package init(
        _ options: WorkerOptions, queue: MonitorQueue, lost: @escaping @Sendable (WorkerFailure) -> Ending,
        done: @escaping @Sendable (Ending) -> Void
    ) throws {
        let near: OwnedDescriptor
        do throws(SystemCallError) {
            near = try connect(to: options.socket, patience: nil)
            child = nil
        } catch {
            let none: [Errno] = [.noSuchFileOrDirectory, .connectionRefused]
            guard let program = options.program, none.contains(error.code) else {
                throw SetupError("\(error); \(options.advice)")
            }
            let ends = try connectedPair(patience: .seconds(1))
            near = OwnedDescriptor(taking: ends.0)
            let far = OwnedDescriptor(taking: ends.1)
            let process = try ChildProcess.spawn(program, ["--child"], input: .descriptor(far.raw))
            child = try ChildProcessMonitor.owning(process, label: options.label, queue: queue)
        }
        if child == nil {
            // Whoever made the socket: the service manager, or a stranger in its place.
            let peer = try PeerCredentials(of: near)
            guard peer.user == 0 || peer.user == geteuid() else {
                throw SetupError("\(options.socket.escaped) belongs to \(peer), who is not trusted")
            }
        }
        // Whatever fails from here on closes the connection, which ends the child.
        connection = try ConnectionMonitor(
            owning: near, limit: options.longestRequest, label: options.label, queue: queue)
        patience = try TimerMonitor(.once(after: options.deadline), label: options.label, queue: queue)
        grace = options.grace
        state = QueueBound(
            State(frames: FrameReader(limit: options.longestAnswer), left: child == nil ? 1 : 2), queue: queue)
        self.lost = lost
        self.done = done
    }

    /// Sends the request. `read` is given the frames that came together; what it returns ends the session.
    package func begin(
        _ request: [UInt8], read: @escaping @Sendable ([[UInt8]]) throws(WorkerFailure) -> Ending?
    ) {
        connection.setEventHandler { event in
            switch event {
            case .received(let bytes): self.receive(bytes, read)
            case .sent: break
            case .finished, .ended: self.end(self.lost(.endedWithoutAnswer))
            }
        }
        patience.setEventHandler { _ in self.overdue() }
        child?.setEventHandler { _ in self.finish() }
        connection.activate()
        patience.activate()
        child?.activate()
        if !send(request) { end(lost(.refusesRequest)) }
    }

    /// Sends something more; whether it is accepted.
    package func send(_ bytes: [UInt8]) -> Bool { connection.send(bytes) != .refused }

    /// Closes the connection, and ends with this unless it has ended before.
    package func end(_ ending: Ending) {
        let isFirst = state.onQueue { state in
            guard state.ending == nil else { return false }
            state.ending = ending
            return true
        }
        guard isFirst else { return }
        patience.reschedule(child == nil ? .never : .once(after: grace))
        connection.invalidate { self.finish() }
    }

    private func receive(_ bytes: [UInt8], _ read: ([[UInt8]]) throws(WorkerFailure) -> Ending?) {
        var frames: [[UInt8]] = []
        var refusal: FrameRefusal?
        let isOver = state.onQueue { state in
            state.frames.add(bytes)
            do throws(FrameRefusal) {
                while let frame = try state.frames.next() { frames.append(frame) }
            } catch { refusal = error }
            return state.ending != nil
        }
        // What comes after the end is dropped.
        if isOver { return }
        do throws(WorkerFailure) {
            if let ending = try read(frames) { return end(ending) }
            if let refusal { throw .malformedAnswer(refusal) }
        } catch { end(lost(error)) }
    }

    private func overdue() {
        if state.onQueue({ $0.ending == nil }) { return end(lost(.deadlineExceeded)) }
        _ = try? child?.send(signal: SIGKILL)
    }

    /// Ends once the connection is closed and there is no child any more.
    private func finish() {
        let ending = state.onQueue { state in
            state.left -= 1
            return state.left == 0 ? state.ending : nil
        }
        guard let ending else { return }
        patience.invalidate {
            guard let child = self.child else { return self.done(ending) }
            child.invalidate { self.done(ending) }
        }
    }
}

extension ChildProcessMonitor {
    /// Watches a child that was just started. If this throws, it has been killed with all of its process group: it would
    /// have no owner who could ever end it.
    package static func owning(
        _ process: consuming ChildProcess, endsGroup: Bool = false, label: String, queue: MonitorQueue
    ) throws(SystemCallError) -> ChildProcessMonitor {
        let identifier = process.identifier
        do throws(SystemCallError) {
            return try ChildProcessMonitor(process, endsGroup: endsGroup, label: label, queue: queue)
        } catch {
            kill(-identifier, SIGKILL)
            _ = try? ChildProcess(adopting: identifier).wait()
            throw error
        }
    }
}
