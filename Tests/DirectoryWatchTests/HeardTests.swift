import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import DirectoryWatch

@Suite("Told without a look where nobody wants identities, a file is known as well as any", .timeLimit(.minutes(60)))
struct HeardTests {
    private static let names = (10..<50).map { "\($0).jpg" }

    /// A watch that may do without identities, and that has seen what times its file system keeps.
    private static func watched(identifiesFiles: Bool = false) async throws -> Watched {
        let watched = try Watched(identifiesFiles: identifiesFiles, below: "/dev/shm")
        await watched.start()
        try await watched.passEvents()
        return watched
    }

    /// So many files that they are a burst, all of which one turn takes.
    private static func burst(_ watched: Watched, _ more: () throws -> Void = {}) async throws -> [WatchNotice] {
        try watched.whileEngineIsStuck {
            for name in names { try watched.write("inbox/\(name)", name) }
            try more()
        }
        try await watched.passEvents()
        return watched.take().filter { if case .finished = $0.kind { true } else { false } }
    }

    @Test("A burst is told file by file, and a comparison has nothing to add")
    func burst() async throws {
        let watched = try await Self.watched()
        let told = try await Self.burst(watched)
        #expect(told.map(\.path.escaped) == Self.names)
        #expect(told.allSatisfy { $0.kind == .finished(.closeWrite) && $0.identity == nil })
        for _ in 0..<2 {
            #expect(await watched.reconcile().map(\.found) == [0])
            #expect(watched.take().isEmpty)
        }
        await watched.end()
    }

    @Test("A file that comes alone is told without a look, and so is one that was looked at while it was written")
    func alone() async throws {
        let watched = try await Self.watched()
        try watched.whileEngineIsStuck { try watched.write("inbox/alone", "alone") }
        let slow = open(watched.path("slow"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        try await watched.passEvents()
        #expect(
            watched.takeLines().filter { !$0.hasPrefix("cookie") } == ["alone finished(closeWrite)", "slow created"])
        // Its descriptor may be with a child that another test is about to start: so the close is waited for.
        try await watched.waitForClose("slow") {
            write(slow, "slow", 4)
            close(slow)
        }
        let told = watched.take().filter { $0.path == "slow" }
        #expect(told.map { describe($0.kind) } == ["finished(closeWrite)"])
        #expect(told.allSatisfy { $0.identity == nil })
        #expect(await watched.reconcile().map(\.found) == [0])
        await watched.end()
    }

    @Test("A file that comes alone where one was told just before is told early, and is known as well as any")
    func early() async throws {
        let watched = try Watched(isDriven: true, identifiesFiles: false, below: "/dev/shm")
        await watched.start()
        var names: [String] = []
        // Creation and close come in one read, unless the thread is held up between them.
        while watched.toldEarly.withLock({ $0 }) < 10 {
            let name = "\(names.count).jpg"
            try #require(names.count < 2_000)
            try await watched.waitForClose(BytePath(name)) { try watched.write("inbox/\(name)", name) }
            names.append(name)
        }
        #expect(watched.takeFinished() == names.map { "\($0) finished(closeWrite)" })
        // Of the last ones the core has not heard, when this happens to them.
        let (written, renamed, removed) = (names[names.count - 1], names[names.count - 2], names[names.count - 3])
        try await watched.waitForClose(BytePath(written)) {
            try watched.write("inbox/\(written)", "more than there was")
        }
        #expect(rename(watched.path(renamed), watched.path("other.jpg")) == 0)
        #expect(unlink(watched.path(removed)) == 0)
        try await watched.settle()
        #expect(
            Set(watched.takeLines()) == [
                "\(written) finished(closeWrite)", "other.jpg renamed(\(renamed))", "\(removed) vanished",
            ])
        #expect(await watched.reconcile().map(\.found) == [0])
        #expect(watched.take().isEmpty)
        let root = watched.queue.sync { watched.watch.snapshot().roots[0] }
        #expect(root.knownFiles == names.count - 1)
        await watched.end()
    }

    @Test("Who wants identities is given them")
    func identified() async throws {
        let watched = try await Self.watched(identifiesFiles: true)
        let told = try await Self.burst(watched)
        #expect(told.map(\.path.escaped) == Self.names)
        #expect(told.allSatisfy { $0.identity != nil })
        await watched.end()
    }

