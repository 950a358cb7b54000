import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Connection monitors", .timeLimit(.minutes(60)))
struct ConnectionMonitorTests {
    private let queue = MonitorQueue(label: "test.connection")

    private func pair(limit: Int = 1 << 20) throws -> (monitor: ConnectionMonitor, other: Int32) {
        let ends = try makeSocketPair()
        return (
            try ConnectionMonitor(
                owning: OwnedDescriptor(taking: ends.one), limit: limit, label: "test", queue: queue), ends.other
        )
    }

    private func text(_ event: ConnectionEvent) -> String? {
        guard case .received(let bytes) = event else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Received bytes are reported, and answers sent")
    func answers() async throws {
        let (monitor, other) = try pair()
        var observed = await Observed(monitor) { monitor, event in
            guard case .received(let bytes) = event else { return }
            #expect(monitor.send(bytes.reversed()) == .done)
        }
        for word in ["abc", "defg"] {
            try send(word, to: other)
            #expect(text(try await observed.next()) == word)
            #expect(try receive(from: other) == String(word.reversed()))
        }
        close(other)
        #expect(try await observed.next() == .ended(nil))
        await observed.end()
    }

    @Test("The last bytes are received before the end, and a half-closed connection stays open")
    func halfClosed() async throws {
        let (monitor, other) = try pair()
        try send("last words", to: other)
        shutdown(other, Int32(SHUT_WR))
        var observed = await Observed(monitor)
        #expect(text(try await observed.next()) == "last words")
        #expect(try await observed.next() == .finished)
        // The peer still receives.
        await queue.run { done in
            #expect(monitor.send(Array("answer".utf8)) == .done)
            done(())
        }
        #expect(try receive(from: other) == "answer")
        close(other)
        #expect(try await observed.next() == .ended(nil))
        #expect(await queue.run { done in done(monitor.send([1])) } == .refused)
        #expect(monitor.describe().delivered == 3)
        await observed.end()
    }

    @Test("A closed connection ends after its last bytes")
    func closedWithData() async throws {
        let (monitor, other) = try pair()
        try send("request", to: other)
        close(other)
        var observed = await Observed(monitor)
        #expect(text(try await observed.next()) == "request")
        #expect(try await observed.next() == .ended(nil))
        await observed.end()
    }

    @Test("Bytes for a slow peer are kept up to the limit and sent when it reads")
    func slowReader() async throws {
        let (monitor, other) = try pair(limit: 4 << 20)
        var observed = await Observed(monitor)
        let megabyte = [UInt8](repeating: 7, count: 1 << 20)
        let results = await queue.run { done in done((0..<6).map { _ in monitor.send(megabyte) }) }
        #expect(results.first == .waiting && results.last == .refused)
        let taken = results.count { $0 != .refused }
        #expect(taken == 4)
        // While the peer does not read, no event is reported.
        #expect(monitor.describe().delivered == 0)
        var left = taken << 20
        while left > 0 { left -= try receive(from: other).utf8.count }
        #expect(try await observed.next() == .sent)
        #expect(await queue.run { done in done(monitor.send([1])) } == .done)
        close(other)
        #expect(try await observed.next() == .ended(.connectionReset))
        await observed.end()
    }

    @Test("While reading is off, bytes wait in the kernel, and the peer's end is still reported")
    func notReading() async throws {
        let (monitor, other) = try pair()
        var observed = await Observed(monitor)
        await queue.run { done in
            monitor.setReading(false)
            done(())
        }
        try send("early", to: other)
        await queue.run { done in
            #expect(monitor.describe().delivered == 0)
            monitor.setReading(true)
            done(())
        }
        #expect(text(try await observed.next()) == "early")
        await queue.run { done in
            monitor.setReading(false)
            done(())
        }
        try send("unread", to: other)
        close(other)
        #expect(try await observed.next() == .ended(nil))
        await observed.end()
    }

    @Test("A reset is reported as an error")
    func reset() async throws {
        let (monitor, other) = try pair()
        await queue.run { done in
            #expect(monitor.send(Array("unread".utf8)) == .done)
            done(())
        }
        close(other)
        var observed = await Observed(monitor)
        #expect(try await observed.next() == .ended(.connectionReset))
        await observed.end()
    }

    @Test("A hang-up is reported once and causes no further wake-ups")
    func noSpin() async throws {
        let (monitor, other) = try pair()
        close(other)
        var observed = await Observed(monitor)
        #expect(try await observed.next() == .ended(nil))
        let (second, busy) = try pair()
        var rounds = await Observed(second) { monitor, event in
            if case .received(let bytes) = event { _ = monitor.send(bytes) }
        }
        for _ in 0..<50 {
            try send("x", to: busy)
            _ = try await rounds.next()
            _ = try receive(from: busy)
        }
        #expect(monitor.describe().delivered == 1)
        close(busy)
        await rounds.end()
        await observed.end()
    }

    enum Misuse: String, Codable, CaseIterable { case send, setReading }

    @Test("A call off its queue traps", arguments: Misuse.allCases)
    func offTheQueue(misuse: Misuse) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
            let ends = try makeSocketPair()
            let monitor = try ConnectionMonitor(
                owning: OwnedDescriptor(taking: ends.one), label: "card", queue: MonitorQueue(label: "test.rules"))
            MonitorQueue(label: "test.other").sync {
                switch misuse {
                case .send: _ = monitor.send([1])
                case .setReading: monitor.setReading(false)
                }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let expected = "monitor ConnectionMonitor \"card\" (queue test.rules) is set up; rule: "
        #expect(text.contains(expected + LifecycleRule.onItsQueue.rawValue))
    }

    @Test("After invalidation sending is refused, and the peer sees the end")
    func afterInvalidation() async throws {
        let (monitor, other) = try pair()
        _ = await Observed(monitor)
        await queue.run { done in
            monitor.invalidate { done(()) }
            #expect(monitor.send([1]) == .refused)
            monitor.setReading(false)
        }
        #expect(monitor.describe().state == .invalidated)
        #expect(try receiveAll(from: other).isEmpty)
        close(other)
    }
}
