import DaemonSupport
import FileValues
import Glibc
import LinuxKernel
import QueueActors
import Settings
import SystemMonitor

/// A run of a hook, wherever it runs; on the hooks' queue.
protocol HookRun: Sendable {
    /// Ends it: by SIGTERM, and SIGKILL after a while; at once where there is no time. Its end is reported as always.
    func stop(hurrying: Bool)
}

/// A hook as a child of this process: started without a shell, with a clean environment and nothing of ours but three
/// streams; ended with all of its process group at its deadline, or when its program ends.
///
/// Its input is a file in memory, so nothing waits for it to read. Its output goes to the log, line by line, and is read
/// to the end however much it is. All of it on one queue.
final class HookChild: HookRun {
    /// What a run needs.
    struct Order: Sendable {
        var hook: HookSettings
        var input: [UInt8]
        /// Users whose programs are run.
        var owners: Set<UInt32>
        var log: HookLog
        /// The time between SIGTERM and SIGKILL.
        var grace = Duration.seconds(5)
    }

    private struct State {
        var output = [HookOutput(), HookOutput()]
        /// It was sent SIGTERM because it ran too long.
        var isOverdue = false
        var isStopped = false
        var done: (@Sendable (HookResult) -> Void)?
    }

    private let order: Order
    private let child: ChildProcessMonitor
    private let deadline: TimerMonitor
    private let streams: [DescriptorMonitor]
    private let state: QueueBound<State>
    private let began = Moment.now

    /// The least a hook needs. No home, no language but C's, no manager's sockets.
    private static func environment(_ name: String) -> [String: String] {
        ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "PHOTOINBOX_HOOK": name]
    }

    /// Starts a run on its queue; `done` is called there once it has ended and nothing of ours is left of it. Throws why it
    /// could not be started; then nothing is left, and `done` is not called.
    static func start(
        _ order: Order, queue: MonitorQueue, done: @escaping @Sendable (HookResult) -> Void
    ) throws -> HookChild {
        // Right before it is run: what was so when the configuration was read may not be so any more.
        try checkTrusted(order.hook.program, owners: order.owners, isProgram: true)
        let input = try memoryFile("photoinbox-hook", content: order.input)
        let root = try openDirectory("/", .placeAlone)
        var writers: [Int32] = []
        // The child has copies; while ours are open there is no end.
        defer { for raw in writers { close(raw) } }
        let label = "hook \(order.hook.name)"
        let streams = try ["output", "errors"].map { name in
            let ends = try OutputPipe().take()
            writers.append(ends.writing)
            return try DescriptorMonitor(
                owning: OwnedDescriptor(taking: ends.reading), for: .read, label: "\(label), \(name)", queue: queue)
        }
        let deadline = try TimerMonitor(
            .every(order.grace, after: order.hook.deadline.duration), label: label, queue: queue)
        let process = try ChildProcess.spawn(
            order.hook.program, order.hook.command.dropFirst().map { BytePath($0) },
            environment: environment(order.hook.name), input: .descriptor(input.raw),
            output: .descriptor(writers[0]), error: .descriptor(writers[1]), directory: root.raw)
        let child = try ChildProcessMonitor.owning(process, endsGroup: true, label: label, queue: queue)
        let run = HookChild(order, child: child, deadline: deadline, streams: streams, queue: queue, done: done)
        run.begin()
        return run
    }

    private init(
        _ order: Order, child: ChildProcessMonitor, deadline: TimerMonitor, streams: [DescriptorMonitor],
        queue: MonitorQueue, done: @escaping @Sendable (HookResult) -> Void
    ) {
        self.order = order
        self.child = child
        self.deadline = deadline
        self.streams = streams
        state = QueueBound(State(done: done), queue: queue)
    }

    private func begin() {
        child.setEventHandler { exit in self.ended(exit) }
        deadline.setEventHandler { _ in self.overdue() }
        for (index, stream) in streams.enumerated() {
            stream.setEventHandler { _ in _ = self.read(index) }
            stream.activate()
        }
        deadline.activate()
        child.activate()
        order.log.began(order.hook.name, process: child.processIdentifier)
    }

    func stop(hurrying: Bool) {
        if state.onQueue({ $0.done == nil }) { return }
        let isFirst = state.onQueue { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        child.sendToGroup(signal: hurrying ? SIGKILL : SIGTERM)
        if isFirst { deadline.reschedule(.every(order.grace)) }
    }

    /// SIGTERM at the deadline, SIGKILL at the next turn, and once more at each that follows.
    private func overdue() {
        let wasTerminated = state.onQueue { state in
            defer { state.isOverdue = state.isOverdue || !state.isStopped }
            return state.isOverdue || state.isStopped
        }
        child.sendToGroup(signal: wasTerminated ? SIGKILL : SIGTERM)
    }

    /// Reads its output; whether there may be more.
    private func read(_ index: Int) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = streams[index].withDescriptor { raw in Glibc.read(raw, &buffer, buffer.count) } ?? 0
        guard count > 0 else { return false }
        log(state.onQueue { $0.output[index].add(buffer[..<count]) }, index)
        return count == buffer.count
    }

    private func log(_ lines: [String], _ index: Int) {
        for line in lines {
            order.log.wrote(order.hook.name, line, process: child.processIdentifier, isError: index == 1)
        }
    }

    private func ended(_ exit: ProcessExit) {
        // Its last output is still in the pipes. A process that has left its group may hold them open, and write for ever.
        for index in streams.indices {
            for _ in 0..<64 where !read(index) { break }
            log(state.onQueue { $0.output[index].end() }, index)
        }
        let ending = ending(exit)
        let done = state.onQueue { $0.done.take() }
        let all = Countdown(2 + streams.count, queue: child.queue) { done?(ending) }
        deadline.invalidate { all.down() }
        for stream in streams { stream.invalidate { all.down() } }
        child.invalidate { all.down() }
    }

    private func ending(_ exit: ProcessExit) -> HookResult {
        let (isOverdue, isStopped) = state.onQueue { ($0.isOverdue, $0.isStopped) }
        let number: Int32
        var kind: HookResult.Kind
        switch exit {
        case .exited(let status): (kind, number) = (.exited, status)
        case .killed(let signal, _): (kind, number) = (.killed, signal)
        }
        var reason = "\(exit)"
        if isOverdue {
            kind = .overdue
            reason = "did not end within \(order.hook.deadline) and \(isStopped ? "was ended" : reason)"
        } else if isStopped, !exit.isSuccess {
            kind = .stopped
        }
        return HookResult(kind: kind, number: number, reason: reason, seconds: Moment.now.seconds(since: began))
    }
}
