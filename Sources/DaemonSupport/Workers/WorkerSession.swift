package import ControlProtocol
package import FileValues
import Glibc
package import LinuxKernel
package import SystemMonitor
import SystemPackage

/// How a program is reached that works for this one.
package struct WorkerTerms: Sendable {
    package var label: String
    /// Of a unit, whose service manager starts a process for each connection.
    package var socket: BytePath
    /// What is said with the error where nobody answers there.
    package var advice: String
    /// Is started as a child where nobody listens; nil where that is no way.
    package var program: BytePath?
    /// Bytes of what is said to it at most, and of a frame of its own.
    package var longestRequest: Int
    package var longestAnswer: Int
    /// For how long its answer is waited for.
    package var deadline: Duration
    /// What a child has left to end by itself when nobody listens to it any more.
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
package enum WorkerLoss: Error, Hashable, Sendable {
    case takesNothing
    case missesDeadline
    case speaksNonsense(FrameRefusal)
    case speaksAnotherVersion
    case endedEarly
}

/// A conversation with a worker: asked once, it answers in frames until one of them ends it; hanging up ends it, too.
///
/// Nobody waits but for a child to be executed. All of it on one queue.
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
    private let lost: @Sendable (WorkerLoss) -> Ending
    private let done: @Sendable (Ending) -> Void

    /// Whether the other side inherits what this process may do, and knows nothing by itself.
    package var isWithChild: Bool { child != nil }

    /// Connects to a worker. `lost` makes an ending of it if there is no answer; `done` is called once, with what the
    /// session has ended with, when nothing of it is left. Throws why there is no worker; then neither is called.
    package init(
        _ terms: WorkerTerms, queue: MonitorQueue, lost: @escaping @Sendable (WorkerLoss) -> Ending,
        done: @escaping @Sendable (Ending) -> Void
    ) throws {
        let near: OwnedDescriptor
        do throws(SystemCallError) {
            near = try connect(to: terms.socket, patience: nil)
            child = nil
        } catch {
            let none: [Errno] = [.noSuchFileOrDirectory, .connectionRefused]
            guard let program = terms.program, none.contains(error.code) else {
                throw SetupError("\(error); \(terms.advice)")
            }
            let ends = try connectedPair(patience: .seconds(1))
            near = OwnedDescriptor(taking: ends.0)
            let far = OwnedDescriptor(taking: ends.1)
            let process = try ChildProcess.spawn(program, ["--child"], input: .descriptor(far.raw))
            child = try ChildProcessMonitor.owning(process, label: terms.label, queue: queue)
        }
        if child == nil {
            // Whoever made the socket: the service manager, or a stranger in its place.
            let peer = try PeerCredentials(of: near)
            guard peer.user == 0 || peer.user == geteuid() else {
                throw SetupError("\(terms.socket.escaped) belongs to \(peer), who is not trusted")
            }
        }
        // Whatever fails from here on closes the connection, which ends the child.
        connection = try ConnectionMonitor(
            owning: near, limit: terms.longestRequest, label: terms.label, queue: queue)
        patience = try TimerMonitor(.once(after: terms.deadline), label: terms.label, queue: queue)
        grace = terms.grace
        state = QueueBound(
            State(frames: FrameReader(limit: terms.longestAnswer), left: child == nil ? 1 : 2), queue: queue)
        self.lost = lost
        self.done = done
    }

    /// Asks. `read` is given the frames that came together; what it returns ends the session.
    package func begin(
        _ request: [UInt8], read: @escaping @Sendable ([[UInt8]]) throws(WorkerLoss) -> Ending?
    ) {
        connection.setEventHandler { event in
            switch event {
            case .received(let bytes): self.take(bytes, read)
            case .sent: break
            case .finished, .ended: self.end(self.lost(.endedEarly))
            }
        }
        patience.setEventHandler { _ in self.overdue() }
        child?.setEventHandler { _ in self.leave() }
        connection.activate()
        patience.activate()
        child?.activate()
        if !send(request) { end(lost(.takesNothing)) }
    }

    /// Says something more; whether it is taken.
    package func send(_ bytes: [UInt8]) -> Bool { connection.send(bytes) != .refused }

    /// Hangs up, and ends with this unless something has ended it before.
    package func end(_ ending: Ending) {
        let isFirst = state.onQueue { state in
            guard state.ending == nil else { return false }
            state.ending = ending
            return true
        }
        guard isFirst else { return }
        patience.reschedule(child == nil ? .never : .once(after: grace))
        connection.invalidate { self.leave() }
    }

    private func take(_ bytes: [UInt8], _ read: ([[UInt8]]) throws(WorkerLoss) -> Ending?) {
        var frames: [[UInt8]] = []
        var refusal: FrameRefusal?
        let isOver = state.onQueue { state in
            state.frames.add(bytes)
            do throws(FrameRefusal) {
                while let frame = try state.frames.next() { frames.append(frame) }
            } catch { refusal = error }
            return state.ending != nil
        }
        // What comes after the end is nobody's.
        if isOver { return }
        do throws(WorkerLoss) {
            if let ending = try read(frames) { return end(ending) }
            if let refusal { throw .speaksNonsense(refusal) }
        } catch { end(lost(error)) }
    }

    private func overdue() {
        if state.onQueue({ $0.ending == nil }) { return end(lost(.missesDeadline)) }
        _ = try? child?.send(signal: SIGKILL)
    }

    /// Lets go of the rest once the connection is closed and there is no child any more.
    private func leave() {
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
