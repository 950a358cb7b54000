import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemMonitor

/// The source of a watch's events. Called on the session's queue only.
protocol EventSource: AnyObject, Sendable {
    /// Starts; calls `onReady`, with the number of directories, when every later event will be reported.
    func start(onReady: @escaping @Sendable (Int) -> Void)
    /// Stops; nothing is reported after this call.
    func stop(completion: @escaping @Sendable () -> Void)
}

/// One run of `watch`: an event source, signals, a deadline and a reader, of which the first to end it does.
final class WatchSession: Sendable {
    /// The queue of the source and of the report.
    let queue = MonitorQueue(label: "photoinbox.watch")
    private let signalQueue = MonitorQueue(label: "photoinbox.signals")
    private let signals: SignalMonitor?
    private let report: QueueBound<WatchReport>
    private let source: QueueBound<(any EventSource)?>
    private let manner: Watch.Manner
    /// Whether the end has begun and all reports are written.
    private let isEnding = Locked(false)

    /// Sets one up in the main thread, before there are others: it blocks the signals that end it.
    init(report: consuming sending WatchReport, manner: Watch.Manner) throws(SignalMonitorError) {
        // nohup(1), and shells that start something in the background, have signals ignored; so they stay.
        let ending = [Signal.int, .term, .hup].filter { !isSignalIgnored($0.rawValue) }
        // SIGIO reports a broken lease, and would end a process that does not block it.
        ProcessSignals.block(ending + [.io])
        signals = ending.isEmpty ? nil : try SignalMonitor(Set(ending), label: "endings", queue: signalQueue)
        self.manner = manner
        self.report = QueueBound(report, queue: queue)
        source = QueueBound(nil, queue: queue)
    }

    /// Runs `body` with the report and writes the output; calls `whenWritten` after that. On the queue.
    func report(_ body: (inout WatchReport) -> Void, whenWritten: () -> Void = {}) {
        let (end, isWritten) = report.onQueue { report -> (WatchEnd?, Bool) in
            let (wasOpen, before) = (report.end == nil, report.count)
            body(&report)
            report.flush()
            if report.count != before { report.lastReport = monotonicNanoseconds() }
            return (wasOpen ? report.end : nil, report.isWritten)
        }
        if isWritten { whenWritten() }
        if let end { finish(end) }
    }

    /// Prints a remark; a quiet watch prints only those about missed events. On the queue.
    func remark(_ text: String, isIncomplete: Bool = false) {
        if isIncomplete { report.onQueue { $0.isIncomplete = true } }
        if !manner.isQuiet || isIncomplete { printRemark(text, asJSON: manner.isJSON) }
    }

    /// Runs until something ends it. On the main thread, which then waits for the reader to go away.
    func run(_ source: any EventSource, timeout: Duration?) -> Never {
        let session = self
        MonitorRegistry.shared.setHandlerErrorSink { monitor, error in
            session.queue.async {
                session.remark("\(monitor.label): cannot report any more (\(error))", isIncomplete: true)
            }
        }
        let start: @Sendable () -> Void = {
            session.queue.async { session.start(source, timeout: timeout) }
        }
        if let signals {
            signalQueue.async {
                signals.setEventHandler { event in
                    session.queue.async { session.finish(.signalled(event.signal.rawValue)) }
                    // The end does not wait for a reader that reads nothing, or for a directory that does not answer.
                    session.signalQueue.after(Self.patience) {
                        if !session.isEnding.withLock({ $0 }) { die(of: event.signal.rawValue) }
                    }
                }
                signals.activate(onRegistered: start)
            }
        } else {
            start()
        }
        waitUntilGone(STDOUT_FILENO)
        queue.async { session.finish(.readerClosed) }
        ProcessSignals.parkMainThread()
    }

    /// How long the reader may take for pending reports after a signal.
    private static let patience = Duration.milliseconds(200)

    private func start(_ source: any EventSource, timeout: Duration?) {
        self.source.onQueue { $0 = source }
        // A signal may have come before there was anything to end.
        if let end = report.onQueue({ $0.end }) { return finish(end) }
        if !manner.isQuiet, let beginning = manner.beginning { printPlainRemark(beginning) }
        source.start { [self] directories in
            if !manner.isQuiet, let ready = manner.ready {
                printPlainRemark(ready)
            } else {
                remark("watching \(HumanText.count(directories, "directory", "directories"))")
            }
            guard let timeout else { return }
            report.onQueue { $0.lastReport = monotonicNanoseconds() }
            awaitSilence(of: timeout, after: timeout)
        }
    }

    /// Ends the watch after `timeout` without a report; checks again after `delay`.
    private func awaitSilence(of timeout: Duration, after delay: Duration) {
        queue.after(delay) { [self] in
            let silence = Duration.nanoseconds(Int64(monotonicNanoseconds() - report.onQueue { $0.lastReport }))
            if silence >= timeout { finish(.timedOut) } else { awaitSilence(of: timeout, after: timeout - silence) }
        }
    }

    private func finish(_ end: WatchEnd) {
        let status = report.onQueue { report -> ExitStatus? in
            let first = report.end ?? end
            // A report that ended by itself comes here too, once.
            guard report.end == nil || report.end == end else { return nil }
            report.end = first
            report.flush()
            return report.status(of: first)
        }
        isEnding.withLock { $0 = true }
        guard let status,
            let source = source.onQueue({ $0.take() })
        else { return }
        if case .outputFailed(let code) = end { remark("standard output: \(code)", isIncomplete: true) }
        let session = self
        source.stop {
            session.signalQueue.async {
                guard let signals = session.signals else { exit(status.rawValue) }
                signals.invalidate {
                    if case .signalled(let signal) = end { die(of: signal) }
                    exit(status.rawValue)
                }
            }
        }
    }
}

/// Waits until the reader of `descriptor` is gone: a watch without events would not notice.
func waitUntilGone(_ descriptor: Int32) {
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    while true {
        let count = poll(&entry, 1, -1)
        if count > 0 { return }
        if count < 0, errno != EINTR { pause() }
    }
}
