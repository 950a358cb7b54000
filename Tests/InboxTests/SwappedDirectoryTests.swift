import Catalogue
import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel
import QueueActors
import SystemMonitor
import TestSupport
import Testing

@testable import Ingest

@Suite("A photo whose directory is elsewhere for a moment is filed once that is back, without another notice")
struct SwappedDirectoryTests {
    @Test(arguments: [false, true])
    func awayAndBack(isLinkThere: Bool) async throws {
        let scratch = try ScratchDirectory()
        let house = try WorkerHouse(scratch.path)
        let reports = Locked<[String]>([])
        let pipeline = try Pipeline(
            workers: [house.worker],
            subsystem: Subsystem(name: "pipeline", queue: MonitorQueue(label: "test.pipeline"), isVital: true),
            arrivals: ArrivalTable(),
            listener: Pipeline.Listener(
                ended: { ended in reports.withLock { $0.append("\(ended.outcome)") } },
                deferred: { _, reason, _, _ in reports.withLock { $0.append("deferred: \(reason)") } },
                symptom: { _ in }, activity: { _ in }))
        let kept = Locked<[BytePath]>([])
        await pipeline.start { key, _, _ in kept.withLock { $0.append(key.path) } }
        let (inside, outside) = ("\(scratch.path)/inbox/d", "\(scratch.path)/outside")
        #expect(mkdir(inside, 0o755) == 0 && mkdir("\(scratch.path)/trap", 0o755) == 0)
        try house.drop(["d/a.jpg": "exif.jpg", "d/b.jpg": "plain.jpg"])
        let identity = try FileStatus(at: BytePath("\(inside)/a.jpg")).identity
        #expect(rename(inside, outside) == 0)
        if isLinkThere { #expect(symlink("\(scratch.path)/trap", inside) == 0) }
        pipeline.receive(
            ["d/a.jpg", "d/b.jpg"].map {
                WatchNotice(root: "card", path: $0, kind: .finished(.closeWrite), identity: identity)
            })
        try await poll({ reports.withLock { $0 } }) { $0.count == 2 }
        let deferred = "deferred: its name leads to no such file at the moment"
        #expect(reports.withLock { $0 } == [deferred, deferred])
        if isLinkThere { #expect(unlink(inside) == 0) }
        #expect(rename(outside, inside) == 0)
        // One was removed meanwhile, which the watch does report.
        #expect(unlink("\(inside)/b.jpg") == 0)
        pipeline.receive([WatchNotice(root: "card", path: "d/b.jpg", kind: .vanished)])
        try await poll({ pipeline.arrivals.withLock { $0.arrivals.count } }) { $0 == 0 }
        #expect(Set(reports.withLock { $0 }.dropFirst(2)) == ["filed", "withdrawn"])
        #expect(house.files("library").keys.contains { $0.hasSuffix("a.jpg") })
        #expect(kept.withLock(\.isEmpty), "nothing was acknowledged that was not seen")
        _ = await pipeline.stop(hurrying: false)
        house.catalogue.close()
    }
}
