import LinuxKernel

/// How trouble with the library and the catalogue ends when no photo is left to show that it is over: what failed last may
/// have been finished by recovery, set aside, or taken away by its owner.
extension Pipeline {
    /// Tries what is in doubt, unless an arrival or recovery is about to. From the tick.
    func tryOut(_ doubt: StorageDoubt) async {
        guard isAdmitting, !isSomebodyToShow, let worker = workers.values.first(where: answers), trials.begin(now: .now)
        else { return }
        requests += 1
        let signs = await worker.tryStorage(doubt)
        requests -= 1
        trials.end(healed: signs.allSatisfy { !$0.isFailure }, now: .now)
        // Who failed meanwhile was later than the trial, and says more.
        for sign in signs where sign.isFailure || !isSomebodyToShow { listener.symptom(sign) }
        tellWhenDrained()
    }

    /// Whether somebody that the library or the catalogue refused comes again within a minute, and by that shows whether
    /// they still do. A photo may need more than a trial does.
    private var isSomebodyToShow: Bool {
        let turning = Set(workers.values.filter(answers).map(\.spec.name)).filter { !isPaused($0) }
        return workers.values.contains { answers($0) && $0.owed.withLock { $0.isRefused } }
            || book.withLock { $0.arrivals.values.contains { $0.isRefused && turning.contains($0.key.inbox) } }
    }

    /// Whether an inbox's queue turns: one whose disk hangs shows nothing.
    private func answers(_ worker: InboxWorker) -> Bool {
        (worker.subsystem.snapshot().silence(now: .now) ?? 0) < Subsystem.patience
            && !recovering.contains(worker.spec.name)
    }
}
