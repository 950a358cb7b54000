import Dispatch
public import Glibc
import LinuxKernel
import SystemPackage

/// The limit in seconds for expected events: no test may fail because a machine or a sanitizer is slow. Only a test
/// that fails waits that long.
public let waitLimit = 600.0

/// The factor for deadlines of the tested code, for the same reason.
public let slowness = 10.0

/// The factor for memory of the tested code: Thread Sanitizer keeps bytes of its own for each, and reuses freed ones late.
public let memoryFactor = getenv("TSAN_OPTIONS") == nil ? 1 : 10

/// A program started by a test, to wait for its lines and its end and to send signals.
///
/// Waiting always has a deadline, so that a silent program fails the test with all its output.
public final class RunningProgram: Sendable {
    /// The end of a program.
    public enum Ending: Equatable, Sendable {
        case status(Int32)
        case signal(Int32)
    }

    /// The expected line or end did not occur in time.
    public struct TimedOut: Error, CustomStringConvertible {
        let wanted: String
        let lines: [String]
        /// The expectation and the whole output.
        public var description: String {
            "waited in vain for \(wanted); it said:\n" + lines.suffix(60).joined(separator: "\n")
        }
    }

    private struct Waiter {
        let id: Int
        let isWanted: @Sendable (String) -> Bool
        let continuation: CheckedContinuation<String, any Error>
        let wanted: String
    }

    private struct State {
        var lines: [String] = []
        /// The first line that no wait has returned.
        var position = 0
        var waiters: [Waiter] = []
        var lastID = 0
        var ending: Ending?
        var endWaiters: [(id: Int, continuation: CheckedContinuation<Ending, any Error>)] = []
    }

    /// Its process.
    public let pid: pid_t
    private let state = Locked(State())
    private let queue = DispatchQueue(label: "test.program")

