import CommandContact
import CommandSupport
import ControlProtocol
import Glibc
import LinuxKernel
import Reporting
import SystemMonitor

/// One run of `top` at a terminal: keys, signals, a timer, the daemon's answers, and the screen.
///
/// Everything is confined to its queue. The daemon is asked on another one, since an answer may be waited for; signals
/// have a third, so that the terminal is restored even while writing to it hangs.
final class TopSession: Sendable {
    private struct State {
        var model: TopModel
        var parser = KeyParser()
        var history = TopHistory()
        /// The content of the screen; nil if unknown.
        var shown: TopFrame?
        var isAsking = false
        /// Whether the screen is in use: not before the start, while stopped, or at the end.
        var isOnScreen = false
        var hasEnded = false
    }

    private let queue = MonitorQueue(label: "photoinbox.top")
    private let signalQueue = MonitorQueue(label: "photoinbox.signals")
    private let askQueue = MonitorQueue(label: "photoinbox.ask")
    private let contact: ControlContact
    private let screen: TerminalScreen
    private let style: TextStyle
    private let signals: SignalMonitor
    private let keyboard: DescriptorMonitor
    private let timer: TimerMonitor
    /// Distinguishes an escape key from the beginning of a sequence.
    private let escapeTimer: TimerMonitor
    private let state: QueueBound<State>
    /// Stays open from one answer to the next; on the queue of requests.
    private let line: QueueBound<ControlLine>

    /// How long the rest of a sequence may follow its escape character, over a slow line, too.
    private static let escapeWait = Duration.milliseconds(50)
    /// The time limit for an answer, in seconds.
    private static let patience = 3
    /// The time limit for ending cleanly, after which only the modes are restored.
    private static let endPatience = Duration.seconds(1)

    /// Sets one up. On the main thread, before there are others, since it blocks its signals.
    init(contact: ControlContact, screen: TerminalScreen, style: TextStyle, model: TopModel) throws {
        let ending = [Signal.int, .term, .hup, .quit].filter { !isSignalIgnored($0.rawValue) }
        let all = ending + [.winch, .cont, Self.stop]
        ProcessSignals.block(all)
        (self.contact, self.screen, self.style) = (contact, screen, style)
        signals = try SignalMonitor(Set(all), label: "signals", queue: signalQueue)
        keyboard = try DescriptorMonitor(borrowing: STDIN_FILENO, for: .read, label: "keyboard", queue: queue)
        timer = try TimerMonitor(.never, label: "interval", queue: queue)
        escapeTimer = try TimerMonitor(.never, label: "escape", queue: queue)
        state = QueueBound(State(model: model), queue: queue)
        line = QueueBound(ControlLine(), queue: askQueue)
    }

    /// Ctrl-Z.
    private static let stop = Signal(rawValue: SIGTSTP)

    /// Runs until a key or a signal ends it. On the main thread.
    func run() -> Never {
        let session = self
        signalQueue.async {
            session.signals.setEventHandler { session.handle($0.signal) }
            session.signals.activate(onRegistered: { session.queue.async { session.start() } })
        }
        ProcessSignals.parkMainThread()
    }

    // MARK: - Signals, on their queue

    private func handle(_ signal: Signal) {
        switch signal {
        case .winch: queue.async { self.redraw(anew: true) }
        case .cont: queue.async { self.enter() }
        case Self.stop: queue.async { self.leave(andStop: true) }
        default:
            queue.async { self.finish(signal) }
            // A terminal that accepts no output blocks the queue; its modes can be restored from here.
            signalQueue.after(Self.endPatience) { [screen] in
                screen.leave()
                _exit(128 + signal.rawValue)
            }
        }
    }

    // MARK: - On the queue

    private func start() {
        keyboard.setEventHandler { [self] in handleInput($0) }
        timer.setEventHandler { [self] _ in ask() }
        escapeTimer.setEventHandler { [self] _ in press(state.onQueue { $0.parser.flush() }) }
        keyboard.activate()
        timer.activate()
        escapeTimer.activate()
        enter()
        reschedule()
    }

    /// Sets the terminal's modes, also after a stop.
    private func enter() {
        guard !state.onQueue({ $0.hasEnded }) else { return }
        // As the terminal itself does with a background job that wants to change its modes.
        guard TerminalScreen.isForeground else {
            kill(getpid(), SIGSTOP)
            return
        }
        guard screen.enter() else { return finish(.hup) }
        state.onQueue { $0.isOnScreen = true }
        write(TerminalScreen.entry)
        redraw(anew: true)
    }

