import Catalogue
import FileValues
import Filing
import Foundation
import LinuxKernel
import QueueActors
import SystemMonitor
import TestSupport
import Testing

@testable import Ingest

@Suite("A flood of retries")
struct RetryFloodTests {
    @Test("A photo that comes behind 1,000 broken files that are due again is filed before they are looked at")
    func firstLook() async throws {
        let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        let house = try WorkerHouse(scratch.path)
        let count = 1_000
        let isPaused = Locked(false)
        let retried = Locked(0)
        let (ends, tell) = AsyncStream.makeStream(of: (name: String, retries: Int).self)
        let pipeline = try Pipeline(
            workers: [house.worker],
            subsystem: Subsystem(name: "pipeline", queue: MonitorQueue(label: "test.pipeline"), isVital: true),
            arrivals: ArrivalTable(),
            listener: Pipeline.Listener(
                ended: { tell.yield(($0.key.path.description, retried.withLock { $0 })) },
                deferred: { _, _, attempt, _ in if attempt > 1 { retried.withLock { $0 += 1 } } }, symptom: { _ in },
                activity: { _ in }), isPaused: { _ in isPaused.withLock { $0 } })
        await pipeline.start { _, _, _ in }
        let keys = (0..<count).map { ArrivalKey(inbox: "card", path: BytePath("broken-\($0).jpg")) }
        for key in keys {
            try Data([0xFF, 0xD8, 0xFF]).write(to: URL(filePath: "\(scratch.path)/inbox/\(key.path)"))
            await pipeline.examine(key, as: nil)
        }
        func attempts() -> [Int] {
            pipeline.arrivals.withLock { table in keys.map { table.arrivals[$0]?.attempts ?? -1 } }
        }
        let tried = try await poll(attempts, until: { !$0.contains(0) })
        #expect(tried.allSatisfy { $0 > 0 })

        isPaused.withLock { $0 = true }
        repeat { await pipeline.retryAll() } while pipeline.arrivals.withLock({ $0.queuedCount }) < count
        try house.drop(["good.jpg": "exif.jpg"])
        await pipeline.examine(ArrivalKey(inbox: "card", path: "good.jpg"), as: nil)
        retried.withLock { $0 = 0 }
        isPaused.withLock { $0 = false }
        await pipeline.admissionChanged()
        var filed: Int?
        for await end in ends where end.name == "good.jpg" {
            filed = end.retries
            break
        }
        // Those that were taken beside it while it was filed.
        let before = try #require(filed)
        #expect(before < count / 2, "\(before) retries before a first look")
        _ = await pipeline.stop(hurrying: true)
        house.catalogue.close()
        withExtendedLifetime(scratch) {}
    }
}
