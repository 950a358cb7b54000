import LinuxKernel
import SystemMonitor

/// Whether events arrive.
extension WatchEngine {
    /// What the engine knows of its cookie.
    struct Life {
        var proof = LivenessProof()
        var watch: Int32 = -1
        var failure: String?
        var overflows = 0
    }

    /// Touches the cookie, unless its last event is owed still.
    func askForLife() {
        guard let cookie, !state.onQueue({ $0.hasEnded || $0.life.proof.asked != nil }) else { return }
        // Its event comes after what is put in line before it is raised.
        cookie.touch { [weak self] watch in
            let now = monotonicNanoseconds()
            guard let self else { return }
            self.queue.async { self.willTouch(watch, at: now) }
        } failed: { [weak self] error in
            guard let self else { return }
            self.queue.async { self.state.onQueue { $0.life.failure = "\(error)" } }
        }
    }

    private func willTouch(_ watch: Int32, at now: UInt64) {
        let isNew = state.onQueue { state in
            defer { state.life.watch = watch }
            state.life.failure = nil
            return state.life.proof.ask(at: now) && state.life.watch != watch
        }
        if isNew { listen(to: watch) { [weak self] in self?.takeLife($0) } }
        publish()
    }

    private func takeLife(_ record: EventRecord) {
        let isLost = record.mask.contains(.ignored)
        state.onQueue { state in
            state.life.proof.answer(at: monotonicNanoseconds())
            if isLost { state.life.watch = -1 }
        }
        if isLost { cookie?.loseWatch() }
    }
}

extension WatchEngine.State {
    /// What is known of the cookie's events; nil if nobody asks.
    mutating func liveness(isAsked: Bool) -> LivenessReport? {
        guard isAsked else { return nil }
        // In an overflow its event may have been lost, and it proves as much.
        if core.counters.overflows != life.overflows {
            life.overflows = core.counters.overflows
            life.proof.answer(at: monotonicNanoseconds())
        }
        return LivenessReport(life.proof, failure: life.failure)
    }
}
