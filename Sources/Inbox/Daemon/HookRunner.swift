import FileValues
import Glibc
import LinuxKernel
import Logging
import Settings
import SystemMonitor

/// Runs the programs that the configuration names: argument vectors without a shell, one at a time each, with a
/// deadline. Nothing waits for them.
final class HookRunner: Sendable {
    private struct Run {
        let monitor: ChildProcessMonitor
        let deadline: TimerMonitor
        var wasTold = false
    }

    private let queue: MonitorQueue
    private let log: InboxLog
    private let problems: ProblemDesk
    private let runs: QueueBound<[String: Run]>
    private let isStopped: QueueBound<Bool>
    /// What is left after the deadline to end in good order, before it is killed.
    private let grace: Duration

    init(queue: MonitorQueue, log: InboxLog, problems: ProblemDesk, grace: Duration = .seconds(5)) {
        self.queue = queue
        self.log = log
        self.problems = problems
        self.grace = grace
        runs = QueueBound([:], queue: queue)
        isStopped = QueueBound(false, queue: queue)
    }

    /// Starts `hook` unless it runs already, or all was stopped; from any thread.
    func run(_ hook: HookSettings) { queue.async { self.start(hook) } }

    /// Kills what runs, and returns when all is reaped and every monitor gone.
    func stop() async {
        await withCheckedContinuation { done in
            queue.async {
                self.isStopped.onQueue { $0 = true }
                let running = self.runs.onQueue { $0 }
                for run in running.values { self.signal(run.monitor, SIGKILL) }
                self.whenIdle { done.resume() }
            }
        }
    }

    private func whenIdle(_ body: @escaping @Sendable () -> Void) {
        if runs.onQueue({ $0.isEmpty }) { return body() }
        // Comes back after the monitors of this turn's children: their ends are reported on this queue.
        queue.after(.milliseconds(10)) { self.whenIdle(body) }
    }

    private func start(_ hook: HookSettings) {
        if isStopped.onQueue({ $0 }) { return }
        guard runs.onQueue({ $0[hook.name] }) == nil else {
            log.logger.warning("hook \(hook.name) is still running, skipped, continuing")
            return
        }
        do {
            let words = hook.command.map { BytePath($0) }
            let child = try ChildProcess.spawn(
                words.first ?? "", Array(words.dropFirst()),
                environment: ["PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                output: .descriptor(STDERR_FILENO))
            let monitor = try ChildProcessMonitor(child, label: hook.name, queue: queue)
            let deadline = try TimerMonitor(
                .every(grace, after: hook.timeout.duration), label: "hook \(hook.name)", queue: queue)
            monitor.setEventHandler { [weak self] exit in self?.ended(hook, exit) }
            deadline.setEventHandler { [weak self] _ in self?.overdue(hook) }
            runs.onQueue { $0[hook.name] = Run(monitor: monitor, deadline: deadline) }
            monitor.activate()
            deadline.activate()
        } catch {
            problems.hookFailed(hook.name, reason: "\(error)")
        }
    }

    private func ended(_ hook: HookSettings, _ exit: ProcessExit) {
        guard let run = runs.onQueue({ $0[hook.name] }) else { return }
        problems.hookFailed(hook.name, reason: exit.isSuccess ? nil : "\(exit)")
        run.deadline.invalidate {
            run.monitor.invalidate { _ = self.runs.onQueue { $0.removeValue(forKey: hook.name) } }
        }
    }

    /// Asked to end at the deadline, killed at the next turn.
    private func overdue(_ hook: HookSettings) {
        guard let run = runs.onQueue({ $0[hook.name] }) else { return }
        signal(run.monitor, run.wasTold ? SIGKILL : SIGTERM)
        runs.onQueue { $0[hook.name]?.wasTold = true }
    }

    private func signal(_ monitor: ChildProcessMonitor, _ number: Int32) {
        // It may have ended this moment; its exit is reported then.
        _ = try? monitor.send(signal: number)
    }
}
