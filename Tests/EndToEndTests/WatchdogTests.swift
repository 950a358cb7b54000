import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

/// A datagram socket in place of the service manager's; see sd_notify(3).
private final class NotifyReceiver: Sendable {
    let path: String
    private let socket: Int32

    init(_ path: String) throws {
        self.path = path
        socket = try systemCall("socket") {
            Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let number = socket
        try withUnsafePointer(to: &address) { address in
            try address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try systemCall("bind") { bind(number, address, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        }
    }

    deinit { close(socket) }

    /// The number of new pings.
    func pings() -> Int {
        var count = 0
        while let message = receive() { count += message == "WATCHDOG=1" ? 1 : 0 }
        return count
    }

    /// Waits for a new ping.
    func ping() async throws {
        _ = pings()
        try await message("WATCHDOG=1")
    }

    /// Waits for a message with this beginning.
    func message(_ beginning: String) async throws {
        try await aside { [self] in
            while true {
                var question = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                let ready = try systemCall("poll") { poll(&question, 1, Int32(waitLimit * 1_000)) }
                guard ready == 1 else { throw SystemCallError("poll for \(beginning)", .timedOut) }
                if receive()?.hasPrefix(beginning) == true { return }
            }
        }
    }

    func receive() -> String? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}

/// Reads another process's inotify queue through a copy of its descriptor (pidfd_getfd(2)), as a
/// debugger might, or a program that inherited it by mistake. That process never gets the records.
private final class EventThief: Sendable {
    private let queue: Int32
    private let isActive = Locked(true)

    init(from process: pid_t) throws {
        let directory = "/proc/\(process)/fd"
        let number = try FileManager.default.contentsOfDirectory(atPath: directory).first { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)")) == "anon_inode:inotify"
        }
        let victim = try systemCall("pidfd_open") { Self.call(434, Int(process), 0, 0) }
        defer { close(Int32(victim)) }
        let wanted = try #require(number.flatMap { Int($0) })
        queue = Int32(try systemCall("pidfd_getfd") { Self.call(438, victim, wanted, 0) })
        let queue = queue
        Thread.start { [isActive] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            // Without sleeping, so that the process, which must be woken first, is too late.
            while isActive.withLock({ $0 }) { _ = read(queue, &buffer, buffer.count) }
            close(queue)
        }
    }

    func stop() { isActive.withLock { $0 = false } }

    /// Why this is impossible on this machine; nil if it is possible.
    static let refusal: String? = {
        do {
            let own = try systemCall("pidfd_open") { call(434, Int(getpid()), 0, 0) }
            defer { close(Int32(own)) }
            close(Int32(try systemCall("pidfd_getfd") { call(438, own, 0, 0) }))
            return nil
        } catch {
            return "\(error)"
        }
    }()

    /// syscall(2), which Swift does not import.
    private static func call(_ number: Int, _ first: Int, _ second: Int, _ third: Int) -> Int {
        typealias Call = @convention(c) (Int, Int, Int, Int) -> Int
        guard let symbol = dlsym(nil, "syscall") else { return -1 }
        return unsafeBitCast(symbol, to: Call.self)(number, first, second, third)
    }
}

extension EndToEnd {
    @Suite("The service manager is pinged while events arrive")
    struct WatchdogPings {
        private let scratch: ScratchDirectory
        private let receiver: NotifyReceiver

        init() throws {
            scratch = try ScratchDirectory()
            receiver = try NotifyReceiver(scratch.appending("notify"))
        }

        /// The environment of a service manager that requires a ping every two seconds.
        private var service: [String] { service(pingedWithin: 2) }

        private func service(pingedWithin seconds: Int) -> [String] {
            ["/usr/bin/env", "NOTIFY_SOCKET=\(receiver.path)", "WATCHDOG_USEC=\(seconds)000000"]
        }

        @Test("The start-up timeout is extended before the catalogue is read")
        func moreTime() async throws {
            let house = try House(running: service)
            let daemon = try await house.start()
            #expect(receiver.receive() == "EXTEND_TIMEOUT_USEC=60000000")
            try await daemon.stop()
            var isReady = false
            while let message = receiver.receive() { isReady = isReady || message.hasPrefix("READY=1") }
            #expect(isReady)
        }

        @Test("A long start-up extends the timeout repeatedly", .enabled(if: canFreeze, withoutDisks))
        func longStart() async throws {
            let script = """
                PATH=/usr/sbin:/usr/bin:/sbin:/bin; root=${2%/*}
                truncate -s 32M $root/disk && mkfs.ext4 -q -F $root/disk && mkdir $root/st &&
                mount -o loop $root/disk $root/st && fsfreeze -f $root/st && exec "$0" "$@"
                """
            let house = try House(
                running: service + ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script])
            let daemon = try house.launch([
                "--inbox", house.inbox, "--library", house.library, "--state", house.path("st"),
            ])
            var isFrozen = true
            func thaw() throws { try MountedHouse.run("/sbin/fsfreeze", "-u", house.path("st"), beside: daemon) }
            defer { if isFrozen { try? thaw() } }
            for _ in 0..<3 { try await receiver.message("EXTEND_TIMEOUT_USEC=60000000") }
            try thaw()
            isFrozen = false
            try await daemon.lines(holding: ["ready: "])
            try await daemon.stop()
        }

        @Test("The unit's status reports that filing has stopped")
        func stoppedStatus() async throws {
            let house = try House(running: service(pingedWithin: 3_600))
            let daemon = try await house.start()
            try move(house.library, to: "\(house.outside)/library")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await receiver.message("STATUS=FILING STOPPED: PI-401")
            try await daemon.stop()
        }

        @Test(
            "Without events there are no pings; when events arrive again, pings resume",
            .enabled(if: EventThief.refusal == nil, "skipped: needs pidfd_getfd(2): \(EventThief.refusal ?? "")"),
            .timeLimit(.minutes(60)))
        func stolenEvents() async throws {
            let house = try House(running: service)
            let daemon = try await house.start()
            for _ in 0..<2 { try await receiver.ping() }
            _ = try await house.state(of: daemon) { ($0.liveness?.proofs ?? 0) > 0 }

            let thief = try EventThief(from: daemon.pid)
            defer { thief.stop() }
            try await daemon.line(holding: "PI-107 no event has arrived")
            thief.stop()
            _ = receiver.pings()
            // Several ticks of one second each.
            let state = try await house.state(of: daemon) { ($0.liveness?.silentSeconds ?? 0) >= 5 }
            #expect(receiver.pings() == 0)
            #expect(state.problems.map(\.code) == ["PI-107"], "\(String(describing: state.liveness))")
            #expect(state.subsystems.allSatisfy { $0.stuckSeconds == nil }, "nothing else keeps the ping back")

            // The missing event.
            try runProgram(["/bin/sh", "-c", ": >>\"$0\"", house.path("st/run/watch.cookie")])
            try await receiver.ping()
            try await daemon.line(holding: "PI-107 is over")
            try await receiver.ping()
            try await daemon.stop()
        }

        @Test(
            "Pings continue when a file system covers the runtime directory, with the cookie's inode number",
            .enabled(if: canMount, withoutMounts), .timeLimit(.minutes(60)))
        func covered() async throws {
            let house = try House(
                running: service + [
                    "/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c",
                    "run=${2%/inbox}/st/run; mkdir -p $run && /bin/mount -t tmpfs tmpfs $run && exec \"$0\" \"$@\"",
                ])
            let daemon = try await house.start()
            try await receiver.ping()
            let cookie = "/proc/\(daemon.pid)/root\(house.path("st/run/watch.cookie"))"
            var before = stat()
            while stat(cookie, &before) != 0 { try await receiver.ping() }
            // Inode numbers are consecutive there, so a file with that number can be created.
            try runProgram([
                "/usr/bin/nsenter", "-m", "-t", "\(daemon.pid)", "/bin/sh", "-c",
                """
                PATH=/usr/sbin:/usr/bin:/sbin:/bin; mount -t tmpfs tmpfs "$0" && cd "$0" && for n in $(seq 1000); do
                    : >$n; if [ "$(stat -c %i $n)" = \(before.st_ino) ]; then mv $n watch.cookie; exit; fi
                done; exit 1
                """, house.path("st/run"),
            ])
            var after = stat()
            try systemCall("stat") { stat(cookie, &after) }
            #expect(after.st_ino == before.st_ino && after.st_dev != before.st_dev)
            for _ in 0..<5 { try await receiver.ping() }
            #expect(daemon.count(of: "PI-107") == 0)
            try await daemon.stop()
        }
    }
}
