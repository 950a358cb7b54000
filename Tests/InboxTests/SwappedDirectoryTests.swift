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
        let (inside, outside) = ("\(scratch.path)/inbox/d", "\(scratch.path)/outside")
        let photo = BytePath("d/a.jpg")
        // What became of each, and how often it was deferred before that.
        let ends = Locked<[BytePath: Outcome]>([:])
        let deferrals = Locked<[BytePath: [String]]>([:])
        let isBack = Locked(false)
        let pipeline = try Pipeline(
            workers: [house.worker],
            subsystem: Subsystem(name: "pipeline", queue: MonitorQueue(label: "test.pipeline"), isVital: true),
            arrivals: ArrivalTable(),
            listener: Pipeline.Listener(
                ended: { ended in ends.withLock { $0[ended.key.path] = ended.outcome } },
                deferred: { key, reason, _, _ in
                    deferrals.withLock { $0[key.path, default: []].append(reason) }
                    // At once, however slow the machine is: nobody waits for it for more than ten seconds.
                    guard key.path == photo, !isBack.withLock({ $0 }) else { return }
                    if isLinkThere { unlink(inside) }
                    rename(outside, inside)
                    unlink("\(inside)/b.jpg")
                    isBack.withLock { $0 = true }
                },
                symptom: { _ in }, activity: { _ in }))
        let kept = Locked<[BytePath]>([])
        await pipeline.start { key, _, _ in kept.withLock { $0.append(key.path) } }
        #expect(mkdir(inside, 0o755) == 0 && mkdir("\(scratch.path)/trap", 0o755) == 0)
        try house.drop(["d/a.jpg": "exif.jpg", "d/b.jpg": "plain.jpg"])
        let identity = try FileStatus(at: BytePath("\(inside)/a.jpg")).identity
        #expect(rename(inside, outside) == 0)
        if isLinkThere { #expect(symlink("\(scratch.path)/trap", inside) == 0) }
        pipeline.receive(
            [photo, "d/b.jpg"].map {
                WatchNotice(root: "card", path: $0, kind: .finished(.closeWrite), identity: identity)
            })
        let result = await Result {
            try await poll({ isBack.withLock { $0 } }) { $0 }
            // The other one was removed meanwhile, which the watch does report.
            pipeline.receive([WatchNotice(root: "card", path: "d/b.jpg", kind: .vanished)])
            try await poll({ pipeline.arrivals.withLock { $0.arrivals.count } }) { $0 == 0 }
        }
        _ = await pipeline.stop(hurrying: false)
        house.catalogue.close()
        try result.get()
        #expect(ends.withLock { $0 } == [photo: .filed, "d/b.jpg": .withdrawn])
        #expect(deferrals.withLock { $0[photo] } == ["its name leads to no such file at the moment"])
        #expect(house.files("library").keys.contains { $0.hasSuffix("a.jpg") })
        #expect(kept.withLock(\.isEmpty), "nothing was acknowledged that was not seen")
    }
}

extension Result where Failure == any Error {
    /// What `body` returns or throws, so that something can be ended in any case.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
