import FileValues
import Foundation
import Glibc
import TestSupport
import Testing

/// The built program, watching real directories.
@Suite(.timeLimit(.minutes(60))) struct WatchProgramTests {
    let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try makeDirectories(directory.appending("in"))
    }

    private func path(_ name: String) -> [UInt8] { Array(directory.appending(name).utf8) }

    @Test func tellsFilesAsTheyAreFinished() async throws {
        try shell("echo old > in/old.jpg; mkfifo gate", in: directory)
        let watch = try await RunningWatch(["--count", "5", "in"], in: directory)
        // A slow writer: nothing is told until it has closed. It writes on, since what lies still for two ticks counts as
        // finished, closed or not, and a busy machine may take as long for the rest.
        let slow = try RunningProgram([
            "/bin/bash", "-c",
            "cd '\(directory.path)'; exec 3>in/slow.jpg 4<>gate; echo x >&3; echo begun; "
                + "until read -t 1 -r _ <&4; do echo . >&3; done; echo y >&3",
        ])
        try await slow.line("it has begun") { $0 == "begun" }
        try shell(
            """
            echo a > a; cp a in/a.jpg; mv a in/b.jpg
            echo c > in/c.jpg.part; mv in/c.jpg.part in/c.jpg
            mkdir -p tree/deep; echo d > tree/deep/d.jpg; mv tree in/
            """, in: directory)
        try await watch.waitForOutput { $0.count { $0 == 0x0A } == 4 }
        try shell("echo go > gate", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(lines.dropLast().sorted() == ["in/a.jpg", "in/b.jpg", "in/c.jpg", "in/tree/deep/d.jpg"])
        #expect(lines.last == "in/slow.jpg")
    }

    @Test func endsNamesWithNUL() async throws {
        let watch = try await RunningWatch(["--null", "--count", "2", "in"], in: directory)
        try shell(#"echo x > $'in/two\nlines.jpg'; echo x > $'in/b\e[2J\xff\x80'"#, in: directory)
        let names: [[UInt8]] = [Array("in/two\nlines.jpg".utf8), Array("in/b\u{1B}[2J".utf8) + [0xFF, 0x80]]
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        #expect(Set(output.split(separator: 0).map(Array.init)) == Set(names))
        #expect(output.last == 0)
    }

    @Test func writesJSONLines() async throws {
        let watch = try await RunningWatch(
            ["--json", "--count", "3", "--events", "finished,renamed,vanished", "in"], in: directory)
        let odd = Array("in/n\n\"\\".utf8) + [0xFF]
        try shell(#"echo -n 123 > $'in/n\n"\\\xff'"#, in: directory)
        try await watch.waitForOutput { $0.count { $0 == 0x0A } == 1 }
        try shell(#"mv $'in/n\n"\\\xff' in/é.jpg"#, in: directory)
        try await watch.waitForOutput { $0.count { $0 == 0x0A } == 2 }
        try shell("rm in/é.jpg", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        let events = try output.split(separator: 0x0A).map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        }
        #expect(events.map { $0["event"] as? String } == ["finished", "renamed", "vanished"])
        #expect(events.allSatisfy { $0["format"] as? Int == 1 && ($0["time"] as? String)?.hasSuffix("Z") == true })
        let first = try #require(events.first)
        let encoded = try #require(first["path_base64"] as? String)
        #expect(Data(base64Encoded: encoded) == Data(odd))
        #expect(first["size"] as? Int == 3)
        #expect(first["cause"] as? String == "close-write")
        // Both in milliseconds, and of one length.
        let (time, modified) = (first["time"] as? String, first["modified"] as? String)
        #expect(try #require(time) >= #require(modified) && time?.count == modified?.count)
        #expect(events[1]["path"] as? String == "in/é.jpg")
        #expect(events[1]["from_base64"] as? String == encoded)
        #expect(events[2]["path_base64"] == nil)
    }

    @Test func tellsExistingFilesWhenAsked() async throws {
        try makeDirectories(directory.appending("in/sub"))
        try write("1", to: path("in/sub/1.jpg"))
        try write("2", to: path("in/2.tmpx"))
        let result = try await photoinbox(
            ["watch", "--existing", "--quiet", "--count", "1", "--exclude-glob", "*.tmpx", "in/"], in: directory)
        #expect(result.text == "in/sub/1.jpg\n")
        #expect(result.errors == "")
        #expect(result.status == 0)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func endsOnSignals(_ signal: Int32) async throws {
        let watch = try await RunningWatch(["in"], in: directory)
        let (ending, output) = try await watch.end(signal)
        #expect(ending == .signal(signal))
        #expect(output.isEmpty)
    }

    @Test(arguments: [8, 12, 16]) func namesTheLimitOfOpenFiles(_ limit: Int) async throws {
        let result = try await photoinboxShell("ulimit -n \(limit); photoinbox watch in", in: directory)
        #expect(result.status == 1 && result.errors.contains("limit of open files (ulimit -n) is \(limit)"))
    }

    @Test(arguments: [SIGINT, SIGTERM]) func aSignalDoesNotWaitForAReaderThatTakesNothing(_ signal: Int32) async throws
    {
        // The pipe is open and never read; what is there fills it.
        try shell(
            "cd in; for i in {1..1200}; do echo > a-name-that-is-long-enough-to-fill-a-pipe-of-64-KiB-$i; done",
            in: directory)
        let script =
            "cd '\(directory.path)'; mkfifo pipe; exec 3<>pipe; "
            + "exec '\(BuiltPrograms.path("photoinbox"))' watch --existing in >pipe"
        let program = try RunningProgram(["/bin/bash", "-c", script])
        // It is in write(2): nothing more goes into the pipe.
        try await poll({ Self.isWriting(program.pid) }, until: { $0 })
        program.signal(signal)
        #expect(try await program.ending() == .signal(signal))
    }

    /// Whether a thread of it waits for room in a pipe.
    private static func isWriting(_ pid: pid_t) -> Bool {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
        return tasks.contains { task in
            (try? String(contentsOfFile: "/proc/\(pid)/task/\(task)/wchan", encoding: .utf8))?.contains("pipe_write")
                ?? false
        }
    }

    /// nohup(1), and shells for what they start in the background, have signals ignored; that is kept.
    @Test func leavesIgnoredSignalsIgnored() async throws {
        let script = """
            cd '\(directory.path)'; trap '' INT TERM HUP
            exec '\(BuiltPrograms.path("photoinbox"))' watch --count 1 in
            """
        let program = try RunningProgram(["/bin/bash", "-c", script])
        try await program.line(holding: "watching")
        for signal in [SIGINT, SIGTERM, SIGHUP] { program.signal(signal) }
        try shell("echo x > in/a.jpg", in: directory)
        try await program.line("the file") { $0 == "in/a.jpg" }
        #expect(try await program.ending() == .status(0))
    }

    @Test func saysWhyItCannotWrite() async throws {
        let script = """
            cd '\(directory.path)'; echo x > in/a.jpg
            exec '\(BuiltPrograms.path("photoinbox"))' watch --existing in >/dev/full
            """
        let program = try RunningProgram(["/bin/bash", "-c", script])
        try await program.line(holding: "standard output: No space left on device")
        #expect(try await program.ending() == .status(1))
    }

    @Test func survivesARootThatGoesAway() async throws {
        let watch = try await RunningWatch(["--count", "1", "in"], in: directory)
        try shell("mv in away", in: directory)
        try await watch.program.line(holding: "in is gone; it is watched again once it is back")
        try shell("mkdir new; echo x > new/a.jpg; mv new in", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        #expect(String(decoding: output, as: UTF8.self) == "in/a.jpg\n")
    }

    @Test func endsQuietlyWhenItsReaderIsGone() async throws {
        // Nothing is written to the pipe any more when the reader goes: the end is noticed all the same.
        let script = """
            cd '\(directory.path)'
            { '\(BuiltPrograms.path("photoinbox"))' watch in; echo "status $?" >&2; } | head -n 1
            """
        let program = try RunningProgram(["/bin/bash", "-c", script])
        try await program.line(holding: "watching")
        try shell("echo x > in/a.jpg", in: directory)
        try await program.line("the file") { $0 == "in/a.jpg" }
        try await program.line("the status") { $0 == "status 0" }
        #expect(try await program.ending() == .status(0))
    }

    @Test func endsWhenNothingIsToldForSoLong() async throws {
        let nothing = try await photoinbox(["watch", "--timeout", "0.05", "in"], in: directory)
        #expect(nothing.status == 2)
        try write("1", to: path("in/1.jpg"))
        let few = try await photoinbox(
            ["watch", "--existing", "--count", "2", "--timeout", "0.5", "in"], in: directory)
        #expect(few.status == 2)
        #expect(few.text == "in/1.jpg\n")
        // 0 is no limit.
        let one = try await photoinbox(["watch", "--existing", "--count", "1", "-t", "0", "in"], in: directory)
        #expect(one.status == 0)
    }

    @Test func tellsWhatItCannotWatch() async throws {
        let result = try await photoinbox(["watch", "nowhere"], in: directory)
        #expect(result.status == 1)
        #expect(result.errors == "photoinbox: nowhere does not exist. Correct the path.\n")
        #expect(result.output.isEmpty)
        try write("x", to: path("file"))
        let file = try await photoinbox(["watch", "--json", "file"], in: directory)
        #expect(file.status == 1)
        let error = try JSONSerialization.jsonObject(with: Data(file.errors.utf8)) as? [String: Any]
        #expect((error?["error"] as? [String: Any])?["message"] as? String == "file is not a directory")
    }

    @Test func watchesNestedDirectoriesOnce() async throws {
        try makeDirectories(directory.appending("in/sub"))
        let watch = try await RunningWatch(["--count", "1", "in/sub", "in", "in"], in: directory)
        try shell("echo x > in/sub/a.jpg", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        #expect(String(decoding: output, as: UTF8.self) == "in/sub/a.jpg\n")
    }

    @Test func takesNamesThatAreNotUTF8() async throws {
        let name = Array("d".utf8) + [0xFF]
        #expect(BytePath(path("") + name).withCString { mkdir($0, 0o755) } == 0)
        try write("x", to: path("") + name + Array("/a".utf8))
        let result = try await photoinboxRaw(
            [Array("watch".utf8), Array("--existing".utf8), Array("--count".utf8), Array("1".utf8), name], in: directory
        )
        #expect(result.output == name + Array("/a\n".utf8))
    }
}
