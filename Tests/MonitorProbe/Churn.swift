import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

/// Sets up, uses and invalidates 10,000 monitors of a kind.
func churn(_ kind: String) -> Never {
    measure { queue, signals in
        switch kind {
        case "CounterMonitor": { try useCounters($0, queue) }
        case "TimerMonitor": { try useTimers($0, queue) }
        case "ClockMonitor": { try useClocks($0, queue) }
        case "SignalMonitor": { try useSignals($0, signals, queue) }
        case "pipe": { try usePipes($0, queue) }
        case "DirectoryMonitor": { try useDirectories($0, queue) }
        case "ListenerMonitor": { try useListeners($0, queue) }
        case "ConnectionMonitor": { try useConnections($0, queue) }
        default: exit(64)
        }
    }
}

/// Prints what the process holds before and after each of five rounds of 2,000 monitors, with 1,000 more before that, so
/// that pools and tables have their size.
func measure(_ make: @escaping @Sendable (MonitorQueue, [Signal]) -> (Int) throws -> Void) -> Never {
    let signals = (1...29).map { Signal.realTime($0) }
    ProcessSignals.block(signals)
    Thread.start {
        do {
            let round = make(MonitorQueue(label: "probe.churn"), signals)
            try round(1_000)
            var holdings = [Holdings()]
            for _ in 0..<5 {
                try round(2_000)
                holdings.append(Holdings())
            }
            for (name, figure) in Holdings.figures {
                say("\(name) \(holdings.map { "\($0[keyPath: figure])" }.joined(separator: " "))")
            }
            say("live \(MonitorRegistry.shared.liveCount)")
            exit(0)
        } catch {
            say("failed: \(error)")
            exit(1)
        }
    }
    ProcessSignals.parkMainThread()
}

/// A plain thread: the driver waits, which no dispatch worker should.
enum Thread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static func start(_ run: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(run)).toOpaque()
        pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, body)
    }
}

/// What the process holds.
struct Holdings {
    static var figures: [(String, KeyPath<Holdings, Int>)] {
        [("descriptors", \.descriptors), ("threads", \.threads), ("memory", \.kilobytes)]
    }

    let descriptors = Self.entries("/proc/self/fd")
    let threads = Self.entries("/proc/self/task")
    let kilobytes = Self.residentKilobytes()

    private static func entries(_ path: String) -> Int {
        guard let directory = opendir(path) else { return -1 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    private static func residentKilobytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return -1 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, 256, file) != nil else { return -1 }
        let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
            separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? -1 : -1) * Int(sysconf(Int32(_SC_PAGESIZE))) / 1024
    }
}

/// Sets up `count` monitors a hundred at a time, gives each one event, and waits until all are gone.
private func use<M: Monitor>(
    _ count: Int, batch: Int = 100, _ queue: MonitorQueue, make: (Int) throws -> M,
    poke: @escaping @Sendable (M, Int) -> Void
) throws {
    var done = 0
    while done < count {
        let size = min(batch, count - done)
        let gone = DispatchGroup()
        for index in 0..<size {
            let monitor = try make(index)
            gone.enter()
            queue.async {
                monitor.setEventHandler { _ in
                    // The first event ends it; more may be in its batch.
                    if monitor.describe().state == .active { monitor.invalidate { gone.leave() } }
                }
                monitor.activate { poke(monitor, index) }
            }
        }
        gone.wait()
        done += size
    }
}

/// All watch one directory, few at a time: a user may have 128 inotify instances, and other tests want some too. An
/// instance that is closed has no watch left, so the descriptors tell of both.
private func useDirectories(_ count: Int, _ queue: MonitorQueue) throws {
    try withScratch { directory, file in
        try use(count, batch: 20, queue) { _ in
            let monitor = try DirectoryMonitor(label: "directory", queue: queue)
            _ = try monitor.watches.addWatch(BytePath(directory), [.closedAfterWriting])
            return monitor
        } poke: { _, _ in
            close(creat(file, 0o600))
        }
    }
}

