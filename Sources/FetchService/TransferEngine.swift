import CTransfers
import Dispatch
import Fetching
import Glibc
import LinuxKernel
import SystemMonitor

/// HTTP transfers by libcurl's multi_socket interface: all of its sockets are in one epoll set, which one monitor watches,
/// and its clock is one timer. No thread waits for a transfer; names are looked up on libcurl's own threads. On one queue.
final class TransferEngine: Sendable {
    /// What libcurl holds, and what is known of each transfer that it was given.
    private struct Contents {
        var all: OpaquePointer?
        var transfers: [Int: (handle: OpaquePointer, transfer: Transfer)] = [:]
    }

    /// A transfer that has ended, and who wants to know.
    private struct Ended: Sendable {
        let number: Int
        let result: TransferResult
        let done: @Sendable (TransferResult) -> Void
    }

    private let queue: MonitorQueue
    private let contents: QueueBound<Contents>
    private let sockets: DescriptorMonitor
    private let clock: TimerMonitor
    /// Looks for transfers that stand still.
    private let watch: TimerMonitor

    /// Sets one up; from any thread. Throws where memory or descriptors are short.
    init(queue: MonitorQueue) throws {
        self.queue = queue
        guard let all = ctransfers_make() else { throw FetchProblem("libcurl could not be set up") }
        let raw = ctransfers_descriptor(all)
        do {
            // libdispatch watches a duplicate, through another epoll: see docs/decisions/0004.
            sockets = try DescriptorMonitor(borrowing: raw, for: .read, label: "transfers", queue: queue)
            clock = try TimerMonitor(.never, label: "transfers", queue: queue)
            watch = try TimerMonitor(.every(.milliseconds(500)), label: "stalls", queue: queue)
        } catch {
            ctransfers_free(all)
            throw error
        }
        contents = QueueBound(Contents(all: all), queue: queue)
    }

    /// Starts to serve. On the queue.
    func activate() {
        sockets.setEventHandler { _ in self.turn(isTime: false) }
        clock.setEventHandler { _ in self.turn(isTime: true) }
        watch.setEventHandler { _ in self.endStalled() }
        sockets.activate()
        clock.activate()
        watch.activate()
    }

    /// Begins a transfer under a number that is in no other's use; `done` is called on the queue, later, unless it is
    /// cancelled before. On the queue.
    func begin(_ number: Int, _ order: TransferOrder, done: @escaping @Sendable (TransferResult) -> Void) {
        let hasBegun = contents.onQueue { contents in
            precondition(contents.transfers[number] == nil, "transfer \(number) has begun already")
            guard let all = contents.all else { return false }
            let transfer = Transfer(order, done: done)
            guard let handle = transfer.begin(in: all) else { return false }
            contents.transfers[number] = (handle, transfer)
            transfer.number = number
            return true
        }
        guard hasBegun else {
            let partial = order.partial
            return queue.async {
                done(.failed(TryFailure("libcurl takes no such address", mayPass: false), partial))
            }
        }
        setClock()
    }

    /// Ends a transfer at once, if it has not ended; nothing more is told of it. On the queue, never by what it calls.
    func cancel(_ number: Int) {
        contents.onQueue { contents in
            guard let all = contents.all, let one = contents.transfers.removeValue(forKey: number) else { return }
            ctransfers_remove(all, one.handle)
        }
        setClock()
    }

    /// Bytes that there are by now of the files whose transfers run. On the queue.
    var bytesUnderWay: UInt64 {
        contents.onQueue { $0.transfers.values.reduce(0) { $0 + $1.transfer.received } }
    }

    /// Ends everything; `completion` runs on the queue when nothing is left. On the queue.
    func invalidate(completion: @escaping @Sendable () -> Void) {
        contents.onQueue { contents in
            guard let all = contents.all else { return }
            for one in contents.transfers.values { ctransfers_remove(all, one.handle) }
            contents.transfers = [:]
            ctransfers_free(all)
            contents.all = nil
        }
        sockets.invalidate { self.clock.invalidate { self.watch.invalidate(completion: completion) } }
    }

    private func turn(isTime: Bool) {
        let ended = contents.onQueue { contents -> [Ended] in
            guard let all = contents.all else { return [] }
            ctransfers_turn(all, isTime ? 1 : 0)
            return Self.takeEnded(all, &contents)
        }
        setClock()
        for one in ended { one.done(one.result) }
    }

    private func endStalled() {
        let now = monotonicMilliseconds()
        let ended = contents.onQueue { contents -> [Ended] in
            guard let all = contents.all else { return [] }
            var ended: [Ended] = []
            for (number, one) in contents.transfers where one.transfer.isStalled(at: now) {
                ctransfers_remove(all, one.handle)
                contents.transfers[number] = nil
                ended.append(Ended(number: number, result: one.transfer.stalled, done: one.transfer.done))
            }
            return ended
        }
        setClock()
        for one in ended { one.done(one.result) }
    }

    private static func takeEnded(_ all: OpaquePointer, _ contents: inout Contents) -> [Ended] {
        var ended: [Ended] = []
        var end = ctransfer_end()
        while ctransfers_ended(all, &end) != 0 {
            guard let context = end.context, let handle = end.transfer else { continue }
            let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            let place = withUnsafeBytes(of: &end.place) { bytes in Array(bytes.prefix { $0 != 0 }) }
            ctransfers_remove(all, handle)
            contents.transfers[transfer.number] = nil
            ended.append(
                Ended(
                    number: transfer.number, result: transfer.result(code: end.code, place: place),
                    done: transfer.done))
        }
        return ended
    }

    private func setClock() {
        let next = contents.onQueue { contents -> Int64? in
            var time: Int64 = -1
            guard let all = contents.all, ctransfers_next_time(all, &time) != 0 else { return nil }
            return time
        }
        guard let next else { return }
        clock.reschedule(next < 0 ? .never : .once(after: .milliseconds(next)))
    }
}

/// Milliseconds on the monotonic clock.
func monotonicMilliseconds() -> Int64 { Int64(monotonicNanoseconds() / 1_000_000) }

/// Why fetching cannot go on; a clause for people.
package struct FetchProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
