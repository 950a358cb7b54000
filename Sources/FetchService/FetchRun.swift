import ControlProtocol
import Dispatch
import Fetching
import FileValues
import Filing
import Glibc
import HTTPValues
import LinuxKernel
import Settings
import SystemMonitor
import SystemPackage
import Transfers

/// One batch: downloads into the inbox's hidden directory and, when complete, into the inbox; one outcome
/// when the last download has ended, by a dispatch group's notification. On one queue; syncing and naming on another.
final class FetchRun: Sendable {
    private struct State {
        var batch: FetchBatch
        var partials: [Int: PartialDownload] = [:]
        var outcome = FetchOutcome()
        var isInvalidated = false
    }

    let queue: MonitorQueue
    private let addresses: [WebAddress]
    private let limits: FetchLimits
    private let engine: TransferEngine
    private let clock: TimerMonitor
    private let store: FetchStore
    private let state: QueueBound<State>
    private let group = DispatchGroup()
    private let report: @Sendable (FetchReport) -> Void

    /// A batch into the inbox of `store`. `report` is called on the queue, with the outcome last; then only the
    /// files that arrived are left. From any thread.
    init(
        _ addresses: [WebAddress], _ limits: FetchLimits, store: FetchStore, queue: MonitorQueue,
        report: @escaping @Sendable (FetchReport) -> Void
    ) throws {
        self.addresses = addresses
        self.limits = limits.bounded
        (self.store, self.queue, self.report) = (store, queue, report)
        clock = try TimerMonitor(.never, label: "tries", queue: queue)
        engine = try TransferEngine(queue: queue)
        state = QueueBound(
            State(batch: FetchBatch(count: addresses.count, limits: limits.bounded)), queue: queue)
    }

    /// Begins the downloads. On the queue.
    func start() {
        engine.activate()
        clock.setEventHandler { _ in self.advance() }
        clock.activate()
        for _ in addresses { group.enter() }
        group.notify(queue: queue.dispatchQueue) { self.finish() }
        advance()
    }

    /// Cancels one download by its index, or all. On the queue.
    func cancel(_ member: Int?) {
        carryOut(
            state.onQueue { state in
                if let member { state.batch.cancel(member) } else { state.batch.cancelAll() }
            })
        advance()
    }

    /// The progress. On the queue.
    var progress: FetchProgress {
        let under = engine.bytesUnderWay
        return state.onQueue { state in
            FetchProgress(
                ended: state.batch.endedCount, total: addresses.count, running: state.batch.running,
                bytes: state.outcome.bytes + under)
        }
    }

    private func advance() {
        let (actions, next) = state.onQueue { state in
            let actions = state.batch.advance(at: monotonicMilliseconds())
            return (actions, state.batch.nextTime)
        }
        carryOut(actions)
        guard !state.onQueue({ $0.isInvalidated }) else { return }
        clock.reschedule(next.map { .once(after: .milliseconds(max(0, $0 - monotonicMilliseconds()))) } ?? .never)
    }

    private func carryOut(_ actions: [FetchBatch.Action]) {
        for action in actions {
            switch action {
            case .begin(let member, let milliseconds): begin(member, milliseconds)
            case .abort(let member): engine.cancel(member)
            case .withhold(let member): store.withhold(member)
            case .ended(let member, let end): ended(member, end)
            }
        }
    }

    private func begin(_ member: Int, _ milliseconds: Int64) {
        do throws(SystemCallError) {
            let partial: PartialDownload
            if let begun = state.onQueue({ $0.partials[member] }) {
                partial = begun
            } else {
                partial = try store.makePartial()
                state.onQueue { $0.partials[member] = partial }
            }
            let order = TransferOrder(
                address: addresses[member], limits: limits, milliseconds: milliseconds, room: try store.room(),
                partial: partial)
            if engine.begin(member, Transfer(order) { self.tryEnded(member, $0) }) { return }
            let refused = TransferResult.failed(
                TryFailure("libcurl refused the address", isTemporary: false), partial)
            // Asynchronously, like the ends of other tries.
            queue.async { self.tryEnded(member, refused) }
        } catch {
            let failure = TryFailure("the inbox: \(error)", isTemporary: false)
            queue.async { self.failed(member, failure) }
        }
    }

    private func tryEnded(_ member: Int, _ result: TransferResult) {
        // The report of another download in the same turn may have cancelled all.
        guard state.onQueue({ $0.batch.isRunning(member) }) else { return }
        switch result {
        case .failed(let failure, let partial):
            // An empty file need not stay open until the next try.
            if partial.length == 0 { store.discard(partial) }
            state.onQueue { $0.partials[member] = partial.length == 0 ? nil : partial }
            failed(member, failure)
        case .whole(let partial, let head, let place):
            state.onQueue {
                $0.partials[member] = partial
                $0.batch.arrived(member)
            }
            let name = DownloadName.choose(head: head, place: place, address: addresses[member])
            store.put(member, partial, as: name, from: addresses[member]) { end in
                self.queue.async { self.stored(member, end) }
            }
        }
    }

    private func failed(_ member: Int, _ failure: TryFailure) {
        // It may have been cancelled meanwhile.
        carryOut(
            state.onQueue {
                $0.batch.isRunning(member) ? $0.batch.failed(member, failure, at: monotonicMilliseconds()) : []
            })
        advance()
    }

    private func stored(_ member: Int, _ end: FetchEnd) {
        carryOut(state.onQueue { $0.batch.stored(member, end) })
        advance()
    }

    private func ended(_ member: Int, _ end: FetchEnd) {
        let partial = state.onQueue { state in
            switch end.what {
            case .arrived:
                state.outcome.arrived += 1
                state.outcome.bytes += end.bytes
            case .failed: state.outcome.failed += 1
            case .cancelled: state.outcome.cancelled += 1
            }
            return state.partials.removeValue(forKey: member)
        }
        if let partial, end.what != .arrived { store.discard(partial) }
        report(.ended(member, end))
        group.leave()
    }

    private func finish() {
        state.onQueue { $0.isInvalidated = true }
        store.close { directory in
            self.queue.async {
                self.clock.invalidate {
                    self.engine.invalidate {
                        var outcome = self.state.onQueue { $0.outcome }
                        outcome.directory = directory
                        self.report(.outcome(outcome))
                    }
                }
            }
        }
    }
}
