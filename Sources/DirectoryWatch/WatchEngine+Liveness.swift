import FileValues
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
    func touchCookie() {
        guard let cookie, !state.onQueue({ $0.hasEnded || $0.life.proof.asked != nil }) else { return }
        cookie.touch { [weak self] watch, raise in
            guard let self else { return }
            self.queue.async {
                self.expectCookie(from: watch)
                // Not before: a turn that is under way meanwhile would take the event for nobody's.
                raise()
            }
        } failed: { [weak self] error in
            guard let self else { return }
            self.queue.async { self.state.onQueue { $0.life.failure = "\(error)" } }
        }
    }

    private func expectCookie(from watch: Int32) {
        let isNew = state.onQueue { state in
            defer { state.life.watch = watch }
            state.life.failure = nil
            state.life.proof.ask(at: monotonicNanoseconds())
            return state.life.watch != watch
        }
        if isNew { listen(to: watch) { [weak self] in self?.applyCookieEvent($0) } }
    }

    private func applyCookieEvent(_ record: EventRecord) {
        let isLost = state.onQueue { state in
            // The last record of a watch that was given up for another one proves nothing of that one.
            if state.life.watch != record.watch { return false }
            state.life.proof.answer(at: monotonicNanoseconds())
            if record.mask.contains(.ignored) { state.life.watch = -1 }
            return state.life.watch == -1
        }
        if isLost { cookie?.loseWatch() }
    }
}

extension WatchEngine.State {
    /// What is known of the cookie's events; nil if nobody asks.
    func liveness(isAsked: Bool) -> LivenessReport? {
        isAsked ? LivenessReport(life.proof, failure: life.failure) : nil
    }

    /// In an overflow the cookie's event may have been lost, and it proves as much.
    mutating func noteOverflows() {
        if core.overflows == life.overflows { return }
        life.overflows = core.overflows
        life.proof.answer(at: monotonicNanoseconds())
    }
}
