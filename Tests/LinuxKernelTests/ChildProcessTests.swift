import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@Suite("Starting child processes", .timeLimit(.minutes(60)))
struct ChildProcessTests {
    private static func output(
        of program: BytePath, _ arguments: [BytePath], environment: [String: String] = [:]
    ) throws -> String {
        let ends = try makePipe()
        let reading = OwnedDescriptor(taking: ends.reading)
        let child: ChildProcess
        do {
            let writing = OwnedDescriptor(taking: ends.writing)
            child = try ChildProcess.spawn(
                program, arguments, environment: environment, output: .descriptor(writing.raw))
        }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let raw = reading.raw
            let count = try systemCall("read") { read(raw, &buffer, buffer.count) }
            if count == 0 { break }
            text += buffer[..<count]
        }
        let exit = try child.wait()
        #expect(exit.isSuccess)
        return String(decoding: text, as: UTF8.self)
    }

    @Test("Arguments are passed as bytes")
    func arguments() throws {
        let text = try Self.output(of: "/usr/bin/printf", ["<%s>", "a b", "", "$HOME;*", "\"'\n"])
        #expect(text == "<a b><><$HOME;*><\"'\n>")
        let raw = BytePath([0xFF, 0x01])
        #expect(try Self.output(of: "/bin/sh", ["-c", "printf %s \"$1\" | od -An -tx1", "sh", raw]) == " ff 01\n")
    }

    @Test("A child has only the variables that are passed")
    func environment() throws {
        #expect(try Self.output(of: "/usr/bin/env", []) == "")
        #expect(
            try Self.output(of: "/usr/bin/env", [], environment: ["LANG": "C", "A": ""]).split(separator: "\n").sorted()
                == ["A=", "LANG=C"])
    }

    @Test("A child inherits only its three streams")
    func descriptors() throws {
        // Without close-on-exec; 3 is ls's own, of the directory that it lists.
        let leak = open("/dev/null", O_RDONLY)
        defer { close(leak) }
        #expect(try Self.output(of: "/bin/ls", ["/proc/self/fd"]) == "0\n1\n2\n3\n")
    }

    @Test("A child leads its own process group")
    func processGroup() throws {
        let words = try Self.output(of: "/bin/sh", ["-c", "read line </proc/$$/stat; echo $line"]).split(separator: " ")
        #expect(words[0] == words[4])
    }

    @Test("Signal mask and dispositions are reset")
    func signals() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            signal(SIGINT, SIG_IGN)
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_BLOCK, &all, nil)
            let text = try Self.output(of: "/bin/grep", ["-E", "^Sig(Blk|Ign)", "/proc/self/status"])
            let masks = text.split(separator: "\n").compactMap { UInt64($0.dropFirst(8), radix: 16) }
            // glibc's posix_spawn ignores its two internal signals, 32 and 33, in every child.
            exit(masks.count == 2 && masks[0] == 0 && masks[1] & ~0x1_8000_0000 == 0 ? 0 : 1)
        }
    }

    /// Standard output is passed as 0, standard input as 1: neither may overwrite the other.
    @Test("Streams may be swapped") func swappedStreams() async {
        await #expect(processExitsWith: .success) {
            var first: [Int32] = [-1, -1]
            var second: [Int32] = [-1, -1]
            guard pipe(&first) == 0, pipe(&second) == 0, dup2(first[0], 1) == 1, dup2(second[1], 0) == 0 else {
                exit(1)
            }
            for number in [first[0], second[1]] { close(number) }
            let child = try ChildProcess.spawn("/bin/cat", input: .descriptor(1), output: .descriptor(0))
            for number: Int32 in [0, 1] { close(number) }
            guard write(first[1], "abc", 3) == 3 else { exit(2) }
            close(first[1])
            var buffer = [UInt8](repeating: 0, count: 8)
            let count = read(second[0], &buffer, 8)
            let end = try child.wait()
            exit(count == 3 && buffer.starts(with: Array("abc".utf8)) && end.isSuccess ? 0 : 3)
        }
    }

    @Test("A missing program, a directory and a relative path throw")
    func notExecutable() {
        let absent = #expect(throws: SystemCallError.self) { try ChildProcess.spawn("/nonexistent/program").wait() }
        #expect(absent?.description == "posix_spawn /nonexistent/program: No such file or directory")
        let directory = #expect(throws: SystemCallError.self) { try ChildProcess.spawn("/").wait() }
        #expect(directory?.code == .permissionDenied)
        let relative = #expect(throws: SystemCallError.self) { try ChildProcess.spawn("sh").wait() }
        #expect(relative?.code == .invalidArgument)
    }

    @Test("A program that does not end in time is killed")
    func killedInTime() throws {
        let exit = try ChildProcess.spawn("/bin/sleep", ["1000"]).wait(atMost: .milliseconds(50))
        #expect(exit == .killed(signal: SIGKILL, dumpedCore: false))
        #expect(try ChildProcess.spawn("/bin/true").wait(atMost: .seconds(500)).isSuccess)
    }

    @Test("A program that is not wanted any more is killed, one that has ended is reaped")
    func stopped() throws {
        var questions = 0
        let exit = try ChildProcess.spawn("/bin/sleep", ["1000"]).wait {
            questions += 1
            return questions == 3
        }
        #expect(exit == .killed(signal: SIGKILL, dumpedCore: false))
        #expect(questions == 3)
        #expect(try ChildProcess.spawn("/bin/true").wait(atMost: .seconds(500)) { false }.isSuccess)
    }

    @Test("The working directory is passed by descriptor")
    func workingDirectory() throws {
        let directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directory) }
        let child = try ChildProcess.spawn("/bin/sh", ["-c", "[ \"$(pwd)\" = /proc ]"], directory: directory)
        #expect(try child.wait().isSuccess)
    }
}
