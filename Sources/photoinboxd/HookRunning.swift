import Glibc
import Inbox
import LinuxKernel
import Logging
import Settings
import SystemMonitor
import Systemd

/// What photoinboxd-hooks@.service runs: one run of one hook, for the daemon at the other end of the connection.
enum HookRunning {
    /// Serves the connection that the service manager has handed over, and ends. `client` is the daemon's user, by name or
    /// number. Without a configuration in `options` it is that of the instance whose socket this is, else the system's.
    /// Signals must be blocked.
    static func serve(
        _ client: String, options: DaemonOptions, service: ServiceManager, tell: (String) -> Void
    ) -> Int32 {
        guard let user = userNumber(client) else {
            tell("photoinboxd: there is no user \(client)")
            return EX_NOUSER
        }
        guard let connection = service.activatedDescriptors.first?.take() else {
            tell("photoinboxd: no connection was handed over; photoinboxd-hooks.socket does that")
            return EX_USAGE
        }
        var options = options
        // Each instance's socket has a place of its own, which the service manager has given it.
        if options.file == nil {
            let socket = try? localPath(of: connection)
            // Never a file of the hooks' own user, who would then be trusted to name programs.
            options.file = socket.flatMap(StandardPlaces.configuration) ?? StandardPlaces.systemFile
        }
        let sink = LogDestination.choose(.automatic, colour: .never).makeSink(
            encoding: JournalEncoding(identifier: "photoinboxd", prefix: "PHOTOINBOX_"))
        let log = InboxLog(Logger(label: "photoinboxd") { JournalLogHandler(label: $0, sink: sink) })
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
            tell("photoinboxd: \(error)")
            return EX_NOPERM
        }
    }
}
