package import Catalogue
package import DaemonSupport
import LinuxKernel
import Logging
import QueueActors
package import Settings
package import SystemMonitor

/// Keeps a courier for each hook of the configuration. Nothing waits for hooks: not filing, not the end.
package final actor HookDesk {
    private nonisolated let executor: QueueExecutor
    private nonisolated let surroundings: HookCourier.Surroundings
    /// Whether a service manager has started us.
    private let isManaged: Bool
    private var couriers: [String: HookCourier] = [:]
    /// Those of hooks that are configured no more, until they are gone.
    private var leaving: [HookCourier] = []
    private var isStopped = false
    /// Whether there is anybody to be woken, where any thread may look.
    private nonisolated let listeners = Locked<(anybody: Bool, isWoken: Bool)>((false, false))

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(
        queue: MonitorQueue, catalogue: Catalogue, log: InboxLog, problems: ProblemDesk, board: HookBoard,
        isManaged: Bool, grace: Duration = .seconds(5)
    ) {
        executor = TaskQueue.executor(on: queue)
        self.isManaged = isManaged
        surroundings = HookCourier.Surroundings(
            queue: queue, catalogue: catalogue, reporter: HookReporter(log: log.logger), problems: problems,
            board: board, grace: grace)
    }

    /// Takes over what the configuration says; returns when each new hook stands where it is told from.
    package func adopt(_ settings: Settings) async {
        if isStopped { return }
        let place = HookPlace(settings, isManaged: isManaged)
        for (name, courier) in couriers where settings.hook(named: name) == nil {
            couriers[name] = nil
            leaving.append(courier)
            surroundings.problems.hookFailed(name, reason: nil)
            TaskQueue.start {
                await courier.stop(hurrying: false)
                await self.gone(courier)
            }
        }
        let telling = settings.hooks.filter { !$0.events.isEmpty }.map(\.name)
        do {
            try await surroundings.catalogue.perform("removing hooks") { try $0.forgetHooks(except: telling) }
        } catch { surroundings.reporter.log.warning("could not clean up removed hooks: \(error), continuing") }
        for hook in settings.hooks {
            let terms = HookCourier.Terms(hook: hook, place: place, owners: settings.programOwners)
            if let courier = couriers[hook.name] {
                await courier.adopt(terms)
            } else {
                let courier = HookCourier(terms, surroundings)
                couriers[hook.name] = courier
                await courier.begin()
            }
        }
        listeners.withLock { $0.anybody = !telling.isEmpty }
    }

    /// Something has its outcome; from any thread, at no cost where nobody wants to know.
    package nonisolated func wake() {
        let isNews = listeners.withLock { listeners in
            guard listeners.anybody, !listeners.isWoken else { return false }
            listeners.isWoken = true
            return true
        }
        if isNews { surroundings.queue.async { self.assumeIsolated { $0.wakeAll() } } }
    }

    /// Runs a hook once; from any thread.
    package nonisolated func run(_ name: String, asked asker: String) {
        TaskQueue.start { await self.ask(name, asker) }
    }

    private func ask(_ name: String, _ asker: String) async { await couriers[name]?.run(asked: asker) }

    /// Ends all, and returns when nothing of them is left. Asked again, it hurries.
    package func stop(hurrying: Bool) async {
        isStopped = true
        listeners.withLock { $0.anybody = false }
        let all = Array(couriers.values) + leaving
        await withTaskGroup { group in
            for courier in all { group.addTask { await courier.stop(hurrying: hurrying) } }
        }
    }

    /// Begins to end all; what comes back waits for that, but no longer than ends should take: a program on a disk that does
    /// not answer keeps nobody from ending. What is left then is told by its monitors. From any thread.
    package nonisolated func end(hurrying: Bool) -> @Sendable () async -> Void {
        boundedEnd(within: surroundings.grace + .seconds(10), label: "photo-inbox.hooks.end") {
            await self.stop(hurrying: hurrying)
        }
    }

    private func wakeAll() {
        listeners.withLock { $0.isWoken = false }
        for courier in couriers.values { TaskQueue.start { await courier.wake() } }
    }

    private func gone(_ courier: HookCourier) { leaving.removeAll { $0 === courier } }
}
