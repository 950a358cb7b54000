import CTransfers
import Dispatch
import Fetching
import Glibc
import LinuxKernel
import SystemMonitor

/// HTTP transfers by libcurl's multi_socket interface: all of its sockets are in one epoll set, which one monitor watches,
/// and its clock is one timer. No thread waits for a transfer; libcurl resolves names on its own threads. On one queue.
final class TransferEngine: Sendable {
    /// libcurl's handle, and each of its transfers.
    private struct Contents {
        var all: OpaquePointer?
        var transfers: [Int: (handle: OpaquePointer, transfer: Transfer)] = [:]
    }

    /// A transfer that has ended, and its callback.
    private struct Ended: Sendable {
        let number: Int
        let result: TransferResult
        let done: @Sendable (TransferResult) -> Void
    }

    private let queue: MonitorQueue
    private let contents: QueueBound<Contents>
    private let sockets: DescriptorMonitor
    private let clock: TimerMonitor
    /// Checks for stalled transfers.
    private let watch: TimerMonitor

    /// Sets one up; from any thread. Throws without libcurl, memory or descriptors.
    init(queue: MonitorQueue) throws {
        self.queue = queue
        guard let all = ctransfers_make() else {
            throw FetchProblem("libcurl.so.4, of Debian's package libcurl4, could not be loaded and set up")
        }
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

    /// Activates its monitors. On the queue.
    func activate() {
        sockets.setEventHandler { _ in self.turn(isTime: false) }
        clock.setEventHandler { _ in self.turn(isTime: true) }
        watch.setEventHandler { _ in self.endStalled() }
        sockets.activate()
        clock.activate()
        watch.activate()
    }

    /// Begins a transfer under an unused number; `done` is called on the queue, asynchronously, unless it is
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
                done(.failed(TryFailure("libcurl refused the address", isTemporary: false), partial))
            }
        }
        setClock()
    }

    /// Aborts a transfer, if it has not ended; it reports nothing more. On the queue, never from one of its callbacks.
    func cancel(_ number: Int) {
        contents.onQueue { contents in
            guard let all = contents.all, let one = contents.transfers.removeValue(forKey: number) else { return }
            ctransfers_remove(all, one.handle)
        }
        setClock()
    }

    /// Bytes received so far by running transfers. On the queue.
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
            return Self.removeEnded(all, &contents)
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

    private static func removeEnded(_ all: OpaquePointer, _ contents: inout Contents) -> [Ended] {
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

/// Why downloading is not possible; a clause for people.
package struct FetchProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
