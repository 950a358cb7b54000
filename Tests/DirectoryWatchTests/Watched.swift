import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport

@testable import DirectoryWatch
@testable import WatchCore

/// A watch over a scratch directory (or several) with all its notices kept, for tests.
final class Watched: Sendable {
    let scratch: ScratchDirectory
    let queue: MonitorQueue
    private let rootQueues: [MonitorQueue]
    let watch: DirectoryWatch
    private let notices = Locked<[WatchNotice]>([])
    private let waiters = Locked<[(condition: @Sendable (WatchNotice) -> Bool, resume: @Sendable () -> Void)]>([])

    /// Watches the directory `inbox` in a scratch directory, which may be that of an earlier one.
    init(
        reportsChanges: Bool = false, policy: ComparePolicy = ComparePolicy(),
        livenessDirectory: BytePath? = nil, roots: [String] = ["inbox"], below parent: String? = nil,
        in scratch: ScratchDirectory? = nil, memory: WatchMemory = WatchMemory(),
        asksForLeases: Bool = false, sharesQueue: Bool = false, exclude: (@Sendable (BytePath, FileKind) -> Bool)? = nil
    ) throws {
        if asksForLeases { handleSIGIO() }
        let scratch = try scratch ?? ScratchDirectory(below: parent)
        self.scratch = scratch
        queue = MonitorQueue(label: "test.watch")
        rootQueues = roots.map { [queue] in sharesQueue ? queue : MonitorQueue(label: "test.root.\($0)") }
        watch = try DirectoryWatch(
            label: "test", queue: queue,
            roots: zip(roots, rootQueues).map { name, queue in
                var root = WatchRoot(
                    id: name, path: scratch.bytePath.appending(BytePath(name)), queue: queue, exclude: exclude)
                root.handlesSIGIO = asksForLeases
                return root
            }, memory: memory, reportsChanges: reportsChanges, tick: nil, policy: policy,
            livenessDirectory: livenessDirectory)
        for name in roots { mkdir(scratch.appending(name), 0o755) }
    }

    /// Starts, and waits until all that was there has been reported.
    func start() async {
        await withCheckedContinuation { continuation in
            queue.async {
                let handler: @Sendable ([WatchNotice]) -> Void = {
                    [notices = self.notices, waiters = self.waiters] batch in
                    notices.withLock { $0 += batch }
                    let due = waiters.withLock { waiters in
                        let due = waiters.filter { waiter in batch.contains(where: waiter.condition) }
                        waiters.removeAll { waiter in batch.contains(where: waiter.condition) }
                        return due.map(\.resume)
                    }
                    for resume in due { resume() }
                }
                self.watch.setHandler(handler)
                self.watch.activate(onReconciled: { _ in continuation.resume() })
            }
        }
    }

    /// Makes a file in a root and waits until it is reported as finished, twice: all events before the first were applied
    /// then, at the latest with the lookup that reported the second.
    func passEvents(in root: String = "inbox") async throws {
        for _ in 0..<2 {
            let name = "cookie-\(UInt32.random(in: 0 ... .max))"
            try await wait { notice in
                guard case .finished = notice.kind else { return false }
                return notice.path == BytePath(name)
            } while: {
                try self.write("\(root)/\(name)", "")
            }
            queue.sync { watch.forget(root: root, path: BytePath(name)) }
            unlink(scratch.appending("\(root)/\(name)"))
        }
    }

    /// The same, and then compares, so that half renames and directories' surveys are through, too.
    func awaitQuiet(in root: String = "inbox") async throws {
        try await passEvents(in: root)
        _ = await reconcile(root)
    }

    /// Makes a file in the root `inbox`, leaves it open, and waits until it is reported as created: it is looked up when some
    /// time has passed, and so may be reported later than files that are made and closed after it.
    func openNew(_ name: String) async throws -> Int32 {
        let path = BytePath(name)
        var file: Int32 = -1
        try await wait {
            $0.path == path && $0.kind == .created
        } while: {
            file = try systemCall("open") { open(self.path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644) }
        }
        return file
    }

    /// Waits for a notice that comes while or after `body` runs.
    func wait(
        _ condition: @escaping @Sendable (WatchNotice) -> Bool, while body: () throws -> Void
    ) async throws {
        let stream = AsyncStream<Void> { continuation in
            waiters.withLock { $0.append((condition, { continuation.finish() })) }
        }
        try body()
        for await _ in stream {}
    }

    /// Runs `body` while the engine's queue can do nothing.
    func whileEngineIsStuck(_ body: () throws -> Void) throws {
        let isStuck = DispatchSemaphore(value: 0)
        let blocker = DispatchSemaphore(value: 0)
        queue.async {
            isStuck.signal()
            blocker.wait()
        }
        isStuck.wait()
        defer { blocker.signal() }
        try body()
    }

    /// Waits until a file is reported as closed. The kernel reports of the last close: a program that another test starts at
    /// the same moment holds the file open, too, until it is executed.
    func waitForClose(_ path: BytePath, while body: () throws -> Void) async throws {
        try await wait({ $0.path == path && $0.kind == .finished(.closeWrite) }, while: body)
    }

    func reconcile(_ root: String? = nil) async -> [ReconcileReport] {
        await withCheckedContinuation { continuation in
            queue.async { self.watch.reconcile(root: root) { continuation.resume(returning: $0) } }
        }
    }

    /// Ends the watch, and waits until its workers have ended their requests.
    func end() async {
        await withCheckedContinuation { continuation in
            queue.async { self.watch.invalidate { continuation.resume() } }
        }
        for queue in rootQueues { queue.sync {} }
    }

    /// All notices so far without those of cookies, and starts anew.
    func removeNotices() -> [WatchNotice] {
        notices.withLock { all in
            defer { all = [] }
            return all.filter { !$0.path.name.bytes.starts(with: Array("cookie-".utf8)) }
        }
    }

    /// The same as `path kind` lines.
    func removeLines() -> [String] { removeNotices().map { "\($0.path) \(describe($0.kind))" } }

    /// Those of finished files alone.
    func removeFinished() -> [String] { removeLines().filter { $0.contains(" finished(") } }

    func removeFinishedPaths() -> [String] {
        removeFinished().map { $0.split(separator: " ").dropLast().joined(separator: " ") }
    }

    func path(_ name: String) -> String { scratch.appending("inbox/\(name)") }

    func write(_ name: String, _ text: String) throws {
        try openDescriptors.withLock { _ in
            let file = open(scratch.appending(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            guard file >= 0 else { throw Failed(call: "open \(name)", code: errno) }
            _ = text.withCString { Glibc.write(file, $0, strlen($0)) }
            close(file)
        }
    }
}

struct Failed: Error {
    let call: String
    let code: Int32
}

func describe(_ kind: WatchNotice.Kind) -> String {
    switch kind {
    case .finished(let cause): "finished(\(cause))"
    case .renamed(let from): "renamed(\(from))"
    case .notRegular(let kind): "notRegular(\(kind))"
    default: "\(kind)"
    }
}

/// A lease that a writer breaks must not end this process. Not ignored, which other parts would see and ask for leases:
/// beside tests that start programs, which hold files open until they are executed, these say little.
func handleSIGIO() { signal(SIGIO) { _ in } }
