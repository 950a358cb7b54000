import Catalogue
import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import Inbox

@Suite("Whoever waits for the catalogue waits together")
struct CatalogueWriterTests {
    @Test("What comes while a transaction waits for the disk shares the next one; each gets its own answer")
    func together() async throws {
        let scratch = try ScratchDirectory()
        let catalogue = try Catalogue.openForWriting(scratch.appending("c.sqlite"), now: .now)
        let writer = CatalogueWriter(
            catalogue,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
        let count = 40
        let gate = Gate()
        // The queue is busy until all have asked: the last of them opens the gate.
        writer.subsystem.queue.async { gate.wait() }
        let numbers = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<count {
                group.addTask {
                    let ended = EndedArrival(
                        key: ArrivalKey(inbox: "card", path: BytePath("\(number)")), outcome: .ignored, reason: "r",
                        ended: .now, firstSeen: .now)
                    gate.count(to: count)
                    return try await writer.record(ended, photo: nil, sha256: nil, kept: nil)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(numbers).count == count)
        for number in 0..<count {
            let outcomes = try catalogue.outcomes(forPath: BytePath("\(number)"))
            #expect(outcomes.count == 1 && numbers.contains(outcomes[0].id))
        }
        let transactions = await writer.transactions
        #expect(transactions < count / 2, "\(transactions) transactions for \(count) changes")
        withExtendedLifetime(scratch) {}
    }

    @Test("Whoever hears of outcomes is called with the same stack after a thousand of them")
    func evenStack() async throws {
        let scratch = try ScratchDirectory()
        let catalogue = try Catalogue.openForWriting(scratch.appending("c.sqlite"), now: .now)
        let writer = CatalogueWriter(
            catalogue,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
        let addresses = Locked<[UInt]>([])
        writer.whenOutcomesAreRecorded {
            var here = 0
            let address = withUnsafePointer(to: &here) { UInt(bitPattern: $0) }
            addresses.withLock { $0.append(address) }
        }
        for number in 0..<1000 {
            let ended = EndedArrival(
                key: ArrivalKey(inbox: "card", path: BytePath("\(number)")), outcome: .ignored, reason: "r",
                ended: .now,
                firstSeen: .now)
            _ = try await writer.record(ended, photo: nil, sha256: nil, kept: nil)
        }
        // Which thread it is may change, and with it the stack, but not by what a call adds each time.
        let heard = addresses.withLock { $0 }
        #expect(heard.count == 1000)
        let offsets = Set(heard.map { $0 % 4096 })
        #expect(offsets.count < 8, "\(offsets.count) places on the stack")
        withExtendedLifetime(scratch) {}
    }
}

/// Opens when so many have come.
private final class Gate: Sendable {
    private let counted = Locked(0)
    private let opens = DispatchSemaphore(value: 0)

    func count(to number: Int) {
        let isLast = counted.withLock { count in
            count += 1
            return count == number
        }
        if isLast { opens.signal() }
    }

    func wait() { opens.wait() }
}