    /// Starts `arguments[0]` and reads its standard output and error by lines. Signals are neither blocked nor ignored
    /// in it.
    public init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let ends = try makePipe()
        defer { close(ends.writing) }
        do {
            pid = try spawn(arguments, environment: Self.inheritedEnvironment.merging(environment) { $1 }) { actions in
                posix_spawn_file_actions_adddup2(&actions, ends.writing, STDOUT_FILENO)
                posix_spawn_file_actions_adddup2(&actions, ends.writing, STDERR_FILENO)
            }
        } catch {
            close(ends.reading)
            throw error
        }
        let descriptor = ends.reading
        // Plain blocking threads: the tested code must not be used to test itself.
        Thread.start { [self, pid] in
            readLines(of: descriptor)
            var status: Int32 = 0
            while waitpid(pid, &status, 0) == -1, errno == EINTR {}
            finished(status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F))
        }
    }

    /// Waits for the next line that `isWanted` accepts, after the one of the last wait.
    @discardableResult
    public func line(
        _ wanted: String, where isWanted: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            let now: (String?, Int)? = state.withLock { state in
                while state.position < state.lines.count {
                    let line = state.lines[state.position]
                    state.position += 1
                    if isWanted(line) { return (line, 0) }
                }
                if state.ending != nil { return (nil, 0) }
                state.lastID += 1
                state.waiters.append(
                    Waiter(id: state.lastID, isWanted: isWanted, continuation: continuation, wanted: wanted))
                return (nil, state.lastID)
            }
            guard let (line, id) = now else { return }
            if let line { return continuation.resume(returning: line) }
            if id == 0 { return continuation.resume(throwing: TimedOut(wanted: wanted, lines: lines)) }
            queue.asyncAfter(deadline: .now() + waitLimit) { [self] in
                let late = state.withLock { state in
                    let index = state.waiters.firstIndex { $0.id == id }
                    return index.map { state.waiters.remove(at: $0) }
                }
                late?.continuation.resume(throwing: TimedOut(wanted: wanted, lines: lines))
            }
        }
    }

    /// Waits for the next line with each of `parts`.
    @discardableResult
    public func line(holding parts: String...) async throws -> String {
        try await line(parts.joined(separator: " … ")) { line in
            parts.allSatisfy { line.contains($0) }
        }
    }

    /// All lines so far.
    public var lines: [String] { state.withLock { $0.lines } }

    /// The lines after the one of the last wait.
    public var unreadLines: [String] { state.withLock { Array($0.lines[$0.position...]) } }

    /// Whether it has ended.
    public var hasEnded: Bool { state.withLock { $0.ending != nil } }

    /// Sends it a signal.
    public func signal(_ number: Int32) { kill(pid, number) }

    /// Kills it if it runs, after a failed test.
    public func killIfRunning() { state.withLock { if $0.ending == nil { _ = kill(pid, SIGKILL) } } }

    /// Waits for its end.
    public func ending(within seconds: Double = waitLimit) async throws -> Ending {
        try await withCheckedThrowingContinuation { continuation in
            let now: (Ending?, Int) = state.withLock { state in
                if let ending = state.ending { return (ending, 0) }
                state.lastID += 1
                state.endWaiters.append((state.lastID, continuation))
                return (nil, state.lastID)
            }
            if let ending = now.0 { return continuation.resume(returning: ending) }
            queue.asyncAfter(deadline: .now() + seconds) { [self] in
                let late = state.withLock { state in
                    let index = state.endWaiters.firstIndex { $0.id == now.1 }
                    return index.map { state.endWaiters.remove(at: $0).continuation }
                }
                late?.resume(throwing: TimedOut(wanted: "its end", lines: lines))
            }
        }
    }

    private func readLines(of descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var rest: [UInt8] = []
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: 0x0A) {
                said(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
            }
        }
        if !rest.isEmpty { said(String(decoding: rest, as: UTF8.self)) }
        close(descriptor)
    }

    private func said(_ line: String) {
        let waiter: Waiter? = state.withLock { state in
            state.lines.append(line)
            guard let index = state.waiters.firstIndex(where: { $0.isWanted(line) }) else {
                if !state.waiters.isEmpty { state.position = state.lines.count }
                return nil
            }
            state.position = state.lines.count
            return state.waiters.remove(at: index)
        }
        waiter?.continuation.resume(returning: line)
    }

    private func finished(_ ending: Ending) {
        let (waiters, endWaiters) = state.withLock { state in
            state.ending = ending
            defer {
                state.waiters = []
                state.endWaiters = []
            }
            return (state.waiters, state.endWaiters)
        }
        for waiter in waiters { waiter.continuation.resume(throwing: TimedOut(wanted: waiter.wanted, lines: lines)) }
        for waiter in endWaiters { waiter.continuation.resume(returning: ending) }
    }

    private static var inheritedEnvironment: [String: String] {
        var found: [String: String] = [:]
        for name in ["PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "TSAN_OPTIONS"] {
            if let value = getenv(name) { found[name] = String(cString: value) }
        }
        return found
    }
}

/// A plain thread, detached.
public enum Thread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `run` on a new thread.
    public static func start(_ run: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(run)).toOpaque()
        pthread_create(
            &thread, nil,
            { pointer in
                if let pointer { Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run() }
                return nil
            }, body)
        pthread_detach(thread)
    }
}

/// Waits until the process with this number, a grandchild that is about to end, is gone or a zombie: in a container
/// where orphans are not reaped it stays a zombie.
public func processIsGone(_ number: Int32) async throws {
    try await poll {
        var bytes = [UInt8](repeating: 0, count: 512)
        let file = open("/proc/\(number)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return true }
        defer { close(file) }
        let count = read(file, &bytes, bytes.count)
        // The state follows the name, which is in parentheses and may contain some.
        let rest = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: ")")).last
        return count <= 0 || rest?.dropFirst().first == UInt8(ascii: "Z")
    } until: {
        $0
    }
}
