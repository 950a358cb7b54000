import ControlProtocol
import DaemonSupport
import FileValues
import Glibc
import LinuxKernel
import LogMessages
import Logging
import Settings
import SystemMonitor
import SystemPackage
import Systemd

/// Writes the state to the runtime directory, whole or not at all, from a queue that does nothing else.
final class DumpWriter: DaemonPart {
    private let queue = MonitorQueue(label: "photo-inbox.dump")
    private let state: LiveState
    private let log: DaemonLog

    init(state: LiveState, log: DaemonLog) {
        self.state = state
        self.log = log
    }

    /// Captures the state now, on the calling queue, and writes it on the dump's own.
    func perform(_ action: Action, asker: String) {
        guard action == .dump else { return }
        let captured = state.capture()
        let directory = state.settings.runtime
        queue.async { [log] in
            do {
                let path = try Self.write(captured, into: directory)
                log.dumped(captured, at: path, asked: asker)
            } catch {
                log.logger.log(
                    .warning, .stateDumped,
                    "the state could not be written to \(directory.escaped): \(error), continuing")
            }
        }
    }

    private static func write(_ state: DaemonState, into directory: BytePath) throws -> BytePath {
        try openDirectory(directory).put(
            try JSONCoding.write(state, pretty: true) + [0x0A], as: RuntimeFile.state)
        return directory.appending(RuntimeFile.state)
    }
}
