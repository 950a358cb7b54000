import LinuxKernel

/// How trouble with the library and the catalogue ends when no photo is left to show that it is over: what failed last may
/// have been finished by recovery, set aside, or taken away by its owner.
extension Pipeline {
    /// Tries what is in doubt, but for what an arrival or recovery is about to show. From the tick.
    func tryOut(_ doubt: StorageDoubt) async {
        let doubt = doubt.subtracting(toBeShown)
        guard isAdmitting, !doubt.isEmpty, let worker = workers.values.first(where: answers), trials.begin(now: .now)
        else { return }
        requests += 1
        let signs = await worker.tryStorage(doubt)
        requests -= 1
        trials.end(healed: signs.allSatisfy { !$0.isFailure }, now: .now)
        // Who failed meanwhile was later than the trial, and says more.
        for sign in signs where isTold(sign) { listener.symptom(sign) }
        tellWhenDrained()
    }

    /// Whether `symptom` is to be told: not that storage takes again as long as others come that it has refused. One photo
    /// may find room where a larger one, or a trial, does not.
    func isTold(_ symptom: Symptom) -> Bool {
        symptom.recovery.isEmpty || toBeShown.isDisjoint(with: symptom.recovery)
    }

    /// What has refused somebody who comes again within a minute, and by that shows whether it still does.
    private var toBeShown: StorageDoubt {
        var storage = book.withLock { book in
            workers.keys.reduce(into: StorageDoubt()) { if !isPaused($1) { $0.formUnion(book.refusing(inbox: $1)) } }
        }
        for worker in workers.values { storage.formUnion(worker.owed.withLock(\.refusedBy)) }
        // Seldom more than nothing, so who answers is asked only then.
        guard !storage.isEmpty else { return [] }
        return workers.values.filter(answers).reduce(into: []) { storage, worker in
            storage.formUnion(worker.owed.withLock(\.refusedBy))
            let name = worker.spec.name
            if !isPaused(name) { storage.formUnion(book.withLock { $0.refusing(inbox: name) }) }
        }
    }

    /// Whether an inbox's queue turns: one whose disk hangs shows nothing.
    private func answers(_ worker: InboxWorker) -> Bool {
        (worker.subsystem.snapshot().silence(now: .now) ?? 0) < Subsystem.patience
            && !recovering.contains(worker.spec.name)
    }
}