/// Gives `body` a directory of its own, and the path of a file in it.
func withScratch(_ body: (_ directory: String, _ file: String) throws -> Void) throws {
    var template = Array(
        "\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/photo-inbox-churn.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { exit(1) }
    let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let file = "\(directory)/file"
    defer {
        unlink(file)
        rmdir(directory)
    }
    try body(directory, file)
}

private func useCounters(_ count: Int, _ queue: MonitorQueue) throws {
    try use(count, queue) { _ in
        CounterMonitor(.add, label: "c", queue: queue)
    } poke: { monitor, _ in
        monitor.notify()
    }
}

private func useTimers(_ count: Int, _ queue: MonitorQueue) throws {
    try use(count, queue) { index in
        try TimerMonitor(clock: index % 2 == 0 ? .monotonic : .boottime, .never, label: "t", queue: queue)
    } poke: { monitor, _ in
        monitor.reschedule(.every(.microseconds(50)))
    }
}

private func useSignals(_ count: Int, _ signals: [Signal], _ queue: MonitorQueue) throws {
    try use(count, batch: signals.count, queue) { index in
        try SignalMonitor([signals[index]], label: "s", queue: queue)
    } poke: { _, index in
        kill(getpid(), signals[index].rawValue)
    }
}

/// Nobody sets the clock: suspended and invalidated by turns instead of an event.
private func useClocks(_ count: Int, _ queue: MonitorQueue) throws {
    for start in stride(from: 0, to: count, by: 100) {
        let gone = DispatchGroup()
        for index in start..<start + 100 {
            let monitor = try ClockMonitor(label: "k", queue: queue)
            gone.enter()
            queue.async {
                let end: @Sendable () -> Void = { gone.leave() }
                if index % 3 == 0 { return monitor.invalidate(completion: end) }
                monitor.activate {
                    if index % 3 == 1 { monitor.suspend() }
                    monitor.invalidate(completion: end)
                }
            }
        }
        gone.wait()
    }
}

/// What can hang up, and does: a monitor of the probe's own over a pipe.
final class PipeMonitor: Monitor {
    var handle: MonitorHandle<Int> { core.handle }
    let core: MonitorCore<Int>
    private let writer: Int32

    init(queue: MonitorQueue) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0, fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 else { exit(1) }
        let reader = OwnedDescriptor(taking: ends[0])
        writer = ends[1]
        let watcher = try epollWatcher(of: reader, .read)
        core = MonitorCore(
            kind: "PipeMonitor", label: "p", queue: queue, descriptor: reader, watcher: watcher,
            drain: { descriptor, outlet in
                var bytes = [UInt8](repeating: 0, count: 16)
                outlet.deliver(read(descriptor, &bytes, bytes.count))
            })
    }

    func writeAndHangUp() {
        _ = write(writer, "x", 1)
        close(writer)
    }
}

private func usePipes(_ count: Int, _ queue: MonitorQueue) throws {
    try use(count, queue) { _ in
        try PipeMonitor(queue: queue)
    } poke: { monitor, _ in
        monitor.writeAndHangUp()
    }
}

/// One connection each, which nobody takes.
private func useListeners(_ count: Int, _ queue: MonitorQueue) throws {
    try withScratch { directory, file in
        try use(count, batch: 20, queue) { index in
            let path = BytePath("\(file)-\(index % 20)")
            return try ListenerMonitor(owning: try listen(at: path, mode: 0o600), label: "l", queue: queue)
        } poke: { _, index in
            _ = try? connect(to: BytePath("\(file)-\(index % 20)"), patience: .seconds(5))
        }
        for index in 0..<20 { unlink("\(file)-\(index)") }
    }
}

/// Bytes both ways, then a hang-up.
private func useConnections(_ count: Int, _ queue: MonitorQueue) throws {
    let others = Locked<[Int: Int32]>([:])
    try use(count, queue) { index in
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            exit(1)
        }
        others.withLock { $0[index] = ends[1] }
        return try ConnectionMonitor(owning: OwnedDescriptor(taking: ends[0]), label: "n", queue: queue)
    } poke: { monitor, index in
        guard let other = others.withLock({ $0.removeValue(forKey: index) }) else { exit(1) }
        _ = monitor.send([1, 2, 3])
        _ = write(other, "x", 1)
        close(other)
    }
}
