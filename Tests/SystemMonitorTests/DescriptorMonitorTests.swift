import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Descriptor monitors", .timeLimit(.minutes(60)))
struct DescriptorMonitorTests {
    private let queue = MonitorQueue(label: "test.descriptor")

    private func monitor(
        _ raw: Int32, _ direction: DescriptorMonitor.Direction = .read
    ) throws -> DescriptorMonitor {
        try DescriptorMonitor(owning: OwnedDescriptor(taking: raw), for: direction, label: "test", queue: queue)
    }

    /// A handler that reads all bytes, so that the descriptor is no longer readable.
    private let consume: @Sendable (DescriptorMonitor, DescriptorEvent) throws -> Void = { monitor, event in
        guard event.isReady, let available = event.available, available > 0 else { return }
        _ = try monitor.withDescriptor { try receive(from: $0, atMost: available) }
    }

    @Test("A pipe is reported as readable, then once as hung up")
    func pipes() async throws {
        let ends = try makePipe()
        var pipe = await Observed(try monitor(ends.reading), react: consume)
        try send("abc", to: ends.writing)
        #expect(
            try await pipe.next()
                == DescriptorEvent(isReady: true, available: 3, isHungUp: false, failure: nil, isLast: false))
        close(ends.writing)
        #expect(
            try await pipe.next()
                == DescriptorEvent(isReady: false, available: 0, isHungUp: true, failure: nil, isLast: true))
        try await expectSilence(of: pipe.monitor)
        await pipe.end()
    }

    /// Requires that no event follows while another descriptor of the same queue and epoll is reported many times.
    private func expectSilence(of quiet: DescriptorMonitor) async throws {
        let before = quiet.describe().delivered
        let ends = try makePipe()
        var other = await Observed(try monitor(ends.reading), react: consume)
        for _ in 0..<50 {
            try send("x", to: ends.writing)
            _ = try await other.next()
        }
        await other.end()
        close(ends.writing)
        #expect(quiet.describe().delivered == before)
    }

    @Test("Bytes before a hang-up are reported first")
    func dataBeforeHangUp() async throws {
        let ends = try makeSocketPair()
        try send("last", to: ends.other)
        shutdown(ends.other, Int32(SHUT_WR))
        var socket = await Observed(try monitor(ends.one), react: consume)
        #expect(
            try await socket.next()
                == DescriptorEvent(isReady: true, available: 4, isHungUp: true, failure: nil, isLast: false))
        let last = try await socket.next()
        #expect(last.isHungUp && last.isLast && last.available == 0 && last.failure == nil)
        try await expectSilence(of: socket.monitor)
        await socket.end()
        close(ends.other)
    }

    @Test("A descriptor is reported until its bytes are read")
    func unread() async throws {
        let ends = try makePipe()
        try send("abcdef", to: ends.writing)
        var pipe = await Observed(
            try monitor(ends.reading),
            react: { monitor, _ in _ = try monitor.withDescriptor { try receive(from: $0, atMost: 2) } })
        for expected in [6, 4, 2] { #expect(try await pipe.next().available == expected) }
        await pipe.end()
        close(ends.writing)
    }

    @Test("A FIFO that is opened for reading and writing outlives its writers")
    func fifo() async throws {
        let scratch = try ScratchDirectory()
        let path = scratch.appending("commands")
        try #require(mkfifo(path, 0o600) == 0)
        var fifo = await Observed(try monitor(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)), react: consume)
        for _ in 0..<3 {
            try runProgram(["/bin/sh", "-c", "echo dump > \"$0\"", path])
            #expect(
                try await fifo.next()
                    == DescriptorEvent(isReady: true, available: 5, isHungUp: false, failure: nil, isLast: false))
        }
        await fifo.end()
    }

    @Test("A reset is reported as an error")
    func reset() async throws {
        let ends = try makeSocketPair()
        try send("unread", to: ends.one)
        close(ends.other)
        var socket = await Observed(try monitor(ends.one))
        let event = try await socket.next()
        #expect(event.failure == .connectionReset && event.isHungUp && event.isLast)
        try await expectSilence(of: socket.monitor)
        await socket.end()
    }

    @Test("A terminal is reported as readable and as hung up")
    func terminal() async throws {
        let main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(main >= 0)
        // TIOCSPTLCK and TIOCGPTPEER of ioctl_tty(2): unlock the pair, open its other side.
        var locked: Int32 = 0
        try #require(ioctl(main, 0x4004_5431, &locked) == 0)
        let side = ioctl(main, 0x5441, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(side >= 0)
        var terminal = await Observed(try monitor(main), react: consume)
        try send("typed\n", to: side)
        var text = try await terminal.next()
        #expect(text.isReady && !text.isLast && text.failure == nil)
        close(side)
        while !text.isLast { text = try await terminal.next() }
        #expect(text.isHungUp)
        try await expectSilence(of: terminal.monitor)
        await terminal.end()
    }

    @Test("Writing waits for room and fails without readers")
    func writing() async throws {
        let ends = try makePipe()
        try systemCall("fcntl") { fcntl(ends.writing, F_SETFL, O_NONBLOCK) }
        let page = [UInt8](repeating: 0, count: 4_096)
        while write(ends.writing, page, page.count) > 0 {}
        var pipe = await Observed(try monitor(ends.writing, .write)) { monitor, event in
            // Fills it again, so that it is not permanently ready.
            if event.isReady { monitor.withDescriptor { raw in while write(raw, page, page.count) > 0 {} } }
        }
        try await expectSilence(of: pipe.monitor)
        #expect(pipe.monitor.describe().delivered == 0)
        _ = try receive(from: ends.reading)
        #expect(
            try await pipe.next()
                == DescriptorEvent(isReady: true, available: nil, isHungUp: false, failure: nil, isLast: false))
        close(ends.reading)
        var last = try await pipe.next()
        while !last.isLast { last = try await pipe.next() }
        #expect(last.failure == .brokenPipe)
        try await expectSilence(of: pipe.monitor)
        await pipe.end()
    }

    @Test(
        "A descriptor that epoll refuses is refused at set up, with the reason",
        arguments: [
            ("/etc/passwd", FileKind.regular, "cannot watch a regular file, which is always ready"),
            ("/", .directory, "cannot watch a directory, whose changes only inotify tells"),
            ("/dev/null", .characterDevice, "cannot watch this device, which does not report when it is ready"),
        ])
    func refuses(path: String, kind: FileKind, words: String) throws {
        let refusal = #expect(throws: DescriptorRefusal.self) { try monitor(open(path, O_RDONLY | O_CLOEXEC)) }
        #expect(refusal?.kind == kind && refusal?.cause.code == .notPermitted)
        #expect(refusal?.description == "\(words) (epoll_ctl: Operation not permitted)")
    }

    @Test("The owner may close a borrowed descriptor")
    func borrowed() async throws {
        let ends = try makePipe()
        let borrowing = try DescriptorMonitor(borrowing: ends.reading, for: .read, label: "test", queue: queue)
        close(ends.reading)
        // The number is free again; its next file is not watched.
        let stranger = try makePipe()
        var pipe = await Observed(borrowing, react: consume)
        try send("to a stranger", to: stranger.writing)
        try send("ours", to: ends.writing)
        #expect(try await pipe.next().available == 4)
        await pipe.end()
        for number in [ends.writing, stranger.reading, stranger.writing] { close(number) }
    }

    @Test("An owned descriptor is closed when the invalidation has finished")
    func owned() async throws {
        let ends = try makeSocketPair()
        let socket = await Observed(try monitor(ends.one))
        await socket.end()
        #expect(try receiveAll(from: ends.other).isEmpty)
        close(ends.other)
    }
}
