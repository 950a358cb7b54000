import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Decoding

@Suite("A decoder that was taken over reaches nothing", .timeLimit(.minutes(60)))
struct ConfinementTests {
    /// What it tries, and what each gives where nothing is forbidden: as root, `done`, so that no refusal below comes
    /// from anything else.
    static let attempts = [
        "open", "open-proc", "reopen", "create", "list", "look", "remove", "truncate", "directory", "internet", "local",
        "fork", "exec", "exec-open", "ptrace", "signal", "read-memory", "executable-memory", "make-executable",
        "more-limit", "namespace",
    ]

    @Test(arguments: attempts)
    func isRefused(_ word: String) async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            let outcome = try await house.attempt(word)
            #expect(outcome.refusal?.reason == "EPERM", "\(word): \(outcome)")
            #expect(house.client.snapshot().gaps == "")
        }
    }

    @Test(arguments: [
        "open", "create", "list", "look", "remove", "internet", "local", "fork", "exec", "exec-open",
        "signal", "executable-memory", "make-executable", "much-memory",
    ])
    func wouldBeDoneWithoutConfinement(_ word: String) async throws {
        let program = try RunningProgram([BuiltPrograms.path("decoder-probe"), "--bare", word])
        _ = try await program.ending()
        #expect(program.lines == ["done"])
    }

    @Test func thePictureCannotBeWritten() async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            #expect(try await house.attempt("write-picture").refusal?.reason == "EBADF")
        }
    }

    @Test func memoryIsBounded() async throws {
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            #expect(try await house.attempt("much-memory").refusal?.reason == "ENOMEM")
        }
    }

    @Test func nothingIsInherited() async throws {
        setenv("DECODER_TEST_SECRET", "x", 1)
        let leak = open("/dev/null", O_RDONLY)
        defer { close(leak) }
        try await DecoderHouse.with("decoder-probe") { (house) async throws in
            // The socket, two that lead to /dev/null, the picture and the answer.
            #expect(try await house.attempt("descriptors").refusal?.reason == "0 1 2 3 4")
            #expect(try await house.attempt("environment").refusal?.reason == "none")
        }
    }

    /// A thread that runs already escapes Landlock: such a decoder is not confined.
    @Test func whatCannotBeConfinedIsNotUsed() async throws {
        let scratch = try ScratchDirectory()
        let program = scratch.appending("decoder-with-thread")
        #expect(symlink(BuiltPrograms.path("decoder-probe"), program) == 0)
        try await DecoderHouse.with(change: { $0.program = BytePath(program) }) { (house) async throws in
            let trouble = try await house.attempt("open").trouble
            guard case .cannotBeConfined(let gaps) = trouble else {
                Issue.record("\(String(describing: trouble))")
                return
            }
            #expect(gaps.hasPrefix("landlock: "))
            #expect(house.client.snapshot().trouble == trouble)
        }
        try await DecoderHouse.with(change: {
            $0.program = BytePath(program)
            $0.isConfinementRequired = false
        }) { (house) async throws in
            #expect(try await house.attempt("open").refusal?.reason == "EPERM")
            #expect(house.client.snapshot().gaps.hasPrefix("landlock: "))
        }
    }
}
