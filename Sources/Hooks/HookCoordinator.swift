package import Catalogue
package import ControlProtocol
package import DaemonSupport
import LinuxKernel
import Logging
package import QueueActors
import Reporting
package import Settings
import SystemMonitor

/// Has a delivery for each hook of the configuration. Nothing waits for hooks: not filing, not the end.
package final actor HookCoordinator: DaemonPart {
    private nonisolated let executor: QueueExecutor
    package nonisolated let subsystems: [Subsystem]
    private nonisolated let dependencies: HookDelivery.Dependencies
    nonisolated let status = HookStatus()
    /// Whether a service manager has started us.
    private let isManaged: Bool
    /// Of the configuration in force; nil before the first.
    private var settings: Settings?
    private var deliveries: [String: HookDelivery] = [:]
    /// Deliveries to hooks that were removed from the configuration, until they have ended.
    private var leaving: [HookDelivery] = []
    private var isStopped = false
    /// Whether there is a delivery to be woken; any thread may read it.
    private nonisolated let wakeUp = Locked<(isNeeded: Bool, isWoken: Bool)>((false, false))

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(
        catalogue: Catalogue, log: DaemonLog, problems: ProblemReporter, isManaged: Bool, grace: Duration = .seconds(5)
    ) {
        let queue = MonitorQueue(label: "photo-inbox.hooks")
        subsystems = [Subsystem(name: "hooks", queue: queue, isVital: false)]
        executor = TaskQueue.executor(on: queue)
        self.isManaged = isManaged
        dependencies = HookDelivery.Dependencies(
            queue: queue, catalogue: catalogue, log: HookLog(logger: log.logger), problems: problems,
            status: status, grace: grace)
    }

    /// Returns when each new hook has its position: it gets every event from then on.
    package func prepare(_ settings: Settings) async {
        if isStopped { return }
        self.settings = settings
        let place = HookPlace(settings, isManaged: isManaged)
        for (name, delivery) in deliveries where settings.hook(named: name) == nil {
            deliveries[name] = nil
            leaving.append(delivery)
            for code in [ProblemCode.hookFailing, .hookSkipped] { dependencies.problems.set(code, subject: name, nil) }
            TaskQueue.start {
                await delivery.stop(hurrying: false)
                await self.forget(delivery)
            }
        }
        let subscribed = settings.hooks.filter { !$0.events.isEmpty }.map(\.name)
        do {
            try await dependencies.catalogue.perform("removing hooks") { try $0.forgetHooks(except: subscribed) }
        } catch { dependencies.log.logger.warning("could not clean up removed hooks: \(error), continuing") }
        for hook in settings.hooks {
            let configuration = HookDelivery.Configuration(hook: hook, place: place, owners: settings.programOwners)
            if let delivery = deliveries[hook.name] {
                await delivery.adopt(configuration)
            } else {
                let delivery = HookDelivery(configuration, dependencies)
                deliveries[hook.name] = delivery
                await delivery.begin()
            }
        }
        wakeUp.withLock { $0.isNeeded = !subscribed.isEmpty }
    }

    /// Costs nothing where no hook has events.
    package nonisolated func outcomesRecorded() {
        let isFirst = wakeUp.withLock { wakeUp in
            guard wakeUp.isNeeded, !wakeUp.isWoken else { return false }
            wakeUp.isWoken = true
            return true
        }
        if isFirst { dependencies.queue.async { self.assumeIsolated { $0.wakeAll() } } }
    }

    /// Runs a hook once.
    package nonisolated func perform(_ action: Action, asker: String) {
        guard case .hook(let name) = action else { return }
        TaskQueue.start { await self.run(name, asker) }
    }

    private func run(_ name: String, _ asker: String) async {
        if let settings, settings.hook(named: name) == nil {
            let log = dependencies.log.logger
            return log.warning("there is no hook named \(name), asked for by \(asker), continuing")
        }
        await deliveries[name]?.run(requestedBy: asker)
    }

    package func giveAgain(isDryRun: Bool) async -> Int {
        var count = 0
        for delivery in deliveries.values { count += await delivery.giveAgain(isDryRun: isDryRun) }
        return count
    }

    /// By name.
    package nonisolated func describe(in state: inout DaemonState) { state.hooks = status.all }

    package nonisolated func hurry() { TaskQueue.start { await self.stop(hurrying: true) } }

    /// Ends all, and returns when nothing of them is left. Called again, it hurries.
    func stop(hurrying: Bool) async {
        isStopped = true
        wakeUp.withLock { $0.isNeeded = false }
        let all = Array(deliveries.values) + leaving
        await withTaskGroup { group in
            for delivery in all { group.addTask { await delivery.stop(hurrying: hurrying) } }
        }
    }

    /// What it returns waits no longer than ends should take: a program on a disk that does not answer does not keep the
    /// daemon from ending. Monitors that are left then are logged.
    package nonisolated func end(hurrying: Bool) -> @Sendable () async -> Void {
        boundedEnd(within: dependencies.grace + .seconds(10), label: "photo-inbox.hooks.end") {
            await self.stop(hurrying: hurrying)
        }
    }

    private func wakeAll() {
        wakeUp.withLock { $0.isWoken = false }
        for delivery in deliveries.values { TaskQueue.start { await delivery.wake() } }
    }

    private func forget(_ delivery: HookDelivery) { leaving.removeAll { $0 === delivery } }
}
