import CLinux
import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("A picture costs at most its own thumbnail", .timeLimit(.minutes(60)))
struct ClientTests {
    @Test(arguments: [
        "crash", "exit", "closed", "noise", "long", "twice", "other-question", "other-size", "beyond",
        "far-beyond", "endless", "wide", "flood",
    ])
    func aBadDecoderIsReplaced(_ word: String) async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            let outcome = try await house.attempt(word)
            #expect(outcome.fatal != nil, "\(outcome)")
            #expect(try await house.attempt("environment").refusal?.reason == "none")
            let snapshot = house.client.snapshot()
            #expect(snapshot.started == 2)
            #expect(snapshot.lost == 1)
        }
    }

    @Test func whatHangsMeetsTheDeadline() async throws {
        try await DecoderHouse.with("decoder-probe", change: { $0.deadline = .milliseconds(300) }) {
            (house) async throws in
            #expect(try await house.attempt("hang").fatal == "no answer within 0.3 seconds")
        }
    }

    @Test func whatSpinsMeetsItsProcessorTime() async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            let outcome = try await house.attempt("spin", limits: .init(processorSeconds: 1))
            #expect(outcome.fatal == "the decoder used up its processor time")
        }
    }

    @Test("Signals that are meant for the daemon, and reach all of its service, end no decoder")
    func signalsOfTheService() async throws {
        try await DecoderHouse.with("decoder-probe", change: { $0.idle = .seconds(3600) }) { (house) async throws in
            _ = try await house.attempt("environment")
            let process = try #require(house.client.snapshot().process)
            for number in [SIGUSR1, SIGUSR2, SIGHUP] { kill(process, number) }
            #expect(try await house.attempt("environment").refusal?.reason == "none")
            #expect(house.client.snapshot().process == process)
            #expect(try String(contentsOfFile: "/proc/\(process)/oom_score_adj", encoding: .utf8) == "1000\n")
        }
    }

    @Test func whatIsStoppedMeetsTheDeadline() async throws {
        try await DecoderHouse.with("decoder-probe", change: { $0.deadline = .milliseconds(300) }) {
            (house) async throws in
            // On a busy machine the first ones may be overdue by themselves.
            let process = try await poll {
                _ = try await house.attempt("environment")
                return house.client.snapshot().process
            } until: {
                $0 != nil
            }
            kill(try #require(process), SIGSTOP)
            #expect(try await house.attempt("environment").fatal == "no answer within 0.3 seconds")
        }
    }

    @Test func whatIsNoJPEGIsNotTaken() async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            let picture = try #require(try await house.attempt("text").picture)
            #expect(throws: WireError.self) { try picture.bytes(of: picture.facts.parts[0]) }
        }
    }

    @Test func itIsUsedAgainAndRecycled() async throws {
        try await DecoderHouse.with("decoder-probe", change: { $0.recycleAfter = 3 }) { (house) async throws in
            for _ in 0..<7 { #expect(try await house.attempt("environment").refusal != nil) }
            #expect(house.client.snapshot().started == 3)
            #expect(house.client.snapshot().lost == 0)
        }
    }

    @Test func itGoesWhenIdle() async throws {
        try await DecoderHouse.with("decoder-probe", change: { $0.idle = .milliseconds(50) }) { (house) async throws in
            _ = try await house.attempt("environment")
            guard let process = house.client.snapshot().process else { return }
            // ESRCH: it is gone already.
            guard let descriptor = try? descriptorCall("pidfd_open", { clinux_pidfd_open(process) }) else { return }
            try await aside {
                var ended = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
                try systemCall("poll") { poll(&ended, 1, -1) }
            }
            #expect(try await house.attempt("environment").refusal != nil)
            #expect(house.client.snapshot().started == 2)
        }
    }

    @Test func manyAtOnceAreServedInTurn() async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            let path = house.scratch.appending("words")
            try DecoderHouse.write(Array("environment".utf8), to: path)
            let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 { group.addTask { try await house.make(of: path).refusal?.reason == "none" } }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == 50)
            #expect(house.client.snapshot().started == 1)
        }
    }

    @Test func aMissingProgramIsTold() async throws {
        try await DecoderHouse.with(change: { $0.program = "/nonexistent/decoder" }) { (house) async throws in
            guard case .cannotStart(let reason) = try await house.attempt("open").trouble else {
                Issue.record("it started")
                return
            }
            #expect(reason.contains("/nonexistent/decoder"))
        }
        try await DecoderHouse.with(change: { $0.program = "/bin/true" }) { (house) async throws in
            #expect(
                try await house.attempt("open").trouble
                    == .cannotStart(reason: "the decoder exited with status 0 before it was ready"))
        }
    }

    @Test func stoppingAnswersWhatWaits() async throws {
        let house = try DecoderHouse("decoder-probe")
        let path = house.scratch.appending("hang")
        try DecoderHouse.write(Array("hang".utf8), to: path)
        async let first = house.make(of: path)
        async let second = house.make(of: path)
        await house.client.stop()
        #expect(try await first.trouble == .stopped)
        #expect(try await second.trouble == .stopped)
        #expect(house.client.snapshot().process == nil)
    }

    @Test func aLargeFileIsNotEvenSent() async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            let outcome = try await house.attempt("environment", limits: .init(bytes: 3))
            #expect(outcome.refusal?.code == .tooLarge)
            #expect(house.client.snapshot().started == 0)
        }
    }
}