    private func leave(andStop stops: Bool) {
        let wasOnScreen = state.onQueue { state in
            defer { state.isOnScreen = false }
            return state.isOnScreen
        }
        if wasOnScreen {
            write(TerminalScreen.exit)
            screen.leave()
        }
        // SIGTSTP itself would do nothing to an orphaned process group.
        if stops { kill(getpid(), SIGSTOP) }
    }

    private func handleInput(_ event: DescriptorEvent) {
        var bytes = [UInt8](repeating: 0, count: 1024)
        // While the screen is not in use, input is for another program.
        let count = state.onQueue { $0.isOnScreen } ? keyboard.withDescriptor { read($0, &bytes, bytes.count) } ?? 0 : 0
        if event.isLast { return finish(.hup) }
        guard count > 0 else { return }
        let (keys, isWaiting) = state.onQueue { state in (state.parser.add(bytes[..<count]), state.parser.isWaiting) }
        escapeTimer.reschedule(isWaiting ? .once(after: Self.escapeWait) : .never)
        press(keys)
    }

    private func press(_ keys: [Key]) {
        let effects = keys.map { key in state.onQueue { $0.model.press(key) } }
        if effects.contains(.quit) { return finish(nil) }
        if effects.contains(.reschedule) { reschedule() }
        if effects.contains(.refresh) { ask() }
        if effects.contains(where: { $0 != .none }) { redraw() }
    }

    private func reschedule() {
        let interval = state.onQueue { $0.model.interval }
        timer.reschedule(.every(.milliseconds(Int64(interval * 1000)), after: .zero))
    }

    private func ask() {
        let isDue = state.onQueue { state in
            guard !state.isAsking, state.isOnScreen else { return false }
            state.isAsking = true
            return true
        }
        guard isDue else { return }
        askQueue.async { [self] in
            let answer: Result<DaemonState, CommandFailure>
            do throws(CommandFailure) {
                answer = .success(
                    try line.onQueue { (line) throws(CommandFailure) in
                        try contact.daemonState(within: Self.patience, by: &line)
                    })
            } catch {
                answer = .failure(error)
            }
            queue.async { self.answered(answer) }
        }
    }

    private func answered(_ answer: Result<DaemonState, CommandFailure>) {
        state.onQueue { state in
            state.isAsking = false
            switch answer {
            case .success(let new):
                state.model.received(state.history.add(new, at: TopClock.now, load: TopClock.load))
            case .failure(let failure): state.model.failed(failure)
            }
        }
        redraw()
    }

    private func redraw(anew: Bool = false) {
        let size = TerminalScreen.size
        let text = state.onQueue { state -> String in
            guard state.isOnScreen else { return "" }
            if anew { state.shown = nil }
            let frame = TopScreen(columns: size.columns, rows: size.rows).frame(&state.model)
            defer { state.shown = frame }
            return frame.update(from: state.shown, style)
        }
        write(text)
    }

    private func write(_ text: String) {
        guard !text.isEmpty else { return }
        var output = OutputBuffer(descriptor: STDOUT_FILENO)
        output.append(text)
        if output.flush() != .written { finish(.hup) }
    }

    /// Restores the terminal and ends, by `signal` if that is the reason.
    private func finish(_ signal: Signal?) {
        let isFirst = state.onQueue { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        guard isFirst else { return }
        leave(andStop: false)
        let session = self
        keyboard.invalidate {
            session.timer.invalidate {
                session.escapeTimer.invalidate {
                    session.signalQueue.async {
                        session.signals.invalidate {
                            if let signal { die(of: signal.rawValue) }
                            Glibc.exit(ExitStatus.ok.rawValue)
                        }
                    }
                }
            }
        }
    }
}

/// The parts of a sample that do not come from the daemon.
enum TopClock {
    /// Seconds of CLOCK_MONOTONIC.
    static var now: Double { Double(monotonicNanoseconds()) / 1e9 }

    /// See getloadavg(3); empty if unknown.
    static var load: [Double] {
        var load = [0.0, 0, 0]
        let count = getloadavg(&load, 3)
        return count > 0 ? Array(load.prefix(Int(count))) : []
    }
}
