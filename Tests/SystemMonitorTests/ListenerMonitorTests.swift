import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Listener monitors", .timeLimit(.minutes(60)))
struct ListenerMonitorTests {
    private let queue = MonitorQueue(label: "test.listener")
    private let scratch: ScratchDirectory

    init() throws { scratch = try ScratchDirectory() }

    private func path(_ name: String) -> BytePath { BytePath(scratch.appending(name)) }

    private func listener(_ name: String = "control", mode: UInt32 = 0o660) throws -> ListenerMonitor {
        try ListenerMonitor(owning: try listen(at: path(name), mode: mode), label: "test", queue: queue)
    }

    @Test("Connections are reported with the client's credentials")
    func credentials() async throws {
        var observed = await Observed(try listener())
        for _ in 0..<3 {
            let client = try connect(to: path("control"), patience: .seconds(5))
            let incoming = try await observed.next()
            #expect(incoming.peer.user == geteuid() && incoming.peer.group == getegid())
            #expect(incoming.peer.process == getpid() && incoming.peer.isIn(group: getegid()))
            guard let connection = incoming.take() else {
                Issue.record("a connection that nobody took before is there")
                continue
            }
            let isGone = incoming.take() == nil
            #expect(isGone)
            // Non-blocking, whether the listener was or not.
            #expect(fcntl(connection.raw, F_GETFL) & O_NONBLOCK != 0)
            try send("hello", to: connection.raw)
            #expect(try receive(from: client.raw) == "hello")
        }
        await observed.end()
    }

    @Test("Many connections are all reported, and those not taken are closed")
    func flood() async throws {
        var observed = await Observed(try listener())
        var clients: [Int32] = []
        for _ in 0..<100 { clients.append(try connect(to: path("control"), patience: .seconds(5)).take()) }
        for _ in 0..<100 { _ = try await observed.next() }
        // The handles were released without taking their connections.
        for client in clients {
            #expect(try receiveAll(from: client).isEmpty)
            close(client)
        }
        #expect(observed.monitor.describe().delivered == 100)
        await observed.end()
    }

    @Test("The socket has the requested permissions and group, and replaces older files")
    func permissions() async throws {
        // A socket left by an earlier process, and a temporary left by one that died.
        for name in ["control", "control.\(getpid()).part"] {
            _ = try listen(at: path(name), mode: 0o600)
        }
        let monitor = try listener(mode: 0o660)
        let status = try FileStatus(at: path("control"), followingLinks: false)
        #expect(status.kind == .socket && status.mode & 0o777 == 0o660)
        var observed = await Observed(monitor)
        let client = try connect(to: path("control"), patience: .seconds(5))
        _ = try await observed.next()
        _ = consume client
        await observed.end()
        // Repeated, since a child of another test may hold all descriptors until its exec.
        let deadline = ContinuousClock.now.advanced(by: .seconds(waitLimit))
        var isRefused = false
        while !isRefused, ContinuousClock.now < deadline {
            do { _ = try connect(to: path("control"), patience: .seconds(5)) } catch { isRefused = true }
        }
        #expect(isRefused)
    }

    @Test("A path that is too long for a socket address works")
    func longPath() async throws {
        let deep = String(repeating: "d", count: 200)
        try #require(mkdir(scratch.appending(deep), 0o700) == 0)
        var observed = await Observed(try listener("\(deep)/control"))
        let client = try connect(to: path("\(deep)/control"), patience: .seconds(5))
        _ = try await observed.next()
        _ = consume client
        await observed.end()
    }

