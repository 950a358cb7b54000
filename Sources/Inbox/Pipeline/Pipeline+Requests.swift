import FileValues
import LinuxKernel

/// What people ask of the pipeline.
extension Pipeline {
    /// Runs `body` with the worker of an inbox, or, with nil, of any; ``stop(hurrying:)`` waits for it. Nil where there
    /// is no such inbox, or nothing is begun now: before the start is over, and when stopping.
    func perform<R: Sendable>(
        _ inbox: String?, _ body: @Sendable (InboxWorker) async -> R
    ) async -> R? {
        let ready = workers.filter { !recovering.contains($0.key) }
        guard isAdmitting, let worker = inbox.map({ ready[$0] }) ?? ready.values.first else { return nil }
        requests += 1
        busy.begin()
        let result = await body(worker)
        requests -= 1
        busy.end()
        tellWhenDrained()
        return result
    }

    /// Tries now what waits for a time, as far as it is meant. Gives back how many that are.
    func retry(where isMeant: @Sendable (ArrivalKey) -> Bool) -> Int {
        let count = book.withLock { $0.retry(now: .now, where: isMeant) }
        pump()
        return count
    }

    /// Takes a file as if the watch had just told of it.
    func look(at key: ArrivalKey, as identity: FileIdentity?) {
        book.withLock { _ = $0.noticed(key, as: identity, now: .now) }
        pump()
    }

    /// An inbox was paused or resumed.
    func admissionChanged() { pump() }
}
