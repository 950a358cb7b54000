import CLinux
import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Mount monitors", .timeLimit(.minutes(60)))
struct MountMonitorTests {
    private let queue = MonitorQueue(label: "test.mounts")

    /// A shell in its own mount namespace, without any process of the tests.
    private final class Namespace: Sendable {
        let shell: Int32
        private let commands: OwnedDescriptor
        private let answers: OwnedDescriptor

        init() throws {
            let (input, output) = (try makePipe(), try makePipe())
            defer { for number in [input.reading, output.writing] { close(number) } }
            commands = OwnedDescriptor(taking: input.writing)
            answers = OwnedDescriptor(taking: output.reading)
            let user: [BytePath] = getuid() == 0 ? [] : ["--user", "--map-root-user"]
            shell = try ChildProcess.spawn(
                "/usr/bin/unshare", user + ["--mount", "--propagation", "private", "/bin/sh"],
                environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], input: .descriptor(input.reading),
                output: .descriptor(output.writing)
            ).identifier
            try run(":")
        }

        /// Runs one command to its end.
        func run(_ command: String) throws {
            try send("\(command) && echo done || echo failed\n", to: commands.raw)
            let answer = try receive(from: answers.raw)
            guard answer == "done\n" else { throw Refused(answer: answer) }
        }

