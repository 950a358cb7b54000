import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import Systemd

/// A real datagram socket in place of the service manager's.
private final class NotifyListener {
    let socket: OwnedDescriptor

    init(_ address: String) throws {
        socket = try descriptorCall("socket") {
            Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        let number = socket.raw
        let parsed = try #require(UnixAddress(address))
        try systemCall("bind") { parsed.withSocketAddress { Glibc.bind(number, $0, $1) } }
    }

    /// The next datagram; nil if there is none.
    func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket.raw, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}

struct ServiceManagerTests {
    private func manager(_ variables: [String: String]) -> ServiceManager {
        ServiceManager(ServiceEnvironment(variables, processIdentifier: 42))
    }

    @Test("Notices are sent to the manager")
    func notices() throws {
        let scratch = try ScratchDirectory()
        let listener = try NotifyListener(scratch.appending("notify"))
        let run = try ProbeRun.plain(
            "NOTIFY_SOCKET=\(scratch.appending("notify")) WATCHDOG_USEC=400000 exec \"$0\" \"$@\"", ["notify"],
            in: scratch)
        #expect(run.value("present") == "true" && run.value("watchdog") == "0.4 seconds")
        #expect(run.value("inherited") == nil && run.value("sent") == "true")
        #expect(listener.next() == "READY=1\nSTATUS=filing\\nREADY=0")
        #expect(listener.next() == "STATUS=2 arriving")
        let reload = try #require(listener.next()).split(separator: "\n")
        #expect(reload.count == 3 && reload[0] == "RELOADING=1" && reload[2] == "STATUS=reading the configuration")
        #expect(reload[1].hasPrefix("MONOTONIC_USEC=") && Int64(reload[1].dropFirst(15)).map { $0 > 0 } == true)
        #expect(listener.next() == "EXTEND_TIMEOUT_USEC=1500000")
        #expect(listener.next() == "WATCHDOG=1")
        #expect(listener.next() == "STOPPING=1\nSTATUS=bye")
        #expect(listener.next() == nil)
    }

    @Test("An abstract address works")
    func abstractAddress() throws {
        let name = "@photo-inbox-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let listener = try NotifyListener(name)
        try manager(["NOTIFY_SOCKET": name]).ping()
        #expect(listener.next() == "WATCHDOG=1")
    }

    /// The manager receives nothing: a ping fails at once.
    @Test("A busy manager does not delay a ping")
    func busyManager() throws {
        let scratch = try ScratchDirectory()
        let listener = try NotifyListener(scratch.appending("notify"))
        let manager = manager(["NOTIFY_SOCKET": scratch.appending("notify")])
        var sent = 0
        let failure = #expect(throws: SystemCallError.self) {
            while true {
                try manager.ping()
                sent += 1
            }
        }
        #expect(failure?.call == "send" && failure?.code == .resourceTemporarilyUnavailable)
        var received = 0
        while listener.next() != nil { received += 1 }
        #expect(received == sent)
    }

    @Test("Without a manager notices do nothing")
    func withoutManager() throws {
        try ServiceManager.none.ready(status: "filing")
        try manager([:]).stopping(status: "bye")
        #expect(!ServiceManager.none.isPresent && manager([:]).ignoredVariables == [])
    }

    @Test(
        "An invalid address is ignored and reported",
        arguments: ["run/notify", "@", "/", "vsock:2:1", "/" + String(repeating: "x", count: 108)])
    func badAddress(_ address: String) throws {
        let manager = manager(["NOTIFY_SOCKET": address])
        #expect(!manager.isPresent && manager.ignoredVariables.count == 1)
        try manager.ready(status: "filing")
    }

    @Test("A missing manager is an error")
    func missingManager() throws {
        let scratch = try ScratchDirectory()
        let manager = manager(["NOTIFY_SOCKET": scratch.appending("nobody")])
        let failure = #expect(throws: SystemCallError.self) { try manager.ready(status: "filing") }
        #expect(failure?.call == "connect" && failure?.code == .noSuchFileOrDirectory)
    }

    @Test(
        "The watchdog's interval is read, and invalid values are ignored",
        arguments: [
            (["WATCHDOG_USEC": "3000000"], Duration.seconds(3), 0),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "42"], .seconds(3), 0),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "43"], nil, 0),
            (["WATCHDOG_USEC": "0"], nil, 1), (["WATCHDOG_USEC": "-1"], nil, 1), (["WATCHDOG_USEC": "soon\n"], nil, 1),
            (["WATCHDOG_USEC": "99999999999999999999"], nil, 1), ([:], nil, 0),
        ] as [([String: String], Duration?, Int)])
    func watchdog(_ variables: [String: String], _ interval: Duration?, _ ignoredVariables: Int) {
        let manager = manager(variables)
        #expect(manager.watchdogInterval == interval && manager.ignoredVariables.count == ignoredVariables)
    }

    @Test("Inherited descriptors have names and one owner")
    func inheritedDescriptors() throws {
        let scratch = try ScratchDirectory()
        let run = try ProbeRun.plain(
            "exec 3</dev/null 4</dev/zero; LISTEN_PID=$$ LISTEN_FDS=3 LISTEN_FDNAMES=control:: exec \"$0\" \"$@\"",
            ["activated"], in: scratch)
        // The third is not open and so is skipped.
        #expect(
            run.output.map { "\($0.name)=\($0.value)" } == [
                "control=3 closeOnExec=true again=false", "unknown=4 closeOnExec=true again=false", "count=2",
            ])
    }

    @Test("Descriptors for another process are not adopted")
    func otherProcess() {
        for variables in [
            ["LISTEN_PID": "43", "LISTEN_FDS": "1"], ["LISTEN_FDS": "1"], ["LISTEN_PID": "42", "LISTEN_FDS": "-1"],
            ["LISTEN_PID": "42", "LISTEN_FDS": "99999999"], ["LISTEN_PID": "42"],
        ] {
            #expect(ServiceEnvironment(variables, processIdentifier: 42).listenerNames == [])
        }
        let named = ServiceEnvironment(
            ["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "control:web:more"], processIdentifier: 42)
        #expect(named.listenerNames == ["control", "web"])
    }
}
