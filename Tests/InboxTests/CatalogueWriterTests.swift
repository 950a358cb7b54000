import Catalogue
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
}

/// Opens when so many have come.
private final class Gate: Sendable {
    private let counted = Locked(0)
    private let isOpen = Locked(false)

    func count(to number: Int) {
        let isLast = counted.withLock { count in
            count += 1
            return count == number
        }
        if isLast { isOpen.withLock { $0 = true } }
    }

    func wait() { while !isOpen.withLock({ $0 }) { sched_yield() } }
}