        deinit {
            kill(shell, SIGKILL)
            var status: Int32 = 0
            waitpid(shell, &status, 0)
        }
    }

    private struct Refused: Error { let answer: String }

    private static let refusal: String? = {
        do {
            try Namespace().run("mount -t tmpfs none /tmp")
            return nil
        } catch {
            return "\(error)"
        }
    }()

    @Test(
        "A mount, a remount and an unmount are reported",
        .enabled(if: refusal == nil, "skipped: needs root or user namespaces: \(refusal ?? "")"))
    func mountAndUnmount() async throws {
        let scratch = try ScratchDirectory()
        let place = scratch.appending("a b\\c\nd")
        let quoted = "'\(place)'"
        let namespace = try Namespace()
        var observed = await Observed(try MountMonitor(ofProcess: namespace.shell, label: "mounts", queue: queue))

        try namespace.run("mkdir \(quoted)")
        try namespace.run("mount -t tmpfs -o size=64k photos \(quoted)")
        let mounted = try await observed.next()
        #expect(
            mounted.added.map(\.mountPoint) == [BytePath(place)] && mounted.removed.isEmpty && mounted.changed.isEmpty)
        #expect(mounted.added.first?.type == "tmpfs" && mounted.added.first?.source == "photos")
        #expect(mounted.added.first?.isReadOnly == false)

        try namespace.run("mount -o remount,bind,ro \(quoted)")
        let remounted = try await observed.next()
        #expect(remounted.changed.map(\.after.mountPoint) == [BytePath(place)] && remounted.added.isEmpty)
        #expect(
            remounted.changed.first?.after.isReadOnly == true && remounted.changed.first?.before.isReadOnly == false)

        try namespace.run("umount \(quoted)")
        let unmounted = try await observed.next()
        #expect(unmounted.removed.map(\.mountPoint) == [BytePath(place)] && unmounted.added.isEmpty)
        let monitor = observed.monitor
        #expect(queue.sync { monitor.mounts() }.mounts.values.allSatisfy { $0.mountPoint != BytePath(place) })
        await observed.end()
    }

    @Test(
        "A change during the handler is reported",
        .enabled(if: refusal == nil, "skipped: needs root or user namespaces: \(refusal ?? "")"))
    func missesNothing() async throws {
        let scratch = try ScratchDirectory()
        let namespace = try Namespace()
        let monitor = try MountMonitor(ofProcess: namespace.shell, label: "mounts", queue: queue)
        // Each is mounted by the handler of the one before: after the table was read, and before the kernel is polled
        // for the next event.
        let left = Locked(5)
        var observed = await Observed(monitor) { _, _ in
            let number = left.withLock { left in
                left -= 1
                return left
            }
            if number >= 0 { try namespace.run("mount -t tmpfs number\(number) \(scratch.path)") }
        }
        // On the queue, so that the handler does not use the shell before this has its answer.
        try queue.sync { try namespace.run("mount -t tmpfs first \(scratch.path)") }
        for source in ["first", "number4", "number3", "number2", "number1", "number0"] {
            #expect(try await observed.next().added.map(\.source) == [BytePath(source)])
        }
        await observed.end()
    }

    /// Runs `work` on a thread in its own mount namespace, with the thread's number for /proc.
    private static func inOwnMounts(_ work: @escaping @Sendable (Int32) -> Void) async {
        await withCheckedContinuation { done in
            let begin = Unmanaged.passRetained(Body(work: work) { done.resume() })
            var thread = pthread_t()
            let status = pthread_create(
                &thread, nil,
                { context in
                    guard let context else { return nil }
                    let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
                    typealias Unshare = @convention(c) (Int32) -> Int32
                    let unshare = unsafeBitCast(dlsym(nil, "unshare"), to: Unshare.self)
                    #expect(unshare(0x2_0000) == 0, "CLONE_NEWNS")
                    #expect(mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0)
                    body.work(clinux_gettid())
                    body.done()
                    return nil
                }, begin.toOpaque())
            #expect(status == 0)
            pthread_detach(thread)
        }
    }

    private final class Body: Sendable {
        let work: @Sendable (Int32) -> Void
        let done: @Sendable () -> Void
        init(work: @escaping @Sendable (Int32) -> Void, done: @escaping @Sendable () -> Void) {
            self.work = work
            self.done = done
        }
    }

    @Test(
        "The second of two quick changes is reported too",
        .enabled(if: geteuid() == 0, "skipped: needs root, to mount"))
    func twoInARow() async throws {
        let scratch = try ScratchDirectory()
        let queue = queue
        let places = (0..<2).map { scratch.appending("\($0)") }
        for place in places { mkdir(place, 0o755) }
        let missed = Locked(0)
        await Self.inOwnMounts { thread in
            guard let monitor = try? MountMonitor(ofProcess: thread, label: "pairs", queue: queue) else {
                return missed.withLock { $0 = -1 }
            }
            // The number of mounts to wait for, and the semaphore to signal.
            let wanted = Locked(-1)
            let told = DispatchSemaphore(value: 0)
            let look: @Sendable () -> Void = { [unowned monitor] in
                let count = monitor.mounts().mounts.values.count { places.map { BytePath($0) }.contains($0.mountPoint) }
                let isWanted = wanted.withLock { wanted in
                    guard wanted == count else { return false }
                    wanted = -1
                    return true
                }
                if isWanted { told.signal() }
            }
            queue.sync {
                monitor.setEventHandler { _ in look() }
                monitor.activate { told.signal() }
            }
            told.wait()
            for round in 0..<400 {
                for target in [2, 0] {
                    wanted.withLock { $0 = target }
                    for (index, place) in places.enumerated() {
                        if index == 1 { for _ in 0..<(round % 50) * 200 { clinux_gettid() } }
                        if target == 2 {
                            #expect(mount("none", place, "tmpfs", 0, nil) == 0)
                        } else {
                            #expect(umount2(place, 0) == 0)
                        }
                    }
                    // A report arrives within a millisecond or never.
                    if told.wait(timeout: .now() + 2 * slowness) == .timedOut { missed.withLock { $0 += 1 } }
                }
            }
            queue.sync { monitor.invalidate { told.signal() } }
            told.wait()
        }
        #expect(missed.withLock { $0 } == 0)
    }

    @Test("The mounts of this process are listed")
    func ownMounts() async throws {
        let monitor = try MountMonitor(label: "own", queue: queue)
        let observed = await Observed(monitor)
        let mounts = queue.sync { monitor.mounts() }.mounts.values
        #expect(mounts.contains { $0.mountPoint == "/proc" && $0.type == "proc" })
        await observed.end()
    }

    @Test("A missing process is an error")
    func missingProcess() {
        let refusal = #expect(throws: SystemCallError.self) {
            try MountMonitor(ofProcess: 1 << 23, label: "nobody", queue: queue)
        }
        #expect(refusal?.code == .noSuchFileOrDirectory)
    }
}
