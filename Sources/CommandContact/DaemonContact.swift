package import CommandSupport
package import ControlProtocol
import Dispatch
import FileValues
import Foundation
import Glibc
import LinuxKernel
import Reporting
import SystemMonitor
import SystemPackage

/// Asks a running daemon for its state: by SIGUSR1 and the state file.
package struct DaemonContact {
    /// The time limit for an answer; a busy or stuck daemon, too, answers within 100 ms.
    package static let patience = 5.0

    private let places: Places

    package init(places: Places) { self.places = places }

    /// The daemon's current state: by the control socket, or by a signal if that does not answer.
    package func freshState() throws(CommandFailure) -> DaemonState {
        do throws(CommandFailure) {
            return try ControlContact(places: places).daemonState(within: Int(Self.patience))
        } catch {
            let bySocket = error
            do throws(CommandFailure) { return try decode(try freshStateFile()) } catch {
                // Without permission for either, the advice is about the socket.
                throw error.status == .permission && bySocket.status == .permission ? bySocket : error
            }
        }
    }

    /// The state of the last dump, however old; nil if it cannot be read. It has inboxes and arrivals in hand, which the
    /// catalogue has not.
    package func lastState() -> DaemonState? {
        guard let bytes = try? contents(of: places.stateFile) else { return nil }
        return try? decode(bytes)
    }

    package var isRunning: Bool { (try? process()) != nil }

    /// The same as ``freshState()``, as the file's bytes.
    package func freshStateFile() throws(CommandFailure) -> [UInt8] {
        let process = try process()
        do throws(SystemCallError) {
            let answer = try StateFileWatch(directory: places.runtime, file: places.stateFile.name)
            // Watched before asking, so that an immediate answer is seen.
            try answer.wait(seconds: Self.patience) { () throws(SystemCallError) in
                try systemCall("kill") { kill(process, SIGUSR1) }
            }
            return try contents(of: places.stateFile)
        } catch {
            switch error.code {
            case .noSuchProcess: throw ControlContact.down
            case .notPermitted, .permissionDenied: throw Self.forbidden(places.stateFile)
            case .timedOut:
                throw CommandFailure(
                    .failed, "photoinboxd (pid \(process)) does not answer",
                    action: "See: systemctl status photoinboxd")
            default: throw CommandFailure(error)
            }
        }
    }

    private func decode(_ bytes: [UInt8]) throws(CommandFailure) -> DaemonState {
        do { return try JSONDecoder().decode(DaemonState.self, from: Data(bytes)) } catch {
            throw ControlContact.unreadable("\(places.stateFile)")
        }
    }

    /// The process number of a living photoinboxd.
    private func process() throws(CommandFailure) -> pid_t {
        let bytes: [UInt8]
        do { bytes = try contents(of: places.processFile) } catch {
            if error.code == .noSuchFileOrDirectory { throw ControlContact.down }
            if error.code == .permissionDenied { throw Self.forbidden(places.processFile) }
            throw CommandFailure(error)
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let process = pid_t(text), process > 1 else {
            throw CommandFailure(.failed, "\(places.processFile) has no process number")
        }
        // A stale number may belong to another process, which the signal would end.
        // One that was killed, and is awaited by nobody yet, has a name but no arguments.
        guard let name = try? contents(of: BytePath("/proc/\(process)/comm")), name == Array("photoinboxd\n".utf8),
            let arguments = try? contents(of: BytePath("/proc/\(process)/cmdline")), !arguments.isEmpty
        else {
            throw ControlContact.down
        }
        return process
    }

    private static func forbidden(_ file: BytePath) -> CommandFailure {
        CommandFailure(
            .permission, "cannot ask photoinboxd (\(file)): \(permissionDenied(to: file))",
            action: "Use sudo, or run it as the user of photoinboxd.")
    }
}

/// Waits until a file in a directory is replaced.
private struct StateFileWatch {
    private let queue = MonitorQueue(label: "photoinbox.answer")
    private let monitor: DirectoryMonitor
    private let directory: BytePath
    private let file: BytePath

    init(directory: BytePath, file: BytePath) throws(SystemCallError) {
        (self.directory, self.file) = (directory, file)
        monitor = try DirectoryMonitor(label: "answer", queue: queue)
    }

    /// Runs `ask` once the directory is watched, and returns when the file arrives; throws ETIMEDOUT after `seconds`.
    func wait(seconds: Double, _ ask: () throws(SystemCallError) -> Void) throws(SystemCallError) {
        let arrived = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        let monitor = self.monitor
        let file = self.file
        queue.sync {
            monitor.setEventHandler { events in
                events.forEach { record in
                    if record.mask.contains(.movedTo), record.copiedName == file { arrived.signal() }
                }
            }
            monitor.activate()
        }
        let result: Result<Bool, SystemCallError>
        do throws(SystemCallError) {
            _ = try monitor.watches.addWatch(directory, [.movedTo, .onlyDirectory])
            try ask()
            result = .success(arrived.wait(timeout: .now() + seconds) == .success)
        } catch {
            result = .failure(error)
        }
        queue.sync { monitor.invalidate { ended.signal() } }
        ended.wait()
        guard try result.get() else { throw SystemCallError("wait", .timedOut, path: directory) }
    }
}
