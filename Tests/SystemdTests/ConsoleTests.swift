import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Systemd

struct ConsoleTests {
    private let entry = LogEntry(
        .warning, "deferred a\nb",
        fields: [.init("inbox", "card"), .init("why", #"cut "short""#), .init("none", ""), .init("x", "\u{1B}[0m\n")],
        time: FileTime(seconds: 1_795_266_451, nanoseconds: 123_456_789))

    @Test("Lines for a service manager begin with the priority")
    func prioritized() {
        #expect(
            ConsoleFormatter(style: .prioritized).line(entry)
                == #"<4>deferred a\nb  inbox=card why="cut \"short\"" none="" x=\x1b[0m\n"# + "\n")
    }

    @Test("Lines for a terminal begin with the time and the level")
    func terminal() {
        let line = ConsoleFormatter(style: .terminal).line(entry)
        #expect(line.dropFirst(5).hasPrefix(":31.123 warning  deferred a\\nb  inbox=card"))
        let dated = ConsoleFormatter(style: .dated).line(entry)
        #expect(dated.hasPrefix("2026-11-2") && dated.contains(":31.123") && dated.contains(" warning  deferred"))
    }

    @Test("Colours are added, and escapes in values are not")
    func coloured() {
        let line = ConsoleFormatter(style: .coloured).line(entry)
        #expect(line.contains("\u{1B}[35mwarning "))
        // Twice on, twice off; the escape in the value is escaped.
        #expect(line.utf8.count { $0 == 0x1B } == 4)
    }

    @Test("An entry is one line, whatever its characters", arguments: ConsoleFormatter.Style.allCases)
    func oneLine(_ style: ConsoleFormatter.Style) {
        for value in (0...0x2FFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init) {
            let entry = LogEntry(.info, "a\(value)b", fields: [.init("k\(value)", "v\(value)")])
            let line = ConsoleFormatter(style: style).line(entry).utf8
            #expect(line.count { $0 == 0x0A } == 1 && line.last == 0x0A)
            let controls = line.dropLast().count { $0 < 0x20 || $0 == 0x7F }
            #expect(controls == (style == .coloured ? 2 : 0))
        }
    }

    /// Without a reader, sending returns, dropped entries are counted, and flush ends at its limit.
    @Test("A full pipe does not block its writers")
    func fullPipe() async throws {
        let ends = try makePipe()
        let reading = OwnedDescriptor(taking: ends.reading)
        let writing = OwnedDescriptor(taking: ends.writing)
        let sink = ConsoleSink(style: .prioritized, descriptor: writing.raw, capacity: 16, byteCapacity: 1 << 20)
        // Whole pages, so that the last one is full; then one entry that blocks the sink.
        while sink.sendNow(LogEntry(.debug, String(repeating: "x", count: 5_000))) {}
        sink.send(LogEntry(.info, String(repeating: "x", count: 5_000)))
        try await poll({ sink.snapshot().queued }, until: { $0 == 0 })
        for _ in 0..<2_000 { sink.send(LogEntry(.info, "xxx")) }
        #expect(!sink.flush(within: .milliseconds(10)))
        let stalled = sink.snapshot()
        #expect(stalled.dropped == 1_986 && stalled.sendingSince != nil && stalled.queued == 14)
        #expect(!sink.sendNow(LogEntry(.critical, "last words")))
        // Read again: all accepted entries arrive, and one line reports the dropped ones.
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var waiting = pollfd(fd: reading.raw, events: Int16(POLLIN), revents: 0)
        while !sink.flush(within: .zero) {
            guard poll(&waiting, 1, 1) > 0 else { continue }
            received += buffer[..<max(0, read(reading.raw, &buffer, buffer.count))]
        }
        while poll(&waiting, 1, 0) > 0 { received += buffer[..<max(0, read(reading.raw, &buffer, buffer.count))] }
        let lines = received.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
            .filter { !$0.hasPrefix("<7>") }
        #expect(lines.count == 16 && lines.dropLast().allSatisfy { $0.hasPrefix("<6>xxx") })
        #expect(
            lines.last == "<4>1986 log entries were dropped here because the console did not take them, continuing"
                + "  dropped=1986")
        #expect(sink.snapshot().sent == 16)
        #expect(sink.sendNow(LogEntry(.critical, String(repeating: "é", count: 10_000))))
        let count = read(reading.raw, &buffer, buffer.count)
        #expect(count <= PIPE_BUF && buffer[count - 1] == 0x0A)
    }

    @Test("A closed pipe is counted as a failure and does not end the process")
    func closedPipe() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { exit(1) }
            close(ends[0])
            let sink = ConsoleSink(style: .dated, descriptor: ends[1])
            sink.send(LogEntry(.info, "to nobody"))
            guard sink.flush(within: .seconds(20)) else { exit(2) }
            let snapshot = sink.snapshot()
            exit(snapshot.failed == 1 && snapshot.lastFailure == "write: Broken pipe" ? 0 : 3)
        }
    }
}
