import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("The cookie proves that events arrive")
struct LivenessTests {
    @Test("An event is expected from touching the cookie until it comes")
    func proof() {
        var proof = LivenessProof()
        proof.answer(at: 5)
        #expect(proof.count == 0)
        let isNew1 = proof.ask(at: 10)
        #expect(isNew1)
        let isNew2 = proof.ask(at: 20)
        #expect(!isNew2)
        #expect(LivenessReport(proof).silence(at: 25) == 15)
        // Whoever read the clock before the cookie was touched.
        #expect(LivenessReport(proof).silence(at: 9) == 0)
        proof.answer(at: 30)
        #expect(proof.latency == 20)
        #expect(LivenessReport(proof).silence(at: 90) == nil)
        let isNew3 = proof.ask(at: 40)
        #expect(isNew3)
        proof.withdraw()
        #expect(LivenessReport(proof, failure: "read-only").silence(at: 90) == nil)
        #expect(proof.count == 1)
    }

    /// Lets the watch tick until its liveness is as wanted.
    private func tick(_ watched: Watched, until condition: (LivenessReport) -> Bool) async throws {
        try await poll {
            watched.queue.sync { watched.watch.tick() }
            return try #require(watched.watch.snapshot().liveness)
        } until: {
            condition($0)
        }
    }

    @Test("While the source is suspended the event is overdue; when it is resumed, it comes", .timeLimit(.minutes(60)))
    func deadSource() async throws {
        let scratch = try ScratchDirectory()
        let watched = try Watched(livenessDirectory: scratch.bytePath)
        await watched.start()
        try await tick(watched) { $0.count >= 2 }
        let report = try #require(watched.watch.snapshot().liveness)
        #expect(try #require(report.latency) > 0)
        #expect(report.failure == nil)
        // Nobody reads the kernel's queue any more.
        watched.queue.sync { watched.watch.monitor?.suspend() }
        try await tick(watched) { $0.askedAt != nil }
        let before = try #require(watched.watch.snapshot().liveness)
        for _ in 0..<100 { watched.queue.sync { watched.watch.tick() } }
        let after = try #require(watched.watch.snapshot().liveness)
        #expect(after.askedAt == before.askedAt)
        #expect(after.count == before.count)
        watched.queue.sync { watched.watch.monitor?.resume() }
        try await tick(watched) { $0.count > before.count }
        // The tree's notices know nothing of it.
        #expect(watched.removeLines().isEmpty)
        #expect(watched.watch.snapshot().strayEvents == 0)
        await watched.end()
    }

    @Test("If the cookie cannot be made, no event is expected, and the report has the reason", .timeLimit(.minutes(60)))
    func noCookie() async throws {
        let watched = try Watched(livenessDirectory: "/nonexistent")
        await watched.start()
        try await tick(watched) { $0.failure != nil }
        #expect(watched.watch.snapshot().liveness?.askedAt == nil)
        await watched.end()
    }

    private func events(of instance: InotifyInstance) throws -> [EventRecord] {
        try withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            let count = try instance.read(into: buffer)
            return InotifyRecords(UnsafeRawBufferPointer(rebasing: buffer[..<count])).map {
                EventRecord(watch: $0.watch, mask: $0.mask, cookie: $0.cookie, name: BytePath($0.name))
            }
        }
    }

    /// The events up to the next close. It is waited for: a child that another test is starting holds the cookie open until
    /// its exec, and only then does the close raise its event.
    private func eventsToClose(of instance: InotifyInstance) async throws -> [EventRecord] {
        var all: [EventRecord] = []
        _ = try await poll({
            if try instance.queuedBytes() > 0 { all += try events(of: instance) }
        }) { all.contains { $0.mask == .closedAfterWriting } }
        return all
    }

    /// Touches and waits until it is done: the watch, or the failure.
    private func touch(_ cookie: LivenessCookie) -> Result<Int32, SystemCallError> {
        let result = Locked<Result<Int32, SystemCallError>?>(nil)
        cookie.touch { watch, raise in
            result.withLock { $0 = .success(watch) }
            raise()
        } failed: { error in
            result.withLock { $0 = .failure(error) }
        }
        // Opened, and then closed.
        for _ in 0..<2 { cookie.queue.sync {} }
        return result.withLock { $0 } ?? .success(-1)
    }

    @Test("A touch raises one event and writes nothing")
    func touches() async throws {
        let scratch = try ScratchDirectory()
        let instance = try InotifyInstance()
        let cookie = LivenessCookie(label: "test.cookie", directory: scratch.bytePath, instance: instance)
        let watch = try touch(cookie).get()
        #expect(
            try await eventsToClose(of: instance) == [
                EventRecord(watch: watch, mask: .closedAfterWriting, cookie: 0, name: "")
            ])
        let directory = try openDirectory(scratch.bytePath)
        let before = try FileStatus(of: LivenessCookie.name, in: directory)
        #expect(try touch(cookie).get() == watch)
        #expect(try await eventsToClose(of: instance).map(\.watch) == [watch])
        #expect(try FileStatus(of: LivenessCookie.name, in: directory).identity == before.identity)
        #expect(before.identity.size == 0)
        #expect(before.mode == 0o600)
        cookie.end()
        cookie.queue.sync {}
        #expect(throws: SystemCallError.self) { try FileStatus(of: LivenessCookie.name, in: directory) }
        #expect(try touch(cookie).get() == -1)
    }

    @Test("No event comes before its handler is set, and no second touch begins before the first has ended")
    func raises() async throws {
        let scratch = try ScratchDirectory()
        let instance = try InotifyInstance()
        let cookie = LivenessCookie(label: "test.cookie", directory: scratch.bytePath, instance: instance)
        let held = Locked<(@Sendable () -> Void)?>(nil)
        cookie.touch { _, raise in
            held.withLock { $0 = raise }
        } failed: { _ in
        }
        cookie.queue.sync {}
        let raise = try #require(held.withLock { $0 })
        #expect(try touch(cookie).get() == -1)
        #expect(try instance.queuedBytes() == 0)
        raise()
        cookie.queue.sync {}
        #expect(try await eventsToClose(of: instance).map(\.mask) == [.closedAfterWriting])
        #expect(try touch(cookie).get() > 0)
        cookie.end()
    }

    @Test("A replaced cookie gets a new watch; links are not followed")
    func replaced() async throws {
        let scratch = try ScratchDirectory()
        let instance = try InotifyInstance()
        let cookie = LivenessCookie(label: "test.cookie", directory: scratch.bytePath, instance: instance)
        let first = try touch(cookie).get()
        #expect(try await eventsToClose(of: instance).map(\.watch) == [first])
        let path = scratch.appending("watch.cookie")
        // Kept under another name, so that its inode is not used again.
        rename(path, path + ".old")
        let watch = try touch(cookie).get()
        #expect(try await eventsToClose(of: instance).filter { $0.mask == .closedAfterWriting }.map(\.watch) == [watch])
        unlink(path)
        symlink(path + ".old", path)
        #expect(throws: SystemCallError.self) { try touch(cookie).get() }
        cookie.end()
        cookie.queue.sync {}
        let absent = LivenessCookie(label: "test.cookie", directory: "/nonexistent", instance: instance)
        #expect(throws: SystemCallError.self) { try touch(absent).get() }
    }
}