    @Test("A socket that does not listen is refused")
    func notListening() throws {
        let ends = try makeSocketPair()
        let error = #expect(throws: SystemCallError.self) {
            try ListenerMonitor(owning: OwnedDescriptor(taking: ends.one), label: "test", queue: queue)
        }
        #expect(error?.code == .invalidArgument)
        close(ends.other)
    }

    @Test("Without free descriptors connections are closed and counted, without a busy loop")
    func exhaustion() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let scratch = try ScratchDirectory()
            let path = BytePath(scratch.appending("control"))
            let queue = MonitorQueue(label: "test.exhausted")
            let monitor = try ListenerMonitor(
                owning: try listen(at: path, mode: 0o600), label: "test", queue: queue)
            var observed = await Observed(monitor)
            // Connected first, since that needs descriptors too.
            monitor.queue.sync { monitor.suspend() }
            let clients = try (0..<2).map { _ in try connect(to: path, patience: .seconds(5)).take() }
            var hoard: [Int32] = []
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            while case let number = open("/dev/null", O_RDONLY), number >= 0 { hoard.append(number) }
            monitor.queue.sync { monitor.resume() }
            for client in clients {
                var byte: UInt8 = 0
                precondition(read(client, &byte, 1) <= 0, "ended by us")
            }
            // A connection is counted after it is closed, in the same turn.
            let told = monitor.queue.sync { monitor.describe() }
            precondition(told.dropped == 2 && told.delivered == 0 && told.errors == 0, "\(told)")
            for number in hoard { close(number) }
            let late = try connect(to: path, patience: .seconds(5))
            _ = try await observed.next()
            _ = consume late
            await observed.end()
        }
        #expect(result != nil)
    }

    @Test("Without even a reserved descriptor connections wait, and are reported later")
    func nothingLeft() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let scratch = try ScratchDirectory()
            let path = BytePath(scratch.appending("control"))
            let queue = MonitorQueue(label: "test.exhausted")
            let monitor = try ListenerMonitor(
                owning: try listen(at: path, mode: 0o600), label: "test", queue: queue)
            var observed = await Observed(monitor)
            queue.sync { monitor.suspend() }
            let clients = try (0..<2).map { _ in try connect(to: path, patience: .seconds(5)).take() }
            // No descriptor may be opened, not even with the reserved number.
            var (before, none) = (rlimit(), rlimit())
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            precondition(getrlimit(resource, &before) == 0)
            none.rlim_max = before.rlim_max
            precondition(setrlimit(resource, &none) == 0)
            queue.sync { monitor.resume() }
            var told = queue.sync { monitor.describe() }
            while told.rateLimitHits < 3, told.errors == 0 { told = queue.sync { monitor.describe() } }
            precondition(told.dropped == 0 && told.delivered == 0 && told.errors == 0, "\(told)")
            precondition(setrlimit(resource, &before) == 0)
            for client in clients {
                let connection = try await observed.next().take()
                precondition(connection != nil)
                close(client)
            }
            await observed.end()
        }
        #expect(result != nil)
    }

    @Test("A connection without credentials is closed, and others are reported")
    func unknownPeer() async throws {
        // AF_INET has no credentials.
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(server >= 0 && Glibc.listen(server, 8) == 0)
        let observed = await Observed(
            try ListenerMonitor(owning: OwnedDescriptor(taking: server), label: "test", queue: queue))
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        for _ in 0..<3 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    getsockname(server, pointer, &length) == 0 ? connect(client, pointer, length) : -1
                }
            }
            try #require(status == 0)
            var patience = timeval(tv_sec: Int(waitLimit), tv_usec: 0)
            setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
            #expect(try receiveAll(from: client).isEmpty)
            close(client)
        }
        let told = queue.sync { observed.monitor.describe() }
        #expect(told.dropped == 3 && told.errors == 0 && told.delivered == 0, "\(told)")
        await observed.end()
    }

    @Test("A released listener closes its pending connections")
    func released() throws {
        let listener = try listener()
        let client = try connect(to: path("control"), patience: .seconds(5))
        _ = consume listener
        var end = pollfd(fd: client.raw, events: 0, revents: 0)
        #expect(poll(&end, 1, Int32(waitLimit * 1_000)) == 1 && end.revents & Int16(POLLHUP) != 0)
    }
}
