import FileValues
import LinuxKernel
import SystemMonitor

/// Whether events arrive.
extension WatchEngine {
    /// The state of the cookie.
    struct CookieState {
        var proof = LivenessProof()
        var watch: Int32 = -1
        var failure: String?
        var overflows = 0
    }

    /// Touches the cookie, unless its last event has not come yet.
    func touchCookie() {
        guard let cookie, !state.onQueue({ $0.hasEnded || $0.cookie.proof.asked != nil }) else { return }
        cookie.touch { [weak self] watch, raise in
            guard let self else { return }
            self.queue.async {
                self.expectCookie(from: watch)
                // Not before: a turn that is under way meanwhile would count the event as stray.
                raise()
            }
        } failed: { [weak self] error in
            guard let self else { return }
            self.queue.async { self.state.onQueue { $0.cookie.failure = "\(error)" } }
        }
    }

    private func expectCookie(from watch: Int32) {
        let isNew = state.onQueue { state in
            defer { state.cookie.watch = watch }
            state.cookie.failure = nil
            state.cookie.proof.ask(at: monotonicNanoseconds())
            return state.cookie.watch != watch
        }
        if isNew { listen(to: watch) { [weak self] in self?.applyCookieEvent($0) } }
    }

    private func applyCookieEvent(_ record: EventRecord) {
        let isLost = state.onQueue { state in
            // The last record of a watch that was replaced proves nothing of the other one.
            if state.cookie.watch != record.watch { return false }
            state.cookie.proof.answer(at: monotonicNanoseconds())
            if record.mask.contains(.ignored) { state.cookie.watch = -1 }
            return state.cookie.watch == -1
        }
        if isLost { cookie?.loseWatch() }
    }
}

extension WatchEngine.State {
    /// The report of the cookie's events; nil without a cookie.
    func liveness(isAsked: Bool) -> LivenessReport? {
        isAsked ? LivenessReport(cookie.proof, failure: cookie.failure) : nil
    }

    /// In an overflow the cookie's event may have been lost, and the overflow proves the same.
    mutating func noteOverflows() {
        if core.overflows == cookie.overflows { return }
        cookie.overflows = core.overflows
        cookie.proof.answer(at: monotonicNanoseconds())
    }
}
