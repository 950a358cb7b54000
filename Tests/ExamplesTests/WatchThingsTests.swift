import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@Suite("Example programs", .timeLimit(.minutes(60)))
struct WatchThingsTests {
    static let programs = ["watch-things", "watch-things-async"]

    @Test("They watch a directory, a signal and a child", arguments: programs) func watches(program: String) throws {
        let scratch = try ScratchDirectory()
        let example = try Example(program, [scratch.bytePath, "/bin/sleep", "1000"])
        #expect(try example.line() == "watching")
        try runProgram([
            "/bin/sh", "-c", "echo x >\"$0\"; mv \"$0\" \"$1\"", scratch.appending("a"), scratch.appending("b\n"),
        ])
        #expect(try example.line() == "finished a")
        #expect(try example.line() == #"finished b\n"#)
        try example.process.send(signal: SIGTERM)
        #expect(try example.line() == "SIGTERM from process \(getpid())")
        #expect(try example.line() == "program killed by signal 15")
        #expect(try example.end() == .exited(status: 1))
    }

    @Test("They end with the program", arguments: programs) func ends(program: String) throws {
        let scratch = try ScratchDirectory()
        let example = try Example(program, [scratch.bytePath, "/bin/true"])
        var lines: Set<String> = []
        while case let line = try example.line(), !line.isEmpty { lines.insert(line) }
        #expect(lines == ["watching", "program exited with status 0"])
        #expect(try example.end() == .exited(status: 0))
    }

    @Test("They report errors", arguments: programs) func errors(program: String) throws {
        let example = try Example(program, ["/nonexistent", "/bin/true"])
        #expect(try example.line() == "\(program): inotify_add_watch /nonexistent: No such file or directory")
        #expect(try example.end() == .exited(status: 1))
    }
}

private final class Example {
    let process: ChildProcess
    private let output: OwnedDescriptor

    init(_ program: String, _ arguments: [BytePath]) throws {
        let ends = try makePipe()
        let writing = OwnedDescriptor(taking: ends.writing)
        output = OwnedDescriptor(taking: ends.reading)
        process = try ChildProcess.spawn(BytePath(Self.place + program), arguments, output: .descriptor(writing.raw))
    }

    /// The next line; empty at the end.
    func line() throws -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        let raw = output.raw
        while try systemCall("read", { read(raw, &byte, 1) }) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits for the end; not by `wait()`, since a member of a class cannot be consumed.
    func end() throws -> ProcessExit? {
        var ended = pollfd(fd: process.descriptor.raw, events: Int16(POLLIN), revents: 0)
        try systemCall("poll") { poll(&ended, 1, -1) }
        return try ProcessExit.ofChild(process.descriptor.raw)
    }

    /// The programs are beside the running test bundle.
    private static let place: String = {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            + "/"
    }()
}
