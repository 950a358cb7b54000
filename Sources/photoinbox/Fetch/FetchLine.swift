import CommandContact
import CommandSupport
import ControlProtocol
import Fetching
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// The connection for one batch: to photoinboxd-fetch.socket, or to a child of this process if nothing listens there. Used
/// on the main thread only.
final class FetchLine {
    private let socket: OwnedDescriptor
    private var child: ChildProcess?
    private var frames = FrameReader(limit: FetchReport.longest)
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// How long to wait for a report before handling signals and the display.
    private static let turn = Duration.milliseconds(100)

    /// Requests a batch. If the service cannot be reached, a child gets the request, with `place`.
    init(socket path: BytePath, _ request: FetchRequest, _ place: FetchPlace) throws(CommandFailure) {
        do throws(SystemCallError) {
            if let connected = try Self.service(at: path) {
                socket = connected
                try send(request.frame)
                return
            }
            let (near, far) = try connectedPair(patience: Self.turn)
            socket = OwnedDescriptor(taking: near)
            let other = OwnedDescriptor(taking: far)
            child = try ChildProcess.spawn(Self.program, ["--child"], input: .descriptor(other.raw))
            var request = request
            request.place = place
            try send(request.frame)
        } catch { throw Self.failure(error) }
    }

    /// Nil if there is no service, or this user may not use it but may write to the inbox.
    private static func service(at path: BytePath) throws(SystemCallError) -> OwnedDescriptor? {
        do throws(SystemCallError) { return try connect(to: path, patience: turn) } catch {
            let none: [Errno] = [
                .noSuchFileOrDirectory, .connectionRefused, .permissionDenied, .notPermitted, .notDirectory,
            ]
            guard none.contains(error.code) else { throw error }
            return nil
        }
    }

    /// Sends all of it.
    func send(_ bytes: [UInt8]) throws(SystemCallError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            do throws(SystemCallError) {
                let raw = socket.raw
                let count = try systemCall("send") {
                    rest.withUnsafeBytes { Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                }
                rest = rest.dropFirst(count)
            } catch {
                // It reads as fast as it can; a closed connection is an error of its own.
                guard error.code == .resourceTemporarilyUnavailable else { throw error }
            }
        }
    }

    /// The reports received within a turn; empty if there were none.
    func receive() throws(CommandFailure) -> [FetchReport] {
        let raw = socket.raw
        do throws(SystemCallError) {
            let count = try systemCall("recv") { recv(raw, &buffer, buffer.count, 0) }
            guard count > 0 else { throw SystemCallError("recv", .connectionReset) }
            frames.add(Array(buffer[..<count]))
        } catch {
            guard error.code == .resourceTemporarilyUnavailable else { throw Self.failure(error) }
            return []
        }
        var reports: [FetchReport] = []
        while let frame = try nextFrame() {
            guard let report = FetchReport(json: frame) else {
                throw CommandFailure(
                    .failed, "cannot read photoinbox-fetch's report",
                    action: "Use the photoinbox-fetch of the same version.")
            }
            reports.append(report)
        }
        return reports
    }

    private func nextFrame() throws(CommandFailure) -> [UInt8]? {
        do throws(FrameRefusal) { return try frames.next() } catch {
            throw CommandFailure(.failed, "photoinbox-fetch sent \(error)")
        }
    }

    /// Waits for the child's end, if there is one; it has answered, so it ends at once.
    func end() {
        shutdown(socket.raw, Int32(SHUT_RDWR))
        _ = try? child.take()?.wait()
    }

    private static func failure(_ error: SystemCallError) -> CommandFailure {
        switch error.code {
        case .noSuchFileOrDirectory where error.call == "posix_spawn":
            CommandFailure(.unavailable, "photoinbox-fetch is not installed (\(program))")
        case .connectionReset, .brokenPipe:
            CommandFailure(
                .failed, "photoinbox-fetch ended without a result",
                action: "See its journal: journalctl -u 'photoinboxd-fetch@*'")
        default: CommandFailure(error)
        }
    }

    /// `photoinbox-fetch` beside the running program, or where `make install` puts it.
    private static var program: BytePath { programBeside("photoinbox-fetch") }
}
