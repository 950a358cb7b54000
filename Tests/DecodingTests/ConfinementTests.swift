import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("The confinement of a compromised decoder", .timeLimit(.minutes(60)))
struct ConfinementTests {
    /// The forbidden operations. Each succeeds as root without confinement, so that only the confinement can refuse it.
    static let attempts = [
        "open", "open-proc", "reopen", "create", "list", "look", "remove", "truncate", "directory", "internet", "local",
        "fork", "exec", "exec-open", "ptrace", "signal", "read-memory", "executable-memory", "make-executable",
        "more-limit", "namespace",
    ]

    @Test(arguments: attempts)
    func operationIsRefused(_ word: String) async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            let outcome = try await fixture.attempt(word)
            #expect(outcome.refusal?.reason == "EPERM", "\(word): \(outcome)")
            #expect(fixture.client.snapshot().gaps == "")
        }
    }

    @Test(arguments: [
        "open", "create", "list", "look", "remove", "internet", "local", "fork", "exec", "exec-open",
        "signal", "executable-memory", "make-executable", "much-memory",
    ])
    func operationSucceedsWithoutConfinement(_ word: String) async throws {
        let program = try RunningProgram([BuiltPrograms.path("decoder-probe"), "--bare", word])
        _ = try await program.ending()
        #expect(program.lines == ["done"])
    }

    @Test func pictureCannotBeWritten() async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            #expect(try await fixture.attempt("write-picture").refusal?.reason == "EBADF")
        }
    }

    @Test func memoryIsBounded() async throws {
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            #expect(try await fixture.attempt("much-memory").refusal?.reason == "ENOMEM")
        }
    }

    @Test func nothingIsInherited() async throws {
        setenv("DECODER_TEST_SECRET", "x", 1)
        let leak = open("/dev/null", O_RDONLY)
        defer { close(leak) }
        try await DecoderFixture.with("decoder-probe") { (fixture) async throws in
            // The socket, /dev/null twice, the picture and the answer.
            #expect(try await fixture.attempt("descriptors").refusal?.reason == "0 1 2 3 4")
            #expect(try await fixture.attempt("environment").refusal?.reason == "none")
        }
    }

    /// Landlock does not confine threads that already run.
    @Test func decoderThatCannotBeConfinedIsNotUsed() async throws {
        let scratch = try ScratchDirectory()
        let program = scratch.appending("decoder-with-thread")
        #expect(symlink(BuiltPrograms.path("decoder-probe"), program) == 0)
        try await DecoderFixture.with(change: { $0.program = BytePath(program) }) { (fixture) async throws in
            let trouble = try await fixture.attempt("open").trouble
            guard case .cannotBeConfined(let gaps) = trouble else {
                Issue.record("\(String(describing: trouble))")
                return
            }
            #expect(gaps.hasPrefix("landlock: "))
            #expect(fixture.client.snapshot().trouble == trouble)
        }
        try await DecoderFixture.with(change: {
            $0.program = BytePath(program)
            $0.isConfinementRequired = false
        }) { (fixture) async throws in
            #expect(try await fixture.attempt("open").refusal?.reason == "EPERM")
            #expect(fixture.client.snapshot().gaps.hasPrefix("landlock: "))
        }
    }
}
