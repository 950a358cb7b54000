import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import Settings
import SystemMonitor
import TestSupport
import Testing

@testable import DaemonSupport
@testable import Hooks

@Suite("The daemon's side of the hooks' unit", .timeLimit(.minutes(60)))
struct HookConnectionTests {
    private let scratch: ScratchDirectory
    private let queue = MonitorQueue(label: "test.hooks")
    private let listener: Listener
    private var socket: BytePath { BytePath(scratch.appending("hooks")) }

    init() throws {
        scratch = try ScratchDirectory()
        listener = try Listener(scratch.appending("hooks"))
    }

    private var order: HookChild.Order {
        HookChild.Order(
            hook: HookSettings(name: "note", command: ["/bin/true"], deadline: .seconds(3_600)),
            input: Array("{}\n".utf8), owners: [0], log: HookLog(logger: KeptLog().daemonLog.logger))
    }

    /// Begins a run in which the unit reads what is asked for and answers with `answer`, then hangs up.
    private func ending(answering answer: [UInt8]?) async throws -> HookResult {
        let (listener, count) = (listener, HookRequest.frames("note", input: Array("{}\n".utf8)).count)
        async let unit: [UInt8] = aside {
            let connection = try descriptorCall("accept") { accept(listener.raw, nil, nil) }
            var request = [UInt8](repeating: 0, count: count)
            #expect(recv(connection.raw, &request, count, Int32(MSG_WAITALL)) == count)
            if let answer { send(connection.raw, answer, answer.count, Int32(MSG_NOSIGNAL)) }
            return request
        }
        let ending = await withCheckedContinuation { done in
            queue.async {
                _ = HookPlace.unit(socket).start(order, queue: queue) { done.resume(returning: $0) }
            }
        }
        // The name and the input, and nothing of what runs.
        #expect(try await unit == HookRequest.frames("note", input: Array("{}\n".utf8)))
        return ending
    }

    @Test func theUnitsAnswerIsTheEnding() async throws {
        let answer = HookResult(kind: .killed, number: 11, reason: "killed by signal 11", seconds: 2)
        #expect(try await ending(answering: HookAnswer(ending: answer).frame) == answer)
    }

    @Test func whoGoesWithoutAnAnswerIsLost() async throws {
        let ending = try await ending(answering: nil)
        #expect(ending.kind == .lost && ending.mayBeTheEvents, "\(ending)")
    }

    @Test(arguments: [framed(Array("{\"version\":2}".utf8)), [0xFF, 0xFF, 0xFF, 0xFF, 0], framed([0])])
    func nonsenseIsLost(answer: [UInt8]) async throws {
        #expect(try await ending(answering: answer).kind == .lost)
    }

    @Test func withoutASocketNothingIsStartedAndNothingIsTheEventsFault() async throws {
        let nowhere = BytePath(scratch.appending("nowhere"))
        let ending = await withCheckedContinuation { done in
            queue.async {
                let run = HookPlace.unit(nowhere).start(order, queue: queue) { done.resume(returning: $0) }
                #expect(run == nil)
            }
        }
        #expect(ending.kind == .refused && !ending.mayBeTheEvents)
        #expect(ending.reason.contains("is photoinboxd-hooks.socket started?"), "\(ending.reason)")
    }

    @Test func stoppingHangsUpAndWaitsForNobody() async throws {
        let listener = listener
        let ending = await withCheckedContinuation { done in
            queue.async {
                let run = HookPlace.unit(socket).start(order, queue: queue) { done.resume(returning: $0) }
                run?.stop(hurrying: false)
            }
        }
        #expect(ending.kind == .stopped && !ending.mayBeTheEvents && !ending.isSuccess)
        let left = try await aside {
            let connection = try descriptorCall("accept") { accept(listener.raw, nil, nil) }
            var bytes = [UInt8](repeating: 0, count: 4_096)
            var count = 1
            while count > 0 { count = recv(connection.raw, &bytes, bytes.count, 0) }
            return count
        }
        #expect(left == 0, "the unit sees the end")
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: needs root, to have somebody else listen"))
    func aStrangersSocketIsNotUsed() async throws {
        chmod(scratch.path, 0o777)
        let path = scratch.appending("theirs")
        let stranger = try RunningProgram([
            "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c",
            "import socket; s = socket.socket(socket.AF_UNIX); s.bind('\(path)'); s.listen(); print('up', flush=True); s.accept()[0].recv(1)",
        ])
        try await stranger.line(holding: "up")
        let ending = await withCheckedContinuation { done in
            queue.async {
                _ = HookPlace.unit(BytePath(path)).start(order, queue: queue) { done.resume(returning: $0) }
            }
        }
        #expect(ending.kind == .refused && ending.reason.contains("who is not trusted"), "\(ending.reason)")
        stranger.killIfRunning()
    }
}

/// A listening socket that waits in accept(2), which any thread may call.
private final class Listener: Sendable {
    let raw: Int32

    init(_ path: String) throws {
        let socket = try listen(at: BytePath(path), mode: 0o600)
        let number = socket.raw
        try systemCall("fcntl") { fcntl(number, F_SETFL, 0) }
        raw = socket.take()
    }

    deinit { close(raw) }
}
