import ControlProtocol
import DaemonSupport
import FileValues
import Glibc
import LinuxKernel
import Logging
import Settings
import Systemd

// The configuration is read again: a bad one is refused, and the running one kept.
extension Daemon {
    /// Its result; nil if the daemon is ending.
    @discardableResult
    func reload(asked by: String) async -> ReloadOutcome? {
        guard !transitions.isStopping else { return nil }
        if transitions.isReloadWaiting { return await joinReload() }
        transitions.isReloadWaiting = true
        let outcome = Locked<ReloadOutcome?>(nil)
        await transit {
            let came = await self.reloadForAll()
            outcome.withLock { $0 = came }
        }
        return outcome.withLock { $0 }
    }

    /// Waits for the reload that has not begun yet; where it has begun after all, for one more.
    private func joinReload() async -> ReloadOutcome? {
        let isJoined = Locked(true)
        let outcome = await withCheckedContinuation { waiter in
            if transitions.isReloadWaiting {
                transitions.reloadWaiters.append(waiter)
            } else {
                isJoined.withLock { $0 = false }
                waiter.resume(returning: nil)
            }
        }
        return isJoined.withLock { $0 } ? outcome : await reload(asked: "one that came meanwhile")
    }

    private func reloadForAll() async -> ReloadOutcome? {
        // Who asks from now on may have changed the file after it was read.
        transitions.isReloadWaiting = false
        let waiters = transitions.reloadWaiters
        transitions.reloadWaiters = []
        let outcome = await reloadNow()
        for waiter in waiters { waiter.resume(returning: outcome) }
        return outcome
    }

    /// What a reload would result in, as far as that is known without setting anything up.
    func checkConfiguration() -> ReloadOutcome {
        do throws(SettingsError) {
            let (settings, warnings) = try launch.options.load()
            return .applied(settings, from: launch.options.effectiveFile, warnings: warnings)
        } catch {
            return .refused(error.issues)
        }
    }

    private func reloadNow() async -> ReloadOutcome? {
        guard !transitions.isStopping, let old = generation.withLock({ $0 }) else { return nil }
        var outcome: ReloadOutcome?
        state.enter(.reloading)
        try? launch.service.reloading(status: "reloading")
        do throws(SettingsError) {
            let (settings, warnings) = try launch.options.load()
            for warning in warnings { log.logger.warning("\(warning)") }
            if settings.catalogue != state.settings.catalogue {
                log.logger.warning("another catalogue is opened at the next start only, continuing with this one")
            }
            let handover = await old.stop(hurrying: false)
            generation.withLock { $0 = nil }
            var refused: Int?
            outcome = .applied(settings, from: launch.options.effectiveFile, warnings: warnings)
            do {
                try await run(settings, after: handover)
                log.configuration(settings, from: launch.options.effectiveFile, logReason: nil)
            } catch {
                log.refused(setup: error)
                refused = 1
                outcome = .failed(reason: "\(error)")
                do { try await run(old.settings, after: handover) } catch {
                    log.logger.error("nor can the old one be set up any more: \(error)")
                    await end(status: EX_OSERR)
                    return nil
                }
            }
            state.problems.configuration(refused: refused, path: launch.options.effectiveFile ?? "")
        } catch {
            for issue in error.issues { log.refused(issue) }
            outcome = .refused(error.issues)
            state.problems.configuration(refused: error.issues.count, path: launch.options.effectiveFile ?? "")
        }
        if transitions.isStopping { return outcome }
        state.enter(.running)
        try? launch.service.ready(status: state.capture().program.status)
        return outcome
    }
}
