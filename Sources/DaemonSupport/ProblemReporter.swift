package import ControlProtocol
package import FileValues
package import LinuxKernel
import Logging
package import Reporting
package import Settings

/// The daemon's problems: raised and cleared from every queue, shown in the state dump, and logged once when one begins
/// and once when it is over. Any thread; it waits for nothing.
package final class ProblemReporter: Sendable {
    private struct State: Sendable {
        var board = ProblemBoard()
        /// Keys of the problems whose beginning was logged. Some are raised and not old enough to be shown.
        var logged: Set<String> = []
        var settings: Settings?
    }

    private let state = Locked(State())
    /// A value of a type of its own: see LockedTests.noClosures.
    private struct Watcher { let changed: @Sendable () -> Void }
    private let watcher = Locked<Watcher?>(nil)
    /// Arrivals without an outcome, as last counted.
    private let waiting = Locked(0)
    package let log: DaemonLog

    package init(log: DaemonLog) { self.log = log }

    /// `changed` is called, on any thread, whenever a problem begins or ceases to be shown.
    package func whenShown(_ changed: @escaping @Sendable () -> Void) {
        watcher.withLock { $0 = Watcher(changed: changed) }
    }

    /// A configuration came into force: problems of inboxes that it no longer has are over.
    package func adopt(_ settings: Settings) {
        change { state, _ in
            let names = Set(settings.inboxes.map(\.name))
            for inbox in state.settings?.inboxes ?? [] where !names.contains(inbox.name) {
                state.board.clearAll(subject: inbox.name)
            }
            state.settings = settings
        }
        set(.noInboxes, settings.inboxes.isEmpty ? [.path: .text("the configuration")] : nil)
    }

    /// Raises the problem with these parameters, or clears it with none.
    package func set(
        _ code: ProblemCode, subject: String = "", _ parameters: [ProblemParameter: ProblemValue]?
    ) {
        change { state, now in
            if let parameters {
                state.board.raise(code, subject: subject, parameters, at: now)
            } else {
                state.board.clear(code, subject: subject)
            }
        }
    }

    /// Shows at most one of `codes`: the one that has a row. Where another of them was shown until now, it is shown
    /// without its usual delay, so that nothing looks normal in between.
    package func setOne(of codes: [ProblemCode], _ rows: [ProblemCode: [ProblemParameter: ProblemValue]]) {
        change { state, now in
            let isShown = state.board.all.contains {
                codes.contains($0.code) && $0.subject.isEmpty && now - $0.since >= $0.code.row.showAfter
            }
            for code in codes {
                guard let row = rows[code] else {
                    state.board.clear(code)
                    continue
                }
                state.board.raise(code, row, at: isShown ? now - code.row.showAfter : now)
            }
        }
    }

    /// Changes parameters of a problem, if it is raised; it stays as old as it is.
    package func amend(_ code: ProblemCode, _ parameters: [ProblemParameter: ProblemValue]) {
        state.withLock { state in
            guard let raised = state.board.all.first(where: { $0.code == code }) else { return }
            state.board.raise(code, raised.parameters.merging(parameters) { $1 }, at: raised.since)
        }
    }

    package func isRaised(_ code: ProblemCode, subject: String = "") -> Bool {
        state.withLock { $0.board.all.contains { $0.code == code && $0.subject == subject } }
    }

    /// Logs and shows what has become old enough for it; called on each tick of the watchdog.
    package func review() { change { _, _ in } }

    private func change(_ body: (inout State, _ now: Int64) -> Void) {
        let now = Moment.now.wall.seconds
        let (begun, ended) = state.withLock { state -> ([Problem], [String]) in
            body(&state, now)
            let shown = state.board.visible(at: now)
            let keys = Set(shown.map(Self.key))
            let begun = shown.filter { !state.logged.contains(Self.key($0)) }
            let ended = state.logged.subtracting(keys).sorted()
            state.logged = keys
            return (begun, ended)
        }
        for problem in begun { log.raised(problem) }
        for key in ended { log.cleared(key) }
        if !begun.isEmpty || !ended.isEmpty { watcher.withLock { $0 }?.changed() }
    }

    private static func key(_ problem: Problem) -> String {
        problem.subject.isEmpty ? problem.code.rawValue : "\(problem.code.rawValue) \(problem.subject)"
    }

    /// The rows for the state dump, while so many photos wait.
    package func rows(now: Moment, waiting: Int? = nil) -> [DaemonState.Problem] {
        var board = state.withLock { $0.board }
        if let waiting { board.count(waiting: waiting) }
        let seconds = now.wall.seconds
        let clock = LocalClock(at: seconds)
        let all: [(problem: Problem, cause: ProblemCode?)] =
            board.visible(at: seconds).map { ($0, nil) } + board.hidden(at: seconds).map { ($0.problem, $0.cause) }
        return all.map { DaemonState.Problem($0.problem, hiddenBy: $0.cause, clock: clock, of: log.address) }
    }

    // MARK: - What problems are about

    /// The configuration in force, if there is one yet.
    package var settings: Settings? { state.withLock { $0.settings } }

    package func path(ofInbox name: String) -> BytePath {
        settings?.inboxes.first { $0.name == name }?.path ?? ""
    }

    /// How many arrivals have no outcome, as last counted.
    package var waitingCount: Int { waiting.withLock { $0 } }
    package func counted(waiting count: Int) { waiting.withLock { $0 = count } }
}
