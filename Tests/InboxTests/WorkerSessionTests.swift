import ControlProtocol
import FileValues
import Foundation
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import DaemonSupport

@Suite("A conversation with a worker", .timeLimit(.minutes(60)))
struct WorkerSessionTests {
    private let queue = MonitorQueue(label: "test.worker")

    /// What a child ends a session with that does as `script` says, where nobody listens; its socket is its input.
    private func ending(_ script: String) async throws -> String {
        let scratch = try ScratchDirectory()
        let program = scratch.appending("child")
        try writeProgram("#!/bin/sh\n\(script)\n", to: program)
        let terms = WorkerOptions(
            label: "test", socket: BytePath(scratch.appending("nowhere")), advice: "is it started?",
            program: BytePath(program), longestRequest: 1_000, longestAnswer: 1_000, deadline: .seconds(3_600),
            grace: .milliseconds(10))
        let queue = queue
        return try await withCheckedThrowingContinuation { done in
            queue.async {
                do {
                    let session = try WorkerSession(
                        terms, queue: queue, lost: { "\($0)" }, done: { done.resume(returning: $0) })
                    #expect(session.isWithChild)
                    session.begin(framed([0x61])) { frames throws(WorkerFailure) in
                        frames.first.map { String(decoding: $0, as: UTF8.self) }
                    }
                } catch { done.resume(throwing: error) }
            }
        }
    }

    @Test func aChildThatStaysAfterItsAnswerIsKilled() async throws {
        let answer = try await ending(
            #"printf "\0\0\0\\$(printf %03o "${#$}")%s" "$$" >&0; exec /bin/sleep 3600"#)
        let child = try #require(Int32(answer))
        #expect(kill(child, 0) == -1 && errno == ESRCH, "it is gone, and reaped, when the session is over")
    }

    @Test func whatCannotBeReadEndsItAndSoDoesAnEarlyEnd() async throws {
        #expect(try await ending(#"printf '\0\0\377\377' >&0; exec /bin/sleep 3600"#).hasPrefix("malformedAnswer"))
        #expect(try await ending("exit 0") == "endedWithoutAnswer")
    }
}
