import DaemonSupport
import Glibc
import Hooks
import LinuxKernel
import Logging
import Settings
import SystemMonitor
import Systemd

/// The main function of photoinboxd-hooks@.service: one run of one hook, for the daemon at the other end of the connection.
enum HookRunning {
    /// Serves the connection from the service manager, and exits. `client` is the daemon's user, by name or
    /// number. Without a configuration in `options` it is that of the instance whose socket this is, else the system's.
    /// Signals must be blocked.
    static func serve(_ client: String, options: DaemonOptions, service: ServiceManager) -> Int32 {
        guard let user = userNumber(client) else {
            writeToStandardError("photoinboxd: no user is named \(client)")
            return EX_NOUSER
        }
        guard let connection = service.activatedDescriptors.first?.take() else {
            writeToStandardError("photoinboxd: no connection; start it by photoinboxd-hooks.socket")
            return EX_USAGE
        }
        var options = options
        // Each instance's socket has a path of its own.
        if options.file == nil {
            let socket = try? localPath(of: connection)
            // Never a file of the hooks' user, who could then choose programs.
            options.file = socket.flatMap(StandardPlaces.configuration) ?? StandardPlaces.systemFile
        }
        let sink = LogDestination.choose(.automatic, colour: .never).makeSink(
            encoding: JournalEncoding(identifier: "photoinboxd", prefix: "PHOTOINBOX_"))
        let log = DaemonLog(Logger(label: "photoinboxd") { JournalLogHandler(label: $0, sink: sink) })
        LifecycleViolation.setSink { message in
            sink.sendNow(LogEntry(.critical, message, id: .lifecycleViolation))
        }
        do {
            let hooks = try HookService(owning: connection, client: user, options: options, log: log) { status in
                _ = sink.flush(within: .seconds(2))
                exit(status)
            }
            hooks.start()
            withExtendedLifetime(hooks) { ProcessSignals.parkMainThread() }
        } catch {
            writeToStandardError("photoinboxd: \(error)")
            return EX_NOPERM
        }
    }
}
