import Catalogue
import Dispatch
import FileValues
import Glibc
import LinuxKernel
import QueueActors
import SystemMonitor
import TestSupport
import Testing

@Suite("Concurrent changes of the catalogue share a transaction", .withEachEngine)
struct GroupCommitTests {
    @Test("Changes that arrive during a transaction share the next one, and each gets its own result")
    func together() async throws {
        let place = try Place()
        let file = try place.open()
        let catalogue = Catalogue(
            file,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
        let count = 40
        let gate = Gate()
        // The queue is blocked until the last change is submitted.
        catalogue.subsystem.queue.async { gate.wait() }
        let numbers = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<count {
                group.addTask {
                    gate.count(to: count)
                    return try await catalogue.record(ignored(number), kept: nil)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(numbers).count == count)
        for number in 0..<count {
            let outcomes = try file.outcomes(forPath: BytePath("\(number)"))
            #expect(outcomes.count == 1 && numbers.contains(outcomes[0].id))
        }
        let transactions = await catalogue.transactions
        #expect(transactions < count / 2, "\(transactions) transactions for \(count) changes")
        withExtendedLifetime(place) {}
    }

    @Test("An intent whose close fails is closed with the next change, before the same content is begun", .tags(.file))
    func failedClose() async throws {
        let place = try Place()
        let file = try place.open()
        let catalogue = Catalogue(
            file,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
        let first = try await catalogue.begin([intent(1)])
        // Another program moves the file away, and back.
        #expect(rename(place.path, place.path + ".away") == 0)
        let failures = Locked<[CatalogueError.Code]>([])
        catalogue.closeSoon(first) { error in failures.withLock { $0.append(error.code) } }
        await catalogue.flush()
        #expect(failures.withLock { $0 }.first == .replaced)
        #expect(rename(place.path + ".away", place.path) == 0)
        var second = intent(1)
        second.token = "of another inbox"
        let ids = try await catalogue.begin([second])
        #expect(try file.pendingIntents().map(\.id) == ids)
        withExtendedLifetime(place) {}
    }

    @Test("The stack of the outcome handler does not grow over a thousand outcomes")
    func evenStack() async throws {
        let place = try Place()
        let file = try place.open()
        let catalogue = Catalogue(
            file,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
        let addresses = Locked<[UInt]>([])
        catalogue.whenOutcomesAreRecorded {
            var here = 0
            let address = withUnsafePointer(to: &here) { UInt(bitPattern: $0) }
            addresses.withLock { $0.append(address) }
        }
        for number in 0..<1000 {
            _ = try await catalogue.record(ignored(number), kept: nil)
        }
        // The thread may change, and with it the stack, but no call may add to it.
        let calls = addresses.withLock { $0 }
        #expect(calls.count == 1000)
        let offsets = Set(calls.map { $0 % 4096 })
        #expect(offsets.count < 8, "\(offsets.count) places on the stack")
        withExtendedLifetime(place) {}
    }
}

private func ignored(_ number: Int) -> OutcomeRecord {
    OutcomeRecord(
        at: .now, inbox: "card", path: BytePath("\(number)"), outcome: .ignored, reason: "r", sha256: nil, photoID: nil,
        destination: nil)
}

/// A gate that opens at a given count.
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
