import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemMonitor

/// What gives a watch its events. Everything is called on the session's queue.
protocol EventSource: AnyObject, Sendable {
    /// Starts; `onReady` is called, with the number of directories, when what comes from now on is told.
    func start(onReady: @escaping @Sendable (Int) -> Void)
    /// Ends; nothing is told after this call.
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
    private let isQuiet: Bool
    private let isJSON: Bool

    /// Sets one up in the main thread, before there are others: it blocks the signals that end it.
    init(report: consuming sending WatchReport, isQuiet: Bool) throws(SignalMonitorError) {
        // nohup(1), and shells that start something in the background, have signals ignored; so they stay.
        let ending = [Signal.int, .term, .hup].filter { !isSignalIgnored($0.rawValue) }
        ProcessSignals.block(ending)
        signals = ending.isEmpty ? nil : try SignalMonitor(Set(ending), label: "endings", queue: signalQueue)
        isJSON = report.format.shape == .json
        self.isQuiet = isQuiet
        self.report = QueueBound(report, queue: queue)
        source = QueueBound(nil, queue: queue)
    }

    /// Gives `body` the report and writes what it told. On the queue.
    func tell(_ body: (inout WatchReport) -> Void) {
        let end = report.onQueue { report -> WatchEnd? in
            let wasOpen = report.end == nil
            body(&report)
            report.flush()
            return wasOpen ? report.end : nil
        }
        if let end { finish(end) }
    }

    /// Says something about the watching, beside the output; what is missed is said even by a quiet watch. On the queue.
    func remark(_ text: String, isIncomplete: Bool = false) {
        if isIncomplete { report.onQueue { $0.isIncomplete = true } }
        if !isQuiet || isIncomplete { printRemark(text, asJSON: isJSON) }
    }

    /// Runs until something ends it. On the main thread, which then waits for the reader to go away.
    func run(_ source: any EventSource, timeout: Duration?) -> Never {
        let session = self
        let start: @Sendable () -> Void = {
            session.queue.async { session.start(source, timeout: timeout) }
        }
        if let signals {
            signalQueue.async {
                signals.setEventHandler { event in
                    // The second one does not wait for a reader that takes nothing.
                    if event.count > 1 { _exit(128 + event.signal.rawValue) }
                    session.queue.async { session.finish(.signalled) }
                }
                signals.activate(onRegistered: start)
            }
        } else {
            start()
        }
        waitForReaderToGo()
        queue.async { session.finish(.readerClosed) }
        ProcessSignals.parkMainThread()
    }

    private func start(_ source: any EventSource, timeout: Duration?) {
        self.source.onQueue { $0 = source }
        source.start { [self] directories in
            remark("watching \(HumanText.count(directories, "directory", "directories"))")
        }
        if let timeout { queue.after(timeout) { [self] in finish(.timedOut) } }
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
        guard let status,
            let source = source.onQueue({ source -> (any EventSource)? in
                defer { source = nil }
                return source
            })
        else { return }
        if case .outputFailed(let code) = end { remark("standard output: \(code)", isIncomplete: true) }
        let session = self
        source.stop {
            session.signalQueue.async {
                guard let signals = session.signals else { exit(status.rawValue) }
                signals.invalidate { exit(status.rawValue) }
            }
        }
    }

    /// Without this, a watch with nothing to tell would outlive its reader.
    private func waitForReaderToGo() {
        var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        while true {
            let count = poll(&entry, 1, -1)
            if count > 0 { return }
            if count < 0, errno != EINTR { pause() }
        }
    }
}
