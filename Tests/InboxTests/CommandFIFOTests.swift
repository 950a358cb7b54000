import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import DaemonHost
@testable import Settings

@Suite("Lines of a command FIFO", .timeLimit(.minutes(60)))
struct CommandFIFOTests {
    /// What `writes` into a FIFO, one after the other, make of it: actions as they are written, refusals as their text.
    private func heard(_ writes: [String], count: Int) async throws -> [String] {
        let scratch = try ScratchDirectory()
        let queue = MonitorQueue(label: "test.fifo")
        let (stream, tell) = AsyncStream<String>.makeStream()
        let path = scratch.appending("commands")
        let fifo = try CommandFIFO(
            DescriptorSettings(name: "commands", fifo: scratch.bytePath.appending("commands")), queue: queue
        ) {
            result, line in
            switch result {
            case .success(let action): tell.yield("\(action)")
            case .failure(let mistake): tell.yield("\(line.prefix(20)): \(mistake.message)")
            }
        }
        await withCheckedContinuation { done in
            queue.async {
                fifo.activate()
                done.resume()
            }
        }
        let descriptor = try descriptorCall("open") { open(path, O_WRONLY | O_CLOEXEC) }
        for text in writes {
            let bytes = Array(text.utf8)
            let written = try systemCall("write") { write(descriptor.raw, bytes, bytes.count) }
            #expect(written == bytes.count)
        }
        var found: [String] = []
        for await line in stream {
            found.append(line)
            if found.count == count { break }
        }
        await withCheckedContinuation { done in queue.async { fifo.invalidate { done.resume() } } }
        tell.finish()
        for await line in stream { found.append(line) }
        return found
    }

    @Test func linesAreCommandsHoweverTheyArePieced() async throws {
        #expect(
            try await heard(["du", "mp\nrecon", "cile\n\n\n  hook  x\t\nstop\n"], count: 4) == [
                "dump", "reconcile", "hook x", "stop",
            ])
    }

    @Test func whatIsNoCommandIsToldInOneLine() async throws {
        let found = try await heard(["dance\n", "a\u{1B}[31m\r\n", "dump\n"], count: 3)
        #expect(found.count == 3 && found[0].hasPrefix("dance: unknown action") && found[2] == "dump", "\(found)")
        #expect(!found[1].utf8.contains { $0 < 0x20 }, "\(found[1].debugDescription)")
    }

    @Test func aLineThatIsTooLongIsDroppedAsAWhole() async throws {
        // Its beginning is a command, and so is what comes after the longest line that there may be.
        let long = "reconcile" + String(repeating: " ", count: 3000) + "stop"
        let found = try await heard([long, "\n", "dump\n"], count: 2)
        #expect(found.count == 2 && found[0].contains("longer than") && found[1] == "dump", "\(found)")
    }

    @Test func anUnfinishedLineIsNothing() async throws {
        #expect(try await heard(["dump\nstop"], count: 1) == ["dump"])
    }
}
