package import Catalogue
package import ControlProtocol
package import DaemonSupport
import LinuxKernel
import Logging
package import QueueActors
package import Settings
import SystemMonitor

/// Keeps a courier for each hook of the configuration. Nothing waits for hooks: not filing, not the end.
package final actor HookDesk: DaemonPart {
    private nonisolated let executor: QueueExecutor
    package nonisolated let subsystems: [Subsystem]
    private nonisolated let surroundings: HookCourier.Surroundings
    nonisolated let board = HookBoard()
    /// Whether a service manager has started us.
    private let isManaged: Bool
    /// Of the configuration in force; nil before the first.
    private var settings: Settings?
    private var couriers: [String: HookCourier] = [:]
    /// Those of hooks that are configured no more, until they are gone.
    private var leaving: [HookCourier] = []
    private var isStopped = false
    /// Whether there is anybody to be woken, where any thread may look.
    private nonisolated let listeners = Locked<(anybody: Bool, isWoken: Bool)>((false, false))

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(
        catalogue: Catalogue, log: InboxLog, problems: ProblemDesk, isManaged: Bool, grace: Duration = .seconds(5)
    ) {
        let queue = MonitorQueue(label: "photo-inbox.hooks")
        subsystems = [Subsystem(name: "hooks", queue: queue, isVital: false)]
        executor = TaskQueue.executor(on: queue)
        self.isManaged = isManaged
        surroundings = HookCourier.Surroundings(
            queue: queue, catalogue: catalogue, reporter: HookReporter(log: log.logger), problems: problems,
            board: board, grace: grace)
    }

    /// Takes over what the configuration says; returns when each new hook stands where it is told from.
    package func prepare(_ settings: Settings) async {
        if isStopped { return }
        self.settings = settings
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
    package nonisolated func outcomesRecorded() {
        let isNews = listeners.withLock { listeners in
            guard listeners.anybody, !listeners.isWoken else { return false }
            listeners.isWoken = true
            return true
        }
        if isNews { surroundings.queue.async { self.assumeIsolated { $0.wakeAll() } } }
    }

    /// Runs a hook once.
    package nonisolated func perform(_ action: Action, asker: String) {
        guard case .hook(let name) = action else { return }
        TaskQueue.start { await self.run(name, asker) }
    }

    private func run(_ name: String, _ asker: String) async {
        if let settings, settings.hook(named: name) == nil {
            let log = surroundings.reporter.log
            return log.warning("there is no hook named \(name), asked for by \(asker), continuing")
        }
        await couriers[name]?.run(asked: asker)
    }

    /// By name.
    package nonisolated func describe(in state: inout DaemonState) { state.hooks = board.all }

    package nonisolated func hurry() { TaskQueue.start { await self.stop(hurrying: true) } }

    /// Ends all, and returns when nothing of them is left. Asked again, it hurries.
    func stop(hurrying: Bool) async {
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
