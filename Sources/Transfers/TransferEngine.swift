import CTransfers
import Dispatch
import LinuxKernel
package import SystemMonitor

/// HTTP transfers by libcurl's multi_socket interface: all of its sockets are in one epoll set, which one monitor watches,
/// and its clock is one timer. No thread waits for a transfer; libcurl resolves names on its own threads. On one queue.
package final class TransferEngine: Sendable {
    /// libcurl's handle, and each of its transfers.
    private struct Contents {
        var all: OpaquePointer?
        var transfers: [Int: (handle: OpaquePointer, box: TransferBox)] = [:]
    }

    private let queue: MonitorQueue
    private let contents: QueueBound<Contents>
    private let sockets: DescriptorMonitor
    private let clock: TimerMonitor
    /// Checks for stalled transfers.
    private let watch: TimerMonitor

    /// libcurl could not be loaded and set up.
    package struct Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        package let description = "libcurl.so.4, of Debian's package libcurl4, could not be loaded and set up"
    }

    /// Sets one up; from any thread. Throws without libcurl, memory or descriptors.
    package init(queue: MonitorQueue) throws {
        self.queue = queue
        guard let all = ctransfers_make() else { throw Unavailable() }
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
    package func activate() {
        sockets.setEventHandler { _ in self.turn(isTime: false) }
        clock.setEventHandler { _ in self.turn(isTime: true) }
        watch.setEventHandler { _ in self.endStalled() }
        sockets.activate()
        clock.activate()
        watch.activate()
    }

    /// Begins a transfer under an unused number. Its handler learns its end later, never before this returns; false if libcurl
    /// refuses the request: then it learns nothing. On the queue.
    package func begin(_ number: Int, _ handler: any TransferHandler) -> Bool {
        let hasBegun = contents.onQueue { contents in
            precondition(contents.transfers[number] == nil, "transfer \(number) has begun already")
            let box = TransferBox(handler, number: number)
            guard let all = contents.all, let handle = box.begin(in: all) else { return false }
            contents.transfers[number] = (handle, box)
            return true
        }
        if hasBegun { setClock() }
        return hasBegun
    }

    /// Aborts a transfer, if it has not ended; its handler learns nothing more. On the queue, never from one of its callbacks.
    package func cancel(_ number: Int) {
        contents.onQueue { contents in
            guard let all = contents.all, let one = contents.transfers.removeValue(forKey: number) else { return }
            ctransfers_remove(all, one.handle)
        }
        setClock()
    }

    /// Bytes received so far by running transfers. On the queue.
    package var bytesUnderWay: UInt64 {
        contents.onQueue { $0.transfers.values.reduce(0) { $0 + $1.box.handler.received } }
    }

    /// Ends everything; `completion` runs on the queue when nothing is left. On the queue.
    package func invalidate(completion: @escaping @Sendable () -> Void) {
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
        let ended = contents.onQueue { contents -> [@Sendable () -> Void] in
            guard let all = contents.all else { return [] }
            ctransfers_turn(all, isTime ? 1 : 0)
            return Self.removeEnded(all, &contents)
        }
        setClock()
        for done in ended { done() }
    }

    private func endStalled() {
        let now = monotonicMilliseconds()
        let ended = contents.onQueue { contents -> [@Sendable () -> Void] in
            guard let all = contents.all else { return [] }
            var ended: [@Sendable () -> Void] = []
            for (number, one) in contents.transfers where one.box.handler.isStalled(at: now) {
                ctransfers_remove(all, one.handle)
                contents.transfers[number] = nil
                ended.append(one.box.handler.ended(code: nil, place: []))
            }
            return ended
        }
        setClock()
        for done in ended { done() }
    }

    private static func removeEnded(_ all: OpaquePointer, _ contents: inout Contents) -> [@Sendable () -> Void] {
        var ended: [@Sendable () -> Void] = []
        var end = ctransfer_end()
        while ctransfers_ended(all, &end) != 0 {
            guard let handle = end.transfer else { continue }
            let box = TransferBox.of(end.context)
            let place = withUnsafeBytes(of: &end.place) { bytes in Array(bytes.prefix { $0 != 0 }) }
            ctransfers_remove(all, handle)
            contents.transfers[box.number] = nil
            ended.append(box.handler.ended(code: end.code, place: place))
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
package func monotonicMilliseconds() -> Int64 { Int64(monotonicNanoseconds() / 1_000_000) }
