// small-daemon DIRECTORY: a systemd service that logs each file that is finished in a directory tree.
import FileValues
import Glibc
import Logging
import SystemMonitor
import Systemd

// First, while the process has one thread.
ProcessSignals.block([.hup, .int, .term])
let manager = ServiceManager.takeFromEnvironment()

let encoding = JournalEncoding(identifier: "small-daemon", prefix: "SMALL_DAEMON_")
let sink = LogDestination.choose().makeSink(encoding: encoding)
let logger = Logger(label: "small-daemon") { JournalLogHandler(label: $0, sink: sink) }

// The last message before a trap, and errors of handlers.
LifecycleViolation.setSink { sink.sendNow(LogEntry(.critical, $0, id: .lifecycleViolation)) }
MonitorRegistry.shared.setHandlerErrorSink { monitor, error in
    logger.log(.error, .handlerFailed, "\(monitor.kind) \"\(monitor.label)\" is disabled: \(error)")
}

guard CommandLine.arguments.count == 2 else {
    logger.error("usage: small-daemon DIRECTORY")
    _ = sink.flush(within: .seconds(2))
    exit(64)
}
do {
    let daemon = try SmallDaemon(
        directory: BytePath(CommandLine.arguments[1]), manager: manager, logger: logger, sink: sink)
    daemon.start()
} catch {
    logger.error("cannot start: \(error)")
    _ = sink.flush(within: .seconds(2))
    exit(1)
}
ProcessSignals.parkMainThread()
