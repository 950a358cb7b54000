import DaemonSupport
import FileValues
import Glibc
import LinuxKernel
import Logging
import QueueActors
import Settings
import SystemMonitor
import SystemPackage
import Systemd

/// The control socket: opened by the service manager, or made once the first configuration is in force. Photos are filed
/// without it, too.
final class ControlSocket: DaemonPart {
    private struct Open: Sendable {
        let server: ControlServer
        /// Where it was made, if not by the service manager.
        let path: BytePath?
    }

    private let handler: RequestHandler
    private let service: ServiceManager
    private let state: LiveState
    private let log: DaemonLog
    private let subsystem = Subsystem(
        name: "clients", queue: MonitorQueue(label: "photo-inbox.clients"), isVital: false)
    private let open = Locked<Open?>(nil)

    init(_ handler: RequestHandler, service: ServiceManager, state: LiveState, log: DaemonLog) {
        self.handler = handler
        self.service = service
        self.state = state
        self.log = log
    }

    var subsystems: [Subsystem] { [subsystem] }

    func start() {
        do {
            let path = state.settings.runtime.appending("control")
            let handed = service.activatedDescriptors.first { $0.name == "control" }?.take()
            let isOurs = handed == nil
            let listening: OwnedDescriptor
            if let handed {
                listening = handed
            } else {
                // Whoever may connect may read, so it is for operators alone unless a socket unit sets another mode.
                listening = try makeSocket(at: path)
            }
            let server = try ControlServer(owning: listening, subsystem: subsystem) { [handler] request, peer in
                await handler.carryOut(request, for: peer)
            }
            server.start()
            open.withLock { $0 = Open(server: server, path: isOurs ? path : nil) }
        } catch {
            log.logger.warning("nobody can give commands: the control socket cannot be opened: \(error), continuing")
        }
    }

    func end(hurrying: Bool) async -> @Sendable () async -> Void {
        let open = open.withLock { $0 }
        if let path = open?.path { try? openDirectory(path.parent).unlink(path.name) }
        await open?.server.stop()
        return {}
    }

    private func makeSocket(at path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        // What is made here has our group already, and a unit's filter may forbid chown(2), even to what is so.
        guard let operators = handler.operatorGroup else { return try listen(at: path, mode: 0o600) }
        let group = operators == getegid() ? nil : operators
        do { return try listen(at: path, mode: 0o660, group: group) } catch {
            guard error.code == .notPermitted, group != nil else { throw error }
            let names = [operators, getegid()].map { groupName($0) ?? "\($0)" }
            log.logger.warning(
                """
                the control socket cannot be given to the group \(names[0]), which photoinboxd is not a member of, so \
                members of \(names[1]) may connect, continuing; see operators in photoinbox.toml(5)
                """)
            return try listen(at: path, mode: 0o660)
        }
    }
}
