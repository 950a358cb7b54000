package import CommandSupport
package import ControlProtocol
package import FileValues
import Foundation
import Glibc
import LinuxKernel
import Reporting
import SystemPackage

/// A connection that may be open.
package struct ControlLine: ~Copyable {
    fileprivate var socket: OwnedDescriptor?

    package init() {}
}

/// A client of the daemon's control socket; see photoinbox-control(7).
package struct ControlContact {
    package let runtime: BytePath

    package init(runtime: BytePath) { self.runtime = runtime }
    package init(places: Places) { self.init(runtime: places.runtime) }

    /// Seconds without an answer before a remark.
    private static let remarkAfter = 5

    /// Sends a request and waits for the answer, within so many seconds or without a limit.
    package func ask(_ request: ControlRequest, within seconds: Int? = nil) throws(CommandFailure) -> ControlAnswer {
        var line = ControlLine()
        return try Self.answer(in: try exchange(request, within: seconds, by: &line))
    }

    /// Has photoinboxd carry it out in a process that ends with that, while none runs; `configuration` is the file that
    /// was named. It reads the same configuration as this process, and continues if this one is interrupted.
    package static func answerWithoutDaemon(_ request: ControlRequest, configuration: BytePath?) throws(CommandFailure)
        -> ControlAnswer
    {
        let program = programBeside("photoinboxd")
        guard (try? FileStatus(at: program, followingLinks: true)) != nil else {
            throw CommandFailure(
                .unavailable,
                "photoinboxd is not running, and cannot be started for this: there is no \(program.escaped)",
                action: "Install photoinboxd with photoinbox.")
        }
        let bytes: [UInt8]
        do throws(SystemCallError) {
            let (near, far) = try connectedPair(patience: .seconds(1))
            let socket = OwnedDescriptor(taking: near)
            let other = OwnedDescriptor(taking: far)
            let child = try ChildProcess.spawn(
                program, (configuration.map { ["--config", $0] } ?? []) + ["--answer"],
                environment: ProcessInfo.processInfo.environment, input: .descriptor(other.raw))
            // The child's end would keep the connection open without the child.
            _ = consume other
            bytes = try exchange(request, socket.raw, within: nil)
            _ = try child.wait()
        } catch { throw failure(error) }
        return try answer(in: bytes)
    }

    private static func answer(in bytes: [UInt8]) throws(CommandFailure) -> ControlAnswer {
        guard let answer = ControlAnswer(json: bytes) else { throw unreadable("photoinboxd's answer") }
        return answer
    }

    /// The failure of a JSON decoder.
    static func unreadable(_ what: String) -> CommandFailure {
        CommandFailure(
            .failed, "cannot read \(what)", action: "Use the photoinbox of the same version as the daemon.")
    }

    /// The state's JSON, within so many seconds.
    package func state(within seconds: Int) throws(CommandFailure) -> [UInt8] {
        var line = ControlLine()
        return try state(within: seconds, by: &line)
    }

    private func state(within seconds: Int, by line: inout ControlLine) throws(CommandFailure) -> [UInt8] {
        let bytes = try exchange(ControlRequest(.state), within: seconds, by: &line)
        if let failure = CommandFailure(try Self.answer(in: bytes)) { throw failure }
        // Without the brace that ends the answer.
        let content = bytes.dropLast()
        guard let mark = content.firstRange(of: ",\"state\":".utf8) else {
            throw CommandFailure(.failed, "photoinboxd answered without a state")
        }
        return Array(content[mark.upperBound...])
    }

    /// The state within so many seconds, read.
    package func daemonState(within seconds: Int) throws(CommandFailure) -> DaemonState {
        var line = ControlLine()
        return try daemonState(within: seconds, by: &line)
    }

    /// The same over a connection that stays open for further requests.
    package func daemonState(within seconds: Int, by line: inout ControlLine) throws(CommandFailure) -> DaemonState {
        let bytes = try state(within: seconds, by: &line)
        do { return try JSONDecoder().decode(DaemonState.self, from: Data(bytes)) } catch {
            throw Self.unreadable("photoinboxd's answer")
        }
    }

    private func exchange(
        _ request: ControlRequest, within limit: Int?, by line: inout ControlLine
    ) throws(CommandFailure) -> [UInt8] {
        let path = runtime.appending("control")
        // An open connection may have ended meanwhile, with the daemon or because it was idle.
        if let socket = line.socket.take(), let answer = try? Self.exchange(request, socket.raw, within: limit) {
            line.socket = consume socket
            return answer
        }
        do throws(SystemCallError) {
            let socket = try connect(to: path, patience: .seconds(1))
            let answer = try Self.exchange(request, socket.raw, within: limit)
            line.socket = consume socket
            return answer
        } catch {
            guard [.permissionDenied, .notPermitted].contains(error.code) else { throw Self.failure(error) }
            throw CommandFailure(
                .permission, "cannot ask photoinboxd (\(path)): \(permissionDenied(to: path))",
                action: permissionAdvice(for: path))
        }
    }

    private static func failure(_ error: SystemCallError) -> CommandFailure {
        switch error.code {
        case .noSuchFileOrDirectory, .connectionRefused: down
        case .resourceTemporarilyUnavailable:
            CommandFailure(.busy, "photoinboxd accepts no connection", action: "See: systemctl status photoinboxd")
        case .connectionReset, .brokenPipe:
            CommandFailure(
                .unavailable, "photoinboxd closed the connection before it answered",
                action: "photoinbox explain and photoinbox show say what was done.")
        default: CommandFailure(error)
        }
    }

    private static func exchange(
        _ request: ControlRequest, _ socket: Int32, within limit: Int?
    ) throws(SystemCallError) -> [UInt8] {
        try send(framed(request.json()), to: socket)
        return try receive(from: socket, within: limit)
    }

    package static let down = CommandFailure(
        .unavailable, "photoinboxd is not running", action: "Start it: sudo systemctl start photoinboxd")

    private static func send(_ bytes: [UInt8], to socket: Int32) throws(SystemCallError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try systemCall("send") {
                rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func receive(from socket: Int32, within limit: Int?) throws(SystemCallError) -> [UInt8] {
        var reader = FrameReader(limit: ControlAnswer.limit + 1_024)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var seconds = 0
        while true {
            do {
                if let frame = try reader.next() { return frame }
            } catch { throw SystemCallError("recv", Errno(rawValue: EPROTO)) }
            let count: Int
            do {
                count = try systemCall("recv") { recv(socket, &buffer, buffer.count, 0) }
            } catch {
                guard error.code == .resourceTemporarilyUnavailable else { throw error }
                seconds += 1
                if seconds == limit { throw error }
                if seconds == remarkAfter, limit == nil {
                    printRemark("waiting for photoinboxd; after Ctrl-C it continues by itself")
                }
                continue
            }
            if count == 0 { throw SystemCallError("recv", .connectionReset) }
            reader.add(Array(buffer[..<count]))
        }
    }
}

extension CommandFailure {
    /// The failure in an answer; nil for a success.
    package init?(_ answer: ControlAnswer) {
        let status = ExitStatus(reported: answer.status)
        guard status != .ok, status != .someLeft else { return nil }
        self.init(status, answer.message, action: answer.action)
    }
}