    @Test("What happens to such a file later is told")
    func later() async throws {
        let watched = try await Self.watched()
        _ = try await Self.burst(watched)
        try await watched.waitForClose("10.jpg") { try watched.write("inbox/10.jpg", "more than there was") }
        #expect(rename(watched.path("11.jpg"), watched.path("other.jpg")) == 0)
        #expect(unlink(watched.path("12.jpg")) == 0)
        // Nothing tells of it but its times.
        var times = [timespec(tv_sec: 5, tv_nsec: 0), timespec(tv_sec: 5, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, watched.path("13.jpg"), &times, 0) == 0)
        // Another file takes the name of one that was told.
        try watched.write("aside.jpg", "aside")
        #expect(rename(watched.scratch.appending("aside.jpg"), watched.path("14.jpg")) == 0)
        try await watched.settle()
        #expect(
            Set(watched.takeLines()) == [
                "10.jpg finished(closeWrite)", "other.jpg renamed(11.jpg)", "12.jpg vanished", "13.jpg finished(found)",
                "14.jpg finished(movedIn)",
            ])
        #expect(await watched.reconcile().map(\.found) == [0])
        await watched.end()
    }

    @Test("What is in a renamed directory is told as renamed")
    func renamedDirectory() async throws {
        let watched = try await Self.watched()
        mkdir(watched.path("day"), 0o755)
        try await watched.settle()
        try watched.whileEngineIsStuck { for name in Self.names { try watched.write("inbox/day/\(name)", name) } }
        try await watched.passEvents()
        #expect(watched.takeFinished().count == Self.names.count)
        #expect(rename(watched.path("day"), watched.path("night")) == 0)
        try await watched.settle()
        let lines = Set(watched.takeLines())
        #expect(lines.isSuperset(of: Self.names.map { "night/\($0) renamed(day/\($0))" }))
        #expect(!lines.contains { $0.contains("finished") || $0.hasSuffix("jpg vanished") })
        await watched.end()
    }

    @Test(
        "A FIFO that a burst made a file of is told as what it is by a comparison, and none is taken for a file again")
    func fifo() async throws {
        let watched = try await Self.watched()
        func makeFIFO(_ name: String) {
            mkfifo(watched.path(name), 0o600)
            close(open(watched.path(name), O_RDWR | O_NONBLOCK | O_CLOEXEC))
        }
        let told = try await Self.burst(watched) { makeFIFO("first") }
        #expect(told.contains { $0.path == "first" })
        _ = await watched.reconcile()
        #expect(watched.takeLines() == ["first vanished", "first notRegular(fifo)"])
        try watched.whileEngineIsStuck {
            for name in Self.names { try watched.write("inbox/more-\(name)", name) }
            makeFIFO("second")
        }
        try await watched.settle()
        let more = watched.take()
        #expect(more.filter { $0.path == "second" }.map { describe($0.kind) } == ["notRegular(fifo)"])
        #expect(more.filter { $0.kind == .finished(.closeWrite) }.allSatisfy { $0.identity != nil })
        #expect(more.count == Self.names.count + 1)
        await watched.end()
    }

    /// The core with a file `f` that it told without a look, all events taken.
    private static func modelWithOneHeard() throws -> Model {
        var model = Model(identifiesFiles: false)
        try model.comeToRest()
        // The first is looked at, which shows how fine the times are.
        for name in ["seen", "f"] {
            model.kernel.create(FakeKernel.tops[0], name)
            model.kernel.close(0)
            model.takeAllEvents()
            try model.comeToRest()
        }
        #expect(model.heard == 1 && model.alone == 1)
        return model
    }

    @Test("The model, too, tells files early, and its core takes account of them before anything else")
    func earlyInModel() throws {
        var model = try Self.modelWithOneHeard()
        for name in ["before", "g"] {
            model.kernel.create(FakeKernel.tops[0], name)
            model.kernel.close(0)
            model.takeAllEvents()
        }
        #expect(model.toldEarly == 1 && model.alone == 2)
        #expect(model.place(of: "g") == nil)
        model.settle()
        let (directory, name) = try #require(model.place(of: "g"))
        #expect(model.core.files[directory, name]?.state == .heard)
        try model.comeToRest()
        #expect(model.faults() == [])
    }

    @Test("A change in the tick in which a file was told is told if an event speaks of it")
    func sameTick() throws {
        var model = try Self.modelWithOneHeard()
        let changes = model.receiver.changes
        let (directory, name) = try #require(model.place(of: "f"))
        let identity = try #require(model.core.files[directory, name]).identity
        let seen = FileIdentity(inode: 7, size: 3, modified: identity.changed, changed: identity.changed)
        // By a listing alone it is the file that was told.
        var other = model
        other.core.observe(directory, name, .file(.regular, seen, links: 1), Hints(signs: .surveyed))
        #expect(other.core.output.notices.isEmpty)
        #expect(other.core.files[directory, name] == KnownFile(identity: seen, state: .reported))
        model.core.observe(directory, name, .file(.regular, seen, links: 1), Hints(signs: .closed))
        #expect(model.core.output.notices.map(\.kind) == [.finished(.closeWrite)])
        #expect(model.receiver.changes == changes)
    }

    @Test("When the clock is set back, all that was told without a look is looked at")
    func clockSetBack() throws {
        var model = try Self.modelWithOneHeard()
        let changes = model.receiver.changes
        let (directory, name) = try #require(model.place(of: "f"))
        model.core.beginRead(at: FileTime(seconds: 1, nanoseconds: 0), isAll: true)
        model.pump()
        try model.comeToRest()
        #expect(model.core.files[directory, name]?.state == .reported)
        #expect(model.receiver.changes == changes)
        #expect(model.faults() == [])
    }
}

extension Model {
    /// Takes everything that the kernel's queue holds, in one turn.
    fileprivate mutating func takeAllEvents() { perform(ModelStep(kind: .events, a: 5, b: 0)) }

    fileprivate mutating func comeToRest() throws {
        let isAtRest = drain()
        try #require(isAtRest)
    }

    fileprivate func place(of name: BytePath) -> (NodeID, NameID)? {
        guard let id = core.table.names.find(name) else { return nil }
        return (core.roots[0].top, id)
    }
}
