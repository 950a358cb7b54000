import Foundation
import Glibc
import TestSupport
import Testing

/// `photoinbox watch --state`: one run goes on where the last one ended.
@Suite(.timeLimit(.minutes(60))) struct WatchStateTests {
    let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try makeDirectories(directory.appending("in"))
    }

    /// What one run tells until it is ready, and no more: then it is ended.
    private func run(_ arguments: String..., by signal: Int32 = SIGTERM) async throws -> Set<String> {
        let watch = try await RunningWatch(["--state", "seen"] + arguments + ["in"], in: directory)
        let (ending, output) = try await watch.end(signal)
        #expect(ending == .signal(signal))
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(Set(lines).count == lines.count, "each once")
        return Set(lines)
    }

    @Test func tellsWhatChangedSinceTheLastRun() async throws {
        try shell("mkdir in/sub; for i in 1 2 3 4; do echo $i > in/sub/$i; done; ln -s nowhere in/link", in: directory)
        #expect(try await run().isEmpty, "at first there is nothing to compare with")
        #expect(try await run().isEmpty)
        try shell(
            "echo longer > in/sub/1; rm in/sub/2; echo 5 > in/5; touch -d '2001-02-03' in/old; mv in/sub/3 in/three",
            in: directory)
        #expect(
            try await run("--event", "finished,vanished,special,directory") == [
                "finished in/sub/1", "vanished in/sub/2", "finished in/5", "finished in/old", "vanished in/sub/3",
                "finished in/three",
            ])
        #expect(try await run("--event", "finished,vanished,special,directory").isEmpty)
        // From elsewhere, too.
        try shell("mkdir other; echo 6 > in/6", in: directory)
        let there = try await photoinboxShell(
            "cd other; photoinbox watch --state ../seen --count 1 ../in", in: directory)
        #expect(there.status == 0 && there.text == "../in/6\n")
        #expect(try await run().isEmpty)
        #expect(try await run("--existing").isEmpty)
    }

    @Test func tellsAllAtFirstWhenAsked() async throws {
        try shell("echo 1 > in/1", in: directory)
        #expect(try await run("--existing") == ["in/1"])
        #expect(try await run("--existing").isEmpty)
    }

    @Test func tellsAgainWhatNobodyGot() async throws {
        #expect(try await run().isEmpty)
        try shell("for i in 1 2 3 4 5; do echo $i > in/$i; done", in: directory)
        let full = try await photoinboxShell("photoinbox watch --state seen in >/dev/full", in: directory)
        #expect(full.status == 1)
        let two = try await photoinbox(["watch", "--state", "seen", "--count", "2", "in"], in: directory)
        #expect(two.status == 0)
        let first = Set(two.text.split(separator: "\n").map(String.init))
        #expect(first.count == 2)
        // Killed, it has written nothing down.
        let rest = Set((1...5).map { "in/\($0)" }).subtracting(first)
        #expect(try await run(by: SIGKILL) == rest)
        #expect(try await run() == rest)
        #expect(try await run().isEmpty)
    }

    @Test func aDamagedFileMeansThatAllMayBeNew() async throws {
        try shell("echo 1 > in/1", in: directory)
        #expect(try await run().isEmpty)
        try shell("printf x | dd of=seen bs=1 seek=40 conv=notrunc status=none", in: directory)
        let watch = try await RunningWatch(
            ["--state", "seen", "in"], in: directory, ready: "seen: its checksum is wrong")
        try await watch.program.line(holding: "watching")
        #expect(String(decoding: try await watch.end(SIGTERM).output, as: UTF8.self) == "in/1\n")
        #expect(try await run().isEmpty)
    }

    @Test func saysWhatIsWrong() async throws {
        let raw = try await photoinbox(["watch", "--state", "seen", "-e", "close_write", "in"], in: directory)
        #expect(raw.status == 64 && raw.errors.contains("--state"))
        let nowhere = try await photoinbox(["watch", "--state", "no/such/seen", "in"], in: directory)
        #expect(nowhere.status == 1 && nowhere.errors.contains("no/such"))
        // At once, and not when all has been told that would have to be kept.
        let kernel = try await photoinbox(["watch", "--state", "/proc/x", "in"], in: directory)
        #expect(kernel.status == 1 && kernel.errors.hasPrefix("photoinbox: cannot write /proc/x: "))
        try shell("mkdir closed; chmod 0555 closed; chmod 0755 .", in: directory)
        // Root may write there: as somebody else, who must be able to run the program.
        let program = "'\(BuiltPrograms.path("photoinbox"))'"
        let closed = try await photoinboxShell(
            """
            run() { "$@" \(program) watch --state closed/seen in; }
            if [ "$(id -u)" != 0 ]; then run env; exit; fi
            nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
            if $nobody test -x \(program); then run $nobody; else echo skipped; fi
            """, in: directory)
        if closed.text == "skipped\n" { return }
        #expect(closed.status == 77 && closed.errors.hasPrefix("photoinbox: cannot write closed/seen: "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.appending("closed")).isEmpty)
    }
}
