package import FileValues
import Glibc
package import LinuxKernel
package import SystemMonitor
import SystemPackage

/// A client with its own decoder process, one picture at a time: started on demand, reused, and ended after some
/// pictures, above a memory limit and when idle. Callers wait for the answer only, and no thread is blocked.
///
/// A picture that ends its decoder, or exceeds the deadline, fails with a reason; the next one gets a new decoder.
package final class DecoderClient: Sendable {
    /// The options of a client.
    package struct Options: Sendable {
        /// The program, an absolute path.
        package var program: BytePath
        /// Whether nothing is decoded if the confinement is incomplete.
        package var isConfinementRequired = true
        /// The decoder's address space, in bytes.
        package var addressSpace: UInt64 = 2 << 30
        /// The time limit for an answer.
        package var deadline: Duration = .seconds(60)
        /// The time limit for its start.
        package var startDeadline: Duration = .seconds(30)
        /// How long an idle decoder is kept.
        package var idle: Duration = .seconds(30)
        /// The pictures after which it is ended.
        package var recycleAfter = 500
        /// The bytes of memory above which it is ended.
        package var memoryMark: UInt64 = 512 << 20

        package init(program: BytePath) { self.program = program }
    }

    let options: Options
    let queue: MonitorQueue
    let state: QueueBound<State>
    private let published = Locked(DecoderSnapshot())
    private let timer: TimerMonitor

    struct Job {
        let request: DecoderRequest
        let picture: HeldDescriptor
        let answer: HeldDescriptor
        let done: @Sendable (DecoderOutcome) -> Void
    }

    struct State {
        var child: Child?
        var current: Job?
        var waiting: [Job] = []
        var lastID: UInt64 = 0
        var whenEnded: [@Sendable () -> Void] = []
        var isStopped = false
    }

    struct Child {
        let monitor: ChildProcessMonitor
        let socket: DescriptorMonitor
        /// Whether it has loaded the libraries for films, too.
        let readsFilms: Bool
        var isReady = false
        var made = 0
        /// Why the client killed it; nil while it is in use.
        var endReason: EndReason?
    }

    enum EndReason {
        case deadline
        case invalidMessage(String)
        case unconfined(String)
        case unwanted
    }

    /// Creates a client; from any thread. Starts no process before the first picture.
    package init(_ options: Options, queue: MonitorQueue) throws(SystemCallError) {
        self.options = options
        self.queue = queue
        state = QueueBound(State(), queue: queue)
        timer = try TimerMonitor(.never, label: "decoder", queue: queue)
        timer.queue.async { [self] in
            timer.setEventHandler { [weak self] _ in self?.overdue() }
            timer.activate()
        }
    }

    /// Its state; any thread.
    package func snapshot() -> DecoderSnapshot { published.withLock { $0 } }

    /// Makes renditions of `sizes` (from large to small) of a picture that is open for reading only. From any thread.
    package func make(
        _ sizes: [UInt32], of picture: HeldDescriptor, kind: DecoderRequest.Kind,
        limits: DecoderRequest.Limits = .init(), quality: UInt8 = 80
    ) async -> DecoderOutcome {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let id = state.onQueue { state in
                    state.lastID += 1
                    return state.lastID
                }
                var request = DecoderRequest(id: id, kind: kind, limits: limits, quality: quality, sizes: sizes)
                request.limits.seconds = UInt32(clamping: max(1, options.deadline.components.seconds))
                enqueue(request, picture) { continuation.resume(returning: $0) }
            }
        }
    }

    /// Ends the decoder, and returns when it is reaped and every monitor invalidated. Waiting requests end as stopped.
    /// Call it once.
    package func stop() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let waiting = state.onQueue { state in
                    state.isStopped = true
                    state.whenEnded.append { [timer] in timer.invalidate { continuation.resume() } }
                    defer { state.waiting = [] }
                    return state.waiting
                }
                for job in waiting { job.done(.unavailable(.stopped)) }
                end(.unwanted)
                proceed()
            }
        }
    }

    private func enqueue(
        _ request: DecoderRequest, _ picture: HeldDescriptor, _ done: @escaping @Sendable (DecoderOutcome) -> Void
    ) {
        if state.onQueue({ $0.isStopped }) { return done(.unavailable(.stopped)) }
        do throws(SystemCallError) {
            let size = try FileStatus(of: picture.descriptor).identity.size
            // libvips crashes on an empty file.
            guard size > 0 else {
                return done(.refused(DecoderRefusal(id: request.id, code: .unreadable, reason: "an empty file")))
            }
            guard size <= request.limits.bytes else {
                return done(
                    .refused(DecoderRefusal(id: request.id, code: .tooLarge, reason: "a file of \(size) bytes")))
            }
            let answer = HeldDescriptor(try OwnedDescriptor.memoryFile(named: "photoinbox-decoder"))
            state.onQueue {
                $0.waiting.append(Job(request: request, picture: picture, answer: answer, done: done))
            }
            proceed()
        } catch {
            done(.unavailable(.cannotStart(reason: error.description)))
        }
    }

    /// Performs the next step, if one is due.
    func proceed() {
        publish()
        enum Step {
            case nothing, start, replace, idle, ended([@Sendable () -> Void])
            case send(Job, DescriptorMonitor)
        }
        let step: Step = state.onQueue { state in
            guard let child = state.child else {
                if state.isStopped {
                    defer { state.whenEnded = [] }
                    return .ended(state.whenEnded)
                }
                return state.waiting.isEmpty ? .nothing : .start
            }
            guard child.isReady, child.endReason == nil, state.current == nil else { return .nothing }
            guard let next = state.waiting.first else { return .idle }
            if next.request.kind == .film, !child.readsFilms { return .replace }
            let job = state.waiting.removeFirst()
            state.current = job
            return .send(job, child.socket)
        }
        switch step {
        case .nothing: break
        case .start: start()
        case .replace: end(.unwanted)
        case .idle: timer.reschedule(.once(after: options.idle), tolerance: options.idle / 4)
        case .ended(let bodies): for body in bodies { body() }
        case .send(let job, let socket):
            timer.reschedule(.once(after: options.deadline), tolerance: .zero)
            do throws(SystemCallError) {
                try socket.withDescriptor { raw throws(SystemCallError) in
                    try MessageSocket.send(
                        job.request.encoded, with: [job.picture.descriptor.raw, job.answer.descriptor.raw], to: raw)
                }
            } catch {
                // It has just died; its exit will be reported.
            }
            publish()
        }
    }

    private func start() {
        timer.reschedule(.once(after: options.startDeadline), tolerance: .zero)
        do {
            let ends = try MessageSocket.Pair()
            var arguments: [BytePath] = ["--address-space", BytePath("\(options.addressSpace)")]
            if !options.isConfinementRequired { arguments.append("--best-effort") }
            // Confined, it can load nothing more; and most decoders need not know of films.
            let readsFilms = state.onQueue { $0.waiting.first?.request.kind == .film }
            if readsFilms { arguments.append("--films") }
            let child = try ChildProcess.spawn(
                options.program, arguments, input: .descriptor(ends.far.raw), output: .null)
            let monitor = try ChildProcessMonitor(child, label: "decoder", queue: queue)
            monitor.setEventHandler { [weak self] exit in self?.ended(exit) }
            monitor.activate()
            let socket: DescriptorMonitor
            do throws(DescriptorRefusal) {
                socket = try DescriptorMonitor(
                    owning: ends.takeNear(), for: .read, label: "decoder", queue: queue)
            } catch {
                // No descriptor was left. The child exits, since the other end of its socket is closed.
                monitor.invalidate()
                throw error
            }
            socket.setEventHandler { [weak self] event in self?.receive(event) }
            state.onQueue { $0.child = Child(monitor: monitor, socket: socket, readsFilms: readsFilms) }
            socket.activate()
            published.withLock { $0.started += 1 }
            publish()
        } catch {
            timer.reschedule(.never)
            unavailable(.cannotStart(reason: "\(error)"))
        }
    }

    /// Ends all requests as unavailable.
    func unavailable(_ trouble: DecoderTrouble) {
        let jobs = state.onQueue { state in
            defer {
                state.waiting = []
                state.current = nil
            }
            return (state.current.map { [$0] } ?? []) + state.waiting
        }
        published.withLock { $0.trouble = trouble }
        for job in jobs { job.done(.unavailable(trouble)) }
        publish()
    }

    /// Kills the decoder, once; its exit is reported later.
    func end(_ reason: EndReason) {
        let monitor = state.onQueue { state -> ChildProcessMonitor? in
            guard state.child?.endReason == nil else { return nil }
            state.child?.endReason = reason
            return state.child?.monitor
        }
        // It may have just ended; its exit is reported then.
        _ = try? monitor?.send(signal: SIGKILL)
    }

    private func overdue() {
        let reason: EndReason = state.onQueue { state in
            state.current != nil || state.child?.isReady != true ? .deadline : .unwanted
        }
        end(reason)
    }

    func note(_ body: (inout DecoderSnapshot) -> Void) { published.withLock { body(&$0) } }

    /// Publishes the state for other threads.
    func publish() {
        let (process, busy, waiting) = state.onQueue {
            ($0.child?.monitor.processIdentifier, $0.current?.request.id, $0.waiting.count)
        }
        published.withLock {
            $0.process = process
            $0.isBusy = busy != nil
            $0.waiting = waiting
        }
    }

    func stopTimer() { timer.reschedule(.never) }
}
