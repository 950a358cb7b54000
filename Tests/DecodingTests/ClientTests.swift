import CLinux
import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("The client of a decoder", .timeLimit(.minutes(60)))
struct ClientTests {
    @Test(arguments: [
        "crash", "exit", "closed", "noise", "long", "twice", "other-question", "other-size", "beyond",
        "far-beyond", "endless", "wide", "flood",
    ])
    func misbehavingDecoderIsReplaced(_ word: String) async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            let outcome = try await fixture.attempt(word)
            #expect(outcome.fatal != nil, "\(outcome)")
            #expect(try await fixture.attempt("environment").refusal?.reason == "none")
            let snapshot = fixture.client.snapshot()
            #expect(snapshot.started == 2)
            #expect(snapshot.lost == 1)
        }
    }

    @Test func hangingDecoderExceedsTheDeadline() async throws {
        try await DecoderFixture.with("decoder-probe", change: { $0.deadline = .milliseconds(300) }) {
            (fixture) async throws in
            #expect(try await fixture.attempt("hang").fatal == "no answer within 0.3 seconds")
        }
    }

    @Test func spinningDecoderExceedsItsProcessorTime() async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            let outcome = try await fixture.attempt("spin", limits: .init(processorSeconds: 1))
            #expect(outcome.fatal == "the decoder used up its processor time")
        }
    }

    @Test("Signals that are meant for the daemon do not end a decoder")
    func signalsOfTheService() async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            _ = try await fixture.attempt("environment")
            let process = try #require(fixture.client.snapshot().process)
            for number in [SIGUSR1, SIGUSR2, SIGHUP] { kill(process, number) }
            #expect(try await fixture.attempt("environment").refusal?.reason == "none")
            #expect(fixture.client.snapshot().process == process)
            #expect(try String(contentsOfFile: "/proc/\(process)/oom_score_adj", encoding: .utf8) == "1000\n")
        }
    }

    @Test func stoppedDecoderExceedsTheDeadline() async throws {
        try await DecoderFixture.with("decoder-probe", change: { $0.deadline = .milliseconds(300) }) {
            (fixture) async throws in
            // On a busy machine the first attempts may exceed the deadline, too.
            let process = try await poll {
                _ = try await fixture.attempt("environment")
                return fixture.client.snapshot().process
            } until: {
                $0 != nil
            }
            kill(try #require(process), SIGSTOP)
            #expect(try await fixture.attempt("environment").fatal == "no answer within 0.3 seconds")
        }
    }

    @Test func resultThatIsNotAJPEGIsAnError() async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            let picture = try #require(try await fixture.attempt("text").picture)
            #expect(throws: WireError.self) { try picture.bytes(of: picture.facts.parts[0]) }
        }
    }

    @Test func decoderIsReusedUpToItsLimit() async throws {
        try await DecoderFixture.with("decoder-probe", change: { $0.recycleAfter = 3 }) { (fixture) async throws in
            for _ in 0..<7 { #expect(try await fixture.attempt("environment").refusal != nil) }
            #expect(fixture.client.snapshot().started == 3)
            #expect(fixture.client.snapshot().lost == 0)
        }
    }

    @Test func idleDecoderIsEnded() async throws {
        try await DecoderFixture.with("decoder-probe", change: { $0.idle = .milliseconds(50) }) {
            (fixture) async throws in
            _ = try await fixture.attempt("environment")
            guard let process = fixture.client.snapshot().process else { return }
            // ESRCH: it has already ended.
            guard let descriptor = try? descriptorCall("pidfd_open", { clinux_pidfd_open(process) }) else { return }
            try await aside {
                var ended = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
                try systemCall("poll") { poll(&ended, 1, -1) }
            }
            #expect(try await fixture.attempt("environment").refusal != nil)
            #expect(fixture.client.snapshot().started == 2)
        }
    }

    @Test func concurrentRequestsShareOneDecoder() async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            let path = fixture.scratch.appending("words")
            try DecoderFixture.write(Array("environment".utf8), to: path)
            let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 { group.addTask { try await fixture.make(of: path).refusal?.reason == "none" } }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == 50)
            #expect(fixture.client.snapshot().started == 1)
        }
    }

    @Test func programThatDoesNotStartIsReported() async throws {
        try await DecoderFixture.with(change: { $0.program = "/nonexistent/decoder" }) { (fixture) async throws in
            guard case .cannotStart(let reason) = try await fixture.attempt("open").trouble else {
                Issue.record("it started")
                return
            }
            #expect(reason.contains("/nonexistent/decoder"))
        }
        try await DecoderFixture.with(change: { $0.program = "/bin/true" }) { (fixture) async throws in
            #expect(
                try await fixture.attempt("open").trouble
                    == .cannotStart(reason: "the decoder exited with status 0 before it was ready"))
        }
    }

    @Test func stopEndsAllRequests() async throws {
        let fixture = try DecoderFixture("decoder-probe")
        let path = fixture.scratch.appending("hang")
        try DecoderFixture.write(Array("hang".utf8), to: path)
        async let first = fixture.make(of: path)
        async let second = fixture.make(of: path)
        await fixture.client.stop()
        #expect(try await first.trouble == .stopped)
        #expect(try await second.trouble == .stopped)
        #expect(fixture.client.snapshot().process == nil)
    }

    @Test func tooLargeFileStartsNoDecoder() async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            let outcome = try await fixture.attempt("environment", limits: .init(bytes: 3))
            #expect(outcome.refusal?.code == .tooLarge)
            #expect(fixture.client.snapshot().started == 0)
        }
    }
}
